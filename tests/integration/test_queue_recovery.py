"""A client of a Redis that loses what it was sent. No worker is needed for that."""

from collections.abc import Iterator

import pytest

from grader.config.settings import Settings
from grader.queueing.grader import QueueGrader
from grader.queueing.status import read_status
from tests.conftest import missing
from tests.deployment import Deployment, redis_program, wait_until
from tests.factories import make_submission

pytestmark = [pytest.mark.redis, pytest.mark.timeout(120)]


@pytest.fixture
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    if redis_program() is None:
        missing("Redis", "there is no redis-server")
    deployed = Deployment(tmp_path_factory.mktemp("recovery"))
    yield deployed
    deployed.close()


def test_submission_whose_suite_is_lost_while_it_is_sent_is_sent_again(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(broker=deployment.redis.url)
    losses = 2
    with QueueGrader(settings) as grader:
        store = grader._pump._ledger.store_suite

        def store_and_lose(digest: str, suite: bytes) -> None:
            nonlocal losses
            store(digest, suite)
            if losses:
                losses -= 1
                with deployment.redis.connect() as client:
                    client.flushall()

        monkeypatch.setattr(grader._pump._ledger, "store_suite", store_and_lose)
        grader.submit(make_submission("x = 1"))
        wait_until(lambda: read_status(settings).queued == 1, 30, "the job is queued")
    assert losses == 0
