"""The jobs that this worker holds: taken from the ledger in chunks, and let go for others."""

import logging
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from grader.grading.run import Run
from grader.model.errors import QueueUnavailableError
from grader.queueing.dispatch import Dispatcher
from grader.queueing.ledger import Hint, Ledger, Taken

_log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True, eq=False)
class Chunk:
    """The jobs of one hint, taken together under one token."""

    token: str
    left: deque[Taken]
    key: str | None = None
    """The job that runs."""
    run: Run = field(default_factory=Run)
    since: float = 0.0
    """When the job that runs began, by the monotonic clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A job that runs, at one moment; its chunk may be at the next one a moment later."""

    chunk: Chunk
    run: Run
    since: float


class Chunks:
    """The open chunks of one worker. Safe for many threads."""

    def __init__(self, worker: str, *, ledger: Ledger, dispatcher: Dispatcher) -> None:
        """Hold nothing yet.

        Args:
            worker: The id under which it holds jobs.
            ledger: Where they go back to.
            dispatcher: Tells other workers of them.
        """
        self._worker = worker
        self._ledger = ledger
        self._dispatcher = dispatcher
        self._lock = threading.Lock()
        self._open: dict[Chunk, None] = {}
        self._owed: defaultdict[str, list[str]] = defaultdict(list)
        """Keys by token that are to go back, and of which Redis has not said that they did."""
        self._is_stopping = False

    @property
    def is_stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._is_stopping

    def stop(self) -> None:
        """Let no other job begin. Repeats harmlessly."""
        with self._lock:
            self._is_stopping = True

    def kill(self) -> None:
        """Stop the jobs that run, and let no other begin."""
        self.stop()
        with self._lock:
            runs = [chunk.run for chunk in self._open]
        for run in runs:
            run.stop()

    @contextmanager
    def opened(self, token: str, jobs: Iterable[Taken]) -> Iterator[Chunk]:
        """Hold jobs; those that have not begun by the end are let go."""
        chunk = Chunk(token=token, left=deque(jobs))
        with self._lock:
            self._open[chunk] = None
        try:
            yield chunk
        finally:
            with self._lock:
                del self._open[chunk]
            self.let_rest_go(chunk)

    def next_job(self, chunk: Chunk) -> Taken | None:
        """Return the chunk's next job, which has a run of its own; None where there is none."""
        # Under the lock: else `kill` might stop the run of the job before and never this one's.
        with self._lock:
            if self._is_stopping or not chunk.left:
                return None
            chunk.run = Run()
            return chunk.left.popleft()

    @contextmanager
    def running(self, chunk: Chunk, key: str) -> Iterator[None]:
        """Say meanwhile that a job of the chunk runs."""
        with self._lock:
            chunk.key, chunk.since = key, time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                chunk.key = None

    def running_now(self) -> dict[str, Running]:
        """Return what runs, by key."""
        with self._lock:
            return {
                chunk.key: Running(chunk=chunk, run=chunk.run, since=chunk.since)
                for chunk in self._open
                if chunk.key is not None
            }

    def let_go(self, chunk: Chunk, keys: Sequence[str]) -> None:
        """Let others have jobs: now, or once Redis is there again."""
        if not keys:
            return
        with self._lock:
            self._owed[chunk.token] += keys
        try:
            self.settle()
        except QueueUnavailableError as error:
            _log.warning("jobs will be given back later: %s", error)

    def let_rest_go(self, chunk: Chunk) -> None:
        """Let others have what waits behind the chunk's running job."""
        with self._lock:
            keys = [job.key for job in chunk.left]
            chunk.left.clear()
        self.let_go(chunk, keys)

    def settle(self) -> None:
        """Give back what `let_go` could not.

        Raises:
            QueueUnavailableError: It still cannot; nothing is forgotten.
        """
        with self._lock:
            owed = {token: list(keys) for token, keys in self._owed.items()}
        for token, keys in owed.items():
            hints = self._ledger.give_back(self._worker, token, keys)
            with self._lock:
                # Others may have settled it, or added to it, meanwhile.
                left = [key for key in self._owed.pop(token, ()) if key not in keys]
                if left:
                    self._owed[token] = left
            self.tell(hints)

    def tell(self, hints: Sequence[Hint]) -> None:
        """Send hints where the broker is there."""
        try:
            self._dispatcher.send(hints)
        except QueueUnavailableError as error:
            # The ledger has them; whoever reaps next sends the hints.
            _log.warning("hints were not sent: %s", error)
