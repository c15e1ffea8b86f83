"""Verdicts of conversations with a suite's interactor, in the fake sandbox."""

import pytest

from grader.config.settings import Settings
from grader.grading.grader import Grader
from grader.model import CheckerKind, GradeReport, InteractiveTests, Interactor, StdinCase
from grader.model.verdict import LimitKind, Verdict
from grader.suites import FORMATS, parse_label
from tests.factories import make_submission, make_suite
from tests.fake.backend import FakeSandbox


def grade(
    code: str, interactor: str, kind: CheckerKind = CheckerKind.FUNCTION, **settings: bool
) -> GradeReport:
    """Return the report on a program that talks about the numbers 3 and 4."""
    tests = InteractiveTests(
        cases=tuple(StdinCase(id=n, stdin=n, expected=n * 2) for n in ("3", "4")),
        interactor=Interactor(source=interactor, kind=kind),
    )
    suite = make_suite(tests, entry_point=None)
    chosen = Settings(slots=1, policy="fraction", **settings)  # type: ignore[arg-type]
    with Grader(chosen, sandbox=FakeSandbox()) as grader:
        return grader.grade(make_submission(f"```python\n{code}\n```", suite=suite))


DOUBLES = "def interact(case, answer):\n    print(case)\n    return input() == answer\n"


def test_function_gets_case_and_answer_and_says_whether_it_is_right() -> None:
    report = grade("print(input() * 2)", DOUBLES)
    assert (report.verdict, report.score) == (Verdict.PASSED, 1.0)


def test_refusal_says_what_was_said_last() -> None:
    report = grade("print(input() * 3)", DOUBLES)
    assert (report.verdict, report.score) == (Verdict.FAILED, 0.0)
    assert "refused by the suite's interactor; last said: " in report.feedback


def test_share_is_earned_by_a_program_that_ends_in_order() -> None:
    shares = "def interact(case, answer):\n    print(case)\n    input()\n    return 1 / int(case)\n"
    report = grade("print(input())", shares)
    assert report.verdict is Verdict.FAILED
    assert [case.share for case in report.cases] == [pytest.approx(1 / 3), 0.25]
    assert report.score == pytest.approx((1 / 3 + 1 / 4) / 2)


@pytest.mark.parametrize(
    ("kind", "accepts"),
    [
        (CheckerKind.FUNCTION, "def interact(case, answer):\n    return True\n"),
        (CheckerKind.TESTLIB, ""),
        (CheckerKind.ICPC, "raise SystemExit(42)"),
    ],
)
def test_crash_after_being_accepted_is_still_a_crash(kind: CheckerKind, accepts: str) -> None:
    report = grade("import sys\nsys.stdin.read()\n1 / 0", accepts, kind)
    assert report.verdict is Verdict.RUNTIME_ERROR


def test_testlib_interactor_finds_its_files_by_its_arguments() -> None:
    source = """
import sys
with open(sys.argv[1]) as case, open(sys.argv[3]) as answer:
    print(case.read(), answer.read(), flush=True)
sys.exit(0 if input() == "done" else 1)
"""
    code = "case, answer = input().split()\nassert answer == case * 2\nprint('done')"
    assert grade(code, source, CheckerKind.TESTLIB).verdict is Verdict.PASSED


def test_deadlock_is_a_time_limit_that_says_why() -> None:
    report = grade("import sys\nprint(1)\nsys.stdin.readline()", "def interact(*_): input()")
    assert (report.verdict, report.limit_hit) == (Verdict.TIME_LIMIT, LimitKind.WALL_TIME)
    assert "deadlock: both sides wait for input" in report.feedback


@pytest.mark.parametrize(
    "interactor",
    [
        pytest.param("def interact(*_):\n    raise ValueError('odd')", id="raises"),
        pytest.param("def interact(*_):\n    return 'yes'", id="answers nonsense"),
        pytest.param("def interact(", id="does not parse"),
        pytest.param("pass", id="defines nothing"),
        pytest.param("def interact(*_):\n    raise SystemExit(3)", id="says that it failed"),
    ],
)
def test_interactor_that_fails_is_the_suites_fault(interactor: str) -> None:
    report = grade("print(input())", interactor)
    assert (report.verdict, report.graded) == (Verdict.INTERNAL_ERROR, False)
    assert "the suite's interactor" in report.feedback


def test_code_that_does_not_compile_meets_no_interactor_twice() -> None:
    report = grade("print(", DOUBLES)
    assert [case.verdict for case in report.cases] == [Verdict.COMPILE_ERROR, Verdict.SKIPPED]


def test_early_stop_leaves_further_conversations_out() -> None:
    report = grade("print(input())", DOUBLES, stop_early=True)
    assert [case.verdict for case in report.cases] == [Verdict.FAILED, Verdict.SKIPPED]


def test_reference_of_the_formats_example_passes() -> None:
    (known,) = (known for known in FORMATS if known.name == "interactive")
    suite = parse_label(known.example)
    assert suite.reference is not None
    with Grader(Settings(slots=1), sandbox=FakeSandbox()) as grader:
        right = grader.grade(make_submission(suite.reference, suite=suite))
        wrong = grader.grade(make_submission("print(1)\ninput()", suite=suite))
    assert (right.verdict, wrong.verdict) == (Verdict.PASSED, Verdict.FAILED)
