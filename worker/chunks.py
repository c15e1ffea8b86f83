"""The jobs that this worker holds: taken from the ledger in chunks, and given back to it."""

import logging
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from grader.grading.stopping import StopHandle
from grader.model.errors import QueueUnavailableError
from grader.queueing.dispatch import Dispatcher
from grader.queueing.ledger import Hint, Ledger, Taken

_log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True, eq=False)
class Chunk:
    """The jobs of one hint, which were taken together under one token."""

    token: str
    left: deque[Taken]
    key: str | None = None
    """The running job."""
    handle: StopHandle = field(default_factory=StopHandle)
    since: float = 0.0
    """When the running job began, by `time.monotonic`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A job that was running when `running_now` was called; it may have ended since."""

    chunk: Chunk
    handle: StopHandle
    since: float


class Chunks:
    """The open chunks of one worker. Safe for many threads."""

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
        self._open: dict[Chunk, None] = {}
        self._owed: defaultdict[str, list[str]] = defaultdict(list)
        """Keys, by token, to give back; Redis has not yet confirmed that they were."""
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
            handles = [chunk.handle for chunk in self._open]
        for handle in handles:
            handle.stop()

    @contextmanager
    def opened(self, token: str, take: Callable[[], Iterable[Taken]]) -> Iterator[Chunk]:
        """Hold jobs; at the end, those that were not started are given back.

        Args:
            token: The delivery.
            take: Takes the jobs from the ledger, which is called when the token is known here.
        """
        chunk = Chunk(token=token, left=deque())
        with self._lock:
            self._open[chunk] = None
        try:
            jobs = take()
            with self._lock:
                chunk.left.extend(jobs)
            yield chunk
        finally:
            self.give_rest_back(chunk)
            with self._lock:
                del self._open[chunk]

    def next_job(self, chunk: Chunk) -> Taken | None:
        """Return the chunk's next job, and give it a new `StopHandle`; None if no job may start."""
        # Under the lock: else `kill` could stop the previous job's run and miss this one.
        with self._lock:
            if self._is_stopping or self.is_paused or not chunk.left:
                return None
            chunk.handle = StopHandle()
            return chunk.left.popleft()

    @contextmanager
    def running(self, chunk: Chunk, key: str) -> Iterator[None]:
        """Mark a job of the chunk as running."""
        with self._lock:
            chunk.key, chunk.since = key, time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                chunk.key = None

    def tokens(self) -> list[str]:
        """Return the tokens of the open chunks."""
        with self._lock:
            return [chunk.token for chunk in self._open]

    def running_now(self) -> dict[str, Running]:
        """Return the running jobs by key."""
        with self._lock:
            return {
                chunk.key: Running(chunk=chunk, handle=chunk.handle, since=chunk.since)
                for chunk in self._open
                if chunk.key is not None
            }

    def give_back(self, chunk: Chunk, keys: Sequence[str]) -> None:
        """Give jobs back to the ledger: now, or once Redis answers again."""
        if not keys:
            return
        with self._lock:
            self._owed[chunk.token] += keys
        self._try_to_give_back()

    def give_unknown_back(self, held: Iterable[tuple[str, str]]) -> None:
        """Give back the jobs that the ledger says this worker holds, although it does not.

        A Redis that came back from an older file may say so.

        Args:
            held: Token and key of each job, as the ledger has them.
        """
        # A token is open before jobs are taken under it, and until all of them are done.
        known = set(self.tokens())
        unknown = [(token, key) for token, key in held if token not in known]
        if not unknown:
            return
        _log.warning("giving back %d jobs that only the ledger says are here", len(unknown))
        with self._lock:
            for token, key in unknown:
                self._owed[token].append(key)
        self._try_to_give_back()

    def _try_to_give_back(self) -> None:
        try:
            self.give_back_owed()
        except QueueUnavailableError as error:
            _log.warning("Redis does not answer; jobs will be given back later: %s", error)

    def give_rest_back(self, chunk: Chunk) -> None:
        """Give back the jobs of a chunk that were not started."""
        with self._lock:
            keys = [job.key for job in chunk.left]
            chunk.left.clear()
        self.give_back(chunk, keys)

    def give_back_owed(self) -> None:
        """Give back what `give_back` could not.

        Raises:
            QueueUnavailableError: Redis still does not answer. Nothing is forgotten.
        """
        with self._lock:
            owed = {token: list(keys) for token, keys in self._owed.items()}
        for token, keys in owed.items():
            hints = self._ledger.give_back(self._worker, token, keys)
            with self._lock:
                # Another thread may have changed it meanwhile.
                left = [key for key in self._owed.pop(token, ()) if key not in keys]
                if left:
                    self._owed[token] = left
            self.send_hints(hints)

    def send_hints(self, hints: Sequence[Hint]) -> None:
        """Send hints, if the broker can be reached."""
        try:
            self._dispatcher.send(hints)
        except QueueUnavailableError as error:
            # The ledger has the jobs: the next worker that reaps finds that their hints are lost.
            _log.warning("hints were not sent: %s", error)
