"""Calls of the reward function that are under way, each of which can be given up."""

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

from grader.process.threads import Threads

R = TypeVar("R")

_MOST_THREADS = 512
"""As many samples as verl has in flight in one process at most; they wait, they do not work."""
_LOOK_S = 0.25
"""Between two looks at whether anybody still waits for the open calls."""


class Call:
    """One call, from the side of whoever may give it up. Safe for many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._futures: set[Future[Any]] = set()
        self._given_up = False

    @property
    def is_given_up(self) -> bool:
        """Whether `give_up` was called."""
        return self._given_up

    def hold(self, future: Future[Any]) -> None:
        """Have a future cancelled when the call is given up, or now if it was."""
        with self._lock:
            if not self._given_up:
                self._futures.add(future)
                return
        future.cancel()

    def give_up(self) -> None:
        """Cancel all that the call waits for. Repeats harmlessly."""
        with self._lock:
            self._given_up = True
            futures, self._futures = self._futures, set()
        for future in futures:
            future.cancel()


_current = threading.local()


def current_call() -> Call:
    """Return the call that this thread serves; a new one if it serves none."""
    call: Call | None = getattr(_current, "call", None)
    return Call() if call is None else call


@contextmanager
def serving(call: Call | None = None) -> Iterator[None]:
    """Serve a call in this thread: a given one, else the one that is served already, or a new one.

    A call in a thread of an event loop's own pool is given up when the main program closes that
    loop, as `asyncio.run` does at an exception and at Ctrl-C: Python would wait for the thread,
    and the answer reaches nobody.
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
    """Gives up the calls of threads whose event loop is being closed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open: dict[threading.Thread, Call] = {}
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
        if thread in _threads_of_closing_loop():
            call.give_up()

    def remove(self, thread: threading.Thread) -> None:
        with self._changed:
            self._open.pop(thread, None)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._open)
            time.sleep(_LOOK_S)
            closing = _threads_of_closing_loop()
            with self._changed:
                lost = [call for thread, call in self._open.items() if thread in closing]
            for call in lost:
                call.give_up()


def _threads_of_closing_loop() -> frozenset[threading.Thread]:
    """Return the pool of the event loop that the main program is closing; empty if it closes none.

    Nothing tells a thread that its loop is being closed, so the main thread's stack has to.
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
    """Run a call in a thread; cancelling the task gives the call up.

    Not in the loop's own threads: those are few, and the trainer decodes tokens in them.
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
        call.give_up()
        raise
