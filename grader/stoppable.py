"""A grader in this process whose gradings another thread can stop."""

import contextlib
import copy
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from grader.engine import Grader
from grader.errors import GradingStoppedError
from grader.model import GradeReport, Submission
from grader.sandbox.base import Slot
from grader.settings import Settings


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

    def _borrow(self, image: str, memory_bytes: int) -> AbstractContextManager[Slot]:
        lent = super()._borrow(image, memory_bytes)
        run: Run | None = getattr(self._current, "run", None)
        return lent if run is None else run.using(lent)
