"""Grading the submissions of a problem package, and comparing with what the package expects."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

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
