"""A Redis that loses what it was sent, or drops it to make room. No worker is needed for that."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from grader.config.settings import QueueSettings, Settings
from grader.model import MiB
from grader.queueing import ledger as ledgers
from grader.queueing.grader import QueueGrader
from grader.queueing.ledger import Ledger
from grader.queueing.names import Key
from grader.queueing.status import read_status
from tests.deployment import Deployment, wait_until
from tests.factories import make_submission, make_suite

pytestmark = [pytest.mark.redis, pytest.mark.timeout(120)]


@pytest.fixture
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    deployed = Deployment(tmp_path_factory.mktemp("recovery"))
    yield deployed
    deployed.close()


def test_submission_whose_suite_is_lost_while_it_is_sent_is_sent_again(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(broker=deployment.redis.url)
    losses = 2
    with QueueGrader(settings) as grader:
        ledger = grader._pumps._all[0].pump._ledger
        store = ledger.store_suite

        def store_and_lose(digest: str, suite: bytes) -> None:
            nonlocal losses
            store(digest, suite)
            if losses:
                losses -= 1
                with deployment.redis.connect() as client:
                    client.flushall()

        monkeypatch.setattr(ledger, "store_suite", store_and_lose)
        grader.submit(make_submission("x = 1"))
        wait_until(lambda: read_status(settings).queued == 1, 30, "the job is queued")
    assert losses == 0


def test_submission_that_redis_has_no_room_for_holds_up_no_other(
    deployment: Deployment,
) -> None:
    settings = Settings(broker=deployment.redis.url)
    with deployment.redis.connect() as client:
        client.config_set("maxmemory", 32 * MiB)
    large = make_suite(prompt="x" * 48 * MiB)
    with QueueGrader(settings) as grader:
        grader.submit(make_submission(suite=large))
        grader.submit(make_submission("x = 1"))
        wait_until(lambda: read_status(settings).queued == 1, 30, "the other is queued")


def test_room_is_made_by_dropping_the_suites_that_were_named_longest_ago(
    deployment: Deployment,
) -> None:
    ledger = Ledger(Settings(broker=deployment.redis.url))
    piece = b"x" * 100_000
    with closing(ledger), deployment.redis.connect() as client:
        for number in range(85):
            ledger.store_suite(str(number), piece)
        # All but the last ten were named an hour ago; three of these have expired since.
        client.zadd(Key.SUITES_USED, {str(number): number for number in range(75)})
        client.delete(*(Key.SUITE + str(number) for number in range(3)))
        client.config_set("maxmemory", int(client.info("memory")["used_memory"] / 0.85))
        ledger.reap()
        kept = {int(key.removeprefix(Key.SUITE)) for key in client.keys(Key.SUITE + "*")}
        indexed = {int(digest) for digest in client.zrange(Key.SUITES_USED, 0, -1) if digest}
    assert kept == indexed == set(range(min(kept), 85))
    assert 3 < min(kept) <= 75


def test_dead_worker_and_client_are_found_if_the_clock_of_redis_is_set_back(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an hour that was taken back leaves: times of the ledger that are still to come."""
    monkeypatch.setattr(ledgers, "CLIENT_LEASE_S", 2.0)
    ledger = Ledger(Settings(broker=deployment.redis.url, queue=QueueSettings(lease_s=2.0)))
    with closing(ledger), deployment.redis.connect() as client:
        later_ms = client.time()[0] * 1000 + 3_600_000
        client.set(Key.REAPED, later_ms)
        client.zadd(Key.WORKERS, {"dead": later_ms})
        client.zadd(Key.CLIENTS, {"dead": later_ms})
        ledger.reap()
        assert client.zcard(Key.WORKERS) == 1

        def are_forgotten() -> bool:
            ledger.reap()
            return not client.exists(Key.WORKERS, Key.CLIENTS)

        wait_until(are_forgotten, 30, "both are found dead")
        assert deployment.redis.stats()["workers_lost"] == 1
