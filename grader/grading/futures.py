"""Everything a grader offers, built on futures: the same for the queue and for this process."""

import asyncio
import contextlib
import queue
from abc import abstractmethod
from collections.abc import AsyncIterator, Iterable, Iterator
from concurrent.futures import Future, InvalidStateError
from typing import TypeVar

from grader.model import GradeReport, Submission
from grader.process.closing import Closing

ReportFuture = Future[GradeReport]
Graded = tuple[Submission, GradeReport]

_Answer = TypeVar("_Answer")


def deliver(future: Future[_Answer], answer: _Answer) -> None:
    """Give a future its answer, unless it has one or was cancelled."""
    # It may be cancelled between a look at its state and this.
    with contextlib.suppress(InvalidStateError):
        future.set_result(answer)


class FutureGrader(Closing):
    """Grades submissions. Safe for many threads, and for any number of event loops.

    No method raises for what it is given. What is not graded by its deadline, or cannot be, gets
    the report of an internal error that says why: our failure is never a zero.
    """

    @abstractmethod
    def submit(
        self, submission: Submission, *, timeout_s: float | None = None, is_batch: bool = False
    ) -> ReportFuture:
        """Begin to grade, and return at once.

        Args:
            submission: What to grade.
            timeout_s: Seconds until the report is there at the latest; None: the settings'.
            is_batch: Whether throughput matters more than the time until this one's report.

        Returns:
            A future of the report. It never fails; cancelling it stops the grading, down to
            the sandbox, unless somebody else waits for an equal submission.
        """

    def look(self) -> str:
        """Ask whether anybody is there to grade; grades nothing, and takes seconds at most.

        Returns:
            What submissions would wait for; empty where it is nothing.

        Raises:
            GraderError: Nobody answers, or whoever does will have nothing to do with us.
        """
        return ""

    @abstractmethod
    def close(self) -> None:
        """Give up what is open and free everything. Repeats harmlessly."""

    @property
    @abstractmethod
    def _window(self) -> int:
        """How many submissions of a batch are open at once."""

    def grade(self, submission: Submission, *, timeout_s: float | None = None) -> GradeReport:
        """Grade one submission and wait for its report."""
        future = self.submit(submission, timeout_s=timeout_s)
        try:
            return future.result()
        except BaseException:
            # Whoever waited was interrupted.
            future.cancel()
            raise

    def grade_batch(
        self, submissions: Iterable[Submission], *, timeout_s: float | None = None
    ) -> list[GradeReport]:
        """Grade many submissions and return their reports in the same order."""
        numbered = list(submissions)
        reports = {id(s): r for s, r in self.as_completed(numbered, timeout_s=timeout_s)}
        return [reports[id(submission)] for submission in numbered]

    def as_completed(
        self, submissions: Iterable[Submission], *, timeout_s: float | None = None
    ) -> Iterator[Graded]:
        """Grade lazily and yield each submission with its report, as they finish.

        Holds a bounded number at once. Closing the iterator cancels those that are open. The
        deadline of each counts from when it was taken from `submissions`.

        Raises:
            Whatever iterating over `submissions` raises.
        """
        source = iter(submissions)
        finished: queue.SimpleQueue[tuple[Submission, ReportFuture]] = queue.SimpleQueue()
        open_futures: set[ReportFuture] = set()
        try:
            while True:
                while len(open_futures) < self._window:
                    submission = next(source, None)
                    if submission is None:
                        break
                    future = self.submit(submission, timeout_s=timeout_s, is_batch=True)
                    open_futures.add(future)
                    future.add_done_callback(_Putter(finished, submission))
                if not open_futures:
                    return
                submission, future = finished.get()
                open_futures.discard(future)
                yield submission, future.result()
        finally:
            for future in open_futures:
                future.cancel()

    async def agrade(
        self, submission: Submission, *, timeout_s: float | None = None
    ) -> GradeReport:
        """As `grade`; cancelling the task cancels the grading."""
        future = await asyncio.to_thread(self.submit, submission, timeout_s=timeout_s)
        return await asyncio.wrap_future(future)

    async def agrade_batch(
        self, submissions: Iterable[Submission], *, timeout_s: float | None = None
    ) -> list[GradeReport]:
        """As `grade_batch`."""
        numbered = list(submissions)
        reports = {
            id(submission): report
            async for submission, report in self.aas_completed(numbered, timeout_s=timeout_s)
        }
        return [reports[id(submission)] for submission in numbered]

    async def aas_completed(
        self, submissions: Iterable[Submission], *, timeout_s: float | None = None
    ) -> AsyncIterator[Graded]:
        """As `as_completed`; `submissions` is iterated in the event loop's thread."""
        source = iter(submissions)
        tasks: set[asyncio.Task[Graded]] = set()

        async def one(submission: Submission) -> Graded:
            future = self.submit(submission, timeout_s=timeout_s, is_batch=True)
            return submission, await asyncio.wrap_future(future)

        try:
            while True:
                while len(tasks) < self._window:
                    submission = next(source, None)
                    if submission is None:
                        break
                    tasks.add(asyncio.ensure_future(one(submission)))
                if not tasks:
                    return
                done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    yield task.result()
        finally:
            for task in tasks:
                task.cancel()


class _Putter:
    """Puts a settled future, with its submission, into a queue."""

    def __init__(
        self, finished: "queue.SimpleQueue[tuple[Submission, ReportFuture]]", submission: Submission
    ) -> None:
        self._finished = finished
        self._submission = submission

    def __call__(self, future: ReportFuture) -> None:
        self._finished.put((self._submission, future))
