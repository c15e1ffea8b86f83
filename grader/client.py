"""Graders for callers: over a queue, at a service, or in this process.

    with open_grader(settings) as grader:
        report = grader.grade(submission, timeout_s=30)

Importing this module needs neither Celery nor redis.
"""

import os
import time
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.exits import close_at_exit, forget_at_exit
from grader.model import GradeReport, Submission
from grader.queueing.calls import ReportFuture, deliver
from grader.queueing.deadlines import Deadlines
from grader.queueing.futures import FutureGrader
from grader.queueing.intake import Intake
from grader.remote.grader import RemoteGrader
from grader.sandbox.base import Job
from grader.service import not_graded
from grader.settings import Settings
from grader.stoppable import Run, StoppableGrader
from grader.threads import Threads

if TYPE_CHECKING:
    from grader.queueing.programs import ProgramResult, QueuedProgram
    from grader.queueing.pump import Pump

__all__ = [
    "ClientCounts",
    "FutureGrader",
    "LocalGrader",
    "QueueGrader",
    "RemoteGrader",
    "open_grader",
]

_IN_FLIGHT_PER_SLOT = 4


def open_grader(settings: Settings | None = None) -> FutureGrader:
    """Return a grader over the queue, at a service, or of this process.

    As the settings say: the queue of their broker, else the `grader serve` at their address.

    Raises:
        ConfigurationError: The settings name something that does not exist or is not installed.
        SandboxError: Without broker and address: the chosen sandbox cannot work here.
    """
    settings = settings or Settings()
    if settings.broker is not None:
        return QueueGrader(settings)
    return LocalGrader(settings) if settings.url is None else RemoteGrader(settings)


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
