"""The code of a program that a run batch runs several times: only its first run compiles it.

That run writes the code to a memory file and seals the file before it executes anything. So no run
can change what the next ones execute. A file that is not sealed is never read.
"""

import contextlib
import fcntl
import io
import marshal
import os
import sys
from types import CodeType
from typing import NamedTuple

from sandbox_images.harness.lock_in.confinement import ConfinedRun
from sandbox_images.harness.runners import loading, prelude
from sandbox_images.harness.runners.events import Reporter
from sandbox_images.harness.wire.orders import SEALED, Bundle


class SharedCode(NamedTuple):
    """What a run executes."""

    program: CodeType
    prelude: CodeType | None = None
    """None if it is not compiled yet."""


def compile_source(run: ConfinedRun, reporter: Reporter) -> SharedCode | None:
    """Return the code of the submission, or report why it does not compile and return None.

    Compiles nothing if an earlier run of the batch has left the code.
    """
    if run.code is None:
        return _compile(run.bundle, reporter)
    try:
        size = os.fstat(run.code).st_size
        if size == 0:
            return _compile_and_leave(run.bundle, run.code, reporter)
        if fcntl.fcntl(run.code, fcntl.F_GET_SEALS) == SEALED:
            return SharedCode(*marshal.loads(os.pread(run.code, size, 0)))  # noqa: S302 - sealed
        return _compile(run.bundle, reporter)  # the first run was stopped while it wrote
    finally:
        os.close(run.code)


def _compile(bundle: Bundle, reporter: Reporter) -> SharedCode | None:
    program = loading.compile_source(bundle, reporter)
    return None if program is None else SharedCode(program)


def _compile_and_leave(bundle: Bundle, descriptor: int, reporter: Reporter) -> SharedCode | None:
    """Compile the submission, and leave the code for the next runs if it is the same for them."""
    with contextlib.redirect_stderr(io.StringIO()) as said:
        program = loading.compile_source(bundle, reporter)
        before = None if program is None else prelude.try_to_compile(bundle.prelude)
    warnings = said.getvalue()
    sys.stderr.write(warnings)
    if program is None:
        return None
    if before is not None and not warnings:  # which each run has to print
        _leave((program, before), descriptor)
    return SharedCode(program, before)


def _keeps_order(code: CodeType) -> bool:
    """Tell whether sets among the constants are iterated over in the same order once loaded."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if not _keeps_order(constant):
                return False
        elif isinstance(constant, frozenset):
            loaded = marshal.loads(marshal.dumps(constant))  # noqa: S302 - our own
            if list(loaded) != list(constant):
                return False
    return True


def _leave(code: tuple[CodeType, CodeType], descriptor: int) -> None:
    if not all(map(_keeps_order, code)):
        return
    try:
        view = memoryview(marshal.dumps(code))
    except ValueError:  # constants that are nested too deeply
        return
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError:  # more than a file of the run may have
        return
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, SEALED)
