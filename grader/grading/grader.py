"""The grader of this process: `grader.Grader`."""

import os
import time
from functools import partial

from grader.config.settings import Settings
from grader.grading.deadlines import Deadlines
from grader.grading.engine import GradingEngine
from grader.grading.futures import FutureGrader, ReportFuture, deliver
from grader.grading.pipeline import not_graded
from grader.grading.stopping import StopHandle
from grader.model import GradeReport, Submission
from grader.process.exits import close_at_exit, forget_at_exit
from grader.sandbox.contract import Sandbox

_IN_FLIGHT_PER_SLOT = 4


class Grader(FutureGrader):
    """Grades submissions in slots of this process. Safe for many threads.

    Slots are opened when they are first needed and kept warm until `close`.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        sandbox: Sandbox | None = None,
        engine: GradingEngine | None = None,
    ) -> None:
        """Choose the sandbox; nothing is started yet.

        Args:
            settings: None for the defaults.
            sandbox: None for the one that the settings choose. Closed with the grader.
            engine: An engine to use instead of a new one. Closed with the grader.

        Raises:
            ConfigurationError: The settings name something that does not exist.
            SandboxError: The chosen sandbox cannot work here.
        """
        self.settings = settings or Settings()
        self._engine = engine or GradingEngine(self.settings, sandbox=sandbox)
        self._deadlines = Deadlines()
        self._open: dict[ReportFuture, StopHandle] = {}
        self._pid = os.getpid()
        self._closing = False
        close_at_exit(self)

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox that was chosen."""
        return self._engine.sandbox

    def submit(
        self,
        submission: Submission,
        *,
        timeout_s: float | None = None,
        is_bulk: bool = False,  # noqa: ARG002
    ) -> ReportFuture:
        """Grade in one of this process's slots; see `FutureGrader.submit`."""
        if not isinstance(submission, Submission):
            message = f"expected a Submission, but found {type(submission).__name__}"
            raise TypeError(message)
        future, handle = ReportFuture(), StopHandle()
        if timeout_s is not None:
            self._set_deadline(future, timeout_s)

        def settled(_: ReportFuture) -> None:
            self._open.pop(future, None)
            if self._closing:
                handle.forbid()
            else:
                handle.stop()

        self._open[future] = handle
        future.add_done_callback(settled)
        self._engine.submit(submission, partial(deliver, future), handle=handle)
        return future

    def warm(self, image: str = "python") -> None:
        """Start opening a slot, so that the first submission need not wait for all of it.

        If it fails, it is tried again as often as a submission is. Then `look` and the first
        submission say so.
        """
        self._engine.warm(image)

    def look(self) -> str:
        """Wait for the slot that `warm` began to open; see `FutureGrader.look`."""
        self._engine.look()
        return ""

    def close(self) -> None:
        """Stop what runs and close the slots. Repeats harmlessly."""
        if os.getpid() != self._pid:
            return  # This is a forked process, which has none of the threads and slots.
        self._closing = True
        for future in list(self._open):
            deliver(future, self._not_graded("the grader was closed"))
        self._engine.close()
        self._deadlines.close()
        forget_at_exit(self)

    @property
    def _window(self) -> int:
        return self.settings.slots * _IN_FLIGHT_PER_SLOT

    def _set_deadline(self, future: ReportFuture, timeout_s: float) -> None:
        late = f"no report within {round(timeout_s, 1):g} s"
        alarm = self._deadlines.add(
            time.monotonic() + timeout_s, lambda: deliver(future, self._not_graded(late))
        )
        future.add_done_callback(lambda _: alarm.cancel())

    def _not_graded(self, reason: str) -> GradeReport:
        return not_graded(reason, self.settings)
