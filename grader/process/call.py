"""A call: work that is cancelled together."""

import threading
from concurrent.futures import Future
from typing import Any


class Call:
    """One call, as a handle to cancel it. Safe for many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._futures: set[Future[Any]] = set()
        self._cancelled = False

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled

    def hold(self, future: Future[Any]) -> None:
        """Have a future cancelled together with the call; at once if the call was cancelled."""
        with self._lock:
            if not self._cancelled:
                self._futures.add(future)
        if self._cancelled:
            future.cancel()
        else:
            future.add_done_callback(self._forget)

    def cancel(self) -> None:
        """Cancel all futures that the call waits for. Repeats harmlessly."""
        with self._lock:
            self._cancelled = True
            futures, self._futures = self._futures, set()
        for future in futures:
            future.cancel()

    def _forget(self, future: Future[Any]) -> None:
        with self._lock:
            self._futures.discard(future)
