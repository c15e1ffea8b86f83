"""The time limit of all cases together: a run that has begun may end, and no other begins."""

from collections.abc import Generator
from dataclasses import replace

import pytest

from grader.config.settings import Settings
from grader.grading.grader import Grader
from grader.model import (
    CallCase,
    CallTests,
    InteractiveTests,
    Interactor,
    Limits,
    StdinCase,
    StdinTests,
    Tests,
)
from grader.model.verdict import LimitKind, Verdict
from grader.running.compared import run_calls, run_stdin
from grader.running.references import References
from grader.running.task import Graded, Task
from grader.sandbox.contract import RunBatch, RunOutcome, SlotSession
from grader.scoring.calibration import Calibration
from tests.factories import make_submission, make_suite
from tests.fake.backend import FakeSandbox
from tests.outcomes import make_outcome

SLOW_ECHO = "import time\ntime.sleep(0.05)\nprint(input())"

P, F, T, S = Verdict.PASSED, Verdict.FAILED, Verdict.TIME_LIMIT, Verdict.SKIPPED


class TimedSlot:
    """A slot whose runs are right and take the time that they are told to."""

    name = "timed-0"

    def __init__(self, *outcomes: RunOutcome) -> None:
        self.outcomes = outcomes
        self.begun = 0

    def run(self, batch: RunBatch) -> Generator[RunOutcome, None, None]:
        """Yield one outcome for each run."""
        for outcome in self.outcomes[: len(batch.runs)]:
            self.begun += 1
            yield outcome

    def open_session(self, limits: Limits, **bounds: object) -> SlotSession:
        """Refuse: it only runs batches."""
        raise NotImplementedError

    def is_alive(self) -> bool:
        """It is."""
        return True

    def close(self) -> None:
        """Do nothing."""


def took(wall_time_s: float, waited_s: float = 0.0, stdout: str = "1") -> RunOutcome:
    outcome = make_outcome(stdout, b'{"e": "result", "value": 1}\n')
    usage = replace(outcome.usage, wall_time_s=wall_time_s)
    return replace(outcome, usage=usage, waited_s=waited_s)


def run(*outcomes: RunOutcome, total_time_s: float = 10.0, stop_early: bool = False) -> Graded:
    tests = StdinTests(
        cases=tuple(StdinCase(id=str(i), stdin="", expected="1") for i in range(len(outcomes)))
    )
    task = make_task(tests, total_time_s, stop_early=stop_early)
    return run_stdin(task, tests, TimedSlot(*outcomes), References())


def make_task(tests: Tests, total_time_s: float, *, stop_early: bool = False) -> Task:
    limits = Limits(total_time_s=total_time_s)
    suite = make_suite(tests)
    return Task(suite=suite, code="x", limits=limits, stop_early=stop_early, require=None)


@pytest.mark.parametrize(
    ("outcomes", "verdicts"),
    [
        pytest.param([took(3)] * 3, [P, P, P], id="within"),
        pytest.param([took(5)] * 2, [P, P], id="all of it, at the end"),
        pytest.param([took(5)] * 4, [P, P, T, S], id="all of it, with cases left"),
        pytest.param([took(50)] * 1, [P], id="more in the only case"),
        pytest.param([took(50, stdout="2")] * 3, [F, T, S], id="more, and wrong"),
        pytest.param([took(50, waited_s=49)] * 4, [P, P, P, P], id="most of it waiting for a CPU"),
        pytest.param([took(5, waited_s=90)] * 4, [P, P, P, P], id="waits of several processes"),
    ],
)
def test_case_for_which_no_time_is_left_hits_the_limit(
    outcomes: list[RunOutcome], verdicts: list[Verdict]
) -> None:
    assert [case.verdict for case in run(*outcomes).cases] == verdicts


def test_failure_that_decides_is_not_made_a_time_limit() -> None:
    graded = run(took(50, stdout="2"), took(1), stop_early=True)
    assert [case.verdict for case in graded.cases] == [F, S]


def test_no_run_begins_once_the_time_is_spent() -> None:
    tests = CallTests(
        entry_point="f", cases=tuple(CallCase(id=str(i), expected=1) for i in range(9))
    )
    slot = TimedSlot(*[took(4.0)] * 9)
    graded = run_calls(make_task(tests, 10.0), tests, slot, References())
    assert slot.begun == 3
    assert [case.verdict for case in graded.cases] == [P, P, P, T] + [S] * 5


@pytest.mark.parametrize(
    "tests",
    [
        StdinTests(cases=tuple(StdinCase(id=n, stdin=n, expected=n) for n in "123")),
        InteractiveTests(
            cases=tuple(StdinCase(id=n, stdin=n, expected=n) for n in "123"),
            interactor=Interactor(source="def interact(case, answer): return print(case) or True"),
        ),
    ],
    ids=["stdin", "interactive"],
)
def test_report_names_the_limit_and_the_case(tests: Tests) -> None:
    settings = Settings(slots=1, policy="fraction", limits=Limits(total_time_s=0.01))
    with Grader(settings, sandbox=FakeSandbox()) as grader:
        report = grader.grade(make_submission(SLOW_ECHO, suite=make_suite(tests, entry_point=None)))
    assert (report.verdict, report.limit_hit, report.passed) == (T, LimitKind.TOTAL_TIME, 1)
    assert report.feedback == (
        "1 of 3 cases passed. 2: "
        "time limit of 0.01 s for all cases together hit before this case began"
    )
    assert report.score == pytest.approx(1 / 3)


def test_suite_may_set_its_own() -> None:
    suite = make_suite(limits=replace(make_suite().limits, total_time_s=7.0))
    assert Calibration({}, Settings().calibration).in_force(suite, Limits()).limits == Limits(
        total_time_s=7.0
    )
