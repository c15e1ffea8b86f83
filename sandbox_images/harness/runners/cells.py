"""Run one cell of a session: execute its statements and report the value of its last line."""

import ast
import contextlib
import inspect
import linecache
import os
import sys
import traceback
from types import CodeType, ModuleType, TracebackType
from typing import Any

from sandbox_images.harness.lock_in.confinement import WORK
from sandbox_images.harness.runners.events import Reporter

_MAX_TEXT_CHARS = 1024 * 1024
"""Most characters of a value or a traceback; the report channel has room for several."""


class Cells:
    """The names that the cells of a session share."""

    def __init__(self) -> None:
        """Begin with an empty `__main__`."""
        self._count = 0
        module = ModuleType("__main__")
        module.__dict__.update(__annotations__={})
        sys.modules["__main__"] = module
        sys.path.insert(0, WORK)
        sys.argv[:] = [""]
        self._names = module.__dict__

    def run(self, source: str, reporter: Reporter) -> None:
        """Run a cell, and report its value or the exception that it raised."""
        self._count += 1
        name = f"<cell {self._count}>"
        # No modification time: `linecache` then never looks for a file of this name.
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        try:
            value = self._execute(source, name)
            if value is not None:
                self._names["_"] = value
                reporter.emit("value", text=repr(value)[:_MAX_TEXT_CHARS])
        except BaseException as error:  # noqa: BLE001 - whatever the cell raised
            _report(error, reporter)
        for stream in (sys.stdout, sys.stderr):
            # The cell may have closed or replaced it.
            with contextlib.suppress(Exception):
                stream.flush()

    def _execute(self, source: str, name: str) -> Any:
        """Run the statements; return the value of the last one if it is an expression."""
        body = ast.parse(source, name).body
        last = None
        if body and isinstance(body[-1], ast.Expr) and not source.rstrip().endswith(";"):
            last = ast.Expression(body.pop().value)  # type: ignore[attr-defined]
        self._evaluate(ast.Module(body, []), name, "exec")
        return None if last is None else self._evaluate(last, name, "eval")

    def _evaluate(self, tree: ast.Module | ast.Expression, name: str, mode: str) -> Any:
        code: CodeType = compile(
            tree, name, mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True
        )
        value = eval(code, self._names)  # noqa: S307 - this is what the sandbox is for
        if code.co_flags & inspect.CO_COROUTINE:
            import asyncio  # Here, since it would make every fork of the zygote slower.

            return asyncio.run(value)
        return value


def _report(error: BaseException, reporter: Reporter) -> None:
    """Report an exception with the part of its traceback that begins in the cell."""
    frames: TracebackType | None = error.__traceback__
    while frames is not None and not frames.tb_frame.f_code.co_filename.startswith("<cell "):
        frames = frames.tb_next
    try:
        message = str(error)
        text = "".join(traceback.format_exception(type(error), error, frames))
    except BaseException as broken:  # noqa: BLE001 - the cell wrote the exception's methods
        message = text = f"(its message cannot be read: {type(broken).__name__})"
    reporter.emit(
        "exception",
        type=type(error).__qualname__,
        message=message[:_MAX_TEXT_CHARS],
        traceback=text[-_MAX_TEXT_CHARS:],
    )


def current_folder() -> str:
    """Return the current folder; the work area if the cell has removed it."""
    try:
        return os.getcwd()
    except OSError:
        return WORK
