"""The heartbeat: a worker's lease, and what has to be looked at while its threads are busy.

It stops what was cancelled, lets others have the rest of a chunk that a slow job holds up, and
looks for what dead workers left.
"""

import logging
import platform
import threading
import time
from datetime import UTC, datetime

from grader.config.settings import Settings
from grader.model.errors import QueueUnavailableError
from grader.process.repeats import Repeats
from grader.queueing.ledger import Ledger
from grader.queueing.status import WorkerStatus, encode_worker
from worker.chunks import Chunks
from worker.throughput import Throughput

_log = logging.getLogger(__name__)

_BEAT_S = 0.5

SLOW_S = 0.5
"""How long a job may run, or wait for a slot, before the rest of its chunk goes to others."""


class Heartbeat:
    """A thread of its own, from `start` to `close`."""

    def __init__(
        self,
        worker: str,
        settings: Settings,
        *,
        ledger: Ledger,
        chunks: Chunks,
        throughput: Throughput,
        sandbox: str,
    ) -> None:
        """Beat not yet.

        Args:
            worker: The id whose lease it keeps.
            settings: Of the worker.
            ledger: Where the lease is.
            chunks: What the worker is at.
            throughput: What it has done.
            sandbox: The backend's name, for those who look.
        """
        self._worker = worker
        self._settings = settings
        self._ledger = ledger
        self._chunks = chunks
        self._throughput = throughput
        self._sandbox = sandbox
        self._began = datetime.now(UTC)
        self._repeats = Repeats()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._beat_on, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Take the lease, soon, and keep it."""
        self._thread.start()

    def close(self) -> None:
        """Keep it no longer; returns when the last beat is over."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()

    def _beat_on(self) -> None:
        while not self._closed.wait(_BEAT_S):
            try:
                self._beat()
            except QueueUnavailableError as error:
                if self._repeats.is_due(str(error)):
                    _log.warning("no heartbeat: %s", error)
            except Exception:  # noqa: BLE001 - and it is logged
                # Without a heart everything here would be taken away again and again.
                _log.exception("the heartbeat met a fault")

    def _beat(self) -> None:
        running = self._chunks.running_now()
        pairs = [(each.chunk.token, key) for key, each in running.items()]
        status = encode_worker(self._status(len(running)))
        for key in self._ledger.beat(self._worker, status, pairs):
            running[key].run.stop()
        now = time.monotonic()
        for each in running.values():
            if now - each.since > SLOW_S or self._chunks.is_stopping:
                self._chunks.let_rest_go(each.chunk)
        self._chunks.settle()
        self._chunks.tell(self._ledger.reap(self._settings.queue.images.split(",")))

    def _status(self, running: int) -> WorkerStatus:
        return WorkerStatus(
            id=self._worker,
            host=platform.node(),
            state="stopping" if self._chunks.is_stopping else "serving",
            images=self._settings.queue.images,
            sandbox=self._sandbox,
            slots=self._settings.slots,
            # One or two more may be on their way to or from the ledger.
            running=min(running, self._settings.slots),
            graded=self._throughput.total,
            per_s=round(self._throughput.per_s, 2),
            started=self._began,
        )
