"""The grader as a library: a pool of warm slots and the threads that keep them busy."""

import logging
import queue
import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Self

from grader.config.settings import ImageSettings, SandboxChoice, Settings
from grader.grading import pipeline
from grader.grading.hosts import SLOTS_PER_PROCESS, Hosts
from grader.model import GradeReport, Submission
from grader.model.errors import GraderError
from grader.process.closing import Closing
from grader.process.exits import Closeable
from grader.running.references import References
from grader.sandbox.choice import choose_sandbox
from grader.sandbox.contract import Sandbox, Slot
from grader.sandbox.pool import SlotCounts, SlotPool
from grader.scoring import calibration
from grader.scoring.policies import find_policy

_log = logging.getLogger(__name__)

_IN_FLIGHT_PER_SLOT = 4


class Grader(Closing):
    """Grades submissions in slots of its own. Safe to use from many threads.

    Slots are opened when they are first needed and kept warm until `close`. Where there are many,
    so are host processes (`grader/grading/hosts.py`).
    """

    def __init__(self, settings: Settings | None = None, *, sandbox: Sandbox | None = None) -> None:
        """Choose the sandbox; nothing is started yet.

        Args:
            settings: None for the defaults.
            sandbox: None for the one that the settings choose. Closed with the grader.

        Raises:
            ConfigurationError: The settings name something that does not exist.
            SandboxError: The chosen sandbox cannot work here.
        """
        self.settings = settings or Settings()
        find_policy(self.settings.policy)
        self._calibration = calibration.find(self.settings)
        self.sandbox = sandbox or choose_sandbox(self.settings)
        self._references = References()
        self._pool = SlotPool(
            self.sandbox,
            size=self.settings.slots,
            memory_bytes=self.settings.limits.memory_bytes,
            outage_s=self.settings.outage_s,
            supersets={"python": "science"} if self.settings.images == ImageSettings() else {},
        )
        # A sandbox that was handed in cannot be handed on to other processes.
        self._hosts = (
            Hosts(self.settings, SandboxChoice(self.sandbox.name))
            if sandbox is None and self.settings.slots > SLOTS_PER_PROCESS
            else None
        )
        self._warming: threading.Thread | None = None
        self._warming_error: GraderError | None = None

    @property
    def slots(self) -> SlotPool:
        """The slots of this process, for whoever has something else to run in them."""
        return self._pool

    def slot_counts(self) -> SlotCounts:
        """Return how many slots are in which state, those of host processes included."""
        own = self._pool.counts()
        return own if self._hosts is None else self._hosts.counts(own)

    def grade(self, submission: Submission) -> GradeReport:
        """Grade one submission; waits for a free slot. Never raises for what it was given."""
        try:
            if self._hosts is None:
                return self._grade_here(submission)
            return self._hosts.grade(
                submission, self.settings, here=self._grade_here, held=self._held
            )
        except GraderError as error:
            return pipeline.failed(submission, error, self.settings)
        except Exception as error:  # noqa: BLE001 - reported and logged, whatever it is
            # A fault of this program must cost one report, and be seen, but never a batch.
            _log.exception("submission %s met a fault in the grader", submission.id)
            return pipeline.not_graded(f"{type(error).__name__}: {error}", self.settings)

    def grade_batch(self, submissions: Iterable[Submission]) -> list[GradeReport]:
        """Grade many submissions at once and return their reports in the same order."""
        numbered = list(submissions)
        reports = {id(each): report for each, report in self.as_completed(numbered)}
        return [reports[id(each)] for each in numbered]

    def as_completed(
        self, submissions: Iterable[Submission]
    ) -> Iterator[tuple[Submission, GradeReport]]:
        """Grade lazily and yield each submission with its report, as they finish.

        Takes from `submissions`, in threads of its own, only a few more than there are slots.
        Closing the iterator lets what is being graded finish and drops the rest.

        Raises:
            Whatever iterating over `submissions` raises, after the reports of those before.
        """
        with _Batch(self, submissions, workers=self.settings.slots) as batch:
            yield from batch.results()

    def warm(self, image: str = "python") -> None:
        """Start opening a slot, so that the first submission need not wait for all of it.

        Where that fails, `look` and the first submission say so.
        """
        self._warming = threading.Thread(target=self._open_one, args=(image,), daemon=True)
        self._warming.start()

    def look(self) -> None:
        """Wait for what `warm` began, which the first submission would wait for anyway.

        Raises:
            GraderError: No slot can be opened.
        """
        if self._warming is not None:
            self._warming.join()
        if self._warming_error is not None:
            raise self._warming_error

    def close(self) -> None:
        """Close every slot and the sandbox. Repeats harmlessly."""
        if self._hosts is not None:
            self._hosts.close()
        self._pool.close()
        self.sandbox.close()
        if self._warming is not None:
            self._warming.join()

    def _grade_here(self, submission: Submission) -> GradeReport:
        """Grade in a slot of this process."""
        return pipeline.grade(
            submission, self._borrow, self._references, self.settings, self._calibration
        )

    def _held(self, grading: Closeable) -> AbstractContextManager[object]:  # noqa: ARG002
        """Return a context in which a host process grades; closing `grading` stops that."""
        return nullcontext()

    def _open_one(self, image: str) -> None:
        try:
            with self._borrow(image, 0):
                pass
        except GraderError as error:
            self._warming_error = error

    def _borrow(self, image: str, memory_bytes: int) -> AbstractContextManager[Slot]:
        return self._pool.borrow(image=image, memory_bytes=memory_bytes)


@dataclass(frozen=True, slots=True)
class _Failed:
    """The submissions could not be read any further."""

    error: BaseException


_Result = tuple[Submission, GradeReport] | _Failed | None


class _Batch:
    """The threads of one `as_completed`."""

    def __init__(self, grader: Grader, submissions: Iterable[Submission], *, workers: int) -> None:
        self._grader = grader
        self._source = iter(submissions)
        self._source_lock = threading.Lock()
        self._stopping = threading.Event()
        self._results: queue.SimpleQueue[_Result] = queue.SimpleQueue()
        self._room = threading.Semaphore(workers * _IN_FLIGHT_PER_SLOT)
        self._threads = [
            threading.Thread(target=self._work, name=f"grade-{number}", daemon=True)
            for number in range(workers)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for _each in self._threads:
            self._room.release()
        for thread in self._threads:
            thread.join()

    def results(self) -> Iterator[tuple[Submission, GradeReport]]:
        """Yield results until every thread has run out of submissions."""
        working = len(self._threads)
        failed: _Failed | None = None
        while working:
            result = self._results.get()
            if result is None:
                working -= 1
            elif isinstance(result, _Failed):
                failed = failed or result
            else:
                self._room.release()
                yield result
        if failed is not None:
            raise failed.error

    def _work(self) -> None:
        try:
            while True:
                self._room.acquire()
                submission = self._next()
                if submission is None:
                    return
                self._results.put((submission, self._grader.grade(submission)))
        finally:
            self._results.put(None)

    def _next(self) -> Submission | None:
        with self._source_lock:
            if self._stopping.is_set():
                return None
            try:
                return next(self._source, None)
            except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
                self._stopping.set()
                self._results.put(_Failed(error))
                return None
