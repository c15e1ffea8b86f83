"""The jobs that this worker holds. Each is a delivery from the ledger, with a token of its own."""

import logging
import secrets
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from grader.grading.stopping import StopHandle
from grader.model.errors import QueueUnavailableError
from grader.queueing.dispatch import Dispatcher
from grader.queueing.ledger import Ledger
from grader.queueing.ledger_values import Hint

_log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True, eq=False)
class Delivery:
    """One job that is taken, run and handed in; or the intention to take one."""

    token: str
    key: str | None = None
    """The job, while it runs."""
    handle: StopHandle = field(default_factory=StopHandle)
    since: float = 0.0
    """When it began to run, by `time.monotonic`."""
    is_left: bool = False
    """Whether the job was left to other workers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A job that was running when `running_now` was called; it may have ended since."""

    token: str
    handle: StopHandle


class Deliveries:
    """The open deliveries of one worker. Safe for many threads."""

    def __init__(self, worker: str, *, ledger: Ledger, dispatcher: Dispatcher) -> None:
        """Hold nothing yet.

        Args:
            worker: The id of this worker in the ledger.
            ledger: The ledger.
            dispatcher: Sends the hints for jobs that are given back.
        """
        self._worker = worker
        self._ledger = ledger
        self._dispatcher = dispatcher
        self._lock = threading.Lock()
        self._open: dict[Delivery, None] = {}
        self._owed: list[tuple[str, str]] = []
        """Token and key of jobs to give back; Redis has not yet confirmed that they were."""
        self._is_stopping = False
        self.is_paused = False
        """Whether no job may start for now."""

    @property
    def is_stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._is_stopping

    def stop(self) -> None:
        """Start no more jobs. Repeats harmlessly."""
        with self._lock:
            self._is_stopping = True

    def kill(self) -> None:
        """Stop the running jobs, and start no more."""
        self.stop()
        with self._lock:
            handles = [delivery.handle for delivery in self._open]
        for handle in handles:
            handle.stop()

    def open(self) -> Delivery | None:
        """Return a new delivery, under whose token a job may be taken; None if none may start."""
        with self._lock:
            if self._is_stopping or self.is_paused:
                return None
            delivery = Delivery(token=secrets.token_hex(8))
            self._open[delivery] = None
            return delivery

    def close(self, delivery: Delivery) -> None:
        """Forget a delivery whose job was handed in or given back, or that got none."""
        with self._lock:
            self._open.pop(delivery, None)

    @contextmanager
    def running(self, delivery: Delivery, key: str) -> Iterator[bool]:
        """Mark a delivery's job as running. Yields False if it must not start."""
        # Under the lock: else `kill` could miss this run.
        with self._lock:
            may_start = not (self._is_stopping or self.is_paused)
            if may_start:
                delivery.key, delivery.since = key, time.monotonic()
        try:
            yield may_start
        finally:
            with self._lock:
                delivery.key = None

    def tokens(self) -> list[str]:
        """Return the tokens of the open deliveries."""
        with self._lock:
            return [delivery.token for delivery in self._open]

    def running_now(self) -> dict[str, Running]:
        """Return the running jobs by key."""
        with self._lock:
            return {
                delivery.key: Running(token=delivery.token, handle=delivery.handle)
                for delivery in self._open
                if delivery.key is not None
            }

    def give_back(self, jobs: Iterable[tuple[str, str]]) -> None:
        """Give jobs back to the ledger: now, or once Redis answers again.

        Args:
            jobs: Token and key of each.
        """
        with self._lock:
            self._owed += jobs
        try:
            self.give_back_owed()
        except QueueUnavailableError as error:
            _log.warning("Redis does not answer; jobs will be given back later: %s", error)

    def give_unknown_back(self, held: Iterable[tuple[str, str]]) -> None:
        """Give back the jobs that the ledger says this worker holds, although it does not.

        A Redis that came back from an older file may say so.

        Args:
            held: Token and key of each job, as the ledger has them.
        """
        # A delivery is open before a job is taken under its token, and until the job is done.
        known = set(self.tokens())
        unknown = [(token, key) for token, key in held if token not in known]
        if unknown:
            _log.warning("giving back %d jobs that only the ledger says are here", len(unknown))
            self.give_back(unknown)

    def give_back_owed(self) -> None:
        """Give back what `give_back` could not.

        Raises:
            QueueUnavailableError: Redis still does not answer. Nothing is forgotten.
        """
        with self._lock:
            owed = list(self._owed)
        if not owed:
            return
        hints = self._ledger.give_back(self._worker, owed)
        with self._lock:
            # Another thread may have changed it meanwhile.
            self._owed = [job for job in self._owed if job not in owed]
        self.send_hints(hints)

    def send_hints(self, hints: Iterable[Hint]) -> None:
        """Send hints, if the broker can be reached."""
        try:
            self._dispatcher.send(hints)
        except QueueUnavailableError as error:
            # The next worker that looks for lost hints sends them again.
            _log.warning("hints were not sent: %s", error)
