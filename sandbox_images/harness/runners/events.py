"""The report channel: JSON lines on a descriptor of their own, written as things happen.

docs/how-it-works.md lists the events. Hostile code can forge the report of its own process, so
`grader.judging` decides what of it can be believed.
"""

import json
import os
import traceback
from collections import deque
from collections.abc import Iterator
from types import TracebackType
from typing import Any

_MAX_MESSAGE_CHARS = 2000
_MAX_FRAMES = 5
_MAX_LINES = 40
_LIBRARY = os.path.dirname(os.__file__) + "/"
_PLAIN_CALLS = ("__init__", "__new__", "__post_init__", "__call__")
_CAUSE = vars(BaseException)["__cause__"].__get__
_CONTEXT = vars(BaseException)["__context__"].__get__
_TRACEBACK = vars(BaseException)["__traceback__"].__get__


class Reporter:
    """Writes events to the report descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def emit(self, event: str, **fields: Any) -> None:
        """Write one event. It is dropped if the supervisor no longer reads the report."""
        self.emit_line(json.dumps({"e": event, **fields}).encode())

    def emit_line(self, line: bytes) -> None:
        """Write one event that is already JSON."""
        view = memoryview(line + b"\n")
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError:
            pass

    def exception(self, where: str, error: BaseException, source_path: str) -> None:
        """Write that an exception reached the runner."""
        self.emit("exception", where=where, **describe(error, source_path))


def describe(error: BaseException, source_path: str) -> dict[str, Any]:
    """Return an exception as data: type and message, and where it was raised."""
    return {
        "type": type(error).__qualname__,
        "message": _message(error),
        "traceback": _remote_frames(error) or _own_frames(error.__traceback__, source_path),
        "lines": _lines_of_tests(error, source_path),
        "inside": _is_from_inside(error, source_path),
    }


def _message(error: BaseException) -> str:
    try:
        return str(error)[:_MAX_MESSAGE_CHARS]
    except BaseException as broken:  # noqa: BLE001 - the submission wrote this __str__
        return f"(its message cannot be read: {type(broken).__name__})"


def _own_frames(tb: TracebackType | None, source_path: str) -> str:
    """Return the innermost frames in the submission's file, as `line N, in name: text`."""
    # Not of all frames: that would read the source of every file of pytest among them.
    own = (each for each in traceback.walk_tb(tb) if each[0].f_code.co_filename == source_path)
    last = traceback.StackSummary.extract(deque(own, maxlen=_MAX_FRAMES))
    return "\n".join(f"line {f.lineno}, in {f.name}: {f.line}" for f in last)[:_MAX_MESSAGE_CHARS]


def _lines_of_tests(error: BaseException, source_path: str) -> list[int] | None:
    """Return the lines of the tests that an exception went through, in no order.

    Exceptions that were being handled when it was raised count, too. Returns None if the lines are
    unknown, for example for a group of exceptions.
    """
    lines: set[int] = set()
    chain: dict[int, BaseException] = {}
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in chain:
            continue
        if issubclass(type(each), BaseExceptionGroup) or len(chain) > _MAX_FRAMES:
            return None
        chain[id(each)] = each
        # Not by attributes, which the submission's own exceptions may define anew.
        waiting += [_CAUSE(each), _CONTEXT(each)]
        lines.update(line for name, _, line in _places(each) if name != source_path)
    return None if len(lines) > _MAX_LINES else [*lines]


def _is_from_inside(error: BaseException, source_path: str) -> bool:
    """Tell whether an exception was raised in a call of the submission's code.

    Not if it was called to compare, for example: then it depends on what the tests expect.
    """
    entered = None
    for name, function, _ in _places(error):
        if name != source_path:
            entered = None
        elif entered is None:
            entered = function
    return entered is not None and (not entered.startswith("__") or entered in _PLAIN_CALLS)


def _places(error: BaseException) -> Iterator[tuple[str, str, int]]:
    """Yield file, function and line of what an exception went through, without libraries."""
    for frame, line in traceback.walk_tb(_TRACEBACK(error)):
        code = frame.f_code
        if not code.co_filename.startswith(_LIBRARY):
            yield code.co_filename, code.co_name, line


def _remote_frames(error: BaseException) -> str:
    """Return the frames of the submission's process, if the exception came from there."""
    frames = getattr(error, "candidate_trace", None)
    if not isinstance(frames, list):
        return ""
    lines = [f"line {frame[0]}, in {frame[1]}" for frame in frames if len(frame) == 2]
    return "\n".join(lines)[:_MAX_MESSAGE_CHARS]
