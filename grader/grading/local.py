"""Grades in slots of this process, behind the methods of `FutureGrader`."""

import os
import time

from grader.config.settings import Settings
from grader.grading.deadlines import Deadlines
from grader.grading.futures import FutureGrader, ReportFuture, deliver
from grader.grading.pipeline import not_graded
from grader.grading.stoppable import Run, StoppableGrader
from grader.model import GradeReport, Submission
from grader.process.exits import close_at_exit, forget_at_exit
from grader.process.threads import Threads

_IN_FLIGHT_PER_SLOT = 4


class LocalGrader(FutureGrader):
    """Grades in slots of this process, behind the same methods as `QueueGrader`."""

    def __init__(self, settings: Settings, *, grader: StoppableGrader | None = None) -> None:
        """Choose the sandbox; nothing is started yet.

        Args:
            settings: Of the grader.
            grader: One that exists already; closed with this one.

        Raises:
            ConfigurationError: The settings name something that does not exist.
            SandboxError: The chosen sandbox cannot work here.
        """
        self.settings = settings
        self._grader = grader or StoppableGrader(settings)
        self._deadlines = Deadlines()
        self._open: dict[ReportFuture, Run] = {}
        self._threads = Threads(settings.slots, "grader-slot")
        self._pid = os.getpid()
        self._closing = False
        close_at_exit(self)

    def submit(
        self,
        submission: Submission,
        *,
        timeout_s: float | None = None,
        is_batch: bool = False,  # noqa: ARG002
    ) -> ReportFuture:
        """Grade in one of this process's slots; see `FutureGrader.submit`."""
        future, run = ReportFuture(), Run()
        timeout_s = self.settings.queue.deadline_s if timeout_s is None else timeout_s
        late = f"no report within {round(timeout_s, 1):g} s"
        alarm = self._deadlines.add(
            time.monotonic() + timeout_s, lambda: deliver(future, self._not_graded(late))
        )

        def settled(_: ReportFuture) -> None:
            alarm.cancel()
            self._open.pop(future, None)
            if self._closing:
                run.forbid()
            else:
                run.stop()

        self._open[future] = run
        future.add_done_callback(settled)
        try:
            self._threads.submit(self._grade, submission, run, future)
        except RuntimeError:
            deliver(future, self._not_graded("the grader is closed"))
        return future

    def close(self) -> None:
        """Stop what runs and close the slots. Repeats harmlessly."""
        if os.getpid() != self._pid:
            return  # A process that was forked since has none of the threads and slots.
        self._closing = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        for future in list(self._open):
            deliver(future, self._not_graded("the grader was closed"))
        # All slots at once, which is quicker than run by run; then what was being opened.
        self._grader.close()
        self._threads.shutdown(wait=True)
        self._grader.close()
        self._deadlines.close()
        forget_at_exit(self)

    @property
    def _window(self) -> int:
        return self.settings.slots * _IN_FLIGHT_PER_SLOT

    def _grade(self, submission: Submission, run: Run, future: ReportFuture) -> None:
        if not future.done():
            deliver(future, self._grader.grade_run(submission, run))

    def _not_graded(self, reason: str) -> GradeReport:
        return not_graded(reason, self.settings)
