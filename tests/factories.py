"""Builders of records for tests: every field has a plain value, a test names what it is about."""

from typing import Any

from grader.model import GradeReport, ScriptCase, ScriptTests, Submission, Tests, TestSuite
from grader.model.verdict import Integrity, Verdict


def make_tests(*statements: str) -> ScriptTests:
    """Return one assert case per statement; without statements, one that `add` must pass."""
    sources = statements or ("assert add(1, 2) == 3",)
    return ScriptTests(
        cases=tuple(ScriptCase(id=str(n), source=source) for n, source in enumerate(sources))
    )


def make_suite(tests: Tests | None = None, **overrides: Any) -> TestSuite:
    """Return a suite about a function `add`."""
    values: dict[str, Any] = {"format": "asserts", "problem_id": "add", "entry_point": "add"}
    return TestSuite(tests=tests or make_tests(), **{**values, **overrides})


def make_submission(
    completion: str = "def add(a, b):\n    return a + b\n",
    *,
    suite: TestSuite | None = None,
    **overrides: Any,
) -> Submission:
    """Return a submission that passes its suite."""
    values: dict[str, Any] = {"id": "add/0"}
    return Submission(completion=completion, suite=suite or make_suite(), **{**values, **overrides})


def make_report(verdict: Verdict = Verdict.PASSED, **overrides: Any) -> GradeReport:
    """Return a report on one case, with the score and reward that `binary` gives its verdict."""
    passed = verdict is Verdict.PASSED
    values: dict[str, Any] = {
        "score": 1.0 if passed else 0.0,
        "reward": 0.0 if verdict is Verdict.INTERNAL_ERROR else (1.0 if passed else -1.0),
        "graded": verdict is not Verdict.INTERNAL_ERROR,
        "passed": int(passed),
        "total": 1,
        "integrity": Integrity.SHARED,
        "code": "def add(a, b):\n    return a + b\n",
        "sandbox": "fake",
        "policy": "binary",
    }
    return GradeReport(verdict=verdict, **{**values, **overrides})
