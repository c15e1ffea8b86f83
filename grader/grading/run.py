"""The handle by which a grading, or a program, can be stopped from another thread."""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from grader.model.errors import GradingStoppedError
from grader.process.exits import Closeable

_Used = TypeVar("_Used", bound=Closeable)

STOPPED = "the grading was stopped"


class StopHandle:
    """One grading, as a caller that may want to stop it holds it. Safe for two threads."""

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
                    raise GradingStoppedError(STOPPED) from error
                raise
            finally:
                with self._lock:
                    self._used = None
            self._check()

    def _check(self) -> None:
        if self._stopped:
            raise GradingStoppedError(STOPPED)
