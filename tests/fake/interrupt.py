"""Interrupting Python code of this very process; for `tests.fake.backend` only."""

import ctypes
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from grader.model import Limits
from grader.model.verdict import LimitKind

_TICK_S = 0.01


class Stopped(BaseException):
    """Raised in the middle of a program to stop it."""

    limit: LimitKind | None = None


class LimitReached(Stopped):
    """Raised in the middle of a program that hit a limit."""

    limit: LimitKind


class _CpuTimeReached(LimitReached):
    limit = LimitKind.CPU_TIME


class WallTimeReached(LimitReached):
    """The limit on wall time was hit, or is sure to be."""

    limit = LimitKind.WALL_TIME


@contextmanager
def watched(limits: Limits) -> Iterator[None]:
    """Raise `LimitReached` in this block once the process has used up one of the time limits.

    It is raised between two instructions of Python code, so not before a sleep or a call into a
    library returns.
    """
    thread, done, was_hit = threading.get_ident(), threading.Event(), threading.Event()
    watcher = threading.Thread(
        target=_watch, args=(limits, thread, done, was_hit), name="limit watcher", daemon=True
    )
    watcher.start()
    try:
        yield
    except LimitReached:
        was_hit.clear()
        raise
    finally:
        done.set()
        watcher.join()
        if was_hit.is_set():
            # It was set too late to be raised in the block, so take it back. Not otherwise: the
            # interpreter would look for it for ever, and CPython 3.11 then hangs under a tracer.
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), None)


def _watch(limits: Limits, thread: int, done: threading.Event, was_hit: threading.Event) -> None:
    wall_deadline = time.monotonic() + limits.wall_time_s
    cpu_deadline = time.process_time() + limits.cpu_time_s
    while not done.wait(_TICK_S):
        if time.process_time() > cpu_deadline:
            reached: type[LimitReached] = _CpuTimeReached
        elif time.monotonic() > wall_deadline:
            reached = WallTimeReached
        else:
            continue
        was_hit.set()
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread), ctypes.py_object(reached)
        )
        return
