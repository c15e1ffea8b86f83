"""Jobs as a worker runs them, without a queue."""

from dataclasses import replace

import pytest

from grader.config.settings import Settings
from grader.grading.engine import GradingEngine
from grader.grading.stopping import StopHandle
from grader.model import wire
from grader.model.verdict import Verdict
from grader.process.request_id import request_id
from grader.queueing.jobs import JobMaker, JobOrigin, SubmissionJob
from grader.queueing.ledger_values import Taken
from tests.factories import make_submission
from tests.fake.backend import FakeSandbox
from worker.job_runner import JobRunner, origin_of

SETTINGS = Settings()


def make_job() -> SubmissionJob:
    job = JobMaker(SETTINGS).make(make_submission("print(input())"))
    assert job is not None
    return job


def taken(job: SubmissionJob) -> Taken:
    return Taken(
        key=job.key,
        suite=job.suite.digest,
        is_suspect=False,
        code=job.code.encode(),
        settings=job.ledger_entry(1).settings.encode(),
    )


def test_suite_is_remembered_for_the_next_job() -> None:
    job = make_job()
    with GradingEngine(SETTINGS, sandbox=FakeSandbox()) as engine:
        runner = JobRunner(SETTINGS, engine)
        assert runner.known_suite(taken(job)) is None
        first = runner.run(taken(job), StopHandle(), job.suite.message)
        suite = runner.known_suite(taken(job))
        # Another runner, as if the suite had been dropped since.
        another = JobRunner(SETTINGS, engine)
        assert suite is not None
        again = another.run(taken(job), StopHandle(), suite)
    verdicts = [wire.decode_report(each.body).verdict for each in (first, again)]
    assert verdicts[0] == verdicts[1] != Verdict.INTERNAL_ERROR


def test_job_whose_suite_cannot_be_decoded_is_answered() -> None:
    job = make_job()
    with GradingEngine(SETTINGS, sandbox=FakeSandbox()) as engine:
        runner = JobRunner(SETTINGS, engine)
        answer = runner.run(taken(job), StopHandle(), b"{}")
        assert runner.known_suite(taken(job)) is None
    assert wire.decode_report(answer.body).verdict == Verdict.INTERNAL_ERROR
    assert "cannot be decoded" in answer.error


def test_ids_of_the_client_are_logged() -> None:
    token = request_id.set("trace-77")
    try:
        job = make_job()
    finally:
        request_id.reset(token)
    assert origin_of(taken(job)) == JobOrigin(request="trace-77", submission="add/0")


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(b"{}", id="none, as an earlier build sends"),
        pytest.param(b"[]", id="no object"),
        pytest.param(b"{", id="no JSON"),
        pytest.param(b"\xff", id="no text"),
        pytest.param(b'{"origin": 1}', id="a number"),
        pytest.param(b'{"origin": {"request": 1, "submission": null}}', id="no texts"),
        pytest.param(b'{"origin": {"request": "", "submission": ""}}', id="empty"),
    ],
)
def test_ids_that_cannot_be_read_are_left_out(settings: bytes) -> None:
    assert origin_of(replace(taken(make_job()), settings=settings)) == JobOrigin()


def test_equal_submissions_are_one_job_whatever_their_ids() -> None:
    made = [JobMaker(SETTINGS).make(make_submission("print(1)", id=name)) for name in ("a", "b")]
    assert made[0] is not None
    assert made[1] is not None
    assert made[0].key == made[1].key
    assert made[0].ledger_entry(1).settings != made[1].ledger_entry(1).settings
