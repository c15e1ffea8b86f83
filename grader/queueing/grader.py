"""Grades on the workers of a queue. Importing this module needs neither Celery nor redis."""

import os
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.config.settings import Settings
from grader.grading.futures import FutureGrader, ReportFuture
from grader.model import GradeReport, Submission
from grader.process.exits import close_at_exit, forget_at_exit
from grader.queueing.intake import Intake
from grader.sandbox.contract import Job

if TYPE_CHECKING:
    from grader.queueing.programs import ProgramResult, QueuedProgram
    from grader.queueing.pump import Pump


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCounts:
    """What became of the submissions that one client of the queue sent."""

    sent: int
    hits: int
    """Answered from finished verdicts."""
    joined: int
    """Equal to one in flight, and graded with it."""

    @property
    def hit_rate(self) -> float:
        """The share that needed no run of its own, in [0, 1]; 0 where nothing was sent."""
        return (self.hits + self.joined) / self.sent if self.sent else 0.0


class QueueGrader(FutureGrader):
    """Grades on the workers of a queue.

    May be used in processes that were forked after it was made, each of which then has a
    connection of its own.
    """

    def __init__(self, settings: Settings) -> None:
        """Check the settings; nothing is connected or started yet.

        Raises:
            ConfigurationError: There is no broker, or Celery or redis are not installed.
        """
        self.settings = settings
        self._intake = Intake(settings)
        self._pumps: dict[int, Pump] = {}
        _ = self._pump

    def submit(
        self, submission: Submission, *, timeout_s: float | None = None, is_batch: bool = False
    ) -> ReportFuture:
        """Send a submission; see `FutureGrader.submit`."""
        future = ReportFuture()
        timeout_s = self.settings.queue.deadline_s if timeout_s is None else timeout_s
        job = self._intake.take(submission)
        if isinstance(job, GradeReport):
            future.set_result(job)
            return future
        self._pump.submit(job, future, timeout_s, is_batch=is_batch)
        return future

    def run_program(
        self, job: Job, *, image: str, timeout_s: float, clock_s: float
    ) -> "QueuedProgram":
        """Run a job's only run on a worker, and return at once.

        Args:
            job: What to run.
            image: The image variant.
            timeout_s: Seconds from now after which there is no outcome any more.
            clock_s: Seconds from when it has its slot after which it is out of wall time, even
                where it waited for a CPU.

        Returns:
            The program. Cancelling the future of its result stops it.
        """
        from grader.queueing.programs import QueuedProgram, make_program_job

        future: Future[ProgramResult] = Future()
        queued = make_program_job(job, image, clock_s)
        self._pump.submit(queued, future, timeout_s, is_batch=False)
        return QueuedProgram(key=queued.key, result=future)

    def has_slot(self, program: "QueuedProgram") -> bool:
        """Ask Redis whether a program runs at this moment.

        Raises:
            QueueUnavailableError: Redis does not answer.
        """
        return self._pump.is_running(program.key)

    def look(self) -> str:
        """Ask Redis who works; see `FutureGrader.look`."""
        from grader.queueing.status import read_status

        return "" if read_status(self.settings).workers else "the queue has no worker"

    def counts(self) -> ClientCounts:
        """Return what became of this process's submissions so far."""
        counts = self._pump.counts
        return ClientCounts(sent=counts["sent"], hits=counts["hits"], joined=counts["joined"])

    def close(self) -> None:
        """Cancel what is open and leave the queue. Repeats harmlessly."""
        self._pump.close()
        forget_at_exit(self)

    @property
    def _window(self) -> int:
        # More than may be in the queue, so that what is sent next is prepared already.
        return self.settings.queue.in_flight * 2

    @property
    def _pump(self) -> "Pump":
        """This process's connection. Needs no lock: one could be held while a process forks."""
        pid = os.getpid()
        pump = self._pumps.get(pid)
        if pump is None:
            from grader.queueing.pump import Pump

            pump = self._pumps.setdefault(pid, Pump(self.settings))
            close_at_exit(self)
        return pump
