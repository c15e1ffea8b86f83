"""Checking problems before they are used for training.

The reference of each problem is graded twice. Then attacks, which solve nothing
(`grader.offline.attacks`), and mutants of the reference (`grader.offline.mutants`) are graded once
each. The results show whether the tests are broken, flaky or slow, which attacks they pass, and
which share of the mutants they notice.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from grader.config.settings import CalibrationSettings
from grader.languages import PYTHON
from grader.model import (
    GradeReport,
    LimitOverrides,
    Limits,
    PytestTests,
    ScriptTests,
    Submission,
    TestSuite,
    Usage,
)
from grader.model.errors import GraderError, SuiteError
from grader.model.overrides import AS_SET, ExtractionRule, GradingRules
from grader.model.verdict import Verdict
from grader.offline.attacks import PLAIN, Attack, attacks_on
from grader.offline.checked import Change, Effort, Mutation, Paid, ProblemCheck, ProblemHealth
from grader.offline.mutants import Mutant, mutants_of
from grader.offline.run import Grades
from grader.scoring.calibration import Measured, key_of
from grader.suites import ProblemIndex
from grader.suites.deciding import with_language
from grader.twins import confirmable

SLOW_SHARE = 0.5
"""A reference that takes a larger share of the CPU time limit may fail on a slower machine."""

_WAVE = 32
"""Problems that are checked at once. Their attacks wait until all references are measured."""

_PATIENCE = CalibrationSettings(factor=10.0, floor_s=1.0)
"""How much longer than the reference attacks and mutants may run. Many mutants never end."""

_NO_LIMITS = LimitOverrides()

_SUITE_ERROR = f"{SuiteError.__name__}: "
"""The feedback of a report begins with this if its suite is broken."""


def check_problems(
    problems: ProblemIndex,
    ids: Iterable[str],
    *,
    grader: Grades,
    limits: Limits,
    effort: Effort,
    winning: LimitOverrides = _NO_LIMITS,
) -> Iterator[ProblemCheck]:
    """Check problems, and yield the result of each when it is done.

    Args:
        problems: The file of problems.
        ids: The problems to check.
        grader: Must run every case, even after a case that did not pass.
        limits: Used if a suite has none of its own.
        effort: Which attacks and how many mutants are tried.
        winning: Limits that override those of suites.
    """
    left = iter(ids)
    while wave := list(islice(left, _WAVE)):
        trials: list[_Trial] = []
        for problem_id in wave:
            try:
                suite = problems.get(problem_id)
            except GraderError as error:
                yield ProblemCheck(id=problem_id, health=ProblemHealth.BROKEN, feedback=str(error))
                continue
            assert suite is not None, problem_id  # noqa: S101 - the ids are the index's own
            suite = replace(suite, limits=suite.limits.override(winning))
            trials.append(_Trial(id=problem_id, suite=suite, limits=limits, effort=effort))
        for trial in _graded(trials, grader, _Trial.references):
            if not trial.goes_on():
                yield trial.found()
        going_on = [trial for trial in trials if trial.goes_on()]
        for trial in _graded(going_on, grader, _Trial.trials):
            yield trial.found()


_Tried = Attack | Mutant | None
"""What was submitted; None: the reference."""


@dataclass(slots=True, kw_only=True)
class _Trial:
    """A problem that is being checked."""

    id: str
    suite: TestSuite
    limits: Limits
    effort: Effort
    runs: list[GradeReport] = field(default_factory=list)
    attacks: dict[Attack, tuple[str, GradeReport]] = field(default_factory=dict)
    """By attack: its source and its report."""
    mutants: list[tuple[Mutant, GradeReport]] = field(default_factory=list)

    # ------------------------------------------------------------ submissions

    def references(self) -> list[tuple[_Tried, Submission]]:
        """Return the submissions to grade first: the reference, twice."""
        if self.suite.reference is None:
            return []
        reference, limits = self.suite.reference, self.suite.limits
        return [(None, self._submission(reference, limits)) for _ in range(2)]

    def goes_on(self) -> bool:
        """Return whether attacks and mutants are worth grading."""
        if self.suite.reference is None:
            return self.effort.attacks
        return not self._fault()

    def trials(self) -> list[tuple[_Tried, Submission]]:
        """Return the attacks and mutants to grade."""
        only = tuple(Attack) if self.effort.attacks else PLAIN
        limits = self._tight_limits()
        # The first case that does not pass decides, except for the attacks that check every case.
        rules = GradingRules(stop_early=True)
        attacks: list[tuple[_Tried, Submission]] = [
            (attack, self._attack(source, limits, AS_SET if attack in PLAIN else rules))
            for attack, source in attacks_on(self.suite, only=only).items()
        ]
        mutants = mutants_of(self.suite.reference or "", self.effort.mutants)
        return attacks + [(each, self._submission(each.source, limits, rules)) for each in mutants]

    def _attack(self, source: str, limits: LimitOverrides, rules: GradingRules) -> Submission:
        """Return an attack, which is in Python: what programs print is in no language."""
        submission = self._submission(source, limits, rules)
        return replace(submission, suite=with_language(submission.suite, PYTHON))

    def _submission(
        self, source: str, limits: LimitOverrides, rules: GradingRules = AS_SET
    ) -> Submission:
        """Return a submission whose completion is the code itself."""
        suite = replace(
            self.suite,
            extraction=ExtractionRule.VERBATIM,
            continues_prompt=False,
            limits=limits,
        )
        return Submission(id=self.id, completion=source, suite=suite, rules=rules)

    def _tight_limits(self) -> LimitOverrides:
        """Return the suite's limits, with times of at most a multiple of the reference's."""
        if not self.runs:
            return self.suite.limits
        usual = self.limits.override(self.suite.limits)
        measured = Measured(cpu_time_s=_cpu_time_s(self.runs), wall_time_s=_wall_time_s(self.runs))
        enough = measured.limits(_PATIENCE, usual)
        return replace(
            self.suite.limits,
            cpu_time_s=min(usual.cpu_time_s, enough.cpu_time_s),
            wall_time_s=min(usual.wall_time_s, enough.wall_time_s),
        )

    # ------------------------------------------------------------ results

    def note(self, tried: _Tried, submission: Submission, report: GradeReport) -> None:
        """Add a report."""
        if tried is None:
            self.runs.append(report)
        elif isinstance(tried, Mutant):
            self.mutants.append((tried, report))
        else:
            self.attacks[tried] = (submission.completion, report)

    def found(self) -> ProblemCheck:
        """Return the result of the check."""
        vacuous = self._vacuous_cases()
        paid = tuple(
            Paid(attack=attack, code=self.attacks[attack][0])
            for attack in Attack
            if attack in self.attacks and self.attacks[attack][1].verdict is Verdict.PASSED
        )
        health, feedback = self._judged(vacuous, paid)
        return ProblemCheck(
            id=self.id,
            health=health,
            feedback=feedback,
            format=self.suite.format,
            verdicts=tuple(run.verdict for run in self.runs),
            cpu_time_s=_cpu_time_s(self.runs) if self.runs else None,
            wall_time_s=_wall_time_s(self.runs) if self.runs else None,
            cases=len(self._case_ids()),
            confirmable=self._confirmable(),
            vacuous_cases=vacuous,
            paid=paid,
            mutants=self._mutation(),
            runs=len(self.runs) + len(self.attacks) + len(self.mutants),
            tests=key_of(self.suite),
        )

    def _judged(
        self, vacuous: tuple[str, ...], paid: tuple[Paid, ...]
    ) -> tuple[ProblemHealth, str]:
        if fault := self._fault():
            return fault
        if paid:
            names = ", ".join(each.attack for each in paid)
            return ProblemHealth.EXPLOITABLE, f"submissions that solve nothing pass: {names}"
        if self.suite.reference is None:
            return ProblemHealth.NO_REFERENCE, "the problem has no reference solution"
        if slow := _slowness(self.runs, self.limits.override(self.suite.limits)):
            return ProblemHealth.SLOW, slow
        if vacuous:
            return (
                ProblemHealth.VACUOUS,
                f"these cases pass with any answer: {', '.join(vacuous)}",
            )
        if self.suite.language != PYTHON and not self.attacks and not self.mutants:
            return ProblemHealth.OK, (
                "only the reference was tried: attacks and changes are in Python, and these tests "
                f"call functions in {self.suite.language}"
            )
        return ProblemHealth.OK, ""

    def _fault(self) -> tuple[ProblemHealth, str] | None:
        """Return what is wrong with the reference or the tests; None if the reference passes."""
        if not self.runs:
            return None
        first, second = self.runs
        if (ours := next((run for run in self.runs if _is_ours(run)), None)) is not None:
            return ProblemHealth.UNCHECKED, ours.feedback
        if difference := _difference(first, second):
            return ProblemHealth.FLAKY, difference
        if not first.graded:
            return ProblemHealth.BROKEN, first.feedback.removeprefix(_SUITE_ERROR)
        if first.verdict is not Verdict.PASSED:
            passed = f"{first.passed} of {first.total} cases passed"
            return ProblemHealth.BROKEN, f"{first.verdict}, {passed}: {first.feedback}"
        return None

    def _vacuous_cases(self) -> tuple[str, ...]:
        if not self.runs or not self.attacks.keys() >= set(PLAIN):
            return ()
        reports = [*self.runs, *(self.attacks[attack][1] for attack in PLAIN)]
        passed = [_passed(report) for report in reports]
        return tuple(case.id for case in reports[0].cases if all(case.id in ids for ids in passed))

    def _confirmable(self) -> int | None:
        tests = self.suite.tests
        if not self._case_ids() or not isinstance(tests, ScriptTests | PytestTests):
            return None
        return len(confirmable(tests, self._case_ids()))

    def _case_ids(self) -> list[str]:
        """Return the cases, as the reference ran them or, without one, the attacks."""
        reports = self.runs or [report for _, report in self.attacks.values()]
        return max(([case.id for case in report.cases] for report in reports), key=len, default=[])

    def _mutation(self) -> Mutation | None:
        if not self.mutants:
            return None
        graded = [(mutant, report) for mutant, report in self.mutants if report.graded]
        missed = tuple(
            Change(line=mutant.line, before=mutant.before, after=mutant.after)
            for mutant, report in graded
            if report.verdict is Verdict.PASSED
        )
        return Mutation(
            tried=len(graded),
            noticed=len(graded) - len(missed),
            missed=tuple(sorted(missed, key=lambda change: (change.line, change.after))),
        )


def _graded(
    trials: Iterable[_Trial],
    grader: Grades,
    plan: Callable[[_Trial], list[tuple[_Tried, Submission]]],
) -> Iterator[_Trial]:
    """Grade the planned submissions of each trial, and yield each trial when they are done."""
    left: dict[str, int] = {}
    idle: list[_Trial] = []
    in_flight: dict[int, tuple[_Trial, _Tried, Submission]] = {}

    def submissions() -> Iterator[Submission]:
        for trial in trials:
            planned = plan(trial)
            left[trial.id] = len(planned)
            if not planned:
                idle.append(trial)
            for tried, submission in planned:
                # The entry keeps the submission alive, because its id is the key.
                in_flight[id(submission)] = (trial, tried, submission)
                yield submission

    for submission, report in grader.as_completed(submissions()):
        trial, tried, _ = in_flight.pop(id(submission))
        trial.note(tried, submission, report)
        left[trial.id] -= 1
        if not left[trial.id]:
            yield trial
    yield from idle


def _is_ours(report: GradeReport) -> bool:
    """Return whether grading failed for a reason other than the suite."""
    return not report.graded and not report.feedback.startswith(_SUITE_ERROR)


def _passed(report: GradeReport) -> set[str]:
    return {case.id for case in report.cases if case.verdict is Verdict.PASSED}


def _difference(first: GradeReport, second: GradeReport) -> str:
    """Describe the first difference between two runs; "" if there is none."""
    if first.verdict is not second.verdict:
        return f"{first.verdict} in one run, {second.verdict} in another"
    before = {case.id: case.verdict for case in first.cases}
    after = {case.id: case.verdict for case in second.cases}
    for case_id in before.keys() | after.keys():
        one, other = before.get(case_id), after.get(case_id)
        if one is not other:
            return f"case {case_id}: {one or 'missing'} in one run, {other or 'missing'} in another"
    return ""


def _slowness(runs: list[GradeReport], limits: Limits) -> str:
    """Describe how the reference comes close to the CPU time limit; "" if it does not."""
    longest_s = _cpu_time_s(runs)
    if longest_s <= SLOW_SHARE * limits.cpu_time_s:
        return ""
    return f"the reference takes {longest_s:.2f} s of {limits.cpu_time_s:g} s of CPU time"


def _cpu_time_s(runs: list[GradeReport]) -> float:
    """Return the CPU time of the longest process, which runs one case or all."""
    return max(usage.cpu_time_s or 0.0 for usage in _usages(runs))


def _wall_time_s(runs: list[GradeReport]) -> float:
    return max(usage.wall_time_s or 0.0 for usage in _usages(runs))


def _usages(runs: list[GradeReport]) -> list[Usage]:
    cases = [[case.usage for case in run.cases if case.usage is not None] for run in runs]
    return [
        usage
        for run, of_cases in zip(runs, cases, strict=True)
        for usage in of_cases or [run.usage]
    ]
