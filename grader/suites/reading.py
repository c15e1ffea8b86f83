"""Reads labels with limits of time and memory.

Reading may cost far more than the size of a label suggests: five kilobytes of packed tests can
unfold to millions of values. No thread can be stopped, and many of these steps do not even let
other threads run. So labels that are large or may unfold are read in processes
(`grader.suites.reading_process`), which die at a limit. A label that hit one is refused without
another try for some time. Small labels are read in the caller's thread, which is faster.
"""

import contextlib
import hashlib
import json
import os
import signal
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from grader.model import MiB, TestSuite, wire
from grader.model.errors import LabelError, ReaderLostError, SuiteError
from grader.process.child import Child
from grader.process.children import ChildPool
from grader.process.exits import close_at_exit, forget_at_exit
from grader.suites import pickled
from grader.suites.format import Row
from grader.suites.parse import Problems, parse_label, parse_problem
from grader.suites.plain import plain
from sandbox_images.harness.wire.frames import READ_BYTES, FrameReader, Header, encode

CHEAP_CHARS = 32 * 1024
"""A text of at most so many characters takes at most a third of a second, whatever it holds, unless
it is packed. Measured with hostile texts for each field of each format."""

LEAST_CPU_S = 2.0
MOST_CPU_S = 30.0
CPU_S_PER_CHAR = 1e-5
"""Tests in Python, which take longest, need an eighth of it on a usual machine."""
MEMORY_BYTES = 2048 * MiB
OUT_OF_MEMORY = 3
"""The exit code of a process that ran out of memory."""

_PROCESSES = 2
_REMEMBERED_S = 600.0
_MOST_REMEMBERED = 1000
_WALL_FACTOR = 10
_WALL_S = 60.0
"""The limit of wall time is this plus `_WALL_FACTOR` times the CPU time, for busy machines."""

_ENTER = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from grader.suites.reading_process import main; main()"
)
"""The code of a process. It imports from the same path as this process."""

_OWN_FAULTS = frozenset({-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS})
"""Exit codes that a label can cause besides limits: it overflows a stack in C."""


class LabelKind(StrEnum):
    """What a text is."""

    LABEL = "label"
    """A label that is text."""
    DATA = "data"
    """The JSON of any other label."""
    ROW = "row"
    """The JSON of a row of a file of problems."""


def read_label(
    label: object, *, problems: Problems | None = None, most_values: int | None = None
) -> TestSuite:
    """Return the tests that a label asks for; see `parse_label`.

    Safe for many threads. A label that may cost much is read by another process meanwhile.

    Args:
        label: As in `parse_label`.
        problems: As in `parse_label`.
        most_values: A suite of more values is refused, because taking over a suite from the other
            process stops all threads of this one. None: any number.

    Raises:
        LabelError: As `parse_label`, or reading takes more time or memory than is allowed.
        SuiteError: As `parse_label`.
        ReaderLostError: The process that read the label was killed.
    """
    label = plain(label)
    kind = LabelKind.LABEL if isinstance(label, str) else LabelKind.DATA
    order = _Order(kind=kind, problems=problems, most_values=most_values)
    return _read(order, label, lambda: parse_label(label, problems=problems))


def read_problem(row: Row, *, problems: Problems | None = None) -> TestSuite:
    """Return the tests of a row of a problem file; see `parse_problem` and `read_label`.

    Raises:
        LabelError: As `read_label`.
        SuiteError: As `read_label`.
        ReaderLostError: As `read_label`.
    """
    order = _Order(kind=LabelKind.ROW, problems=problems, most_values=None)
    return _read(order, plain(row), lambda: parse_problem(row, problems=problems))


def end_readers() -> None:
    """End the processes that read labels for this one. A label that needs one starts new ones."""
    for depth in (0, 1):
        readers = _readers(os.getpid(), depth)
        readers.close()
        forget_at_exit(readers)
    _readers.cache_clear()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """How a text is to be read."""

    kind: LabelKind
    problems: Problems | None
    most_values: int | None


def _read(order: _Order, value: object, here: Callable[[], TestSuite]) -> TestSuite:
    try:
        text = value if isinstance(value, str) else json.dumps(value, default=str)
    except (ValueError, RecursionError) as error:
        message = f"the label cannot be written as JSON: {error}"
        raise LabelError(message) from error
    if len(text) <= CHEAP_CHARS:
        with contextlib.suppress(pickled.PackedError), pickled.nothing_decoded():
            return here()
    return _readers(os.getpid(), _depth.get()).read(order, text)


_depth: ContextVar[int] = ContextVar("depth", default=0)
"""1 for a problem that a label names, while a process waits for it to read the label."""


@cache
def _readers(_pid: int, _depth: int) -> "_Readers":
    # A forked process needs its own. Processes that wait must not keep those that they wait for.
    readers = _Readers()
    close_at_exit(readers)
    return readers


