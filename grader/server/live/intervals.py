"""Intervals: what changed between two observations of the service, kept in bounded histories."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from grader.model.verdict import Verdict
from grader.server.metrics import BUCKETS_S, MetricCounts
from grader.server.state import ServiceState


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """How long a phase took, as precisely as its histogram can tell."""

    p50_s: float
    p95_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A span of time: what was counted in it, and the state at its end."""

    at: float
    """Its end, in seconds since 1970."""
    span_s: float
    verdicts: Mapping[str, int]
    """Submissions that got a report, by verdict, without verdicts that did not occur."""
    rewards: float
    """The sum of the rewards of graded submissions."""
    suspicious: int
    internal_errors: int
    cancelled: int
    programs: int
    latency: Mapping[str, Latency]
    """By phase, without phases that no submission went through."""
    cache: Mapping[str, int]
    """Submissions of all clients of the queue, by what the cache did; empty without a queue."""
    waiting: int
    """The most submissions that any observation in the span found waiting."""
    oldest_s: float
    """The longest wait that any observation in the span found."""
    busy: int
    usable: int
    """Slots that are open or can be opened."""
    workers: int | None
    """None if there is no queue, or if Redis does not answer."""

    @property
    def submissions(self) -> int:
        """The number of submissions that got a report."""
        return sum(self.verdicts.values())

    @property
    def graded(self) -> int:
        """The number of submissions with a verdict on their code, and so with a reward."""
        return self.submissions - self.verdicts.get(Verdict.INTERNAL_ERROR, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Counts and state at one moment."""

    at: float
    """In seconds since 1970."""
    clock: float
    """By `time.monotonic`."""
    counts: MetricCounts
    state: ServiceState


def interval_between(
    first: Observation, last: Observation, peaks: tuple[int, float] = (0, 0.0)
) -> Interval:
    """Return the interval between two observations.

    Args:
        first: The earlier observation.
        last: The later observation.
        peaks: The most submissions that waited in between, and the longest wait in seconds.
    """
    before, after, state = first.counts, last.counts, last.state
    return Interval(
        at=last.at,
        span_s=max(1e-3, last.clock - first.clock),
        verdicts=_grown(before.verdicts, after.verdicts),
        rewards=after.rewards - before.rewards,
        suspicious=after.suspicious - before.suspicious,
        internal_errors=after.internal_errors - before.internal_errors,
        cancelled=after.cancelled - before.cancelled,
        programs=after.programs - before.programs,
        latency=_latency(before.phases, after.phases),
        cache=_grown(_cache(first.state), _cache(state)) if _cache(first.state) else {},
        waiting=max(state.waiting, peaks[0]),
        oldest_s=max(state.oldest_s, peaks[1]),
        busy=state.busy,
        usable=state.usable,
        workers=None if state.queue is None else len(state.queue.workers),
    )


def _grown(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Return by how much counts grew, without those that did not: Redis may have been emptied."""
    grown = {name: count - before.get(name, 0) for name, count in after.items()}
    return {name: count for name, count in grown.items() if count > 0}


def _cache(state: ServiceState) -> Mapping[str, int]:
    return {} if state.queue is None else state.queue.cache_outcomes


def _latency(
    before: Mapping[str, tuple[int, ...]], after: Mapping[str, tuple[int, ...]]
) -> dict[str, Latency]:
    found = {}
    for phase, buckets in after.items():
        earlier = before.get(phase, (0,) * len(buckets))
        grown = [late - early for late, early in zip(buckets, earlier, strict=True)]
        if any(grown):
            found[phase] = Latency(p50_s=quantile(grown, 0.5), p95_s=quantile(grown, 0.95))
    return found


def quantile(buckets: list[int], share: float) -> float:
    """Return a quantile of a histogram, in seconds.

    Like Prometheus, this takes the observations in a bucket as spread evenly. Observations above
    the last bound count as that bound.

    Args:
        buckets: Observations in each bucket of `BUCKETS_S`, and in the one above; not all 0.
        share: The share of observations below the quantile, in [0, 1].
    """
    rank = share * sum(buckets)
    seen, low = 0, 0.0
    for high, count in zip(BUCKETS_S, buckets, strict=False):
        if count and seen + count >= rank:
            return low + (high - low) * (rank - seen) / count
        seen, low = seen + count, high
    return float(BUCKETS_S[-1])


class History:
    """The last intervals of one length, made from observations."""

    def __init__(self, *, span_s: float, count: int) -> None:
        """Keep at most `count` intervals of about `span_s` seconds."""
        self.span_s = span_s
        self.intervals: deque[Interval] = deque(maxlen=count)
        self._first: Observation | None = None
        self._peaks = (0, 0.0)

    def add(self, observation: Observation) -> Interval | None:
        """Add an observation; return the interval that it ends, if it ends one."""
        state = observation.state
        if self._first is None:
            self._first = observation
            return None
        if observation.clock - self._first.clock < self.span_s:
            waiting, oldest_s = self._peaks
            self._peaks = (max(waiting, state.waiting), max(oldest_s, state.oldest_s))
            return None
        interval = interval_between(self._first, observation, self._peaks)
        self.intervals.append(interval)
        self._first, self._peaks = observation, (0, 0.0)
        return interval
