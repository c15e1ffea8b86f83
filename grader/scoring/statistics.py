"""A running summary over reports: verdicts, pass rates, pass@k, throughput, slowest rows.

Memory does not grow with the number of reports, but for two counters per problem.
"""

import heapq
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from grader.model import GradeReport
from grader.model.verdict import Suspicion, Verdict

PASS_AT = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""The k for which pass@k is told, as far as the samples go."""

_KEPT_ERRORS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PassAt:
    """The chance that at least one of k samples of a problem passes."""

    k: int
    value: float
    """Averaged over `problems`, in [0, 1]."""
    problems: int
    """Those with at least k graded samples; fewer would have to be guessed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowRow:
    """A row that took long."""

    id: str
    cpu_time_s: float
    wall_time_s: float | None
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedRow:
    """A row that ended as an internal error, and what is known of the reason."""

    id: str
    feedback: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a number of reports come to; internal errors count in nothing but their own number."""

    reports: int
    verdicts: Mapping[Verdict, int]
    """Those that occurred, in the order of `Verdict`."""
    pass_rate: float | None
    """Of the graded reports; None where there are none."""
    mean_score: float | None
    mean_reward: float | None
    problems: int
    """Different problem ids; reports without one are in none."""
    pass_at: tuple[PassAt, ...]
    """For k = 1, 2, 5, 10, ... as far as some problem has the samples."""
    cpu_time_s: float
    """Of all submissions together, where measured."""
    slowest: tuple[SlowRow, ...]
    """By CPU time, slowest first."""
    internal_errors: int
    first_errors: tuple[FailedRow, ...]
    suspicion: Mapping[Suspicion, int]
    """Reports with each sign of an attack on the grader; those that occurred."""

    def throughput(self, elapsed_s: float) -> float:
        """Return reports per second over `elapsed_s` seconds; 0 where no time has passed."""
        return self.reports / elapsed_s if elapsed_s > 0 else 0.0


class RunningSummary:
    """Takes in reports one by one. Not safe to share between threads."""

    def __init__(self, *, keep_slowest: int = 5) -> None:
        self._verdicts: Counter[Verdict] = Counter()
        self._samples: dict[str, tuple[int, int]] = {}
        self._score = self._reward = self._cpu_time_s = 0.0
        self._slowest: list[tuple[float, int, SlowRow]] = []
        self._keep_slowest = keep_slowest
        self._first_errors: list[FailedRow] = []
        self._suspicion: Counter[Suspicion] = Counter()

    def add(self, report: GradeReport, *, id: str, problem_id: str | None = None) -> None:
        """Take in one report.

        Args:
            report: The report.
            id: Of its row, to name it by.
            problem_id: What its row is a sample of; several of one make a pass@k.
        """
        self._verdicts[report.verdict] += 1
        self._keep_if_slow(report, id)
        if not report.graded:
            if len(self._first_errors) < _KEPT_ERRORS:
                self._first_errors.append(FailedRow(id=id, feedback=report.feedback))
            return
        self._suspicion.update(report.suspicion)
        self._score += report.score
        self._reward += report.reward
        if problem_id is not None:
            samples, passed = self._samples.get(problem_id, (0, 0))
            passed += report.verdict is Verdict.PASSED
            self._samples[problem_id] = samples + 1, passed

    def summary(self) -> Summary:
        """Return what has been taken in so far."""
        reports = self._verdicts.total()
        graded = reports - self._verdicts[Verdict.INTERNAL_ERROR]
        return Summary(
            reports=reports,
            verdicts={v: self._verdicts[v] for v in Verdict if self._verdicts[v]},
            pass_rate=self._verdicts[Verdict.PASSED] / graded if graded else None,
            mean_score=self._score / graded if graded else None,
            mean_reward=self._reward / graded if graded else None,
            problems=len(self._samples),
            pass_at=_pass_at(Counter(self._samples.values())),
            cpu_time_s=self._cpu_time_s,
            slowest=tuple(row for _, _, row in sorted(self._slowest, reverse=True)),
            internal_errors=self._verdicts[Verdict.INTERNAL_ERROR],
            first_errors=tuple(self._first_errors),
            suspicion={s: self._suspicion[s] for s in Suspicion if self._suspicion[s]},
        )

    def _keep_if_slow(self, report: GradeReport, id: str) -> None:
        cpu_time_s = report.usage.cpu_time_s
        if cpu_time_s is None:
            return
        self._cpu_time_s += cpu_time_s
        row = SlowRow(
            id=id,
            cpu_time_s=cpu_time_s,
            wall_time_s=report.usage.wall_time_s,
            verdict=report.verdict,
        )
        # The count settles ties, so that rows are never compared and earlier ones stay.
        entry = (cpu_time_s, -self._verdicts.total(), row)
        if len(self._slowest) < self._keep_slowest:
            heapq.heappush(self._slowest, entry)
        elif self._slowest:
            heapq.heappushpop(self._slowest, entry)


def pass_at_k(samples: int, passed: int, k: int) -> float:
    """Return the unbiased estimate that one of k samples passes, from `samples` with `passed`.

    The share of all ways to draw k of the samples that hold a passing one, computed with whole
    numbers, so that no count is too large for it.

    Raises:
        ValueError: Not 0 <= passed <= samples, or not 1 <= k <= samples.
    """
    if not (0 <= passed <= samples and 1 <= k <= samples):
        message = f"no pass@{k} of {samples} samples with {passed} passed"
        raise ValueError(message)
    draws = math.comb(samples, k)
    return (draws - math.comb(samples - passed, k)) / draws


def _pass_at(problems: Mapping[tuple[int, int], int]) -> tuple[PassAt, ...]:
    """Return pass@k from how many problems have which numbers of samples and passes."""
    found = []
    for k in PASS_AT:
        enough = {counts: n for counts, n in problems.items() if counts[0] >= k}
        if not enough:
            break
        total = sum(pass_at_k(*counts, k) * n for counts, n in enough.items())
        number = sum(enough.values())
        found.append(PassAt(k=k, value=total / number, problems=number))
    return tuple(found)
