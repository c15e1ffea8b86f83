"""What a client has asked for and not got yet: equal submissions are one entry."""

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from grader.grading.futures import deliver
from grader.queueing.jobs import Job, Reader


@dataclass(slots=True, kw_only=True, eq=False)
class Entry:
    """A job that somebody waits for. Changed under the lock of its `Calls`, or by the sender."""

    job: Job
    is_batch: bool
    """Whether it may travel with others."""
    futures: dict[Future[Any], Reader] = field(default_factory=dict)
    """Who waits, each with what makes its own answer of a worker's."""
    deadline: float
    """The latest of its calls; of `time.monotonic`."""
    is_sent: bool = False
    """Whether the sender has taken it."""
    is_entered: bool = False
    """Whether the ledger has confirmed it."""

    @property
    def timeout_s(self) -> float:
        """How long the job may still take."""
        return max(0.001, self.deadline - time.monotonic())


class Calls:
    """The entries of one client, those that wait to be sent first. Safe for many threads."""

    def __init__(self, in_flight: int) -> None:
        """Start empty.

        Args:
            in_flight: How many entries may be sent and not answered at once.
        """
        self._changed = threading.Condition()
        self._entries: dict[str, Entry] = {}
        self._unsent: deque[Entry] = deque()
        self._cancelled: list[str] = []
        self._in_flight = in_flight
        self._sent = 0
        self._closed = False

    def add(self, job: Job, future: Future[Any], deadline: float, *, is_batch: bool) -> bool:
        """Wait for a job; False where this client is closed."""
        with self._changed:
            if self._closed:
                return False
            entry = self._entries.get(job.key)
            if entry is None:
                entry = Entry(job=job, is_batch=is_batch, deadline=deadline)
                self._entries[job.key] = entry
                self._unsent.append(entry)
            entry.futures[future] = job.reader
            entry.deadline = max(entry.deadline, deadline)
            self._changed.notify_all()
            return True

    def drop(self, key: str, future: Future[Any]) -> None:
        """Stop waiting on behalf of one future; the last one cancels the job."""
        with self._changed:
            entry = self._entries.get(key)
            if entry is None or future not in entry.futures:
                return
            del entry.futures[future]
            if not entry.futures:
                self._remove(entry)
                if entry.is_sent:
                    self._cancelled.append(key)
                self._changed.notify_all()

    def answer(self, key: str, make: Callable[[Reader], Any]) -> bool:
        """Deliver to all who wait for a job what `make` makes; False where nobody does."""
        with self._changed:
            entry = self._entries.get(key)
            if entry is None:
                return False
            self._remove(entry)
            self._changed.notify_all()
        for future, reader in entry.futures.items():
            deliver(future, make(reader))
        return True

    def resend(self, key: str) -> bool:
        """Have an entry sent once more; False where nobody waits for it."""
        with self._changed:
            entry = self._entries.get(key)
            if entry is None or not entry.is_sent:
                return False
            self.unsend([entry])
            return True

    def unsend(self, entries: list[Entry], cancelled: list[str] | None = None) -> None:
        """Put what could not be sent back to the front."""
        with self._changed:
            self._cancelled += cancelled or ()
            for entry in reversed(entries):
                if entry.is_sent and self._entries.get(entry.job.key) is entry:
                    entry.is_sent = entry.is_entered = False
                    self._sent -= 1
                    self._unsent.appendleft(entry)
            self._changed.notify_all()

    def take_unsent(self, at_most: int, characters: int) -> tuple[list[Entry], list[str]]:
        """Wait for something to send: entries, and keys to cancel. Both empty: closed.

        Args:
            at_most: So many entries.
            characters: Their code has not many more than that together.
        """
        with self._changed:
            while not (self._closed or self._cancelled or self._has_room()):
                self._changed.wait()
            taken: list[Entry] = []
            while self._has_room() and len(taken) < at_most and characters > 0:
                entry = self._unsent.popleft()
                characters -= len(entry.job.code)
                entry.is_sent = True
                self._sent += 1
                taken.append(entry)
            cancelled, self._cancelled = self._cancelled, []
            return taken, cancelled

    def entered_keys(self) -> list[str]:
        """Return the keys that the ledger must know, or have answered."""
        with self._changed:
            return [key for key, entry in self._entries.items() if entry.is_entered]

    def wait_for_sent(self, timeout_s: float) -> bool:
        """Wait until an answer is expected; False where the time is over or all is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._sent > 0, timeout_s)
            return self._sent > 0

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def close(self) -> list[Entry]:
        """Take in nothing more; returns what nobody will answer."""
        with self._changed:
            self._closed = True
            left = list(self._entries.values())
            self._entries.clear()
            self._unsent.clear()
            self._sent = 0
            self._cancelled += [entry.job.key for entry in left if entry.is_sent]
            self._changed.notify_all()
            return left

    def _has_room(self) -> bool:
        return bool(self._unsent) and self._sent < self._in_flight

    def _remove(self, entry: Entry) -> None:
        del self._entries[entry.job.key]
        if entry.is_sent:
            self._sent -= 1
        else:
            self._unsent.remove(entry)
