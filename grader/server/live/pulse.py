"""Watches the service, every two seconds, and tells whoever looks at the page."""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Sequence

from grader.server.engine import Engine
from grader.server.live import view
from grader.server.live.beats import Beat, Look, Ring
from grader.server.live.concerns import Concern, Situation, find_concerns
from grader.server.live.roster import Roster
from grader.server.live.subscribers import Audience
from grader.server.samples import Kept, Kind
from grader.server.state import ServiceState

_log = logging.getLogger(__name__)

BEAT_S = 2.0
BEATS = 150
"""Beats that are kept: of five minutes."""
MINUTE_S = 60.0
MINUTES = 180
"""Longer beats that are kept: of three hours."""
_NEW_SAMPLES = 50
"""So many new samples are told of in one beat; no one reads faster, and all can be listed."""
_FIRST_SAMPLES = 100


class Pulse:
    """What the page shows of the whole service. For the event loop's thread."""

    def __init__(self, engine: Engine, *, obstacle: Callable[[], str | None]) -> None:
        """Watch nothing yet.

        Args:
            engine: The service.
            obstacle: Says why nothing can be graded in this process.
        """
        self._metrics = engine.metrics
        self._reader = engine.state
        self._store = engine.samples
        self._deadline_s = engine.settings.queue.deadline_s
        self._is_remote = engine.is_remote
        self._obstacle = obstacle
        self._attendance = engine.attendance
        self._beat_ring = Ring(span_s=BEAT_S * 0.9, count=BEATS)
        self._minute_ring = Ring(span_s=MINUTE_S - BEAT_S / 2, count=MINUTES)
        self._begin()
        self._roster = Roster()
        self._state: ServiceState | None = None
        self._state_at = time.monotonic()
        self._newest_key: str | None = None
        self.audience = Audience()
        """Those who look at the page."""
        self._boot = secrets.token_hex(4)
        self._started = time.time()

    @property
    def beats(self) -> Sequence[Beat]:
        """Those of the last minutes, each of some `BEAT_S`; the newest last."""
        return self._beat_ring.beats

    @property
    def minutes(self) -> Sequence[Beat]:
        """Those of the last hours, each of some `MINUTE_S`; the newest last."""
        return self._minute_ring.beats

    async def run(self) -> None:
        """Watch until cancelled."""
        reading = asyncio.ensure_future(self._keep_reading())
        try:
            while True:
                try:
                    self._beat()
                except Exception:  # noqa: BLE001 - logged
                    # The page may miss a beat; the service must not.
                    _log.exception("the page's figures met a fault")
                await asyncio.sleep(BEAT_S)
        finally:
            reading.cancel()

    def snapshot(self) -> bytes:
        """Return all that there is to show now, as one event."""
        return view.event(
            "snapshot",
            {
                "boot": self._boot,
                "started": self._started,
                "keep": view.keep_fields(self._store.settings),
                "beats": [view.beat_fields(beat) for beat in self.beats],
                "samples": [
                    view.sample_fields(kept) for kept in self._store.newest(Kind, _FIRST_SAMPLES)
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
                    self._roster.update(self._state.queue, time.time())
            except Exception:  # noqa: BLE001 - logged, and told of as figures that are old
                _log.exception("the state of the service could not be read")
            await asyncio.sleep(BEAT_S)

    def _begin(self) -> None:
        """Have the first beats begin now, so that they count what comes before a state is read."""
        unread = ServiceState(
            waiting=0, oldest_s=0.0, slots=None, has_queue=self._is_remote, queue=None
        )
        look = self._look(unread)
        self._minute_ring.look(look)
        self._beat_ring.look(look)

    def _beat(self) -> None:
        if self._state is None:
            return
        look = self._look(self._state)
        self._minute_ring.look(look)
        beat = self._beat_ring.look(look)
        if beat is not None and self.audience:
            self.audience.tell(view.event("beat", self._news(beat)))

    def _look(self, state: ServiceState) -> Look:
        return Look(
            at=time.time(), clock=time.monotonic(), counts=self._metrics.counts(), state=state
        )

    def _news(self, beat: Beat) -> dict[str, object]:
        return {
            "beat": view.beat_fields(beat),
            "samples": [view.sample_fields(kept) for kept in self._new_samples()],
            **self._now(),
        }

    def _new_samples(self) -> list[Kept]:
        """Return the samples that came since the last call, the newest first."""
        newest = self._store.newest(Kind, _NEW_SAMPLES)
        keys = [kept.key for kept in newest]
        known = keys.index(self._newest_key) if self._newest_key in keys else len(keys)
        if keys:
            self._newest_key = keys[0]
        return newest[:known]

    def _now(self) -> dict[str, object]:
        counts = self._metrics.counts()
        return {
            "now": time.time(),
            "state": view.state_fields(self._state, self._roster),
            "totals": view.totals_fields(counts),
            "concerns": [view.concern_fields(concern) for concern in self._concerns()],
            "kept": view.kept_fields(self._store.counts()),
        }

    def _concerns(self) -> list[Concern]:
        if self._state is None:
            return []
        return find_concerns(
            Situation(
                now=time.time(),
                state=self._state,
                state_age_s=time.monotonic() - self._state_at,
                recent=self.beats,
                gone=self._roster.gone,
                deadline_s=self._deadline_s,
                # What keeps workers from grading, the state of the queue tells.
                obstacle=None if self._is_remote else self._obstacle(),
                is_stopping=self._attendance.is_stopping,
            )
        )
