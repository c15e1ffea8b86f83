"""The grader of this process behind the client's methods: deadlines, cancelling, closing."""

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from grader.config.settings import SandboxChoice, Settings
from grader.grading.engine import GradingEngine
from grader.grading.grader import Grader
from grader.grading.stopping import StopHandle
from grader.model import LimitOverrides, Submission
from grader.model.verdict import LimitKind, Verdict
from grader.queueing.ledger_values import Taken
from grader.queueing.programs import decode_result, make_program_job
from grader.sandbox.contract import Program, RunBatch, RunOutcome
from grader.sandbox.native.backend import NativeSandbox
from tests.factories import make_submission, make_suite
from worker.job_runner import JobRunner

Eventually = Callable[[Callable[[], bool], float], None]

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
def grader(native_sandbox: NativeSandbox) -> Iterator[Grader]:
    assert native_sandbox.name == "native"
    with Grader(Settings(sandbox=SandboxChoice.NATIVE, slots=1)) as opened:
        assert opened.grade(make_submission()).verdict is Verdict.PASSED
        yield opened


def sleeper() -> Submission:
    suite = make_suite(limits=LimitOverrides(wall_time_s=60.0))
    return make_submission("import time\ntime.sleep(60)\n", suite=suite)


def test_deadline_is_kept_and_frees_the_slot(grader: Grader) -> None:
    report = grader.grade(sleeper(), timeout_s=1)
    assert report.verdict is Verdict.INTERNAL_ERROR
    assert "within 1 s" in report.feedback
    assert grader.grade(make_submission(), timeout_s=20).verdict is Verdict.PASSED


def test_what_is_no_submission_is_refused_at_once(grader: Grader) -> None:
    odd: Any = "def f(): pass"
    for grade in (grader.grade, lambda each: list(grader.as_completed([each]))):
        with pytest.raises(TypeError, match="expected a Submission, but found str"):
            grade(odd)


@pytest.mark.parametrize(
    ("field", "value"),
    [("id", 1), ("completion", None), ("suite", ["assert f()"]), ("prompt", []), ("rules", {})],
)
def test_field_of_another_type_is_refused_at_once(field: str, value: object) -> None:
    with pytest.raises(TypeError, match=f"{field} of a submission must be .*, but is "):
        replace(make_submission(), **{field: value})  # type: ignore[arg-type]


def test_cancelled_future_frees_the_slot(grader: Grader) -> None:
    future = grader.submit(sleeper())
    waiting = grader.submit(make_submission(), timeout_s=20)
    time.sleep(0.5)
    assert not waiting.done()
    assert future.cancel()
    assert waiting.result().verdict is Verdict.PASSED


def test_cancelled_before_its_turn_never_runs(grader: Grader) -> None:
    first, second = grader.submit(sleeper()), grader.submit(sleeper())
    assert second.cancel()
    first.cancel()
    assert grader.grade(make_submission(), timeout_s=20).verdict is Verdict.PASSED


def test_async_twins_give_reports(grader: Grader) -> None:
    reports = asyncio.run(grader.agrade_batch([make_submission() for _ in range(5)]))
    assert [report.verdict for report in reports] == [Verdict.PASSED] * 5


def test_closed_iterator_stops_what_runs(grader: Grader) -> None:
    results = iter(grader.as_completed([make_submission(), sleeper(), sleeper()]))
    assert next(results)[1].verdict is Verdict.PASSED
    results.close()  # type: ignore[attr-defined]
    assert grader.grade(make_submission(), timeout_s=20).verdict is Verdict.PASSED


def test_close_settles_what_is_open(native_sandbox: NativeSandbox) -> None:
    assert native_sandbox.name == "native"
    grader = Grader(Settings(sandbox=SandboxChoice.NATIVE, slots=1))
    futures = [grader.submit(sleeper()) for _ in range(3)]
    time.sleep(0.5)
    grader.close()
    assert [future.result(30).feedback for future in futures] == ["the grader was closed"] * 3
    assert grader.grade(make_submission()).feedback.endswith("the grader is closed")


def test_program_of_the_queue_that_runs_when_its_clock_is_up_is_out_of_wall_time(
    native_sandbox: NativeSandbox,
) -> None:
    settings = Settings(sandbox=SandboxChoice.NATIVE, slots=1)
    limits = replace(settings.limits, wall_time_s=60.0)

    def outcome(source: str, clock_s: float) -> RunOutcome:
        batch = RunBatch(
            program=Program.STDIN, source=source, source_path="main.py", runs=(b"",), limits=limits
        )
        order = make_program_job(batch, "python", clock_s)
        taken = Taken(
            key=order.key,
            suite="",
            is_suspect=False,
            code=order.code.encode(),
            settings=order.settings.encode(),
        )
        finished = JobRunner(settings, slots).run(taken, StopHandle(), b"")
        result = decode_result(finished.body)
        assert result.outcome is not None, result.reason
        return result.outcome

    assert native_sandbox.name == "native"
    with GradingEngine(settings) as slots:
        late = outcome("import time\ntime.sleep(60)\n", 1.5)
        assert (late.limit_hit, late.exit_code) == (LimitKind.WALL_TIME, None)
        assert late.usage.wall_time_s is not None
        assert 1.5 <= late.usage.wall_time_s < 30
        assert outcome("print(42)\n", 60).stdout == b"42\n"
