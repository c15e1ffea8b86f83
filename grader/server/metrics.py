"""The metrics of the service, for Prometheus. docs/server.md lists every name."""

from collections import Counter as Counts
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

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
from grader.model.verdict import Suspicion, Verdict
from grader.queueing import names
from grader.queueing.status import QueueStatus
from grader.sandbox.images import all_variants
from grader.server.state import ServiceState, StateReader

BUCKETS_S = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
"""Upper bounds of the buckets of every histogram; one more bucket has all longer times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricCounts:
    """Counts since the service started."""

    verdicts: Mapping[str, int]
    """Submissions that got a report, by verdict; every possible verdict is there."""
    rewards: float
    """The sum of the rewards of graded submissions."""
    suspicious: int
    """Submissions with at least one sign of an attack."""
    internal_errors: int
    cancelled: int
    programs: int
    phases: Mapping[str, tuple[int, ...]]
    """By phase, the number of submissions in each bucket of `BUCKETS_S`."""


class Metrics:
    """The counters of one service. Safe for many threads."""

    def __init__(self) -> None:
        """Count from zero, in a registry of its own."""
        # The creation time of every counter would double the page, and has no use.
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
            buckets=BUCKETS_S,
            registry=self.registry,
        )
        self.open_sessions = Gauge(
            "grader_sessions_open", "Sessions that are open.", registry=self.registry
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
        # A gauge, since rewards may be negative, and a counter only grows.
        self._rewards = Gauge(
            "grader_rewards",
            "The sum of the rewards of graded submissions.",
            registry=self.registry,
        )
        self._phase_s = Histogram(
            "grader_submission_phase_seconds",
            "Seconds of a submission by phase: parse, wait, run, total.",
            ("phase",),
            buckets=BUCKETS_S,
            registry=self.registry,
        )
        self._internal_errors = Counter(
            "grader_internal_errors",
            "Submissions that were not graded because the grader failed or the label is wrong, and"
            " programs that the grader failed to run.",
            registry=self.registry,
        )
        self._suspicion = Counter(
            "grader_suspicion",
            "Submissions with a sign of an attack on the grader.",
            ("sign",),
            registry=self.registry,
        )
        self._suspicious = Counter(
            "grader_suspicious_submissions",
            "Submissions with any sign of an attack on the grader.",
            registry=self.registry,
        )
        self._cancelled = Counter(
            "grader_cancelled_submissions",
            "Submissions whose client stopped waiting.",
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
            "Requests answered with the stored response of their idempotency key.",
            registry=self.registry,
        )
        # Every label value exists from the start, since a rate needs two points.
        for verdict in Verdict:
            if verdict is not Verdict.SKIPPED:
                self._submissions.labels(verdict.value)
        for sign in Suspicion:
            self._suspicion.labels(sign.value)

    def request(self, endpoint: str, status: int, took_s: float) -> None:
        """Count an answered request."""
        self._requests.labels(endpoint, str(status)).inc()
        self._request_s.labels(endpoint).observe(took_s)

    def parsed(self, took_s: float) -> None:
        """Count the time that a label took to read."""
        self._phase_s.labels("parse").observe(took_s)

    def report(self, report: GradeReport, took_s: float) -> None:
        """Count a submission that got its report `took_s` seconds after it was submitted."""
        self._submissions.labels(report.verdict.value).inc()
        if report.graded:
            self._rewards.inc(report.reward)
        else:
            self._internal_errors.inc()
        if report.suspicion:
            self._suspicious.inc()
        for sign in report.suspicion:
            self._suspicion.labels(sign.value).inc()
        run_s = min(took_s, report.usage.wall_time_s or 0.0)
        self._phase_s.labels("wait").observe(took_s - run_s)
        self._phase_s.labels("run").observe(run_s)
        self._phase_s.labels("total").observe(took_s)

    def cancelled(self) -> None:
        """Count a cancelled submission."""
        self._cancelled.inc()

    def program(self, outcome: str, *, is_ours: bool = False) -> None:
        """Count a program of /run_code; `is_ours` if it failed through our fault."""
        self._programs.labels(outcome).inc()
        if is_ours:
            self._internal_errors.inc()

    def watch(self, state: StateReader) -> None:
        """Add the state of the service to the metrics; it is read whenever Prometheus asks."""
        self.registry.register(_State(state))

    def counts(self) -> MetricCounts:
        """Return the counts of submissions and programs so far."""
        verdicts = {verdict.value: 0 for verdict in Verdict if verdict is not Verdict.SKIPPED}
        verdicts |= _by_label(self._submissions, "verdict")
        return MetricCounts(
            verdicts=verdicts,
            rewards=_value(self._rewards),
            suspicious=_total(self._suspicious),
            internal_errors=_total(self._internal_errors),
            cancelled=_total(self._cancelled),
            programs=sum(_by_label(self._programs, "outcome").values()),
            phases=_buckets(self._phase_s, "phase"),
        )


def _by_label(counter: Counter, label: str) -> dict[str, int]:
    (family,) = counter.collect()
    return {each.labels[label]: int(each.value) for each in family.samples}


def _total(counter: Counter) -> int:
    return int(_value(counter))


def _value(metric: Counter | Gauge) -> float:
    """Return the value of a metric without labels."""
    (family,) = metric.collect()
    (sample,) = family.samples
    return sample.value


def _buckets(histogram: Histogram, label: str) -> dict[str, tuple[int, ...]]:
    """Return the observations in each single bucket, by the value of a label."""
    (family,) = histogram.collect()
    upto: dict[str, list[int]] = {}
    for each in family.samples:
        if each.name.endswith("_bucket"):
            upto.setdefault(each.labels[label], []).append(int(each.value))
    return {
        value: tuple(high - low for low, high in zip([0, *counts], counts, strict=False))
        for value, counts in upto.items()
    }


class _State:
    """Collects the gauges."""

    def __init__(self, reader: StateReader) -> None:
        self._reader = reader

    def describe(self) -> Iterable[Metric]:
        """Return nothing, so that registering does not read the queue."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Read everything now."""
        state = self._reader.read()
        yield GaugeMetricFamily("grader_queue_depth", "Submissions that wait.", value=state.waiting)
        yield GaugeMetricFamily(
            "grader_queue_oldest_seconds",
            "Seconds that the oldest waiting submission has waited.",
            value=state.oldest_s,
        )
        yield _slot_states(state)
        if state.has_queue:
            yield from _queue_metrics(state.queue)


