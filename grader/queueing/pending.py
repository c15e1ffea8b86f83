"""The jobs whose answers a client waits for."""

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from grader.grading.futures import deliver
from grader.queueing.jobs import AnswerReader, QueuedJob


@dataclass(slots=True, kw_only=True, eq=False)
class PendingJob:
    """One job and all futures that wait for it, since equal submissions are one job.

    Changed under the lock of its `PendingJobs`, or by the sending thread.
    """

    job: QueuedJob
    is_bulk: bool
    """Whether it is one of many that were submitted together."""
    futures: dict[Future[Any], AnswerReader] = field(default_factory=dict)
    """Each with the reader that turns the worker's answer into its result."""
    deadline: float
    """The latest deadline of its futures, by `time.monotonic`."""
    is_sent: bool = False
    """Whether the sending thread has taken it."""
    is_entered: bool = False
    """Whether it is known to be in the ledger."""

    @property
    def timeout_s(self) -> float:
        """Seconds that the job may still take."""
        return max(0.001, self.deadline - time.monotonic())


class PendingJobs:
    """All pending jobs of one client, and the queue of those to send. Safe for many threads."""

    def __init__(self, in_flight: int) -> None:
        """Start empty.

        Args:
            in_flight: How many jobs may be sent and not yet answered.
        """
        self._changed = threading.Condition()
        self._jobs: dict[str, PendingJob] = {}
        self._unsent: deque[PendingJob] = deque()
        self._cancelled: list[str] = []
        self._in_flight = in_flight
        self._sent = 0
        self._closed = False

    def add(self, job: QueuedJob, future: Future[Any], deadline: float, *, is_bulk: bool) -> bool:
        """Have a future wait for a job; False if this client is closed."""
        with self._changed:
            if self._closed:
                return False
            pending = self._jobs.get(job.key)
            if pending is None:
                pending = PendingJob(job=job, is_bulk=is_bulk, deadline=deadline)
                self._jobs[job.key] = pending
                self._unsent.append(pending)
            pending.futures[future] = job.reader
            pending.deadline = max(pending.deadline, deadline)
            self._changed.notify_all()
            return True

    def __contains__(self, key: str) -> bool:
        return key in self._jobs

    def release(self, image: str) -> list[PendingJob]:
        """Cancel all jobs of an image, but leave their futures open; return them."""
        with self._changed:
            released = [each for each in self._jobs.values() if each.job.image == image]
            for pending in released:
                self._remove(pending)
            self._cancelled += [each.job.key for each in released if each.is_sent]
            self._changed.notify_all()
            return released

    def images(self) -> set[str]:
        """Return the images of all jobs."""
        with self._changed:
            return {pending.job.image for pending in self._jobs.values()}

    def drop(self, key: str, future: Future[Any]) -> None:
        """Remove a future. Removing the last one cancels the job."""
        with self._changed:
            pending = self._jobs.get(key)
            if pending is None or future not in pending.futures:
                return
            del pending.futures[future]
            if not pending.futures:
                self._remove(pending)
                if pending.is_sent:
                    self._cancelled.append(key)
                self._changed.notify_all()

    def answer(self, key: str, make: Callable[[AnswerReader], Any]) -> bool:
        """Give each future of a job the result that `make` returns; False if it has none."""
        with self._changed:
            pending = self._jobs.get(key)
            if pending is None:
                return False
            self._remove(pending)
            self._changed.notify_all()
        for future, reader in pending.futures.items():
            deliver(future, make(reader))
        return True

    def resend(self, key: str) -> bool:
        """Have a job sent again; False if no future waits for it."""
        with self._changed:
            pending = self._jobs.get(key)
            if pending is None or not pending.is_sent:
                return False
            self._put_back(pending)
            return True

    def unsend(self, jobs: list[PendingJob], cancelled: list[str]) -> None:
        """Put jobs and cancellations that could not be sent back to the front.

        A job that was tried alone goes behind all others, since it may be what Redis refuses.
        """
        with self._changed:
            self._cancelled += cancelled
            for pending in reversed(jobs):
                if pending.is_sent and self._jobs.get(pending.job.key) is pending:
                    self._put_back(pending)
            if len(jobs) == 1:
                self._unsent.rotate(-1)

    def take_unsent(self, at_most: int, characters: int) -> tuple[list[PendingJob], list[str]]:
        """Wait for jobs to send and keys to cancel. Both are empty if this client is closed.

        Args:
            at_most: The most jobs to return.
            characters: No job is added once their code has so many characters together.
        """
        with self._changed:
            while not (self._closed or self._cancelled or self._has_room()):
                self._changed.wait()
            taken: list[PendingJob] = []
            while self._has_room() and len(taken) < at_most and characters > 0:
                pending = self._unsent.popleft()
                characters -= len(pending.job.code)
                pending.is_sent = True
                self._sent += 1
                taken.append(pending)
            if taken:
                self._changed.notify_all()
            cancelled, self._cancelled = self._cancelled, []
            return taken, cancelled

    def entered_keys(self) -> list[str]:
        """Return the keys of jobs that are in the ledger, or have been answered."""
        with self._changed:
            return [key for key, pending in self._jobs.items() if pending.is_entered]

    def wait_for_sent(self, timeout_s: float) -> bool:
        """Wait until a job has been sent; False if none was in time, or this client is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._sent > 0, timeout_s)
            return self._sent > 0

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def close(self) -> list[PendingJob]:
        """Accept no more jobs; return those that will get no answer."""
        with self._changed:
            self._closed = True
            left = list(self._jobs.values())
            self._jobs.clear()
            self._unsent.clear()
            self._sent = 0
            self._cancelled += [pending.job.key for pending in left if pending.is_sent]
            self._changed.notify_all()
            return left

    def _has_room(self) -> bool:
        return bool(self._unsent) and self._sent < self._in_flight

    def _put_back(self, pending: PendingJob) -> None:
        pending.is_sent = pending.is_entered = False
        self._sent -= 1
        self._unsent.appendleft(pending)
        self._changed.notify_all()

    def _remove(self, pending: PendingJob) -> None:
        del self._jobs[pending.job.key]
        if pending.is_sent:
            self._sent -= 1
        else:
            self._unsent.remove(pending)
