"""What is concluded from the reports of a problem's reference and stubs."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from grader.model import (
    CaseResult,
    GradeReport,
    Limits,
    Submission,
    Usage,
)
from grader.offline.check import Health, ProblemCheck, check_problems
from grader.suites import ProblemIndex
from grader.verdict import Verdict
from tests.factories import make_report

REFERENCE = "def add(a, b):\n    return a + b\n"
ROW = {
    "task_id": "add",
    "code": REFERENCE,
    "test_list": ["assert add(1, 2) == 3", "assert True"],
}

PASSED, FAILED = Verdict.PASSED, Verdict.FAILED


def report(*verdicts: Verdict, cpu_time_s: float = 0.1, **overrides: Any) -> GradeReport:
    cases = tuple(CaseResult(id=str(n), verdict=verdict) for n, verdict in enumerate(verdicts))
    worst = next((verdict for verdict in verdicts if verdict is not PASSED), PASSED)
    return replace(
        make_report(worst),
        cases=cases,
        passed=sum(verdict is PASSED for verdict in verdicts),
        total=len(cases),
        usage=Usage(cpu_time_s=cpu_time_s),
        **overrides,
    )


class Prepared:
    """Gives reports that were prepared: for the reference, in turn, and for the stubs."""

    def __init__(self, reference: list[GradeReport], stubs: list[GradeReport]) -> None:
        self._reference = reference
        self._stubs = stubs
        self.sources: list[str] = []

    def as_completed(
        self, submissions: Iterable[Submission]
    ) -> Iterator[tuple[Submission, GradeReport]]:
        for submission in submissions:
            self.sources.append(submission.completion)
            reports = self._reference if submission.completion == REFERENCE else self._stubs
            yield submission, reports.pop(0)


def check(
    reference: list[GradeReport], stubs: list[GradeReport] | None = None, **row: Any
) -> ProblemCheck:
    stubs = [report(FAILED, FAILED)] * 2 if stubs is None else stubs
    with ProblemIndex.from_rows([{**ROW, **row}]) as problems:
        grader = Prepared(list(reference), list(stubs))
        (found,) = check_problems(problems, problems, grader=grader, limits=Limits())
    return found


def test_problem_whose_reference_passes_is_ok() -> None:
    found = check([report(PASSED, PASSED)] * 2)
    assert (found.health, found.feedback) == (Health.OK, "")
    assert found.cpu_time_s == 0.1


@pytest.mark.parametrize(
    ("runs", "health", "feedback"),
    [
        pytest.param(
            [report(PASSED, FAILED, feedback="3 != 4")] * 2,
            Health.BROKEN,
            "failed, 1 of 2 cases passed: 3 != 4",
            id="broken",
        ),
        pytest.param(
            [report(PASSED, PASSED), report(PASSED, FAILED)],
            Health.FLAKY,
            "passed in one run, failed in another",
            id="flaky verdict",
        ),
        pytest.param(
            [report(PASSED, FAILED), report(FAILED, PASSED)],
            Health.FLAKY,
            "in one run",
            id="flaky case",
        ),
        pytest.param(
            [report(PASSED, PASSED), report(PASSED, PASSED, cpu_time_s=5.1)],
            Health.SLOW,
            "5.10 s of 10 s of CPU time",
            id="slow",
        ),
        pytest.param(
            [report(PASSED, PASSED, cpu_time_s=5.0)] * 2, Health.OK, "", id="half of the limit"
        ),
        pytest.param(
            [report(PASSED, PASSED), report(Verdict.INTERNAL_ERROR, feedback="lost")],
            Health.UNCHECKED,
            "lost",
            id="our error",
        ),
        pytest.param(
            [report(Verdict.INTERNAL_ERROR, feedback="SuiteError: no case")] * 2,
            Health.BROKEN,
            "no case",
            id="error of the suite",
        ),
        pytest.param(
            [
                report(PASSED, PASSED),
                report(Verdict.INTERNAL_ERROR, feedback="SuiteError: does not pass"),
            ],
            Health.FLAKY,
            "passed in one run",
            id="error of the suite in one run",
        ),
    ],
)
def test_two_runs_of_the_reference(runs: list[GradeReport], health: Health, feedback: str) -> None:
    found = check(runs)
    assert found.health is health
    assert feedback in found.feedback


@pytest.mark.parametrize(
    ("stubs", "vacuous"),
    [
        pytest.param([report(FAILED, PASSED), report(FAILED, PASSED)], ("1",), id="passes both"),
        pytest.param([report(FAILED, PASSED), report(FAILED, FAILED)], (), id="expects nothing"),
        pytest.param([report(FAILED, FAILED), report(FAILED, PASSED)], (), id="expects something"),
        pytest.param([report(PASSED, PASSED), report(PASSED, PASSED)], ("0", "1"), id="all"),
    ],
)
def test_case_that_passes_with_both_stubs_asserts_nothing(
    stubs: list[GradeReport], vacuous: tuple[str, ...]
) -> None:
    found = check([report(PASSED, PASSED)] * 2, stubs)
    assert found.vacuous == vacuous
    assert found.health is (Health.VACUOUS if vacuous else Health.OK)


def test_limit_of_the_suite_decides_what_is_slow() -> None:
    runs = [report(PASSED, PASSED, cpu_time_s=6.0)] * 2
    assert check(runs).health is Health.SLOW
    assert check(runs, suite={"limits": {"cpu_time_s": 30.0}}).health is Health.OK


def test_longest_case_decides_where_cases_have_processes_of_their_own() -> None:
    cases = tuple(
        CaseResult(id=str(n), verdict=PASSED, usage=Usage(cpu_time_s=2.0)) for n in range(4)
    )
    run = replace(report(PASSED, cpu_time_s=8.0), cases=cases)
    assert check([run, run]).health is Health.OK


def test_problem_whose_tests_cannot_be_read_is_broken() -> None:
    found = check([], [], test_list=["assert (", "assert True"])
    assert found.health is Health.BROKEN
    assert found.feedback


def test_problem_without_a_reference_is_named() -> None:
    row = {"task_id": "x", "tests": "def test_x():\n    import solution\n"}
    with ProblemIndex.from_rows([row]) as problems:
        (found,) = check_problems(problems, problems, grader=Prepared([], []), limits=Limits())
    assert found.health is Health.NO_REFERENCE


def test_every_problem_is_reported_once() -> None:
    rows = [{**ROW, "task_id": str(n)} for n in range(5)]
    rows[2] = {**rows[2], "test_list": ["assert ("]}
    grader = Prepared([report(PASSED, PASSED)] * 8, [report(FAILED, FAILED)] * 8)
    with ProblemIndex.from_rows(rows) as problems:
        found = list(check_problems(problems, problems, grader=grader, limits=Limits()))
    assert sorted((each.problem_id, each.health) for each in found) == [
        ("0", Health.OK),
        ("1", Health.OK),
        ("2", Health.BROKEN),
        ("3", Health.OK),
        ("4", Health.OK),
    ]
