"""Calls of the reward function in progress, each of which can be cancelled."""

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from grader.process.call import Call
from grader.process.threads import Threads

R = TypeVar("R")

_MOST_THREADS = 512
"""The most samples that verl has in flight in one process. The threads only wait."""
_LOOK_S = 0.25
"""The interval at which event loops that are being closed are looked for."""
_current = threading.local()


def current_call() -> Call:
    """Return the call that this thread serves; a new one if it serves none."""
    call: Call | None = getattr(_current, "call", None)
    return Call() if call is None else call


@contextmanager
def serving(call: Call | None = None) -> Iterator[None]:
    """Serve a call in this thread: the given one, the one already being served, or a new one.

    If the thread belongs to an event loop's own pool, the call is cancelled when the main thread
    closes that loop, as `asyncio.run` does at an exception or Ctrl-C. Python would otherwise wait
    for the thread, although nothing uses its result any more.
    """
    before: Call | None = getattr(_current, "call", None)
    call = call or before or Call()
    _current.call = call
    if before is None:
        _watch.add(threading.current_thread(), call)
    try:
        yield
    finally:
        _current.call = before
        if before is None:
            _watch.remove(threading.current_thread())


class _Watch:
    """Cancels the calls of threads whose event loop is being closed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open: dict[threading.Thread, Call] = {}
        self._closing: frozenset[threading.Thread] = frozenset()
        """The threads of the event loop that was being closed when last looked."""
        self._thread: threading.Thread | None = None

    def add(self, thread: threading.Thread, call: Call) -> None:
        if thread is threading.main_thread():
            return
        with self._changed:
            self._open[thread] = call
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="grader-loops", daemon=True)
                self._thread.start()
            self._changed.notify()
        # Not looked for at each call: that takes as long as the process has threads.
        if thread in self._closing:
            call.cancel()

    def remove(self, thread: threading.Thread) -> None:
        with self._changed:
            self._open.pop(thread, None)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._open)
            time.sleep(_LOOK_S)
            self._closing = _threads_of_closing_loop()
            with self._changed:
                lost = [call for thread, call in self._open.items() if thread in self._closing]
            for call in lost:
                call.cancel()


def _threads_of_closing_loop() -> frozenset[threading.Thread]:
    """Return the threads of the event loop that the main thread is closing; empty if there is none.

    Threads are not notified when their loop is closed, so the main thread's stack is examined.
    """
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None:
        if frame.f_code is asyncio.Runner.close.__code__:
            pool = getattr(frame.f_locals.get("loop"), "_default_executor", None)
            return frozenset(getattr(pool, "_threads", ()))
        frame = frame.f_back
    return frozenset()


_watch = _Watch()
_threads: Threads | None = None


def _after_fork() -> None:
    global _watch, _threads
    _watch, _threads = _Watch(), None


os.register_at_fork(after_in_child=_after_fork)


async def in_thread(work: Callable[[], R]) -> R:
    """Run a call in a thread; cancelling the task cancels the call.

    The loop's own threads are not used: they are few, and the trainer decodes tokens in them.
    """
    global _threads
    if _threads is None:
        _threads = Threads(_MOST_THREADS, "grader-call")
    call = Call()

    def run() -> R:
        with serving(call):
            return work()

    try:
        return await asyncio.wrap_future(_threads.submit(run))
    except asyncio.CancelledError:
        call.cancel()
        raise
