"""The heartbeat, which renews a worker's lease while its other threads are busy.

Each beat also stops cancelled runs, and takes the jobs of dead workers back.
"""

import logging
import platform
import threading
from collections.abc import Callable
from datetime import UTC, datetime

from grader.config.settings import Settings
from grader.model.errors import QueueUnavailableError
from grader.process.release import build_id, installed_version
from grader.process.repeats import Repeats
from grader.process.threads import Threads
from grader.queueing.ledger import Ledger
from grader.queueing.status import WorkerState, WorkerStatus, encode_worker
from worker.deliveries import Deliveries
from worker.throughput import Throughput

_log = logging.getLogger(__name__)

_BEAT_S = 0.5


class Heartbeat:
    """A thread that beats from `start` to `close`."""

    def __init__(
        self,
        worker: str,
        settings: Settings,
        *,
        ledger: Ledger,
        deliveries: Deliveries,
        throughput: Throughput,
        sandbox: str,
        edition: Callable[[], str],
    ) -> None:
        """Start nothing yet.

        Args:
            worker: The id of the worker in the ledger.
            settings: The worker's settings.
            ledger: The ledger.
            deliveries: The jobs that the worker holds.
            throughput: Counts what it has graded.
            sandbox: The backend's name, for the status.
            edition: Returns the edition of its verdicts; see `Ledger.beat`.
        """
        self._worker = worker
        self._settings = settings
        self._ledger = ledger
        self._deliveries = deliveries
        self._throughput = throughput
        self._sandbox = sandbox
        self._edition = edition
        self._began = datetime.now(UTC)
        self._repeats = Repeats()
        self._closed = threading.Event()
        # Stopping a run closes its slot, which takes up to 10 s for a container: far longer than a
        # beat may be delayed before the lease runs out.
        self._stopping = Threads(settings.slots, "stop")
        self._thread = threading.Thread(target=self._beat_on, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Take the lease within a beat, and keep renewing it."""
        self._thread.start()

    def close(self) -> None:
        """Stop renewing it. Returns when the last beat is over."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()
        self._stopping.shutdown(wait=False)

    def _beat_on(self) -> None:
        while not self._closed.wait(_BEAT_S):
            try:
                self._beat()
            except QueueUnavailableError as error:
                if self._repeats.is_due(str(error)):
                    _log.warning("no heartbeat: %s", error)
            except Exception:  # noqa: BLE001 - logged
                # If the thread ended, every job of this worker would be taken back again and again.
                _log.exception("a heartbeat failed because of a bug")

    def _beat(self) -> None:
        running = self._deliveries.running_now()
        pairs = [(each.token, key) for key, each in running.items()]
        status = encode_worker(self._status(len(running)))
        told = self._ledger.beat(
            self._worker, status, pairs, self._deliveries.tokens(), edition=self._edition()
        )
        for key in told.lost:
            handle = running[key].handle
            if not handle.is_stopped:
                self._stopping.submit(handle.stop)
                handle.forbid()
        self._deliveries.give_unknown_back(told.held)
        self._deliveries.give_back_owed()
        self._deliveries.send_hints(self._ledger.reap())

    def _status(self, running: int) -> WorkerStatus:
        return WorkerStatus(
            id=self._worker,
            host=platform.node(),
            version=installed_version() or "",
            build=build_id(),
            state=self._state(),
            images=self._settings.queue.images,
            sandbox=self._sandbox,
            slots=self._settings.slots,
            # A few more may be on their way to or from the ledger.
            running=min(running, self._settings.slots),
            graded=self._throughput.total,
            per_s=round(self._throughput.per_s, 2),
            started=self._began,
        )

    def _state(self) -> WorkerState:
        if self._deliveries.is_stopping:
            return WorkerState.STOPPING
        return WorkerState.SICK if self._deliveries.is_paused else WorkerState.SERVING
