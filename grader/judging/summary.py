"""Sums up the results of a submission's cases."""

from collections.abc import Sequence
from dataclasses import dataclass

from grader.judging.ending import limit_hit
from grader.model import CaseResult, Usage
from grader.model.verdict import LimitKind, Verdict, overall
from grader.sandbox.contract import RunOutcome
from grader.text.inert import FEEDBACK_CHARS, inert, shorten


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict of all cases of a submission together."""

    verdict: Verdict
    limit_hit: LimitKind | None
    feedback: str
    """How many cases passed, and the feedback of the case that decided."""
    usage: Usage
    """The sum of the times of all runs, and the memory of the largest process in any of them."""


def summarise(cases: Sequence[CaseResult], outcomes: Sequence[RunOutcome]) -> Judgement:
    """Return the judgement of one submission.

    Args:
        cases: The results of all cases, including those that were not run.
        outcomes: The outcomes of all runs.

    Raises:
        ValueError: `cases` is empty.
    """
    verdict = overall(case.verdict for case in cases)
    passed = sum(case.verdict is Verdict.PASSED for case in cases)
    return Judgement(
        verdict=verdict,
        limit_hit=_limit_of(verdict, outcomes),
        feedback=_feedback(verdict, passed, cases),
        usage=_total_usage(outcomes),
    )


def _limit_of(verdict: Verdict, outcomes: Sequence[RunOutcome]) -> LimitKind | None:
    hit = [kind for outcome in outcomes if (kind := limit_hit(outcome)) is not None]
    match verdict:
        case Verdict.TIME_LIMIT:
            times = (LimitKind.CPU_TIME, LimitKind.WALL_TIME)
            return next((kind for kind in hit if kind in times), LimitKind.TOTAL_TIME)
        case Verdict.MEMORY_LIMIT:  # also for an uncaught MemoryError, without a hit limit
            return LimitKind.MEMORY
        case Verdict.OUTPUT_LIMIT:
            return LimitKind.OUTPUT
        case _:
            return next(iter(hit), None)


def _feedback(verdict: Verdict, passed: int, cases: Sequence[CaseResult]) -> str:
    count = f"{passed} of {len(cases)} cases passed"
    if verdict is Verdict.PASSED:
        return count
    decisive = next(
        case
        for case in cases
        if case.verdict is verdict
        or (verdict is Verdict.FAILED and case.verdict is Verdict.SKIPPED)
    )
    if verdict is Verdict.COMPILE_ERROR:
        return decisive.feedback
    return shorten(f"{count}. {inert(decisive.id)}: {decisive.feedback}", FEEDBACK_CHARS)


def _total_usage(outcomes: Sequence[RunOutcome]) -> Usage:
    cpu = [u for outcome in outcomes if (u := outcome.usage.cpu_time_s) is not None]
    wall = [u for outcome in outcomes if (u := outcome.usage.wall_time_s) is not None]
    peaks = [u for outcome in outcomes if (u := outcome.usage.peak_memory_bytes) is not None]
    return Usage(
        cpu_time_s=sum(cpu) if cpu else None,
        wall_time_s=sum(wall) if wall else None,
        peak_memory_bytes=max(peaks, default=None),
    )
