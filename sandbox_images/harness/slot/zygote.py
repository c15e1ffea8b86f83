"""A warmed interpreter that forks a run for each order of the supervisor.

There are several: a small one for programs, calls and scripts, one inside a started pytest
session, either of the two with more modules loaded, and one for programs in other languages. A
zygote never sees a submission's code or tests: it passes on descriptors of files that only the
run's own process reads. The one for other languages reads the paths and sizes of files. It starts
programs without a fork, so no submission gets a copy of its memory.

It has all capabilities in a user namespace of its own, and so may make namespaces. Every run leaves
that user namespace, and gives up the capabilities, before it executes hostile code.
"""

import gc
import importlib
import json
import os
import random
import resource
import signal
import site
import socket
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from sandbox_images.harness.kernel import namespaces, processes, sockets
from sandbox_images.harness.kernel.calls import Calls
from sandbox_images.harness.lock_in import confinement, reduced
from sandbox_images.harness.runners import command, streams
from sandbox_images.harness.runners.events import Reporter
from sandbox_images.harness.slot import holes
from sandbox_images.harness.wire import orders
from sandbox_images.harness.wire.orders import RunOrder

COMMON_MODULES = (
    "abc bisect collections contextlib copy datetime decimal enum fractions functools heapq io "
    "itertools json linecache math operator os re statistics string struct sys time traceback "
    "types typing"
).split()
"""What submissions import most. A fork has them already, and an import would take milliseconds. But
every page of memory that a module takes makes every fork slower."""
_MODULES_OF_TESTS = ("unittest.mock",)
"""What many tests import besides. With asyncio, which it imports, a fork takes 0.4 ms more."""
_WITHOUT_TESTS = ("command", "interactor", "plain")

_RUN_FLAGS = namespaces.CLONE_NEWNS | namespaces.CLONE_NEWIPC | namespaces.CLONE_NEWUTS
_REDUCED_RUN_FLAGS = namespaces.CLONE_NEWIPC | namespaces.CLONE_NEWUTS | namespaces.CLONE_NEWNET
_kept: list[object] = []
"""Objects that no fork may free. To free one would copy its page of memory, and could close a
descriptor that the fork has put to another use."""


def main(args: list[str]) -> None:
    """Become the zygote that `args` describe.

    They are: kind, control descriptor, site folders, modules to load, and whether `reduced` is to
    lock in its runs.
    """
    kind, descriptor, site_folders, preload, is_reduced = args
    control = socket.socket(fileno=int(descriptor))
    room = None
    if json.loads(is_reduced):
        _die_with_parent()
        room = reduced.Room()
    else:
        _enter_namespaces()
    # The environment of every run, since a run inherits it.
    os.environ.clear()
    os.environ.update(confinement.ENVIRONMENT)
    sys.set_int_max_str_digits(0)  # what the environment does for interpreters that a run starts
    sys.path += json.loads(site_folders)
    _add_interactive_names()
    common = () if kind == "command" else COMMON_MODULES
    of_tests = () if kind in _WITHOUT_TESTS else _MODULES_OF_TESTS
    for name in [*common, *of_tests, *json.loads(preload)]:
        importlib.import_module(name)
    streams.prepare()
    if kind == "pytest":
        from sandbox_images.harness.runners import pytest_suite, standing_pytest

        def rehearse(session: Any) -> None:
            if room is None:  # else there is no mount namespace to do it in
                with confinement.lent_work_area():
                    standing_pytest.rehearse(session)

        pytest_suite.serve_from_session(partial(_wait_for_tests, control, room), rehearse)
    elif kind == "standing_pytest":
        from sandbox_images.harness.runners import standing_pytest

        standing_pytest.serve_from_session(partial(_wait_for_tests, control, room))
    else:
        from sandbox_images.harness import runners

        if kind == "plain":
            from sandbox_images.harness.slot import rehearsal

            rehearsal.rehearse(partial(_enter_unlocked, room))
        runners.execute(wait_for_run(control, room))


def _enter_unlocked(room: reduced.Room | None, order: RunOrder) -> confinement.ConfinedRun:
    """Do in this process what a fork does, except for locking itself in."""
    if room is not None:  # There is no mount namespace for a work area.
        return confinement.ConfinedRun.of(order, orders.read_bundle(order.bundle))
    with confinement.lent_work_area():
        return confinement.enter(order, Calls(), Calls(), None)


def _wait_for_tests(control: socket.socket, room: reduced.Room | None) -> confinement.ConfinedRun:
    from sandbox_images.harness.runners import loading

    run = wait_for_run(control, room)
    loading.precede_import(run.bundle)
    return run


