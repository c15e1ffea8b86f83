"""Run the submission as a program: `python solution.py < input`."""

import atexit
import os
import sys
from typing import NoReturn

from sandbox_images.harness.confinement import Run
from sandbox_images.harness.runners import loading
from sandbox_images.harness.runners.events import Reporter


def run(run: Run, reporter: Reporter) -> NoReturn:
    """Execute the source as `__main__` and end as the interpreter would."""
    code = loading.compile_source(run.bundle, reporter)
    if code is None:
        os._exit(1)
    os.close(run.payload)
    module = loading.new_module("__main__", run.bundle)
    module.__dict__["__builtins__"] = __builtins__
    status = 0
    try:
        try:
            exec(code, module.__dict__)  # noqa: S102 - this is what the sandbox is for
        finally:
            _join_threads()
    except SystemExit as error:
        status = _exit_status(error)
    except BaseException as error:  # noqa: BLE001 - whatever the program raised
        reporter.exception("load", error, loading.path_of(run.bundle))
        # The program's own frames only: the first is this module's.
        own = error.__traceback__.tb_next if error.__traceback__ else None
        sys.excepthook(type(error), error.with_traceback(own), own)
        status = 1
    _finish(status)


def _join_threads() -> None:
    """Wait for the program's threads, if it has ever had any."""
    threading = sys.modules.get("threading")
    if threading is not None:
        threading._shutdown()


def _exit_status(error: SystemExit) -> int:
    """Return the exit status that the interpreter would give for a SystemExit."""
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    sys.stderr.write(f"{error.code}\n")
    return 1


def _finish(status: int) -> NoReturn:
    """Run exit handlers and flush, as a finalising interpreter does, and end.

    Finalising for real would touch, and so copy, most of the zygote's pages.
    """
    try:
        atexit._run_exitfuncs()
    except BaseException:  # noqa: BLE001 - printed by atexit; the status stays
        pass
    try:
        if not sys.stdout.closed:
            sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - as the interpreter: a failed flush of stdout is 120
        status = status or 120
    try:
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001 - nobody is left to be told
        pass
    os._exit(status)
