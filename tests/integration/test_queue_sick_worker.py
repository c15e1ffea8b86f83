"""Workers whose sandboxes fail, over a real Redis. Their slots are fake ones."""

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from grader.config.settings import QueueSettings, Settings
from grader.grading.engine import GradingEngine
from grader.grading.futures import ReportFuture
from grader.model.errors import SandboxUnavailableError
from grader.model.verdict import Verdict
from grader.queueing.diagnosis import obstacle
from grader.queueing.dispatch import Dispatcher, make_app
from grader.queueing.grader import QueueGrader
from grader.queueing.ledger import Ledger
from grader.queueing.status import read_status
from grader.sandbox.contract import RunBatch, RunOutcome, Slot
from tests.deployment import Deployment, wait_until
from tests.factories import make_submission
from tests.fake.backend import FakeSandbox, FakeSlot
from worker.executor import Executor

pytestmark = [pytest.mark.redis, pytest.mark.timeout(120)]

SUBMISSION = make_submission("def add(a, b):\n    return a + b\n")


class Sandbox(FakeSandbox):
    """A sandbox that fails as it is told."""

    opens = True
    error: type[Exception] = SandboxUnavailableError
    runs = True
    """Whether it runs the submission; it runs others."""

    def open_slot(self, *, image: str, memory_bytes: int) -> Slot:
        if not self.opens:
            message = "the engine is gone"
            raise self.error(message)
        slot = super().open_slot(image=image, memory_bytes=memory_bytes)
        assert isinstance(slot, FakeSlot)
        run = slot.run

        def run_if_told(batch: RunBatch) -> Generator[RunOutcome, None, None]:
            if "add" in batch.source and not self.runs:
                slot.close()
            return run(batch)

        slot.run = run_if_told  # type: ignore[method-assign]
        return slot


class Worker:
    """A worker without Celery: the test tells it which jobs to look for."""

    def __init__(self, settings: Settings) -> None:
        self.sandbox = Sandbox()
        self.listens = True
        engine = GradingEngine(replace(settings, slots=1, retries=1), sandbox=self.sandbox)
        self.executor = Executor(
            settings,
            ledger=Ledger(settings),
            dispatcher=Dispatcher(make_app(settings)),
            grader=engine,
            listen=lambda wanted: setattr(self, "listens", wanted),
        )
        self.executor.open()

    def state(self, settings: Settings) -> str | None:
        states = {each.id: each.state for each in read_status(settings).workers}
        return states.get(self.executor.id)


@pytest.fixture
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    deployed = Deployment(tmp_path_factory.mktemp("sick"))
    yield deployed
    deployed.close()


@pytest.fixture
def settings(deployment: Deployment) -> Settings:
    return Settings(broker=deployment.redis.url, queue=QueueSettings(deadline_s=90))


@pytest.fixture
def start(settings: Settings) -> Iterator[Callable[[], Worker]]:
    with ExitStack() as held:

        def begin() -> Worker:
            worker = Worker(settings)
            held.callback(worker.executor.close)
            wait_until(lambda: worker.state(settings) == "serving", 20, "it serves")
            return worker

        yield begin


@pytest.fixture
def answer(settings: Settings) -> Iterator[ReportFuture]:
    """The future of a submission that is in the queue."""
    with QueueGrader(settings) as grader:
        future = grader.submit(SUBMISSION)
        wait_until(lambda: read_status(settings).queued == 1, 20, "it is queued")
        yield future


def test_sick_worker_gives_jobs_back_says_so_and_recovers(
    settings: Settings, start: Callable[[], Worker], answer: ReportFuture
) -> None:
    worker = start()
    worker.sandbox.opens = False
    for _ in range(3):  # more often than workers may fail at a job
        worker.executor.execute()
        assert read_status(settings).queued == 1
    assert not worker.listens
    wait_until(lambda: worker.state(settings) == "sick", 20, "the status says that it is sick")
    assert obstacle(read_status(settings)) == "every worker is sick"
    worker.sandbox.opens = True
    wait_until(lambda: worker.state(settings) == "serving", 20, "it serves again")
    assert worker.listens
    worker.executor.execute()
    assert answer.result(20).verdict is Verdict.PASSED


def test_job_that_one_worker_fails_to_run_goes_to_another(
    settings: Settings, start: Callable[[], Worker], answer: ReportFuture
) -> None:
    one, other = start(), start()
    one.sandbox.runs = False
    for _ in range(2):
        one.executor.execute()
        assert read_status(settings).queued == 1
        assert one.state(settings) == "serving"
    other.executor.execute()
    assert answer.result(20).verdict is Verdict.PASSED


def test_job_that_no_worker_can_run_is_an_internal_error(
    start: Callable[[], Worker], answer: ReportFuture
) -> None:
    for worker in (start(), start()):
        assert not answer.done()
        worker.sandbox.runs = False
        worker.executor.execute()
    report = answer.result(20)
    assert report.verdict is Verdict.INTERNAL_ERROR
    assert "SandboxUnavailableError" in report.feedback


def test_only_worker_tries_a_job_again_that_it_failed_to_run(
    start: Callable[[], Worker], answer: ReportFuture
) -> None:
    worker = start()
    worker.sandbox.runs = False
    worker.executor.execute()
    assert not answer.done()
    worker.sandbox.runs = True
    worker.executor.execute()
    assert answer.result(20).verdict is Verdict.PASSED


def test_worker_that_fails_at_everything_finds_out_whatever_the_reason(
    settings: Settings, start: Callable[[], Worker]
) -> None:
    worker = start()
    worker.sandbox.opens, worker.sandbox.error = False, ZeroDivisionError
    with QueueGrader(settings) as grader:
        answers = [grader.submit(make_submission(f"x = {n}")) for n in range(5)]
        wait_until(lambda: read_status(settings).queued == 5, 20, "they are queued")
        worker.executor.execute()
        wait_until(lambda: sum(each.done() for each in answers) == 4, 20, "four are answered")
        assert read_status(settings).queued == 1
        wait_until(lambda: worker.state(settings) == "sick", 20, "the status says that it is sick")
