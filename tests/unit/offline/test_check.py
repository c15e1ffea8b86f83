"""The conclusions from the reports of a problem's reference, attacks and mutants."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from grader.model import (
    CaseResult,
    GradeReport,
    LimitOverrides,
    Limits,
    Submission,
    Usage,
)
from grader.model.verdict import Verdict
from grader.offline.attacks import Attack
from grader.offline.check import check_problems
from grader.offline.checked import Change, Effort, Mutation, ProblemCheck, ProblemHealth
from grader.suites import ProblemIndex
from tests.factories import make_report

REFERENCE = "def add(a, b):\n    return a + b\n"
ROW = {
    "task_id": "add",
    "code": REFERENCE,
    "test_list": ["assert add(1, 2) == 3", "assert True"],
}

PASSED, FAILED = Verdict.PASSED, Verdict.FAILED
LEAST = Effort(attacks=False, mutants=0)


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
    """Returns prepared reports: for the reference, in turn, and for the stubs."""

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
        (found,) = check_problems(problems, problems, grader=grader, limits=Limits(), effort=LEAST)
    return found


def test_problem_whose_reference_passes_is_ok() -> None:
    found = check([report(PASSED, PASSED)] * 2)
    assert (found.health, found.feedback) == (ProblemHealth.OK, "")
    assert found.cpu_time_s == 0.1


def test_tests_that_call_functions_in_another_language_are_not_attacked() -> None:
    row = {"id": "add", "language": "go", "fn_name": "add", "inputs": [[1, 2]], "outputs": [3]}
    with ProblemIndex.from_rows([{**row, "solution": REFERENCE}]) as problems:
        (found,) = check_problems(
            problems,
            problems,
            grader=Prepared([report(PASSED)] * 2, []),
            limits=Limits(),
            effort=Effort(attacks=True, mutants=0),
        )
    assert (found.health, found.runs) == (ProblemHealth.OK, 2)
    assert found.feedback.startswith("only the reference was tried")


@pytest.mark.parametrize(
    ("runs", "health", "feedback"),
    [
        pytest.param(
            [report(PASSED, FAILED, feedback="3 != 4")] * 2,
            ProblemHealth.BROKEN,
            "failed, 1 of 2 cases passed: 3 != 4",
            id="broken",
        ),
        pytest.param(
            [report(PASSED, PASSED), report(PASSED, FAILED)],
            ProblemHealth.FLAKY,
            "passed in one run, failed in another",
            id="flaky verdict",
        ),
        pytest.param(
            [report(PASSED, FAILED), report(FAILED, PASSED)],
            ProblemHealth.FLAKY,
            "in one run",
            id="flaky case",
        ),
        pytest.param(
            [report(PASSED, PASSED), report(PASSED, PASSED, cpu_time_s=5.1)],
            ProblemHealth.SLOW,
            "5.10 s of 10 s of CPU time",
            id="slow",
        ),
        pytest.param(
            [report(PASSED, PASSED, cpu_time_s=5.0)] * 2,
            ProblemHealth.OK,
            "",
            id="half of the limit",
        ),
        pytest.param(
            [report(PASSED, PASSED), report(Verdict.INTERNAL_ERROR, feedback="lost")],
            ProblemHealth.UNCHECKED,
            "lost",
            id="our error",
        ),
        pytest.param(
            [report(Verdict.INTERNAL_ERROR, feedback="SuiteError: no case")] * 2,
            ProblemHealth.BROKEN,
            "no case",
            id="error of the suite",
        ),
        pytest.param(
            [
                report(PASSED, PASSED),
                report(Verdict.INTERNAL_ERROR, feedback="SuiteError: does not pass"),
            ],
            ProblemHealth.FLAKY,
            "passed in one run",
            id="error of the suite in one run",
        ),
    ],
)
def test_two_runs_of_the_reference(
    runs: list[GradeReport], health: ProblemHealth, feedback: str
) -> None:
    found = check(runs)
    assert found.health is health
    assert feedback in found.feedback


@pytest.mark.parametrize(
    ("stubs", "vacuous"),
    [
        pytest.param([report(FAILED, PASSED), report(FAILED, PASSED)], ("1",), id="passes both"),
        pytest.param([report(FAILED, PASSED), report(FAILED, FAILED)], (), id="expects nothing"),
        pytest.param([report(FAILED, FAILED), report(FAILED, PASSED)], (), id="expects something"),
    ],
)
def test_case_that_passes_with_both_stubs_asserts_nothing(
    stubs: list[GradeReport], vacuous: tuple[str, ...]
) -> None:
    found = check([report(PASSED, PASSED)] * 2, stubs)
    assert found.vacuous_cases == vacuous
    assert found.health is (ProblemHealth.VACUOUS if vacuous else ProblemHealth.OK)


def test_limit_of_the_suite_decides_what_is_slow() -> None:
    runs = [report(PASSED, PASSED, cpu_time_s=6.0)] * 2
    assert check(runs).health is ProblemHealth.SLOW
    assert check(runs, suite={"limits": {"cpu_time_s": 30.0}}).health is ProblemHealth.OK


def test_longest_case_decides_where_cases_have_processes_of_their_own() -> None:
    cases = tuple(
        CaseResult(id=str(n), verdict=PASSED, usage=Usage(cpu_time_s=2.0)) for n in range(4)
    )
    run = replace(report(PASSED, cpu_time_s=8.0), cases=cases)
    assert check([run, run]).health is ProblemHealth.OK


def test_problem_whose_tests_cannot_be_read_is_broken() -> None:
    found = check([], [], test_list=["assert (", "assert True"])
    assert found.health is ProblemHealth.BROKEN
    assert found.feedback


class Judging:
    """Gives both cases of a submission the verdict that a function returns for its source."""

    def __init__(self, passes: Callable[[str], bool]) -> None:
        self._passes = passes
        self.submissions: list[Submission] = []

    def as_completed(
        self, submissions: Iterable[Submission]
    ) -> Iterator[tuple[Submission, GradeReport]]:
        for submission in submissions:
            self.submissions.append(submission)
            verdict = PASSED if self._passes(submission.completion) else FAILED
            yield submission, report(verdict, verdict)


def judged(
    passes: Callable[[str], bool], *, attacks: bool = True, mutants: int = 10, **row: Any
) -> tuple[ProblemCheck, list[Submission]]:
    grader = Judging(passes)
    effort = Effort(attacks=attacks, mutants=mutants)
    with ProblemIndex.from_rows([{**ROW, **row}]) as problems:
        (found,) = check_problems(problems, problems, grader=grader, limits=Limits(), effort=effort)
    assert found.runs == len(grader.submissions) <= effort.most_runs
    return found, grader.submissions


def test_strong_tests_pass_the_reference_alone() -> None:
    found, submissions = judged(lambda source: source == REFERENCE)
    assert (found.health, found.paid, found.strength) == (ProblemHealth.OK, (), 1.0)
    assert found.mutants == Mutation(tried=2, noticed=2)
    assert len(submissions) == 2 + len(Attack) + 2


def test_cases_with_an_expectation_that_can_be_changed_are_counted() -> None:
    found, _ = judged(lambda source: source == REFERENCE)
    assert (found.confirmable, found.cases) == (1, 2)  # 1 + 2 == 3 can be, True cannot


def test_submission_that_solves_nothing_and_passes_makes_tests_worthless() -> None:
    found, _ = judged(lambda source: source == REFERENCE or "return []" in source)
    assert (found.health, found.strength) == (ProblemHealth.EXPLOITABLE, 0.0)
    assert [(each.attack, each.code) for each in found.paid] == [
        (Attack.EMPTY_LIST, "def add(a, b):\n    return []\n")
    ]
    assert found.feedback == "submissions that solve nothing pass: empty-list"


def test_changes_that_pass_are_named_and_make_tests_weak() -> None:
    found, _ = judged(lambda source: source == REFERENCE or "a - b" in source)
    assert (found.health, found.strength) == (ProblemHealth.OK, 0.5)
    change = Change(line=2, before="a + b", after="a - b")
    assert found.mutants == Mutation(tried=2, noticed=1, missed=(change,))


def test_how_much_is_tried_is_as_asked_for() -> None:
    found, submissions = judged(lambda source: source == REFERENCE, attacks=False, mutants=1)
    assert len(submissions) == 2 + 2 + 1
    assert found.strength == 1.0
    found, submissions = judged(lambda source: source == REFERENCE, attacks=False, mutants=0)
    assert len(submissions) == 2 + 2
    assert found.strength is None


def test_attacks_and_mutants_have_little_more_time_than_the_reference_took() -> None:
    limits = {"cpu_time_s": 8.0, "memory_bytes": 2**30}
    _, submissions = judged(lambda source: source == REFERENCE, suite={"limits": limits})
    times = [each.suite.limits.cpu_time_s for each in submissions]
    assert times[:2] == [8.0, 8.0]
    assert set(times[2:]) == {1.0}
    assert {each.suite.limits.memory_bytes for each in submissions} == {2**30}


def test_limits_that_were_given_win_over_those_of_the_suite() -> None:
    grader = Judging(lambda source: source == REFERENCE)
    row = {**ROW, "suite": {"limits": {"cpu_time_s": 8.0, "wall_time_s": 9.0}}}
    with ProblemIndex.from_rows([row]) as problems:
        list(
            check_problems(
                problems,
                problems,
                grader=grader,
                limits=Limits(),
                effort=LEAST,
                winning=LimitOverrides(cpu_time_s=3.0),
            )
        )
    limits = grader.submissions[0].suite.limits
    assert (limits.cpu_time_s, limits.wall_time_s) == (3.0, 9.0)


def test_only_what_shows_vacuous_cases_runs_every_case() -> None:
    _, submissions = judged(lambda source: source == REFERENCE)
    tried = submissions[2:]
    assert [each.rules.stop_early for each in tried] == [None] * 2 + [True] * (len(tried) - 2)


def test_nothing_is_tried_on_tests_that_the_reference_fails() -> None:
    found, submissions = judged(lambda _: False)
    assert (found.health, found.strength, len(submissions)) == (ProblemHealth.BROKEN, None, 2)


WITHOUT_REFERENCE = {
    "task_id": "x",
    "tests": "from solution import add\ndef test_x():\n    assert add(1, 2) == 3\n",
}


def test_problem_without_a_reference_is_named() -> None:
    with ProblemIndex.from_rows([WITHOUT_REFERENCE]) as problems:
        (found,) = check_problems(
            problems, problems, grader=Prepared([], []), limits=Limits(), effort=LEAST
        )
    assert (found.health, found.runs) == (ProblemHealth.NO_REFERENCE, 0)


@pytest.mark.parametrize(
    ("paid", "health", "strength"),
    [
        ("return True", ProblemHealth.EXPLOITABLE, 0.0),
        ("nothing", ProblemHealth.NO_REFERENCE, None),
    ],
)
def test_problem_without_a_reference_is_attacked_by_the_names_that_it_uses(
    paid: str, health: ProblemHealth, strength: float | None
) -> None:
    grader = Judging(lambda source: paid in source)
    with ProblemIndex.from_rows([WITHOUT_REFERENCE]) as problems:
        (found,) = check_problems(
            problems,
            problems,
            grader=grader,
            limits=Limits(),
            effort=Effort(attacks=True, mutants=10),
        )
    assert (found.health, found.strength, found.mutants) == (health, strength, None)
    assert any("def add(" in each.completion for each in grader.submissions)


@pytest.mark.parametrize("count", [5, 70])
def test_every_problem_is_reported_once(count: int) -> None:
    rows = [{**ROW, "task_id": str(n)} for n in range(count)]
    rows[2] = {**rows[2], "test_list": ["assert ("]}
    grader = Judging(lambda source: source == REFERENCE)
    with ProblemIndex.from_rows(rows) as problems:
        found = list(
            check_problems(problems, problems, grader=grader, limits=Limits(), effort=LEAST)
        )
    healths = {each.id: each.health for each in found}
    assert len(found) == count
    assert healths == {
        str(n): ProblemHealth.BROKEN if n == 2 else ProblemHealth.OK for n in range(count)
    }
