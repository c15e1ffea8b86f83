"""The interface of all graders, built on futures: over a queue, at a service, in this process."""

import asyncio
import contextlib
import queue
from abc import abstractmethod
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import closing
from functools import partial
from typing import Self, TypeVar

from grader.model import GradeReport, Submission
from grader.process.closing import Closing

ReportFuture = Future[GradeReport]
SubmissionReport = tuple[Submission, GradeReport]

_Answer = TypeVar("_Answer")


def deliver(future: Future[_Answer], answer: _Answer) -> None:
    """Give a future its answer, unless it has one or was cancelled."""
    # It may be cancelled at any moment, also after a check of its state.
    with contextlib.suppress(InvalidStateError):
        future.set_result(answer)


class FutureGrader(Closing):
    """Grades submissions. Safe for many threads, and for any number of event loops.

    No submission makes a method raise. A submission that is not graded by its deadline, or cannot
    be graded, gets the report of an internal error that says why: our failures never count as wrong
    answers.
    """

    @abstractmethod
    def submit(
        self, submission: Submission, *, timeout_s: float | None = None, is_bulk: bool = False
    ) -> ReportFuture:
        """Begin to grade, and return at once.

        Args:
            submission: What to grade.
            timeout_s: Seconds after which the report is an internal error. None: `queue.deadline_s`
                over a queue or at a service, which may be lost; no deadline in this process.
            is_bulk: Whether throughput matters more than the time until this one's report.

        Returns:
            A future of the report. It never fails. Cancelling it stops the grading, down to the
            sandbox, unless another future waits for an equal submission.
        """

    def look(self) -> str:
        """Ask whether submissions could be graded now. Grades nothing, and takes seconds at most.

        Returns:
            What submissions would wait for; empty if nothing.

        Raises:
            GraderError: There is no answer, or this client is refused.
        """
        return ""

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
            # This thread was interrupted.
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
    ) -> "AsCompleted":
        """Grade lazily and give each submission with its report, as they finish.

        Holds a bounded number at once. The time of each counts from when it was taken from
        `submissions`, which happens in the thread that iterates.
        """
        return AsCompleted(self, submissions, timeout_s=timeout_s, window=self._window)

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
            async for submission, report in self.as_completed(numbered, timeout_s=timeout_s)
        }
        return [reports[id(submission)] for submission in numbered]

    async def __aenter__(self) -> Self:
        """Return the grader itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it, in another thread: slots take a while to close."""
        await asyncio.to_thread(self.close)


class AsCompleted(Iterable[SubmissionReport], AsyncIterable[SubmissionReport]):
    """Submissions with their reports as they finish, for one `for` or `async for`.

    Ending the loop early cancels what is open. An error of the iterator of submissions is raised
    after the reports of the submissions before it.
    """

    def __init__(
        self,
        grader: FutureGrader,
        submissions: Iterable[Submission],
        *,
        timeout_s: float | None,
        window: int,
    ) -> None:
        """Take no submission yet.

        Args:
            grader: Grades them.
            submissions: Iterated lazily.
            timeout_s: See `FutureGrader.submit`.
            window: How many are open at once.
        """
        self._grader = grader
        self._submissions = submissions
        self._timeout_s = timeout_s
        self._window = window

    def __iter__(self) -> Iterator[SubmissionReport]:
        """Yield them; the thread waits for each."""
        finished: queue.SimpleQueue[_Settled] = queue.SimpleQueue()
        with closing(self._open(finished.put)) as opened:
            while opened.fill():
                yield opened.take(finished.get())
            opened.check()

    async def __aiter__(self) -> AsyncIterator[SubmissionReport]:
        """Yield them; the task waits for each."""
        loop = asyncio.get_running_loop()
        finished: asyncio.Queue[_Settled] = asyncio.Queue()

        def put(settled: _Settled) -> None:
            with contextlib.suppress(RuntimeError):  # The loop is closed.
                loop.call_soon_threadsafe(finished.put_nowait, settled)

        with closing(self._open(put)) as opened:
            while opened.fill():
                yield opened.take(await finished.get())
            opened.check()

    def _open(self, settled: "Callable[[_Settled], None]") -> "_Window":
        return _Window(
            partial(self._grader.submit, timeout_s=self._timeout_s, is_bulk=True),
            iter(self._submissions),
            size=self._window,
            settled=settled,
        )


_Settled = tuple[Submission, ReportFuture]


class _Window:
    """The submissions of one loop that are open."""

    def __init__(
        self,
        submit: Callable[[Submission], ReportFuture],
        submissions: Iterator[Submission],
        *,
        size: int,
        settled: Callable[[_Settled], None],
    ) -> None:
        self._submit = submit
        self._submissions = submissions
        self._size = size
        self._settled = settled
        self._open: set[ReportFuture] = set()
        self._has_more = True
        self._failure: Exception | None = None

    def fill(self) -> bool:
        """Submit until the window is full, and tell whether any submission is open."""
        while self._has_more and len(self._open) < self._size:
            try:
                submission = next(self._submissions, None)
            except Exception as error:  # noqa: BLE001 - raised by `check`
                self._failure, submission = error, None
            if submission is None:
                self._has_more = False
                break
            future = self._submit(submission)
            self._open.add(future)
            future.add_done_callback(partial(self._put, submission))
        return bool(self._open)

    def take(self, settled: _Settled) -> SubmissionReport:
        """Return a submission with its report, and make room for another."""
        submission, future = settled
        self._open.discard(future)
        return submission, future.result()

    def check(self) -> None:
        """Raise the error of the iterator of submissions, if there was one."""
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Cancel what is open."""
        for future in self._open:
            future.cancel()

    def _put(self, submission: Submission, future: ReportFuture) -> None:
        self._settled((submission, future))