class _Readers:
    """The processes that read labels. Safe for many threads."""

    def __init__(self) -> None:
        self._processes = ChildPool(_Process, processes=_PROCESSES)
        self._lock = threading.Lock()
        self._failures: OrderedDict[str, tuple[float, str]] = OrderedDict()
        self._pending: dict[str, Future[TestSuite]] = {}

    def read(self, order: _Order, text: str) -> TestSuite:
        """Return the tests in a text; threads that ask for the same at once share the work."""
        message = text.encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(message).hexdigest()
        key = f"{order.kind} {id(order.problems)} {order.most_values} {digest}"
        own = Future[TestSuite]()
        with self._lock:
            self._refuse_known(key)
            pending = self._pending.setdefault(key, own)
        if pending is not own:
            return pending.result()
        try:
            suite = suite_of(*self._in_turn(order, message, len(text)))
        except BaseException as error:
            own.set_exception(error)
            if isinstance(error, _LimitError):
                self._remember(key, str(error))
            raise
        else:
            own.set_result(suite)
            return suite
        finally:
            with self._lock:
                del self._pending[key]

    def close(self) -> None:
        """Kill every process, including busy ones. Repeats harmlessly."""
        self._processes.close()

    def _refuse_known(self, key: str) -> None:
        until, reason = self._failures.get(key, (0.0, ""))
        if time.monotonic() < until:
            message = f"{reason}; it is not tried again for {_REMEMBERED_S / 60:g} minutes"
            raise LabelError(message)

    def _remember(self, key: str, reason: str) -> None:
        with self._lock:
            self._failures[key] = time.monotonic() + _REMEMBERED_S, reason
            while len(self._failures) > _MOST_REMEMBERED:
                self._failures.popitem(last=False)

    def _in_turn(self, order: _Order, message: bytes, chars: int) -> tuple[Header, list[bytes]]:
        cpu_time_s = min(LEAST_CPU_S + CPU_S_PER_CHAR * chars, MOST_CPU_S)
        with self._processes.seat() as seat:
            for is_last in (False, True):
                answer = seat.started().ask(order, message, cpu_time_s)
                if answer is not None:
                    return answer
                code = seat.end()
                # An idle process ends by itself, and may have done so just now.
                if code != 0 or is_last:
                    raise _death(code, cpu_time_s)
        raise AssertionError(order)


class _LimitError(LabelError):
    """Reading the label hit a limit."""


def _death(code: int, cpu_time_s: float) -> LabelError | ReaderLostError:
    if code == -signal.SIGPROF:
        return _LimitError(f"reading the tests takes more than {cpu_time_s:.3g} s of CPU time")
    if code == OUT_OF_MEMORY:
        return _LimitError(f"reading the tests takes more than {MEMORY_BYTES // MiB} MiB of memory")
    if code in _OWN_FAULTS:
        return _LimitError("reading the tests overflows the stack: they are nested too deeply")
    return ReaderLostError(f"the process that read the tests ended with {code}")


_ERRORS = {each.__name__: each for each in (LabelError, SuiteError)}


def suite_of(header: Header, blobs: list[bytes]) -> TestSuite:
    """Return the suite of an answer.

    Raises:
        LabelError: The answer says so.
        SuiteError: The answer says so.
    """
    match header["op"]:
        case "suite":
            return wire.decode_suite(blobs[0])
        case "error" if header["kind"] in _ERRORS:
            raise _ERRORS[header["kind"]](header["message"])
        case _:
            message = f"a bug in the process that reads labels: {header['message']}"
            raise RuntimeError(message)


class _Process:
    """One process. For one thread at a time, but any thread may kill it."""

    def __init__(self) -> None:
        """Start the process.

        Raises:
            ReaderLostError: It cannot be started.
        """
        try:
            self._child = Child("-c", _ENTER, json.dumps(sys.path))
        except OSError as error:
            message = f"cannot start a process that reads labels: {error}"
            raise ReaderLostError(message) from error
        self._frames = FrameReader()

    def ask(
        self, order: _Order, text: bytes, cpu_time_s: float
    ) -> tuple[Header, list[bytes]] | None:
        """Return the answer of the process; None if it ended."""
        problems = order.problems
        header = {
            "kind": order.kind,
            "cpu_time_s": cpu_time_s,
            "memory_bytes": MEMORY_BYTES,
            "has_problems": problems is not None,
            "most_values": order.most_values,
        }
        alarm = threading.Timer(_WALL_S + _WALL_FACTOR * cpu_time_s, self._child.kill)
        alarm.daemon = True
        alarm.start()
        try:
            with contextlib.suppress(OSError, ValueError):  # It may be dead or closed.
                self._send(encode(header, text))
                while (answer := self._receive()) is not None:
                    asked, _ = answer
                    if asked["op"] != "get" or problems is None:
                        return answer
                    self._send(_looked_up(problems, asked["problem"]))
            return None
        finally:
            alarm.cancel()

    def kill(self) -> None:
        """Kill the process. Repeats harmlessly."""
        self._child.kill()

    def end(self) -> int:
        """End the process if it has not ended; return its exit code."""
        # It has hung up, and may still be about to end.
        return self._child.end(patience_s=1.0)

    def _send(self, frame: bytes) -> None:
        self._child.stdin.write(frame)
        self._child.stdin.flush()

    def _receive(self) -> tuple[Header, list[bytes]] | None:
        while data := os.read(self._child.stdout.fileno(), READ_BYTES):
            for frame in self._frames.feed(data):
                return frame
        return None


def _looked_up(problems: Problems, problem_id: str) -> bytes:
    token = _depth.set(1)
    try:
        suite = problems.get(problem_id)
    except (LabelError, SuiteError) as error:
        kind = SuiteError if isinstance(error, SuiteError) else LabelError
        return encode({"op": "error", "kind": kind.__name__, "message": str(error)})
    finally:
        _depth.reset(token)
    if suite is None:
        return encode({"op": "none"})
    return encode({"op": "suite"}, wire.encode_suite(suite))
