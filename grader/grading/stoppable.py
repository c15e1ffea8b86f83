"""A grader in this process whose gradings another thread can stop."""

import contextlib
import copy
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from typing import TypeVar

from grader.config.settings import Settings
from grader.grading.grader import Grader
from grader.model import GradeReport, Submission, Usage
from grader.model.errors import GradingStoppedError, SandboxError, SandboxUnavailableError
from grader.model.verdict import LimitKind
from grader.process.exits import Closeable
from grader.sandbox.contract import Job, RunOutcome, Slot

_log = logging.getLogger(__name__)

_Used = TypeVar("_Used", bound=Closeable)


class Run:
    """One grading, from the side of whoever may want to stop it. Safe for two threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._used: Closeable | None = None
        self._stopped = False

    @property
    def is_stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped

    def forbid(self) -> None:
        """Let nothing more start. Repeats harmlessly."""
        self._stopped = True

    def stop(self) -> None:
        """Kill what runs, and let nothing more start. Repeats harmlessly."""
        with self._lock:
            self._stopped = True
            if self._used is not None:
                self._used.close()

    @contextmanager
    def using(self, lent: AbstractContextManager[_Used]) -> Iterator[_Used]:
        """Have a slot, or a grading in a host process, and know it meanwhile.

        Raises:
            GradingStoppedError: The run was stopped, whatever else broke for that reason.
        """
        with lent as used:
            with self._lock:
                self._used = used
                self._check()
            try:
                yield used
            except Exception as error:
                # A slot that was killed looks like one that broke, which would be tried again.
                if self._stopped:
                    raise GradingStoppedError(_STOPPED) from error
                raise
            finally:
                with self._lock:
                    self._used = None
            self._check()

    def _check(self) -> None:
        if self._stopped:
            raise GradingStoppedError(_STOPPED)


_STOPPED = "the grading was stopped"


class StoppableGrader(Grader):
    """A `Grader` that grades under settings and with a `Run` of each call's own."""

    _current = threading.local()

    def grade_run(
        self, submission: Submission, run: Run, settings: Settings | None = None
    ) -> GradeReport:
        """Grade one submission; once `run` is stopped, the report is an internal error.

        Args:
            submission: What to grade.
            run: The handle by which it can be stopped.
            settings: Those of this call; the backend, its slots and retries stay the grader's.
        """
        grader = self
        if settings is not None:
            # The copy shares the pool of slots and all that was learned about suites.
            grader = copy.copy(self)
            grader.settings = settings
        self._current.run = run
        try:
            return grader.grade(submission)
        finally:
            with contextlib.suppress(AttributeError):
                del self._current.run

    def run_program(
        self,
        job: Job,
        run: Run,
        *,
        image: str,
        on_slot: Callable[[], None] = lambda: None,
        answer_by: Callable[[], float] = lambda: math.inf,
    ) -> RunOutcome:
        """Run a job's only run, for its output and not for a verdict.

        What does not compile is not run: the outcome is then the compiler's.

        Args:
            job: What to run.
            run: The handle by which it can be stopped.
            image: The image variant.
            on_slot: Called whenever it has a slot.
            answer_by: Called then, too, for the time, of `time.monotonic`, by which whoever asked
                must have an answer. A program that still runs then is out of wall time, however
                little CPU time the load of the machine left it.

        Raises:
            GradingStoppedError: `run` was stopped.
            SandboxError: The sandbox failed more often than the settings allow, or cannot work.
        """
        left, begun = self.settings.retries, time.monotonic()

        def had_slot() -> float:
            nonlocal begun
            begun = time.monotonic()
            on_slot()
            return answer_by()

        while True:
            clock = Run()
            try:
                return self._run_once(job, run, clock, image, had_slot)
            except GradingStoppedError:
                if run.is_stopped or not clock.is_stopped:
                    raise
                return _out_of_time(time.monotonic() - begun)
            except SandboxError as error:
                if not error.retryable or left == 0 or run.is_stopped:
                    raise
                left -= 1
                _log.warning("running a program again after a sandbox failed: %s", error)

    def _run_once(
        self, job: Job, run: Run, clock: Run, image: str, had_slot: Callable[[], float]
    ) -> RunOutcome:
        with (
            nullcontext() if self._hosts is None else self._hosts.here(),
            self.slots.borrow(image=image, memory_bytes=job.memory_bytes) as slot,
        ):
            if not run.is_stopped:
                deadline = had_slot()
                with (
                    run.using(nullcontext(slot)),
                    clock.using(nullcontext(slot)),
                    _stopped_at(clock, deadline),
                    closing(slot.run(job)) as running,
                ):
                    outcomes = list(running)
                if outcomes:
                    return outcomes[-1]
                message = f"{slot.name} ended a job without an outcome"
                raise SandboxUnavailableError(message)
        # Raised only here, where the slot has been given back unharmed.
        raise GradingStoppedError(_STOPPED)

    def _held(self, grading: Closeable) -> AbstractContextManager[object]:
        lent = nullcontext(grading)
        run = self._run()
        return lent if run is None else run.using(lent)

    def _borrow(self, image: str, memory_bytes: int) -> AbstractContextManager[Slot]:
        lent = super()._borrow(image, memory_bytes)
        run = self._run()
        return lent if run is None else run.using(lent)

    def _run(self) -> Run | None:
        """Return the handle of the call that this thread makes."""
        return getattr(self._current, "run", None)


@contextmanager
def _stopped_at(run: Run, deadline: float) -> Iterator[None]:
    """Stop a run once a time of `time.monotonic` has come."""
    if deadline == math.inf:
        yield
        return
    alarm = threading.Timer(max(0.0, deadline - time.monotonic()), run.stop)
    alarm.daemon = True
    alarm.start()
    try:
        yield
    finally:
        alarm.cancel()


def _out_of_time(wall_time_s: float) -> RunOutcome:
    """Return how a program ended that was stopped at the last moment; what it wrote is lost."""
    return RunOutcome(
        index=0,
        exit_code=None,
        exit_signal=None,
        stdout=b"",
        stderr=b"",
        dropped_bytes=0,
        report=b"",
        usage=Usage(wall_time_s=wall_time_s),
        limit_hit=LimitKind.WALL_TIME,
    )
