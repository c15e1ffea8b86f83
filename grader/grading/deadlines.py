"""Deadlines that are kept even if other threads hang: one thread only watches them."""

import heapq
import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

_FEW = 64


@dataclass(slots=True, order=True)
class Alarm:
    """A time at which something is called."""

    deadline: float
    number: int
    callback: Callable[[], None] | None = field(compare=False)
    owner: "Deadlines" = field(compare=False)

    def cancel(self) -> None:
        """Make sure that nothing is called, and drop the reference to the callback."""
        if self.callback is not None:
            self.callback = None
            self.owner.forget_one()


class Deadlines:
    """Calls back at given times. Safe for many threads; its own thread starts when needed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._heap: list[Alarm] = []
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None
        self._forgotten = 0
        self._closed = False

    def add(self, deadline: float, callback: Callable[[], None]) -> Alarm:
        """Call `callback` once `time.monotonic()` has reached `deadline`.

        It runs in this object's thread, so it must neither raise nor wait.
        """
        with self._changed:
            alarm = Alarm(deadline, next(self._numbers), callback, self)
            if self._closed:
                return alarm
            heapq.heappush(self._heap, alarm)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._watch, name="grader-deadlines", daemon=True
                )
                self._thread.start()
            if self._heap[0] is alarm:
                self._changed.notify()
            return alarm

    def forget_one(self) -> None:
        """Note that an alarm was cancelled. Most are, so they are removed from time to time."""
        with self._changed:
            self._forgotten += 1
            if self._forgotten > max(_FEW, len(self._heap) // 2):
                self._heap = [alarm for alarm in self._heap if alarm.callback is not None]
                heapq.heapify(self._heap)
                self._forgotten = 0

    def close(self) -> None:
        """Call nothing back any more. Repeats harmlessly."""
        with self._changed:
            self._closed = True
            self._heap.clear()
            self._changed.notify()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _watch(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                now = time.monotonic()
                if not self._heap or self._heap[0].deadline > now:
                    self._changed.wait(self._heap[0].deadline - now if self._heap else None)
                    continue
                callback = heapq.heappop(self._heap).callback
            if callback is not None:
                callback()
