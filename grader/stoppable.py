"""A grader in this process whose gradings another thread can stop."""

import contextlib
import copy
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager

from grader.engine import Grader
from grader.errors import GradingStoppedError, SandboxError, SandboxUnavailableError
from grader.model import GradeReport, Submission
from grader.sandbox.base import Job, RunOutcome, Slot
from grader.settings import Settings

_log = logging.getLogger(__name__)


class Run:
    """One grading, from the side of whoever may want to stop it. Safe for two threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._slot: Slot | None = None
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
            if self._slot is not None:
                self._slot.close()

    @contextmanager
    def using(self, lent: AbstractContextManager[Slot]) -> Iterator[Slot]:
        """Have a slot, and know it meanwhile.

        Raises:
            GradingStoppedError: The run was stopped, whatever else broke for that reason.
        """
        with lent as slot:
            with self._lock:
                self._slot = slot
                self._check()
            try:
                yield slot
            except Exception as error:
                # A slot that was killed looks like one that broke, which would be tried again.
                if self._stopped:
                    raise GradingStoppedError(_STOPPED) from error
                raise
            finally:
                with self._lock:
                    self._slot = None
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
        self, job: Job, run: Run, *, image: str, on_slot: Callable[[], None] = lambda: None
    ) -> RunOutcome:
        """Run a job's only run, for its output and not for a verdict.

        Args:
            job: What to run.
            run: The handle by which it can be stopped.
            image: The image variant.
            on_slot: Called whenever it has a slot.

        Raises:
            GradingStoppedError: `run` was stopped.
            SandboxError: The sandbox failed more often than the settings allow, or cannot work.
        """
        left = self.settings.retries
        while True:
            try:
                return self._run_once(job, run, image, on_slot)
            except SandboxError as error:
                if not error.retryable or left == 0 or run.is_stopped:
                    raise
                left -= 1
                _log.warning("running a program again after a sandbox failed: %s", error)

    def _run_once(self, job: Job, run: Run, image: str, on_slot: Callable[[], None]) -> RunOutcome:
        with self.slots.borrow(image=image, memory_bytes=job.limits.memory_bytes) as slot:
            if not run.is_stopped:
                on_slot()
                with run.using(contextlib.nullcontext(slot)), closing(slot.run(job)) as running:
                    for outcome in running:
                        return outcome
                message = f"{slot.name} ended a job without an outcome"
                raise SandboxUnavailableError(message)
        # Raised only here, where the slot has been given back unharmed.
        raise GradingStoppedError(_STOPPED)

    def _borrow(self, image: str, memory_bytes: int) -> AbstractContextManager[Slot]:
        lent = super()._borrow(image, memory_bytes)
        run: Run | None = getattr(self._current, "run", None)
        return lent if run is None else run.using(lent)