def _enter_namespaces() -> None:
    """Go on as process 1 of a pid namespace, in a user namespace that owns it.

    A zygote can come back from the pid namespaces of its runs only if its own pid namespace is
    owned by its own user namespace. The process that was started waits for the zygote to end.

    In the net namespace are only the sockets that runs make: those of the harness come from
    outside. A namespace for each run would take longer than all else that a run begins with.
    """
    namespaces.enter_own_user((confinement.INSIDE_UID, confinement.INSIDE_UID))
    _die_with_parent()
    namespaces.unshare(namespaces.CLONE_NEWPID | namespaces.CLONE_NEWNS | namespaces.CLONE_NEWNET)
    confinement.cover_mounts()
    pid = os.fork()
    if pid != 0:
        os.waitpid(pid, 0)
        os._exit(1)
    _die_with_parent()


def _add_interactive_names() -> None:
    """Define `exit`, `quit`, `help` and the like: `site` is not run, and programs use them."""
    site.setquit()
    site.setcopyright()
    site.sethelper()


def _die_with_parent() -> None:
    namespaces.prctl(namespaces.PR_SET_PDEATHSIG, signal.SIGKILL)


def wait_for_run(control: socket.socket, room: reduced.Room | None) -> confinement.ConfinedRun:
    """Carry out run orders until the supervisor hangs up, and end.

    Returns only in the processes that are forked for runs, locked in and ready to start.

    Args:
        control: To the supervisor.
        room: For the runs, if the kernel has no mount namespaces.
    """
    confined = confinement.Confinement(control, room)
    pid_namespaces = namespaces.PidNamespaces()
    _kept.extend((control, confined, pid_namespaces))
    # In a reduced slot, each run has a net namespace of its own.
    own_sockets = sockets.count() if room is None else 0
    gc.collect()
    gc.freeze()
    gc.disable()
    holes.fill()
    orders.send(control, {"event": "ready", "memory_bytes": processes.memory_bytes("self")})
    while (received := orders.receive_order(control)) is not None:
        order, descriptors = received
        program = confined.prepare_program(order)
        enter = None
        if program is None:
            enter = confined.prepare(order)
            random.seed()  # Otherwise all runs, and the tests, would draw the same numbers.
            # With what was made since the last run, so that the fork does not begin to collect it.
            gc.freeze()
        init = pid_namespaces.enter_new()
        start = namespaces.clone if program is None else program.make
        pid = _start_run(init, start, _RUN_FLAGS if room is None else _REDUCED_RUN_FLAGS)
        if enter is not None and pid == 0:
            # So that nothing of this frame is freed when it returns.
            _kept.append(sys._getframe())
            return enter()
        if program is not None and (failure := program.failure()):
            _tell_failure(order, *failure)
        for descriptor in descriptors:
            os.close(descriptor)
        # Everything else waits until the fork has ended, since memory written before is copied.
        end = _ended(signal.SIGKILL) if pid is None else _await_end(pid, init)
        if room is None:
            sockets.await_release(own_sockets)
        else:
            end["leaves_files"] = not room.clear()
        orders.send(control, end)
    os._exit(0)


def _start_run(init: int, start: Callable[[int], int], flags: int) -> int | None:
    """Start a run's main process in the namespace of `init`; return None if that has ended.

    The supervisor may kill a run that has only process 1 so far.
    """
    try:
        return start(flags)
    except OSError:
        if _is_dead(init):
            return None
        raise


def _tell_failure(order: RunOrder, name: str, error: OSError) -> None:
    """Report, in place of a run, what failed before it executed its program."""
    if name == "execve":
        command.say_why_not(order.command, error, Reporter(order.report))
    else:
        os.write(order.stderr, f"{name}: {error}\n".encode())


def _is_dead(init: int) -> bool:
    """Tell whether process 1 of a namespace has ended, and reap it."""
    try:
        return os.waitpid(init, os.WNOHANG)[0] == init
    except ChildProcessError:
        return True  # it ended while SIGCHLD was ignored, so the kernel has reaped it


def _await_end(pid: int, init: int) -> dict[str, Any]:
    """Wait for a run's main process, end the rest of the run, and return the message about it."""
    _, status, usage = os.wait4(pid, 0)
    # When process 1 is reaped, the kernel has killed all that was left in its namespace.
    os.kill(init, signal.SIGKILL)
    os.waitpid(init, 0)
    peak_bytes = usage.ru_maxrss * 1024
    # A program that borrowed this memory before it was executed has this process's peak, too.
    grown = usage.ru_maxrss > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        **_ended(status),
        "cpu_time_s": usage.ru_utime + usage.ru_stime,
        "peak_memory_bytes": peak_bytes,
        "new_peak_bytes": peak_bytes if grown else 0,
    }


def _ended(status: int) -> dict[str, Any]:
    return {"event": "ended", "status": status, "cpu_time_s": 0.0, "peak_memory_bytes": 0}
