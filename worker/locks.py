"""A readers-writer lock."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class ReadersWriterLock:
    """Held by any number of threads as shared, or by one as exclusive.

    Runs hold it as shared. A submission that a worker may have died of is run alone, as exclusive,
    so that a second death can only be due to it.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._shared_holders = 0
        self._waiting_exclusive = 0
        self._is_exclusive = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold the lock beside others; waits while a thread holds or wants it as exclusive."""
        with self._changed:
            self._changed.wait_for(lambda: not (self._is_exclusive or self._waiting_exclusive))
            self._shared_holders += 1
        try:
            yield
        finally:
            with self._changed:
                self._shared_holders -= 1
                self._changed.notify_all()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the lock alone, once all other holders have released it."""
        with self._changed:
            self._waiting_exclusive += 1
            self._changed.wait_for(lambda: not (self._is_exclusive or self._shared_holders))
            self._waiting_exclusive -= 1
            self._is_exclusive = True
        try:
            yield
        finally:
            with self._changed:
                self._is_exclusive = False
                self._changed.notify_all()
