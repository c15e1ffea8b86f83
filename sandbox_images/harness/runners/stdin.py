"""Run the submission as a program: `python solution.py < input`."""

import ctypes
import operator
import os
import sys
from typing import NoReturn

from sandbox_images.harness.lock_in.confinement import ConfinedRun
from sandbox_images.harness.runners import finalisation, loading, shared_code, streams
from sandbox_images.harness.runners.events import Reporter, describe
from sandbox_images.harness.runners.shared_code import SharedCode
from sandbox_images.harness.wire.orders import Bundle

_OWN_FILES = (__file__, loading.__file__)
_LARGEST_LIMIT = (1 << 31) - 1
"""The largest recursion limit: a C int."""


def run(run: ConfinedRun, reporter: Reporter) -> NoReturn:
    """Execute the source as `__main__` and end as the interpreter would."""
    streams.open_input()
    code = shared_code.compile_source(run, reporter)
    if code is None:
        os._exit(1)
    os.close(run.payload)
    pid = os.getpid()
    status, uncaught = _run_to_its_end(code, run.bundle)
    source = (run.bundle.source or "") + run.bundle.prelude
    status = finalisation.finalise(status, names_builtins="builtins" in source)
    if "ctypes" in source:  # as C's `exit` does, what the program printed by functions of C
        ctypes.CDLL(None).fflush(None)
    # Only now, because exit handlers may change how the program ends. Not in its children.
    if uncaught is not None and os.getpid() == pid:
        reporter.emit("exception", where="load", **uncaught)
    os._exit(status)


def _run_to_its_end(code: SharedCode, bundle: Bundle) -> tuple[int, dict[str, str] | None]:
    """Execute the program; return its exit status and what it raised and did not catch, as data.

    When this returns, no code here refers to what the program made.
    """
    error = _execute(code, bundle)
    finalisation.flush_quietly()
    if error is None:
        return 0, None
    own = error.__traceback__
    while own is not None and own.tb_frame.f_code.co_filename in _OWN_FILES:
        own = own.tb_next
    status = finalisation.print_uncaught(error.with_traceback(own))
    uncaught = None
    if not isinstance(error, SystemExit):
        uncaught = describe(error, loading.path_of(bundle))
    del error, own  # the traceback refers to this frame, so the frame must not refer to it
    return status, uncaught


def _execute(code: SharedCode, bundle: Bundle) -> BaseException | None:
    try:
        module = loading.new_module("__main__", bundle, code.prelude)
        _discount_own_frames()
        exec(code.program, module.__dict__)  # noqa: S102 - this is what the sandbox is for
    except BaseException as error:  # noqa: BLE001 - whatever the program raised
        return error
    return None


def _discount_own_frames() -> None:
    """Let the program recurse as deep as if its frame were the first.

    Many programs set a limit that is just enough for their input.
    """
    frame, own = sys._getframe(), 0
    while frame.f_back is not None:
        frame, own = frame.f_back, own + 1
    if sys.version_info < (3, 12):
        own += 1  # `exec` itself: before 3.12, calls of C functions counted too
    set_limit, get_limit = sys.setrecursionlimit, sys.getrecursionlimit

    def setrecursionlimit(limit: int, /) -> None:
        given = operator.index(limit)
        set_limit(min(given + own, _LARGEST_LIMIT) if 0 < given <= _LARGEST_LIMIT else given)

    def getrecursionlimit() -> int:
        return get_limit() - own

    set_limit(get_limit() + own)
    sys.setrecursionlimit, sys.getrecursionlimit = setrecursionlimit, getrecursionlimit
