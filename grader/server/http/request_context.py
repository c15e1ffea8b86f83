"""One request on its way through the service, known to whatever is done on its behalf."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, kw_only=True, eq=False)
class Visit:
    """A request. Safe for many threads."""

    id: str
    endpoint: str
    """The path of its endpoint, for logs and metrics."""
    arrived: float = field(default_factory=time.monotonic)
    """Of `time.monotonic`."""
    has_begun: bool = False
    """Whether anything of it has had its turn."""
    leader: "Visit | None" = None
    """The visit that does the work of this one."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _futures: set[Future[Any]] = field(default_factory=set)
    _given_up: bool = False

    @property
    def is_under_way(self) -> bool:
        """Whether a stopping service should finish it."""
        return self.has_begun or (self.leader is not None and self.leader.has_begun)

    def hold(self, future: Future[Any]) -> None:
        """Let `give_up` cancel a future."""
        with self._lock:
            given_up = self._given_up
            if not given_up:
                self._futures.add(future)
        if given_up:
            future.cancel()
        else:
            future.add_done_callback(self._forget)

    def give_up(self) -> None:
        """Cancel what is done for the request, now and from now on."""
        with self._lock:
            self._given_up = True
            futures, self._futures = self._futures, set()
        for future in futures:
            future.cancel()

    def _forget(self, future: Future[Any]) -> None:
        with self._lock:
            self._futures.discard(future)


_current: ContextVar[Visit | None] = ContextVar("visit", default=None)


def current_visit() -> Visit | None:
    """Return the request that is being served here; None outside of one."""
    return _current.get()


def begin_visit(visit: Visit) -> Callable[[], None]:
    """Make a request the current one; what is returned undoes that."""
    token = _current.set(visit)
    return lambda: _current.reset(token)
