"""Who may run at once: all, or one alone."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """Lets any number of threads through together, or one with nobody beside it.

    A submission that a worker may have died of is run alone, so that a second death can be
    put down to it and to nothing else.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._waiting_alone = 0
        self._is_alone = False

    @contextmanager
    def together(self) -> Iterator[None]:
        """Go through beside others; waits while one is alone or wants to be."""
        with self._changed:
            self._changed.wait_for(lambda: not (self._is_alone or self._waiting_alone))
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Go through once everybody else has left, and keep them out."""
        with self._changed:
            self._waiting_alone += 1
            self._changed.wait_for(lambda: not (self._is_alone or self._inside))
            self._waiting_alone -= 1
            self._is_alone = True
        try:
            yield
        finally:
            with self._changed:
                self._is_alone = False
                self._changed.notify_all()
