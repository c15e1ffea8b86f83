"""A worker's jobs go back to others, even if Redis is away while it gives them back."""

from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest

from grader.config.settings import Settings
from grader.queueing.dispatch import Dispatcher, make_app
from grader.queueing.jobs import JobMaker
from grader.queueing.ledger import Ledger
from grader.queueing.status import read_status
from tests.conftest import missing
from tests.deployment import Deployment, redis_program, wait_until
from tests.factories import make_submission
from worker.chunks import Chunk, Chunks
from worker.heartbeat import Heartbeat
from worker.throughput import Throughput

pytestmark = [pytest.mark.redis, pytest.mark.timeout(120)]

WORKER = "host:1:worker"


@pytest.fixture
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    if redis_program() is None:
        missing("Redis", "there is no redis-server")
    deployed = Deployment(tmp_path_factory.mktemp("chunks"))
    yield deployed
    deployed.close()


@pytest.fixture
def settings(deployment: Deployment) -> Settings:
    return Settings(broker=deployment.redis.url)


@pytest.fixture
def ledger(settings: Settings) -> Iterator[Ledger]:
    opened = Ledger(settings)
    yield opened
    opened.close()


@pytest.fixture
def chunks(settings: Settings, ledger: Ledger) -> Iterator[Chunks]:
    dispatcher = Dispatcher(make_app(settings))
    yield Chunks(WORKER, ledger=ledger, dispatcher=dispatcher)
    dispatcher.close()


def enter(ledger: Ledger, settings: Settings, count: int) -> list[str]:
    """Submit jobs as a client does; return their keys."""
    maker = JobMaker(settings)
    jobs = [maker.make(make_submission(f"x = {n}", id=str(n))) for n in range(count)]
    tickets = [job.ledger_entry(60) for job in jobs if job is not None]
    assert jobs[0] is not None
    ledger.store_suite(jobs[0].suite.digest, jobs[0].suite.message)
    ledger.submit("client", tickets)
    return [ticket.key for ticket in tickets]


def opened(chunks: Chunks, ledger: Ledger, keys: list[str]) -> AbstractContextManager[Chunk]:
    return chunks.opened("token", lambda: ledger.take(WORKER, "token", keys))


def test_jobs_let_go_while_redis_is_away_go_back_once_it_is_there(
    deployment: Deployment, settings: Settings, ledger: Ledger, chunks: Chunks
) -> None:
    keys = enter(ledger, settings, 3)
    with opened(chunks, ledger, keys) as chunk:
        assert chunks.next_job(chunk) is not None
        deployment.redis.kill()
        chunks.give_rest_back(chunk)
        assert chunks.next_job(chunk) is None
        deployment.redis.start()
        assert read_status(settings).queued == 0
        chunks.give_back_owed()
        assert read_status(settings).queued == 2
        assert read_status(settings).messages["python"] == 2


def test_jobs_that_only_the_ledger_says_are_here_go_back(
    settings: Settings, ledger: Ledger, chunks: Chunks
) -> None:
    """As after Redis came back from a file that is older than the reports."""
    keys = enter(ledger, settings, 4)
    ledger.take(WORKER, "done", keys[:2])
    assert ledger.start(WORKER, "done", keys[0], with_suite=False) is not None
    heartbeat = Heartbeat(
        WORKER,
        settings,
        ledger=ledger,
        chunks=chunks,
        throughput=Throughput(),
        sandbox="native",
        edition=lambda: "edition",
    )
    with opened(chunks, ledger, keys[2:]) as chunk:
        heartbeat.start()
        try:
            wait_until(lambda: read_status(settings).queued == 2, 20, "two jobs are queued")
        finally:
            heartbeat.close()
        assert len(chunk.left) == 2
        assert read_status(settings).messages["python"] == 2
    assert {job.key for job in ledger.take("another", "later", keys[:2])} == {*keys[:2]}


def test_jobs_that_did_not_begin_go_back_at_the_end(
    settings: Settings, ledger: Ledger, chunks: Chunks
) -> None:
    keys = enter(ledger, settings, 3)
    with opened(chunks, ledger, keys) as chunk:
        first = chunks.next_job(chunk)
        chunks.stop()
        assert chunks.next_job(chunk) is None
    assert first is not None
    assert {job.key for job in ledger.take("another", "later", keys)} == {*keys} - {first.key}


def test_run_of_a_job_that_begins_is_stopped_with_all_others(
    settings: Settings, ledger: Ledger, chunks: Chunks
) -> None:
    keys = enter(ledger, settings, 1)
    with opened(chunks, ledger, keys) as chunk:
        assert chunks.next_job(chunk) is not None
        with chunks.running(chunk, keys[0]):
            (running,) = chunks.running_now().values()
            chunks.kill()
            assert running.handle.is_stopped
    assert chunks.running_now() == {}
