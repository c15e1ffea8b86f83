"""Grading the submissions of a problem package, and comparing with what the package expects."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from grader import languages
from grader.model import (
    GradeReport,
    InteractiveTests,
    LimitOverrides,
    StdinTests,
    Submission,
)
from grader.model.overrides import ExtractionRule, GradingRules
from grader.model.verdict import Verdict
from grader.offline.package_parts import PackagedSubmission, ProblemPackage
from grader.offline.run import Grades
from grader.scoring.policies import policy_input
from grader.suites.deciding import with_language
from grader.suites.fields import time_limits


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSubmission:
    """A submission of a package with its verdict."""

    submission: PackagedSubmission
    report: GradeReport | None
    """None if it was not graded, since it has no language that the grader knows."""

    @property
    def verdict(self) -> Verdict | None:
        """Its verdict: that of the first case that did not pass."""
        return None if self.report is None else self.report.verdict

    @property
    def agrees(self) -> bool | None:
        """Whether the verdict is an expected one; None if there is none, or none is expected."""
        if self.report is None or not self.submission.expected:
            return None
        return self.report.verdict in self.submission.expected

    @property
    def score(self) -> float | None:
        """The share of all points that it earned; None if it was not graded."""
        if self.report is None:
            return None
        return policy_input(self.report.verdict, self.report.cases).fraction

    @property
    def feedback(self) -> str:
        """What the report says, or why there is none."""
        if self.report is None:
            return "not graded: its language is unknown, or it is in several languages"
        return self.report.feedback

    def as_json(self) -> dict[str, Any]:
        """Return the row of `grader check --json`."""
        return {
            "path": self.submission.path,
            "language": self.submission.language,
            "expected": sorted(self.submission.expected),
            "verdict": self.verdict,
            "score": self.score,
            "agrees": self.agrees,
            "feedback": self.feedback,
        }


def _has_scores(package: ProblemPackage) -> bool:
    tests = package.suite.tests
    return isinstance(tests, StdinTests | InteractiveTests) and any(
        case.points != 1 for case in tests.cases
    )


def with_time_limit(
    package: ProblemPackage, grader: Grades, winning: LimitOverrides
) -> ProblemPackage:
    """Return the package with the time limit that its accepted submissions decide, if they do.

    If none of them passes, the limit stays that of the settings.

    Args:
        package: The package.
        grader: Grades the accepted submissions.
        winning: Limits that override the package's.
    """
    if package.time_multiplier is None or winning.cpu_time_s is not None:
        return package
    accepted = tuple(each for each in package.submissions if each.expected == {Verdict.PASSED})
    checked = check_submissions(replace(package, submissions=accepted), grader, winning)
    times_s = [
        _unscaled(case.usage.cpu_time_s, each.submission.language)
        for each in checked
        if each.report is not None and each.verdict is Verdict.PASSED
        for case in each.report.cases
        if case.usage is not None and case.usage.cpu_time_s is not None
    ]
    if not times_s:
        return package
    unit_s = package.time_resolution_s
    units = max(1, math.ceil(max(times_s) * package.time_multiplier / unit_s))
    time_s = round(units * unit_s, 6)  # 3 times 0.3 is 0.9
    limits = package.suite.limits.override(time_limits(time_s))
    return replace(package, suite=replace(package.suite, limits=limits), time_multiplier=None)


def _unscaled(cpu_time_s: float, language: str | None) -> float:
    """Return the limit that is a CPU time when it is scaled for a language."""
    found = None if language is None else languages.find(language)
    if found is None:
        return cpu_time_s
    return (cpu_time_s - found.start_up_s) / found.time_factor


def check_submissions(
    package: ProblemPackage, grader: Grades, winning: LimitOverrides
) -> list[CheckedSubmission]:
    """Grade the submissions of a package; return them in its order.

    Args:
        package: The package.
        grader: Grades them.
        winning: Limits that override the package's.
    """
    by_path = {each.path: each for each in package.submissions}
    reports: dict[str, GradeReport] = {}

    def submissions() -> Iterator[Submission]:
        for each in by_path.values():
            if each.language is None:
                continue
            suite = replace(
                with_language(package.suite, each.language),
                extraction=ExtractionRule.VERBATIM,
                limits=package.suite.limits.override(winning),
            )
            yield Submission(
                id=each.path,
                completion=each.code,
                suite=suite,
                # The score needs all cases, the verdict only those up to the first that fails.
                rules=GradingRules(stop_early=not _has_scores(package)),
            )

    for submission, report in grader.as_completed(submissions()):
        reports[submission.id] = report
    return [
        CheckedSubmission(submission=each, report=reports.get(path))
        for path, each in by_path.items()
    ]
