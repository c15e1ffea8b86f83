"""A running summary of reports: verdicts, pass rates, pass@k, throughput, slowest rows.

It keeps two counters for each problem; otherwise its size does not depend on the reports.
"""

import heapq
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from grader.model import GradeReport
from grader.model.verdict import Suspicion, Verdict

PASS_AT = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
"""The k for which pass@k is computed, if a problem has enough samples."""

_KEPT_ERRORS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PassAt:
    """The chance that at least one of k samples of a problem passes."""

    k: int
    value: float
    """Averaged over `problems`, in [0, 1]."""
    problems: int
    """The number of problems with at least k graded samples. Others have no unbiased estimate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowRow:
    """One of the slowest rows."""

    id: str
    cpu_time_s: float
    wall_time_s: float | None
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedRow:
    """A row with an internal error, and the reason."""

    id: str
    feedback: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A summary of reports. Rates, means and pass@k leave internal errors out."""

    reports: int
    verdicts: Mapping[Verdict, int]
    """The verdicts that occurred, in the order of `Verdict`."""
    pass_rate: float | None
    """Of the graded reports; None if there are none."""
    mean_score: float | None
    mean_reward: float | None
    problems: int
    """The number of different problem ids."""
    pass_at: tuple[PassAt, ...]
    """For k = 1, 2, 5, 10 and so on, up to the most samples of a problem."""
    cpu_time_s: float
    """The sum over all submissions for which it was measured."""
    limited_cpu_time_s: float
    """The part of it that was used by submissions that reached a limit."""
    slowest: tuple[SlowRow, ...]
    """By CPU time, slowest first."""
    internal_errors: int
    first_errors: tuple[FailedRow, ...]
    suspicion: Mapping[Suspicion, int]
    """The number of reports by sign of an attack."""

    def throughput(self, elapsed_s: float) -> float:
        """Return reports per second over `elapsed_s` seconds; 0 if no time has passed."""
        return self.reports / elapsed_s if elapsed_s > 0 else 0.0


class RunningSummary:
    """Adds up reports one by one. Not safe for more than one thread."""

    def __init__(self, *, keep_slowest: int = 5) -> None:
        self._verdicts: Counter[Verdict] = Counter()
        self._samples: dict[str, tuple[int, int]] = {}
        self._score = self._reward = self._cpu_time_s = self._limited_cpu_time_s = 0.0
        self._slowest: list[tuple[float, int, SlowRow]] = []
        self._keep_slowest = keep_slowest
        self._first_errors: list[FailedRow] = []
        self._suspicion: Counter[Suspicion] = Counter()

    def add(self, report: GradeReport, *, id: str, problem_id: str | None = None) -> None:
        """Add one report.

        Args:
            report: The report.
            id: The id of its row.
            problem_id: The problem that its row is a sample of, for pass@k.
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
        """Return the summary of the reports so far."""
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
            limited_cpu_time_s=self._limited_cpu_time_s,
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
        if report.limit_hit is not None:
            self._limited_cpu_time_s += cpu_time_s
        row = SlowRow(
            id=id,
            cpu_time_s=cpu_time_s,
            wall_time_s=report.usage.wall_time_s,
            verdict=report.verdict,
        )
        # The count breaks ties, so that rows are never compared and earlier ones stay.
        entry = (cpu_time_s, -self._verdicts.total(), row)
        if len(self._slowest) < self._keep_slowest:
            heapq.heappush(self._slowest, entry)
        elif self._slowest:
            heapq.heappushpop(self._slowest, entry)


def pass_at_k(samples: int, passed: int, k: int) -> float:
    """Return the unbiased estimate of pass@k, if `passed` of `samples` samples passed.

    It is the share of all draws of k samples that contain a passing one. Integers are used, so
    that it is exact for any number of samples.

    Raises:
        ValueError: Not 0 <= passed <= samples, or not 1 <= k <= samples.
    """
    if not (0 <= passed <= samples and 1 <= k <= samples):
        message = f"cannot compute pass@{k} from {samples} samples of which {passed} passed"
        raise ValueError(message)
    draws = math.comb(samples, k)
    return (draws - math.comb(samples - passed, k)) / draws


def _pass_at(problems: Mapping[tuple[int, int], int]) -> tuple[PassAt, ...]:
    """Return pass@k. `problems` counts the problems by their numbers of samples and passes."""
    found = []
    for k in PASS_AT:
        enough = {counts: n for counts, n in problems.items() if counts[0] >= k}
        if not enough:
            break
        total = sum(pass_at_k(*counts, k) * n for counts, n in enough.items())
        number = sum(enough.values())
        found.append(PassAt(k=k, value=total / number, problems=number))
    return tuple(found)
