"""Threads that do not delay the exit of the process, and a lock for processes that fork."""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any, ParamSpec, TypeVar

from grader.process.request_id import caller
from grader.process.turns import TurnQueue

P = ParamSpec("P")
R = TypeVar("R")

_Call = tuple[Future[Any], Callable[[], Any]]


class ForkLock:
    """A lock that is free in a forked process, whichever thread of the parent held it."""

    def __init__(self) -> None:
        """Make a lock that no thread holds."""
        self._renew()
        os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for a `with` block."""
        with self._lock:
            yield


class Threads(Executor):
    """Like `ThreadPoolExecutor`, but an exiting interpreter does not wait for it.

    `ThreadPoolExecutor` joins its threads at exit, after they have run all queued calls: a trainer
    that crashed would go on grading for minutes, for nothing.

    Calls of different callers (`grader.process.request_id.caller`) take turns.
    """

    def __init__(self, most: int, name: str) -> None:
        """Start no thread yet.

        Args:
            most: Most threads at once; each starts if it is needed.
            name: The prefix of the threads' names.
        """
        self._most = most
        self._name = name
        self._changed = threading.Condition()
        self._queued: TurnQueue[_Call] = TurnQueue()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._closed = False

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Run a call in one of the threads; returns at once.

        Raises:
            RuntimeError: The pool is shut down, or no thread can be started.
        """
        future: Future[R] = Future()
        with self._changed:
            if self._closed:
                message = f"the threads {self._name} are shut down"
                raise RuntimeError(message)
            if len(self._queued) >= self._idle and len(self._threads) < self._most:
                self._start_one()
            self._queued.put((future, partial(fn, *args, **kwargs)), caller.get())
            self._changed.notify()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no further calls. Repeats harmlessly.

        Args:
            wait: Wait until the threads have run all queued calls and have ended.
            cancel_futures: Cancel the queued calls.
        """
        dropped: list[Future[Any]] = []
        with self._changed:
            self._closed = True
            if cancel_futures:
                dropped = [future for future, _ in self._queued]
                self._queued.clear()
            self._changed.notify_all()
        for future in dropped:
            future.cancel()
        if wait:
            for thread in self._threads:
                thread.join()

    def _start_one(self) -> None:
        name = f"{self._name}-{len(self._threads)}"
        thread = threading.Thread(target=self._work, name=name, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._queued:
                    if self._closed:
                        return
                    self._idle += 1
                    self._changed.wait()
                    self._idle -= 1
                future, call = self._queued.take()
            _run(future, call)
            del future, call  # Otherwise they would stay in memory until the next call.


def _run(future: Future[R], call: Callable[[], R]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - the future raises it again
        future.set_exception(error)
    else:
        future.set_result(result)
