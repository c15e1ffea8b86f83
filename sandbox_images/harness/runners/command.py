"""Compile a program in another language than Python, or execute what the compiler made.

The compiler is locked in like the program itself: compilers read files that a source names, and
some execute what they compile.
"""

import os
import stat
from typing import NoReturn

from sandbox_images.harness.kernel import signals
from sandbox_images.harness.lock_in.confinement import WORK, ConfinedRun
from sandbox_images.harness.runners.events import Reporter
from sandbox_images.harness.wire import orders


def compile_program(run: ConfinedRun, reporter: Reporter) -> NoReturn:
    """Run the compiler, and write the files that are then in the work area to the payload.

    The process ends with the compiler's exit status, or the number of the signal that ended it.
    """
    pid = os.posix_spawn(
        run.executable, run.command, run.environment, setsigdef=signals.IGNORED_BY_PYTHON
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
    try:
        os.execve(run.executable, run.command, run.environment)
    except (OSError, ValueError) as error:
        say_why_not(run.command, error, reporter)
        os._exit(1)


def say_why_not(command: tuple[str, ...], error: Exception, reporter: Reporter) -> None:
    """Report that a program could not be executed.

    For example, the compiler made no such file, or one that is not executable.
    """
    words = f"{command[0]}: {error}"
    reporter.emit("exception", where="load", type="cannot be started", message=words)


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
