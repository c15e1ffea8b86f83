"""Compile a program in another language than Python, or execute what the compiler made.

The compiler is locked in like the program itself: compilers read files that a source names, and
some execute what they compile.
"""

import os
import signal
import stat
from typing import NoReturn

from sandbox_images.harness.lock_in.confinement import ENVIRONMENT, WORK, ConfinedRun
from sandbox_images.harness.runners.events import Reporter
from sandbox_images.harness.wire import orders

_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


def compile_program(run: ConfinedRun, reporter: Reporter) -> NoReturn:
    """Run the compiler, and write the files that are then in the work area to the payload.

    The process ends with the compiler's exit status, or the number of the signal that ended it.
    """
    _keep_to_oneself(run)
    pid = os.posix_spawnp(
        run.command[0], run.command, _environment(run), setsigdef=_IGNORED_BY_PYTHON
    )
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status < 0:
        reporter.emit("compile_error", type="compiler", message=f"it was ended by signal {-status}")
    elif status == 0:
        try:
            orders.write_product(run.payload, run.bundle.source_path, _work_area())
        except OSError as error:
            words = f"what the compiler made cannot be kept: {error.strerror}"
            reporter.emit("compile_error", type="compiler", message=words)
            status = 1
    os._exit(abs(status))


def run(run: ConfinedRun, reporter: Reporter) -> NoReturn:
    """Become the program."""
    _keep_to_oneself(run)
    for number in _IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(run.command[0], run.command, _environment(run))
    except (OSError, ValueError) as error:
        # Such as a file that the compiler did not make, or that cannot be executed.
        words = f"{run.command[0]}: {error}"
        reporter.emit("exception", where="load", type="cannot be started", message=words)
        os._exit(1)


def _keep_to_oneself(run: ConfinedRun) -> None:
    for descriptor in (run.payload, run.report):
        os.set_inheritable(descriptor, False)


def _environment(run: ConfinedRun) -> dict[str, str]:
    return {**ENVIRONMENT, **run.environment}


def _work_area() -> dict[str, bytes]:
    """Return the files of the work area by path, without links and pipes."""
    found: dict[str, bytes] = {}
    for folder, _folders, names in os.walk(WORK):
        for name in names:
            path = os.path.join(folder, name)
            if stat.S_ISREG(os.lstat(path).st_mode):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, WORK)] = file.read()
    return found
