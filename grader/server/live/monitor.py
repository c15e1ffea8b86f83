"""Observe the service every two seconds, and send what changed to the live page."""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Sequence

from grader.server.live import view
from grader.server.live.alerts import Alert, Situation, find_alerts
from grader.server.live.intervals import History, Interval, Observation
from grader.server.live.subscribers import Subscribers
from grader.server.live.worker_history import WorkerHistory
from grader.server.samples import Kept, SampleKind
from grader.server.service import Service
from grader.server.state import ServiceState

_log = logging.getLogger(__name__)

INTERVAL_S = 2.0
INTERVALS = 150
"""Intervals that are kept: five minutes."""
MINUTE_S = 60.0
MINUTES = 180
"""Longer intervals that are kept: three hours."""
_NEW_SAMPLES = 50
"""Most new samples that one interval sends. People do not read faster, and can list them all."""
_FIRST_SAMPLES = 100


class Monitor:
    """Keeps the data of the live page. For the event loop's thread."""

    def __init__(self, service: Service, *, obstacle: Callable[[], str | None]) -> None:
        """Begin the first interval.

        Args:
            service: The service to observe.
            obstacle: Returns why nothing can be graded in this process; None if grading works.
        """
        self._metrics = service.metrics
        self._reader = service.state
        self._store = service.samples
        self._deadline_s = service.settings.queue.deadline_s
        self._is_remote = service.is_remote
        self._obstacle = obstacle
        self._open_requests = service.open_requests
        self._recent = History(span_s=INTERVAL_S * 0.9, count=INTERVALS)
        self._older = History(span_s=MINUTE_S - INTERVAL_S / 2, count=MINUTES)
        self._begin()
        self._worker_history = WorkerHistory()
        self._state: ServiceState | None = None
        self._state_at = time.monotonic()
        self._newest_key: str | None = None
        self.subscribers = Subscribers()
        """The open pages."""
        self._boot = secrets.token_hex(4)
        self._started = time.time()

    @property
    def intervals(self) -> Sequence[Interval]:
        """The last minutes, in intervals of about `INTERVAL_S`; the newest last."""
        return self._recent.intervals

    @property
    def minutes(self) -> Sequence[Interval]:
        """The last hours, in intervals of about `MINUTE_S`; the newest last."""
        return self._older.intervals

    async def run(self) -> None:
        """Observe until cancelled."""
        reading = asyncio.ensure_future(self._keep_reading())
        try:
            while True:
                try:
                    self._end_interval()
                except Exception:  # noqa: BLE001 - logged
                    # The page may miss an interval, but the service must go on.
                    _log.exception("the figures of the live page could not be updated")
                await asyncio.sleep(INTERVAL_S)
        finally:
            reading.cancel()

    def snapshot(self) -> bytes:
        """Return the page's whole data as one event."""
        return view.event(
            "snapshot",
            {
                "boot": self._boot,
                "started": self._started,
                "keep": view.keep_fields(self._store.settings),
                "intervals": [view.interval_fields(interval) for interval in self.intervals],
                "samples": [
                    view.sample_fields(kept)
                    for kept in self._store.newest(SampleKind, _FIRST_SAMPLES)
                ],
                **self._now(),
            },
        )

    async def _keep_reading(self) -> None:
        """Read the state in a thread of its own: a queue that hangs must not stop the clock."""
        while True:
            try:
                self._state = await asyncio.to_thread(self._reader.read)
                self._state_at = time.monotonic()
                if self._state.queue is not None:
                    self._worker_history.update(self._state.queue, time.time())
            except Exception:  # noqa: BLE001 - logged; an alert says that the figures are old
                _log.exception("the state of the service could not be read")
            await asyncio.sleep(INTERVAL_S)

    def _begin(self) -> None:
        """Begin the first intervals now, so that they count work before a state is read."""
        unread = ServiceState(
            waiting=0, oldest_s=0.0, slots=None, has_queue=self._is_remote, queue=None
        )
        observation = self._observe(unread)
        self._older.add(observation)
        self._recent.add(observation)

    def _end_interval(self) -> None:
        if self._state is None:
            return
        observation = self._observe(self._state)
        self._older.add(observation)
        interval = self._recent.add(observation)
        if interval is not None and self.subscribers:
            self.subscribers.publish(view.event("interval", self._news(interval)))

    def _observe(self, state: ServiceState) -> Observation:
        return Observation(
            at=time.time(), clock=time.monotonic(), counts=self._metrics.counts(), state=state
        )

    def _news(self, interval: Interval) -> dict[str, object]:
        return {
            "interval": view.interval_fields(interval),
            "samples": [view.sample_fields(kept) for kept in self._new_samples()],
            **self._now(),
        }

    def _new_samples(self) -> list[Kept]:
        """Return the samples that came since the last call, the newest first."""
        newest = self._store.newest(SampleKind, _NEW_SAMPLES)
        keys = [kept.key for kept in newest]
        known = keys.index(self._newest_key) if self._newest_key in keys else len(keys)
        if keys:
            self._newest_key = keys[0]
        return newest[:known]

    def _now(self) -> dict[str, object]:
        counts = self._metrics.counts()
        return {
            "now": time.time(),
            "state": view.state_fields(self._state, self._worker_history),
            "totals": view.totals_fields(counts),
            "alerts": [view.alert_fields(alert) for alert in self._alerts()],
            "kept": view.kept_fields(self._store.counts()),
        }

    def _alerts(self) -> list[Alert]:
        if self._state is None:
            return []
        return find_alerts(
            Situation(
                now=time.time(),
                state=self._state,
                state_age_s=time.monotonic() - self._state_at,
                recent=self.intervals,
                gone=self._worker_history.gone,
                deadline_s=self._deadline_s,
                # With a queue, its state says what keeps workers from grading.
                obstacle=None if self._is_remote else self._obstacle(),
                is_stopping=self._open_requests.is_stopping,
            )
        )