def _slot_states(state: ServiceState) -> Metric:
    family = GaugeMetricFamily("grader_slots", "Slots by state.", labels=("where", "state"))
    if state.slots is not None:
        for name in ("busy", "idle", "unopened"):
            family.add_metric(("here", name), getattr(state.slots, name))
    if state.queue is not None:
        for name, slots in state.queue.slots_by_state.items():
            family.add_metric(("workers", name), slots)
    return family


def _queue_metrics(status: QueueStatus | None) -> Iterator[Metric]:
    up = status is not None
    yield GaugeMetricFamily("grader_queue_up", "Whether Redis answers.", value=up)
    if status is None:
        return
    yield GaugeMetricFamily(
        "grader_redis_away",
        "How many Redis do not answer while others do.",
        value=len(status.away),
    )
    yield GaugeMetricFamily("grader_workers", "Workers of the queue.", value=len(status.workers))
    yield _worker_info(status)
    yield from _by_image(status)
    yield from _memory(status)
    yield GaugeMetricFamily(
        "grader_queue_clients", "Clients that wait for reports.", value=status.clients
    )
    events = CounterMetricFamily(
        "grader_queue_events",
        "What happened to submissions and workers of the queue, over all clients.",
        labels=("event",),
    )
    for event in names.Counter:
        events.add_metric((event.value,), status.counts.get(event, 0))
    yield events
    cache = CounterMetricFamily(
        "grader_cache", "Submissions of all clients, by what the cache did.", labels=("outcome",)
    )
    for outcome, count in status.cache_outcomes.items():
        cache.add_metric((outcome,), count)
    yield cache


def _worker_info(status: QueueStatus) -> Metric:
    family = GaugeMetricFamily(
        "grader_worker_info",
        "1 for each worker of the queue.",
        labels=("worker", "host", "state", "version", "build", "images"),
    )
    for each in status.workers:
        values = (each.id, each.host, each.state, each.version, each.build, each.images)
        family.add_metric(values, 1)
    return family


def _by_image(status: QueueStatus) -> Iterator[Metric]:
    waiting = GaugeMetricFamily(
        "grader_queue_waiting", "Submissions that no worker has taken.", labels=("image",)
    )
    oldest = GaugeMetricFamily(
        "grader_queue_waiting_seconds",
        "Seconds that the next submission has waited, for the client for which that is longest.",
        labels=("image",),
    )
    workers = GaugeMetricFamily(
        "grader_image_workers", "Workers that take jobs of an image.", labels=("image",)
    )
    serving = Counts(image for worker in status.serving for image in worker.images.split(","))
    for image in dict.fromkeys((*all_variants(), *status.waiting, *serving)):
        waiting.add_metric((image,), status.waiting.get(image, 0))
        waited = (lane.waited_s for lane in status.lanes if lane.image == image)
        oldest.add_metric((image,), max(waited, default=0.0))
        workers.add_metric((image,), serving[image])
    yield from (waiting, oldest, workers)


def _memory(status: QueueStatus) -> Iterator[Metric]:
    used, limit = status.memory.used_bytes, status.memory.limit_bytes
    yield GaugeMetricFamily("grader_redis_memory_bytes", "Memory that Redis uses.", value=used)
    yield GaugeMetricFamily(
        "grader_redis_memory_limit_bytes",
        "The most memory that Redis may use; 0: no limit.",
        value=limit,
    )
