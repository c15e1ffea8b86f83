"""A worker's jobs go back to others, even if Redis is away while it gives them back."""

from collections.abc import Iterator

import pytest

from grader.config.settings import Settings
from grader.queueing.dispatch import Dispatcher, make_app
from grader.queueing.jobs import JobMaker
from grader.queueing.ledger import Ledger
from grader.queueing.status import read_status
from tests.conftest import missing
from tests.deployment import Deployment, redis_program
from tests.factories import make_submission
from worker.chunks import Chunks

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


def test_jobs_let_go_while_redis_is_away_go_back_once_it_is_there(
    deployment: Deployment, settings: Settings, ledger: Ledger, chunks: Chunks
) -> None:
    keys = enter(ledger, settings, 3)
    with chunks.opened("token", ledger.take(WORKER, "token", keys)) as chunk:
        assert chunks.next_job(chunk) is not None
        deployment.redis.kill()
        chunks.give_rest_back(chunk)
        assert chunks.next_job(chunk) is None
        deployment.redis.start()
        assert read_status(settings).queued == 0
        chunks.give_back_owed()
        assert read_status(settings).queued == 2
        assert read_status(settings).messages["python"] == 2


def test_jobs_that_did_not_begin_go_back_at_the_end(
    settings: Settings, ledger: Ledger, chunks: Chunks
) -> None:
    keys = enter(ledger, settings, 3)
    with chunks.opened("token", ledger.take(WORKER, "token", keys)) as chunk:
        first = chunks.next_job(chunk)
        chunks.stop()
        assert chunks.next_job(chunk) is None
    assert first is not None
    assert {job.key for job in ledger.take("another", "later", keys)} == {*keys} - {first.key}


def test_run_of_a_job_that_begins_is_stopped_with_all_others(
    settings: Settings, ledger: Ledger, chunks: Chunks
) -> None:
    keys = enter(ledger, settings, 1)
    with chunks.opened("token", ledger.take(WORKER, "token", keys)) as chunk:
        assert chunks.next_job(chunk) is not None
        with chunks.running(chunk, keys[0]):
            (running,) = chunks.running_now().values()
            chunks.kill()
            assert running.handle.is_stopped
    assert chunks.running_now() == {}
