"""Checking problems before they cost a training run.

A problem's own reference solution is graded twice, and two stubs of it are graded once: see
`grader.offline.stubs`. What comes out says whether the tests are broken, flaky, slow, or in
part assert nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum

from grader.calibration import Measured, key_of
from grader.errors import GraderError, SuiteError
from grader.model import (
    GradeReport,
    InteractiveTests,
    Limits,
    StdinTests,
    Submission,
    TestSuite,
    Usage,
)
from grader.offline.run import Grades
from grader.offline.stubs import Stub, stub_of, stub_program
from grader.rules import ExtractionRule
from grader.suites import ProblemIndex
from grader.verdict import Verdict

SLOW_SHARE = 0.5
"""Of the CPU time limit: a reference that takes more leaves a slower machine no room."""


_SUITE_ERROR = f"{SuiteError.__name__}: "
"""How the feedback of a report begins whose tests are at fault."""


class Health(StrEnum):
    """What is to be said of a problem; the first that applies."""

    UNCHECKED = "unchecked"
    """Our own failure: an internal error."""
    BROKEN = "broken"
    """The tests cannot be read, or the reference does not pass them."""
    FLAKY = "flaky"
    """Two runs of the reference came out differently."""
    SLOW = "slow"
    """The reference takes more than `SLOW_SHARE` of the CPU time limit."""
    VACUOUS = "vacuous"
    """Some of the tests assert nothing."""
    NO_REFERENCE = "no_reference"
    """There is nothing to check the tests with."""
    OK = "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemCheck:
    """What was found out about one problem."""

    problem_id: str
    health: Health
    feedback: str
    """What was found, for a person; empty where all is well."""
    format: str | None = None
    """None: the tests could not be read."""
    vacuous: tuple[str, ...] = ()
    """The ids of cases that pass with both stubs."""
    runs: tuple[GradeReport, ...] = ()
    """Of the reference."""

    tests: str = ""
    """The key of its tests; see `grader.calibration.key_of`."""

    @property
    def measured(self) -> Measured | None:
        """What the reference took at most; None: it did not pass, and so took what it took."""
        if not self.runs or any(run.verdict is not Verdict.PASSED for run in self.runs):
            return None
        return Measured(
            cpu_time_s=max(map(_cpu_time_s, self.runs)),
            wall_time_s=max(map(_wall_time_s, self.runs)),
        )

    @property
    def cpu_time_s(self) -> float | None:
        """What the reference's longest process took; None: it was not run."""
        return max(map(_cpu_time_s, self.runs), default=None)


def check_problems(
    problems: ProblemIndex, ids: Iterable[str], *, grader: Grades, limits: Limits
) -> Iterator[ProblemCheck]:
    """Check problems and yield what was found, as each is done.

    Args:
        problems: Where the problems are.
        ids: Which of them.
        grader: Must run every case, whatever came out of those before.
        limits: In force where a suite has none of its own.
    """
    unreadable: list[ProblemCheck] = []
    in_flight: dict[int, tuple[_Trial, str]] = {}

    def submissions() -> Iterator[Submission]:
        for problem_id in ids:
            try:
                suite = problems.get(problem_id)
            except GraderError as error:
                unreadable.append(_broken(problem_id, str(error)))
                continue
            assert suite is not None, problem_id  # noqa: S101 - the ids are the index's own
            if suite.reference is None:
                unreadable.append(_without_reference(problem_id, suite))
                continue
            trial = _Trial(problem_id=problem_id, suite=suite)
            for kind, source in trial.programs():
                trial.expected += 1
                submission = trial.submission(source)
                in_flight[id(submission)] = (trial, kind)
                # Keep it alive: the key is its identity.
                trial.submissions.append(submission)
            yield from trial.submissions

    for submission, report in grader.as_completed(submissions()):
        trial, kind = in_flight.pop(id(submission))
        trial.reports.setdefault(kind, []).append(report)
        trial.expected -= 1
        while unreadable:
            yield unreadable.pop()
        if not trial.expected:
            yield trial.verdict(limits)
    yield from unreadable


_REFERENCE = "reference"


