"""A pool of processes that are each asked one question at a time."""

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar


class Killable(Protocol):
    """A process. It is asked by one thread at a time, but any thread may kill it."""

    def kill(self) -> None:
        """Kill it. Repeats harmlessly."""

    def end(self) -> int:
        """Kill it unless it has ended, and return its exit code."""


P = TypeVar("P", bound=Killable)


class Seat(Generic[P]):
    """A place in a pool, with its process if it has one. For one thread at a time."""

    def __init__(self, pool: "ChildPool[P]") -> None:
        self._pool = pool
        self.process: P | None = None

    def started(self) -> P:
        """Return its process. If there is none, start one."""
        if self.process is None:
            self.process = self._pool.start()
        return self.process

    def end(self) -> int:
        """End its process, if there is one, and return the exit code."""
        process, self.process = self.process, None
        return 0 if process is None else self._pool.end(process)


class ChildPool(Generic[P]):
    """A pool of processes that start when they are needed, and are kept. Safe for many threads."""

    def __init__(self, start: Callable[[], P], *, processes: int) -> None:
        """Start nothing yet.

        Args:
            start: Starts a process.
            processes: The most processes at once.
        """
        self._start = start
        self._idle: queue.LifoQueue[Seat[P]] = queue.LifoQueue()
        for _ in range(processes):
            self._idle.put(Seat(self))
        self._lock = threading.Lock()
        self._living: set[P] = set()
        self._closed = False

    @contextlib.contextmanager
    def seat(self, timeout_s: float | None = None) -> Iterator[Seat[P]]:
        """Yield a place in the pool. If the block raises, the place's process is ended.

        Raises:
            queue.Empty: No place was free for `timeout_s` seconds.
        """
        seat = self._idle.get(timeout=timeout_s)
        try:
            yield seat
        except BaseException:
            seat.end()
            raise
        finally:
            self._idle.put(seat)

    def start(self) -> P:
        """Start a process; in a closed pool, it is killed at once."""
        process = self._start()
        with self._lock:
            self._living.add(process)
            is_closed = self._closed
        if is_closed:
            process.kill()
        return process

    def end(self, process: P) -> int:
        """End a process, and return its exit code."""
        with self._lock:
            self._living.discard(process)
        return process.end()

    def close(self) -> None:
        """Kill every process, also those that are being asked. Repeats harmlessly."""
        with self._lock:
            self._closed = True
            living = list(self._living)
        for process in living:
            process.kill()
        idle = []
        with contextlib.suppress(queue.Empty):
            while True:
                idle.append(self._idle.get_nowait())
        for seat in idle:
            seat.end()
            self._idle.put(seat)
