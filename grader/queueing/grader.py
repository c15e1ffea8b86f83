"""The grader that sends submissions to workers. Importing it needs neither Celery nor redis."""

import os
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.config.settings import Settings
from grader.grading.futures import FutureGrader, ReportFuture
from grader.model import GradeReport, Submission
from grader.process.exits import close_at_exit, forget_at_exit
from grader.process.tracing import lasting_span
from grader.queueing.intake import Intake
from grader.sandbox.contract import RunBatch

if TYPE_CHECKING:
    from grader.queueing.programs import ProgramResult, QueuedProgram
    from grader.queueing.pumps import Pumps


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCounts:
    """Counts of the submissions that one client of the queue has sent."""

    sent: int
    hits: int
    """Answered from the cache."""
    joined: int
    """Equal to a submission in flight, and graded with it."""

    @property
    def hit_rate(self) -> float:
        """The share that needed no run of its own, in [0, 1]; 0 if nothing was sent."""
        return (self.hits + self.joined) / self.sent if self.sent else 0.0


class QueueGrader(FutureGrader):
    """Grades on the workers of a queue.

    Can also be used in processes that are forked later. Each of them opens its own connections.
    """

    def __init__(self, settings: Settings) -> None:
        """Check the settings; nothing is connected or started yet.

        Raises:
            ConfigurationError: No broker is set, or Celery or redis is not installed.
        """
        self.settings = settings
        self._intake = Intake(settings)
        self._by_process: dict[int, Pumps] = {}
        _ = self._pumps

    def submit(
        self, submission: Submission, *, timeout_s: float | None = None, is_bulk: bool = False
    ) -> ReportFuture:
        """Send a submission; see `FutureGrader.submit`."""
        future = ReportFuture()
        timeout_s = self.settings.queue.deadline_s if timeout_s is None else timeout_s
        with lasting_span("queue", submission=submission.id) as end_span:
            job = self._intake.take(submission)
        future.add_done_callback(lambda _: end_span())
        if isinstance(job, GradeReport):
            future.set_result(job)
            return future
        self._pumps.submit(job, future, timeout_s, is_bulk=is_bulk)
        return future

    def run_program(
        self, batch: RunBatch, *, image: str, timeout_s: float, clock_s: float
    ) -> "QueuedProgram":
        """Submit a batch with one run to the workers, and return at once.

        Args:
            batch: What to run.
            image: The image variant.
            timeout_s: Seconds from now after which the result is a failure.
            clock_s: Wall time limit in seconds, counted from when the program has a slot. Time
                that it waits for a CPU counts.

        Returns:
            The program. Cancelling its future stops it.
        """
        from grader.queueing.programs import QueuedProgram, make_program_job

        future: Future[ProgramResult] = Future()
        queued = make_program_job(batch, image, clock_s)
        self._pumps.submit(queued, future, timeout_s, is_bulk=False)
        return QueuedProgram(key=queued.key, result=future)

    def has_slot(self, program: "QueuedProgram") -> bool:
        """Return whether a program runs at this moment.

        Raises:
            QueueUnavailableError: Redis does not answer.
        """
        return self._pumps.has_slot(program.key)

    def look(self) -> str:
        """Ask Redis for workers; see `FutureGrader.look`."""
        from grader.queueing.diagnosis import obstacle
        from grader.queueing.status import read_status

        return obstacle(read_status(self.settings)) or ""

    def counts(self) -> ClientCounts:
        """Return the counts of this process's submissions so far."""
        counts = self._pumps.counts
        return ClientCounts(sent=counts["sent"], hits=counts["hits"], joined=counts["joined"])

    def close(self) -> None:
        """Cancel the pending jobs and leave the queue. Repeats harmlessly."""
        self._pumps.close()
        forget_at_exit(self)

    @property
    def _window(self) -> int:
        # More than may be in flight, so that the next jobs are ready to be sent.
        return self._pumps.in_flight * 2

    @property
    def _pumps(self) -> "Pumps":
        """Those of this process. No lock guards it: a fork could copy the lock while held."""
        pid = os.getpid()
        pumps = self._by_process.get(pid)
        if pumps is None:
            from grader.queueing.pumps import Pumps

            pumps = self._by_process.setdefault(pid, Pumps(self.settings))
            close_at_exit(self)
        return pumps
