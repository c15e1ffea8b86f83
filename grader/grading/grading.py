"""A submission from its arrival until its report is there."""

import logging
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import Context, copy_context
from dataclasses import dataclass, field

from grader.config.settings import Settings
from grader.grading import pipeline
from grader.grading.stopping import STOPPED, StopHandle
from grader.model import GradeReport, Submission
from grader.model.errors import GraderError, GradingStoppedError
from grader.process.threads import Threads

_log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True, eq=False)
class Grading:
    """A submission that was accepted and has no report yet."""

    submission: Submission
    settings: Settings
    handle: StopHandle
    settle: Callable[[GradeReport], None]
    """Called once with the report, in any thread. It must not raise."""
    context: Context = field(default_factory=copy_context)
    """The caller's, so that logs and traces name its request."""

    def finish(self, make: Callable[[], GradeReport]) -> None:
        """Settle with the report that `make` returns, or with one that says what it raised."""
        try:
            report = make()
            if self.handle.is_stopped:
                raise GradingStoppedError(STOPPED)
        except GraderError as error:
            report = pipeline.failed(self.submission, error, self.settings)
        except Exception as error:  # noqa: BLE001 - reported and logged below
            # A bug of ours must be logged, and must cost only this report.
            _log.exception("a bug in the grader: submission %s was not graded", self.submission.id)
            report = pipeline.not_graded(f"{type(error).__name__}: {error}", self.settings)
        self.settle(report)

    def fail(self, error: Exception) -> None:
        """Settle with a report that says why the submission was not graded."""

        def make() -> GradeReport:
            raise error

        self.finish(make)

    def refuse(self) -> None:
        """Settle with a report that says that the grader is closed."""
        self.settle(pipeline.not_graded("the grader is closed", self.settings))

    def run_in(self, threads: Threads, step: Callable[[], None]) -> bool:
        """Take a step in one of the threads.

        Returns:
            Whether there is a thread for it. If not, the grading is settled.
        """
        try:
            future = threads.submit(self.context.copy().run, step)
        except RuntimeError:
            self.refuse()
            return False
        future.add_done_callback(self._check)
        return True

    def _check(self, step: "Future[None]") -> None:
        if step.cancelled():
            self.refuse()