@dataclass(slots=True, kw_only=True)
class _Trial:
    """A problem whose programs are being graded."""

    problem_id: str
    suite: TestSuite
    expected: int = 0
    submissions: list[Submission] = field(default_factory=list)
    reports: dict[str, list[GradeReport]] = field(default_factory=dict)

    def programs(self) -> Iterator[tuple[str, str]]:
        """Yield what is graded: what it is, and its source."""
        reference = self.suite.reference or ""
        yield _REFERENCE, reference
        yield _REFERENCE, reference
        for stub in Stub:
            source = (
                stub_program(stub)
                if isinstance(self.suite.tests, StdinTests | InteractiveTests)
                else stub_of(reference, stub)
            )
            if source is not None:
                yield stub.value, source

    def submission(self, source: str) -> Submission:
        """Return a submission of complete code, taken as it stands."""
        suite = replace(self.suite, extraction=ExtractionRule.VERBATIM, continues_prompt=False)
        return Submission(id=self.problem_id, completion=source, suite=suite)

    def verdict(self, limits: Limits) -> ProblemCheck:
        """Return what the reports amount to."""
        runs = tuple(self.reports[_REFERENCE])
        vacuous = self._vacuous(runs)
        health, feedback = self._judged(runs, vacuous, limits.override(self.suite.limits))
        return ProblemCheck(
            problem_id=self.problem_id,
            health=health,
            feedback=feedback,
            format=self.suite.format,
            vacuous=vacuous,
            runs=runs,
            tests=key_of(self.suite),
        )

    def _judged(
        self, runs: tuple[GradeReport, ...], vacuous: tuple[str, ...], limits: Limits
    ) -> tuple[Health, str]:
        if (ours := next((run for run in runs if _is_ours(run)), None)) is not None:
            return Health.UNCHECKED, ours.feedback
        if difference := _difference(*runs):
            return Health.FLAKY, difference
        if not runs[0].graded:
            return Health.BROKEN, runs[0].feedback.removeprefix(_SUITE_ERROR)
        if runs[0].verdict is not Verdict.PASSED:
            passed = f"{runs[0].passed} of {runs[0].total} cases passed"
            return Health.BROKEN, f"{runs[0].verdict}, {passed}: {runs[0].feedback}"
        if slow := _slowness(runs, limits):
            return Health.SLOW, slow
        if vacuous:
            return Health.VACUOUS, f"these cases pass whatever is answered: {', '.join(vacuous)}"
        return Health.OK, ""

    def _vacuous(self, runs: tuple[GradeReport, ...]) -> tuple[str, ...]:
        stubs = [report for stub in Stub for report in self.reports.get(stub.value, ())]
        if len(stubs) < len(Stub):
            return ()
        passed = [_passed(report) for report in (*runs, *stubs)]
        return tuple(case.id for case in runs[0].cases if all(case.id in ids for ids in passed))


def _is_ours(report: GradeReport) -> bool:
    """Return whether a report failed for a reason that does not lie in the suite."""
    return not report.graded and not report.feedback.startswith(_SUITE_ERROR)


def _passed(report: GradeReport) -> set[str]:
    return {case.id for case in report.cases if case.verdict is Verdict.PASSED}


def _difference(first: GradeReport, second: GradeReport) -> str:
    """Say where two runs of one program differ; empty where they do not."""
    if first.verdict is not second.verdict:
        return f"{first.verdict} in one run, {second.verdict} in another"
    before = {case.id: case.verdict for case in first.cases}
    after = {case.id: case.verdict for case in second.cases}
    for case_id in before.keys() | after.keys():
        one, other = before.get(case_id), after.get(case_id)
        if one is not other:
            return f"case {case_id}: {one or 'missing'} in one run, {other or 'missing'} in another"
    return ""


def _slowness(runs: tuple[GradeReport, ...], limits: Limits) -> str:
    """Say what comes too close to the CPU time limit; empty where nothing does."""
    longest_s = max(_cpu_time_s(run) for run in runs)
    if longest_s <= SLOW_SHARE * limits.cpu_time_s:
        return ""
    return f"the reference takes {longest_s:.2f} s of {limits.cpu_time_s:g} s of CPU time"


def _cpu_time_s(run: GradeReport) -> float:
    """Return the CPU time of the longest process: of a case, or of all where they share one."""
    return max(usage.cpu_time_s or 0.0 for usage in _usages(run))


def _wall_time_s(run: GradeReport) -> float:
    return max(usage.wall_time_s or 0.0 for usage in _usages(run))


def _usages(run: GradeReport) -> list[Usage]:
    cases = [case.usage for case in run.cases if case.usage is not None]
    return cases or [run.usage]


def _broken(problem_id: str, feedback: str) -> ProblemCheck:
    return ProblemCheck(problem_id=problem_id, health=Health.BROKEN, feedback=feedback)


def _without_reference(problem_id: str, suite: TestSuite) -> ProblemCheck:
    return ProblemCheck(
        problem_id=problem_id,
        health=Health.NO_REFERENCE,
        feedback="the problem has no reference solution",
        format=suite.format,
    )
