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
    """Stops one grading. Safe for many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._used: Closeable | None = None
        self._stopped = False

    @property
    def is_stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped

    def forbid(self) -> None:
        """Let no further run start. Repeats harmlessly."""
        self._stopped = True

    def stop(self) -> None:
        """Kill what runs, and let no further run start. Repeats harmlessly."""
        with self._lock:
            self._stopped = True
            if self._used is not None:
                self._used.close()

    def attach(self, used: Closeable) -> None:
        """Let `stop` close what does the grading from now on; closes it if `stop` was called."""
        with self._lock:
            self._used = used
            if self._stopped:
                used.close()

    @contextmanager
    def using(self, lent: AbstractContextManager[_Used]) -> Iterator[_Used]:
        """Use a slot, so that `stop` can close it.

        Raises:
            GradingStoppedError: The run was stopped. Errors that this caused are replaced.
        """
        with lent as used:
            with self._lock:
                self._used = used
                self._check()
            try:
                yield used
            except Exception as error:
                # A killed slot looks like a broken one, which would lead to another try.
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
