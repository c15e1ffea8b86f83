"""Judge one suite after another in the same process.

The grader makes sure that only suites come here that leave the process as they found it. The
process is locked in like any other. If an exchange is broken off, the process ends, and the
supervisor has another one forked when it needs one.
"""

import decimal
import gc
import linecache
import os
import random
import resource
import socket
import sys
import typing
from collections.abc import Callable
from typing import Any

from sandbox_images.harness.lock_in.confinement import ConfinedRun, stage
from sandbox_images.harness.runners import judging, script
from sandbox_images.harness.runners.events import Reporter
from sandbox_images.harness.wire import orders
from sandbox_images.harness.wire.orders import RunOrder

Judging = Callable[[ConfinedRun, Reporter], object]
"""Judges one suite."""

_COLLECT_EVERY = 32
"""Runs between two collections. Without these, garbage in cycles would stay."""


def serve_scripts(run: ConfinedRun, _reporter: Reporter) -> None:
    """Judge scripts."""

    def look() -> Callable[[], bool]:
        modules = len(sys.modules)
        return lambda: len(sys.modules) == modules

    serve(run, script.judge, look)


def serve(run: ConfinedRun, judge: Judging, look: Callable[[], Callable[[], bool]]) -> None:
    """Judge what the supervisor orders, until it hangs up.

    Args:
        run: This process's own.
        judge: Judges one suite.
        look: Looks at the process before the first suite. What it returns is called after each,
            and tells whether the process is as it was.
    """
    control = socket.socket(fileno=run.connection)
    null = os.open(os.devnull, os.O_RDWR)
    baseline = tuple(sys.path)
    with judging.beginning():
        is_unchanged = look()
    served = 0
    orders.send(control, {"event": "ready", "all_cpu_time_s": _cpu_time_s()})
    while (order := _receive(control)) is not None:
        before = resource.getrusage(resource.RUSAGE_SELF)
        _judge(order, null, judge)
        sys.path[:] = baseline
        _forget()
        served += 1
        if served % _COLLECT_EVERY == 0:
            gc.collect()
        ended = _ended(before)
        ended["in_doubt"] = not is_unchanged()
        orders.send(control, {**ended, "all_cpu_time_s": _cpu_time_s()})


def _receive(control: socket.socket) -> RunOrder | None:
    with judging.beginning():
        received = orders.receive(control)
        return None if received is None else RunOrder.parse(*received)


def _forget() -> None:
    """Drop what the standard library remembers of the values that it was used on."""
    # The flags for inexact or invalid arithmetic, and the caches of `typing`.
    decimal.setcontext(decimal.DefaultContext.copy())
    clears: list[Any] = getattr(typing, "_cleanups")  # noqa: B009 - private to the library
    for clear in clears:
        clear()


def _judge(order: RunOrder, null: int, judge: Judging) -> None:
    """Judge a suite."""
    os.dup2(order.stdout, 1)
    os.dup2(order.stderr, 2)
    random.seed()
    with judging.beginning():
        bundle = orders.read_bundle(order.bundle)
        if bundle.files:
            stage(bundle, order.bundle)
    run = ConfinedRun.of(order, bundle)
    judge(run, Reporter(order.report))
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    linecache.clearcache()
    for descriptor in (1, 2):
        os.dup2(null, descriptor)
    for descriptor in order.descriptors:
        if descriptor != order.channel:  # which the exchange has closed
            os.close(descriptor)


def _cpu_time_s() -> float:
    now = resource.getrusage(resource.RUSAGE_SELF)
    return now.ru_utime + now.ru_stime


def _ended(before: resource.struct_rusage) -> dict[str, Any]:
    now = resource.getrusage(resource.RUSAGE_SELF)
    grown = now.ru_maxrss > before.ru_maxrss
    return {
        "event": "ended",
        "status": 0,
        "cpu_time_s": now.ru_utime + now.ru_stime - before.ru_utime - before.ru_stime,
        # The kernel keeps only the highest peak. If it did not rise, it was an earlier run's.
        "peak_memory_bytes": now.ru_maxrss * 1024 if grown else 0,
    }
