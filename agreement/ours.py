"""Run pairs through the grader, as its users do."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from agreement.pairs import Outcome, Pair
from grader.config.settings import SandboxChoice, Settings
from grader.grading.grader import Grader
from grader.model import GradeReport, Limits, Submission
from grader.model.verdict import Verdict


class Way(StrEnum):
    """How a pair is graded."""

    HIDDEN = "hidden"
    """Without a reference, among others."""
    KNOWN = "reference"
    """With the reference, among others."""
    ALONE = "alone"
    """Without a reference, in a grader that grades nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """The grader's result for a pair."""

    pair: Pair
    way: Way
    outcome: Outcome
    integrity: str


def settings(backend: SandboxChoice, jobs: int) -> Settings:
    """Return settings under which every case is run."""
    # The pairs' own limits are in force; slots are opened with these.
    limits = Limits(memory_bytes=2 << 30)
    return Settings(sandbox=backend, slots=jobs, stop_early=False, limits=limits)


def grade_together(
    order: Iterable[tuple[Pair, Way]], backend: SandboxChoice, jobs: int
) -> Iterator[Graded]:
    """Yield the results of one grader that gets the pairs in an order."""
    ways: dict[int, tuple[Pair, Way]] = {}

    def submissions() -> Iterator[Submission]:
        for pair, way in order:
            submission = pair.submission(with_reference=way is Way.KNOWN)
            ways[id(submission)] = (pair, way)
            yield submission

    with Grader(settings(backend, jobs)) as grader:
        for submission, report in grader.as_completed(submissions()):
            pair, way = ways.pop(id(submission))
            yield graded(pair, way, report)


def grade_alone(pair: Pair, way: Way, backend: SandboxChoice) -> Graded:
    """Return the result of a grader that grades nothing else."""
    with Grader(settings(backend, 1)) as grader:
        report = grader.grade(pair.submission(with_reference=way is Way.KNOWN))
    return graded(pair, way, report)


def graded(pair: Pair, way: Way, report: GradeReport) -> Graded:
    """Return a report in the form in which it is compared."""
    cases: dict[str, bool] = {}
    for case in report.cases:
        cases[case.id] = cases.get(case.id, True) and case.verdict is Verdict.PASSED
    details = {
        case.id: f"{case.verdict}: {case.feedback}"
        for case in report.cases
        if case.verdict is not Verdict.PASSED
    }
    details[""] = report.feedback
    outcome = Outcome(
        passed=report.verdict is Verdict.PASSED,
        verdict=str(report.verdict),
        cases=cases,
        details=details,
    )
    return Graded(pair=pair, way=way, outcome=outcome, integrity=str(report.integrity))
