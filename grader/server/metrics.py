"""What the service counts, for Prometheus. docs/server.md lists every name."""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector

from grader.model import GradeReport
from grader.pool import SlotCounts
from grader.queueing.names import Counter as QueueCounter
from grader.queueing.status import QueueStatus
from grader.server.lobby import Lobby
from grader.verdict import Suspicion, Verdict

_BUCKETS_S = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


class Metrics:
    """The counters of one service. Safe for many threads."""

    def __init__(self) -> None:
        """Count from zero, in a registry of its own."""
        # When each counter was made is of no use to anybody, and doubles the page.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._requests = Counter(
            "grader_http_requests",
            "Requests answered, by endpoint and status.",
            ("endpoint", "status"),
            registry=self.registry,
        )
        self._request_s = Histogram(
            "grader_http_request_seconds",
            "Seconds from a request's first byte to its answer.",
            ("endpoint",),
            buckets=_BUCKETS_S,
            registry=self.registry,
        )
        self.open_requests = Gauge(
            "grader_http_open_requests", "Requests that are not answered.", registry=self.registry
        )
        self._submissions = Counter(
            "grader_submissions",
            "Submissions that got a report, by verdict.",
            ("verdict",),
            registry=self.registry,
        )
        self._phase_s = Histogram(
            "grader_submission_phase_seconds",
            "Seconds of a submission by phase: parse, wait, run, total.",
            ("phase",),
            buckets=_BUCKETS_S,
            registry=self.registry,
        )
        self._internal_errors = Counter(
            "grader_internal_errors",
            "Submissions and programs that failed through our fault.",
            registry=self.registry,
        )
        self._suspicion = Counter(
            "grader_suspicion",
            "Submissions with a sign of an attack on the grader.",
            ("sign",),
            registry=self.registry,
        )
        self._cancelled = Counter(
            "grader_cancelled_submissions",
            "Submissions that nobody waited for any more.",
            registry=self.registry,
        )
        self._programs = Counter(
            "grader_programs",
            "Programs of /run_code, by how they ended.",
            ("outcome",),
            registry=self.registry,
        )
        self.replays = Counter(
            "grader_idempotent_replays",
            "Requests answered with the answer to an earlier one of the same key.",
            registry=self.registry,
        )
        # Every value is there from the start: a rate needs two points.
        for verdict in Verdict:
            if verdict is not Verdict.SKIPPED:
                self._submissions.labels(verdict.value)
        for sign in Suspicion:
            self._suspicion.labels(sign.value)

    def request(self, endpoint: str, status: int, took_s: float) -> None:
        """Count a request that was answered."""
        self._requests.labels(endpoint, str(status)).inc()
        self._request_s.labels(endpoint).observe(took_s)

    def parsed(self, took_s: float) -> None:
        """Count the reading of a label."""
        self._phase_s.labels("parse").observe(took_s)

    def report(self, report: GradeReport, took_s: float) -> None:
        """Count a submission that got its report `took_s` seconds after it was handed in."""
        self._submissions.labels(report.verdict.value).inc()
        if not report.graded:
            self._internal_errors.inc()
        for sign in report.suspicion:
            self._suspicion.labels(sign.value).inc()
        run_s = min(took_s, report.usage.wall_time_s or 0.0)
        self._phase_s.labels("wait").observe(took_s - run_s)
        self._phase_s.labels("run").observe(run_s)
        self._phase_s.labels("total").observe(took_s)

    def cancelled(self) -> None:
        """Count a submission that was given up."""
        self._cancelled.inc()

    def program(self, outcome: str, *, is_ours: bool = False) -> None:
        """Count a program of /run_code; `is_ours` where we failed, not the program."""
        self._programs.labels(outcome).inc()
        if is_ours:
            self._internal_errors.inc()

    def watch(
        self,
        lobby: Lobby,
        slots: Callable[[], SlotCounts | None],
        queue: Callable[[], QueueStatus | None] | None,
    ) -> None:
        """Also tell the state of these, as it is when Prometheus asks.

        Args:
            lobby: What waits in this process.
            slots: Those of this process; None while there are none.
            queue: The state of the queue, None where it does not answer. May wait.
        """
        self.registry.register(_State(lobby, slots, queue))


class _State:
    """Reads what is a state and not a count."""

    def __init__(
        self,
        lobby: Lobby,
        slots: Callable[[], SlotCounts | None],
        queue: Callable[[], QueueStatus | None] | None,
    ) -> None:
        self._lobby = lobby
        self._slots = slots
        self._queue = queue

    def describe(self) -> Iterable[Metric]:
        """Return nothing, so that registering asks no queue."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Read everything now."""
        status = None if self._queue is None else self._queue()
        waiting, oldest_s = self._lobby.depth, self._lobby.oldest_s
        if status is not None:
            waiting, oldest_s = waiting + status.queued, max(oldest_s, status.oldest_s)
        yield GaugeMetricFamily("grader_queue_depth", "Submissions that wait.", value=waiting)
        yield GaugeMetricFamily(
            "grader_queue_oldest_seconds", "How long the first of them has waited.", value=oldest_s
        )
        yield self._slot_states(status)
        if self._queue is not None:
            yield from _queue_metrics(status)

    def _slot_states(self, status: QueueStatus | None) -> Metric:
        family = GaugeMetricFamily("grader_slots", "Slots by state.", labels=("where", "state"))
        counts = self._slots()
        if counts is not None:
            for state in ("busy", "idle", "unopened"):
                family.add_metric(("here", state), getattr(counts, state))
        if status is not None:
            family.add_metric(("workers", "busy"), status.running)
            family.add_metric(("workers", "idle"), max(0, status.slots - status.running))
        return family


def _queue_metrics(status: QueueStatus | None) -> Iterator[Metric]:
    up = status is not None
    yield GaugeMetricFamily("grader_queue_up", "Whether Redis answers.", value=up)
    if status is None:
        return
    yield GaugeMetricFamily("grader_workers", "Workers of the queue.", value=len(status.workers))
    cache = CounterMetricFamily(
        "grader_cache", "Submissions of all clients, by what the cache did.", labels=("outcome",)
    )
    counts = status.counts
    hits, joined = counts.get(QueueCounter.HITS, 0), counts.get(QueueCounter.JOINED, 0)
    cache.add_metric(("hit",), hits)
    cache.add_metric(("joined",), joined)
    cache.add_metric(("miss",), max(0, counts.get(QueueCounter.SUBMITTED, 0) - hits - joined))
    yield cache
