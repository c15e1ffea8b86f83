"""Jobs as a worker runs them, without a queue."""

from grader.config.settings import Settings
from grader.grading.engine import GradingEngine
from grader.grading.stopping import StopHandle
from grader.model import wire
from grader.model.verdict import Verdict
from grader.queueing.jobs import JobMaker, SubmissionJob
from grader.queueing.ledger import Started, Taken
from grader.sandbox.fake.backend import FakeSandbox
from tests.factories import make_submission
from worker.job_runner import JobRunner

SETTINGS = Settings()


def make_job() -> SubmissionJob:
    job = JobMaker(SETTINGS).make(make_submission("print(input())"))
    assert job is not None
    return job


def started(job: SubmissionJob, *, suite: bytes) -> Started:
    return Started(code=job.code.encode(), settings=job.settings.encode(), suite=suite)


def test_suite_is_remembered_for_the_next_job() -> None:
    job = make_job()
    taken = Taken(key=job.key, suite=job.suite.digest, is_suspect=False)
    with GradingEngine(SETTINGS, sandbox=FakeSandbox()) as engine:
        runner = JobRunner(SETTINGS, engine)
        assert runner.known_suite(taken) is None
        first = runner.run(taken, started(job, suite=job.suite.message), StopHandle())
        suite = runner.known_suite(taken)
        # Another runner, as if the suite had been dropped since.
        another = JobRunner(SETTINGS, engine)
        again = another.run(taken, started(job, suite=b""), StopHandle(), suite)
    verdicts = [wire.decode_report(each.body).verdict for each in (first, again)]
    assert verdicts[0] == verdicts[1] != Verdict.INTERNAL_ERROR


def test_job_whose_suite_cannot_be_decoded_is_answered() -> None:
    job = make_job()
    taken = Taken(key=job.key, suite=job.suite.digest, is_suspect=False)
    with GradingEngine(SETTINGS, sandbox=FakeSandbox()) as engine:
        runner = JobRunner(SETTINGS, engine)
        answer = runner.run(taken, started(job, suite=b"{}"), StopHandle())
        assert runner.known_suite(taken) is None
    assert wire.decode_report(answer.body).verdict == Verdict.INTERNAL_ERROR
    assert "cannot be decoded" in answer.error
