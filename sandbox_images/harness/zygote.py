"""A warmed interpreter that forks boxes on the supervisor's word.

There are several: a small one for programs, calls and scripts, one inside a started pytest
session, and any of the two with more modules loaded. A zygote never sees a submission's code
or tests; it only passes on the box's end of a socket.
"""

import gc
import importlib
import json
import os
import signal
import socket
import sys

from sandbox_images.harness import box, namespaces, orders, seccomp

COMMON_MODULES = (
    "abc argparse array ast atexit bisect calendar cmath collections collections.abc contextlib "
    "copy dataclasses datetime decimal enum fractions functools heapq inspect io itertools json "
    "linecache math numbers operator os queue random re statistics string struct sys tempfile "
    "textwrap threading time traceback types typing unicodedata unittest.mock"
).split()
"""What submissions import most; a fork has them for nothing, an import costs milliseconds."""


def main(args: list[str]) -> None:
    """Become the zygote that `args` describe: kind, control descriptor, site folders, preload."""
    kind, descriptor, site, preload = args
    control = socket.socket(fileno=int(descriptor))
    namespaces.prctl(namespaces.PR_SET_PDEATHSIG, signal.SIGKILL)
    sys.path[:] = [path for path in sys.path if path not in ("", os.getcwd())]
    sys.path += json.loads(site)
    for name in [*COMMON_MODULES, *json.loads(preload)]:
        importlib.import_module(name)
    if kind == "pytest":
        from sandbox_images.harness.runners import pytest_suite

        pytest_suite.serve_from_session(control)
    else:
        from sandbox_images.harness import runners

        runners.execute(wait_for_run(control))


def wait_for_run(control: socket.socket) -> box.Run:
    """Fork boxes until the supervisor hangs up; returns only in the processes of runs."""
    seccomp_filter = seccomp.build_candidate_filter()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    owner = (os.getuid(), os.getgid())
    gc.collect()
    gc.freeze()
    gc.disable()
    orders.send(control, {"event": "ready"})
    while (received := orders.receive(control)) is not None:
        message, descriptors = received
        if message["order"] == "end":
            _end(message["pid"])
            orders.send(control, {"event": "gone"})
            continue
        pid = namespaces.clone(box.BOX_FLAGS)
        if pid == 0:
            control.close()
            return box.serve(socket.socket(fileno=descriptors[0]), owner, seccomp_filter)
        os.close(descriptors[0])
        orders.send(control, {"event": "box", "pid": pid})
    os._exit(0)


def _end(pid: int) -> None:
    """Kill a box; once it is reaped, the kernel has killed everything that was in it."""
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        pass
