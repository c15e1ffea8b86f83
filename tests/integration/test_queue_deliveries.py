"""A worker's jobs go back to others, even if Redis is away while it gives them back."""

from collections.abc import Iterator

import pytest

from grader.config.settings import Settings
from grader.queueing.dispatch import Dispatcher, make_app
from grader.queueing.jobs import JobMaker
from grader.queueing.ledger import Ledger
from grader.queueing.ledger_values import Wanted
from grader.queueing.status import read_status
from tests.deployment import Deployment, wait_until
from tests.factories import make_submission
from worker.deliveries import Deliveries, Delivery
from worker.heartbeat import Heartbeat
from worker.throughput import Throughput

pytestmark = [pytest.mark.redis, pytest.mark.timeout(120)]

WORKER = "host:1:worker"


@pytest.fixture
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    deployed = Deployment(tmp_path_factory.mktemp("deliveries"))
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
def deliveries(settings: Settings, ledger: Ledger) -> Iterator[Deliveries]:
    dispatcher = Dispatcher(make_app(settings))
    yield Deliveries(WORKER, ledger=ledger, dispatcher=dispatcher)
    dispatcher.close()


def enter(ledger: Ledger, settings: Settings, count: int) -> None:
    """Submit jobs as a client does."""
    maker = JobMaker(settings)
    jobs = [maker.make(make_submission(f"x = {n}", id=str(n))) for n in range(count)]
    assert jobs[0] is not None
    ledger.store_suite(jobs[0].suite.digest, jobs[0].suite.message)
    ledger.submit("client", [job.ledger_entry(60) for job in jobs if job is not None])


def take(deliveries: Deliveries, ledger: Ledger) -> tuple[Delivery, str]:
    """Have the worker hold the next job, as its threads do."""
    delivery = deliveries.open()
    assert delivery is not None
    wanted = Wanted(token=delivery.token, images=["python"])
    (taken,) = ledger.step(WORKER, [], [wanted]).taken
    assert taken is not None
    # The answer may be lost, and the step made again.
    assert ledger.step(WORKER, [], [wanted]).taken == (taken,)
    return delivery, taken.key


def test_jobs_let_go_while_redis_is_away_go_back_once_it_is_there(
    deployment: Deployment, settings: Settings, ledger: Ledger, deliveries: Deliveries
) -> None:
    with deployment.redis.connect() as client:
        client.config_set("appendfsync", "always")  # a busy disk may delay what is written
    enter(ledger, settings, 3)
    held = [take(deliveries, ledger) for _ in range(3)]
    assert read_status(settings).queued == 0
    deployment.redis.kill()
    deliveries.give_back([(delivery.token, key) for delivery, key in held[:2]])
    deployment.redis.start()
    assert read_status(settings).queued == 0
    deliveries.give_back_owed()
    assert read_status(settings).queued == 2
    assert read_status(settings).waiting == {"python": 2}
    assert {take(deliveries, ledger)[1] for _ in range(2)} == {key for _, key in held[:2]}


def test_jobs_that_only_the_ledger_says_are_here_go_back(
    settings: Settings, ledger: Ledger, deliveries: Deliveries
) -> None:
    """As after Redis came back from a file that is older than the reports."""
    enter(ledger, settings, 4)
    held = [take(deliveries, ledger) for _ in range(4)]
    for delivery, _ in held[:2]:
        deliveries.close(delivery)
    heartbeat = Heartbeat(
        WORKER,
        settings,
        ledger=ledger,
        deliveries=deliveries,
        throughput=Throughput(),
        sandbox="native",
        edition=lambda: "edition",
    )
    heartbeat.start()
    try:
        wait_until(lambda: read_status(settings).queued == 2, 20, "two jobs are queued")
    finally:
        heartbeat.close()
    assert {take(deliveries, ledger)[1] for _ in range(2)} == {key for _, key in held[:2]}


def test_run_of_a_job_that_begins_is_stopped_with_all_others(
    settings: Settings, ledger: Ledger, deliveries: Deliveries
) -> None:
    enter(ledger, settings, 1)
    delivery, key = take(deliveries, ledger)
    with deliveries.running(delivery, key) as may_start:
        assert may_start
        (running,) = deliveries.running_now().values()
        deliveries.kill()
        assert running.handle.is_stopped
    assert deliveries.running_now() == {}
    with deliveries.running(delivery, key) as may_start:
        assert not may_start
    assert deliveries.open() is None
