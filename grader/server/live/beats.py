"""What happened between two looks at the counts of the service, and where that is kept."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from grader.server.metrics import BUCKETS_S, MetricCounts
from grader.server.state import ServiceState


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """How long a phase took, as well as its histogram can tell."""

    p50_s: float
    p95_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """One span of time: what was counted in it, and the state at its end."""

    at: float
    """Its end, in seconds since 1970."""
    span_s: float
    verdicts: Mapping[str, int]
    """Submissions that got a report, by verdict; those of which there were any."""
    suspicious: int
    internal_errors: int
    cancelled: int
    programs: int
    latency: Mapping[str, Latency]
    """By phase, where anything went through it."""
    cache: Mapping[str, int]
    """Submissions of all clients of the queue, by what the cache did; empty without a queue."""
    waiting: int
    """The most that were seen waiting in the span."""
    oldest_s: float
    """The longest that any was seen to have waited in the span."""
    busy: int
    usable: int
    """Slots that there are or may be."""
    workers: int | None
    """None without a queue that answers."""

    @property
    def submissions(self) -> int:
        """How many got a report."""
        return sum(self.verdicts.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Counts and state at one moment."""

    at: float
    """In seconds since 1970."""
    clock: float
    """Of `time.monotonic`."""
    counts: MetricCounts
    state: ServiceState


def beat_between(first: Look, last: Look, peaks: tuple[int, float] = (0, 0.0)) -> Beat:
    """Return what happened between two looks.

    Args:
        first: The earlier one.
        last: The later one.
        peaks: The most that waited in between, and the longest that any had waited.
    """
    before, after, state = first.counts, last.counts, last.state
    return Beat(
        at=last.at,
        span_s=max(1e-3, last.clock - first.clock),
        verdicts=_grown(before.verdicts, after.verdicts),
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
    """Return by how much counts grew, without those that did not, such as in an emptied Redis."""
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
    """Return the time within which a share of observations stayed, in seconds.

    Inside a bucket, observations are taken to be spread evenly, as Prometheus does; what took
    longer than the last bound counts as that bound.

    Args:
        buckets: Observations in each bucket of `BUCKETS_S`, and in the one above; not all 0.
        share: In [0, 1].
    """
    rank = share * sum(buckets)
    seen, low = 0, 0.0
    for high, count in zip(BUCKETS_S, buckets, strict=False):
        if count and seen + count >= rank:
            return low + (high - low) * (rank - seen) / count
        seen, low = seen + count, high
    return float(BUCKETS_S[-1])


class Ring:
    """The last beats of one length."""

    def __init__(self, *, span_s: float, count: int) -> None:
        """Keep at most `count` beats of about `span_s` seconds."""
        self.span_s = span_s
        self.beats: deque[Beat] = deque(maxlen=count)
        self._first: Look | None = None
        self._peaks = (0, 0.0)

    def look(self, look: Look) -> Beat | None:
        """Take note of a look; return the beat that it ends, if it does."""
        state = look.state
        if self._first is None:
            self._first = look
            return None
        if look.clock - self._first.clock < self.span_s:
            waiting, oldest_s = self._peaks
            self._peaks = (max(waiting, state.waiting), max(oldest_s, state.oldest_s))
            return None
        beat = beat_between(self._first, look, self._peaks)
        self.beats.append(beat)
        self._first, self._peaks = look, (0, 0.0)
        return beat
