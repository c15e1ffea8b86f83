"""Equality by computer algebra, in processes that can be killed.

Simplifying an expression can take forever, or all memory, in C code that no exception interrupts.
So it happens in child processes with limits on CPU time, which makes results independent of the
load of the machine, and on memory. A process that hits a limit dies and is replaced, and its
expressions are "not equal". A process that dies for another reason is an error of the grader.
"""

import contextlib
import json
import logging
import math
import queue
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from grader.model.errors import ConfigurationError, GraderError
from grader.process.child import Child
from grader.process.children import ChildPool

_log = logging.getLogger(__name__)

_WORKER = Path(__file__).with_name("worker.py")
_START_S = 60.0
_WALL_FACTOR = 10
_WALL_S = 10.0
"""The limit of wall time is this plus `_WALL_FACTOR` times the CPU time, for busy machines."""
_LEAST_S = 0.01
"""With less CPU time left, no further comparison begins."""
_MAX_CHARS = 2000
_OUT_OF_MEMORY = 3
"""The exit code of a process that ran out of memory."""
_LIMIT_CODES = frozenset(
    {_OUT_OF_MEMORY, -signal.SIGPROF, -signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS}
)
"""Exit codes caused by the expressions: a limit, or a stack overflow in C."""


class AlgebraUnavailableError(GraderError):
    """A process for comparisons does not start or answer; the expressions are not the cause."""


class Algebra:
    """A pool of processes that compare expressions. Safe for many threads."""

    def __init__(self, *, processes: int, cpu_time_s: float) -> None:
        """Start nothing yet.

        Args:
            processes: The most processes at once.
            cpu_time_s: CPU time for all comparisons of one answer.

        Raises:
            ConfigurationError: The package that reads LaTeX is not installed.
        """
        import importlib.util

        if importlib.util.find_spec("latex2sympy2_extended") is None:
            message = (
                "comparing expressions needs the extra: pip install 'grader-rl[math]';"
                " or set GRADER_MATH_SYMBOLIC=0"
            )
            raise ConfigurationError(message)
        self.cpu_time_s = cpu_time_s
        self._workers = ChildPool(_Worker, processes=processes)

    def comparisons(self, deadline: float = math.inf) -> "Comparisons":
        """Return the comparisons of one answer, until `deadline` of `time.monotonic`."""
        return Comparisons(self, deadline)

    def same(self, left: str, right: str, tolerance: float = 0.0) -> bool:
        """Return whether two expressions are equal; see `Comparisons.same`."""
        return self.comparisons().same(left, right, tolerance)

    def ask(self, question: "Question", deadline: float) -> "ComparisonResult | None":
        """Compare once; None if a limit was hit.

        Raises:
            AlgebraUnavailableError: No process was available, or it was killed from outside.
        """
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            message = "the deadline for comparisons has passed"
            raise AlgebraUnavailableError(message)
        try:
            with self._workers.seat(None if left_s == math.inf else left_s) as seat:
                was_old = seat.process is not None
                try:
                    outcome = seat.started().ask(question, deadline)
                except AlgebraUnavailableError:
                    if not was_old or time.monotonic() > deadline:
                        raise
                    # It may have died earlier, while it was idle.
                    seat.end()
                    outcome = seat.started().ask(question, deadline)
                if outcome is None:
                    seat.end()
                return outcome
        except queue.Empty:
            message = "no process for comparisons was free by the deadline"
            raise AlgebraUnavailableError(message) from None

    def close(self) -> None:
        """Kill every process, including busy ones. Repeats harmlessly."""
        self._workers.close()


class Comparisons:
    """The comparisons of one answer, with a common limit of CPU time. For one thread."""

    def __init__(self, algebra: Algebra, deadline: float) -> None:
        self._algebra = algebra
        self._deadline = deadline
        self._left_s = algebra.cpu_time_s
        self.hit_limit = False
        """Whether a comparison hit the limit of time or memory."""

    def same(self, left: str, right: str, tolerance: float = 0.0) -> bool:
        """Return whether two expressions are equal; False if a limit was hit.

        Args:
            left: In LaTeX.
            right: In LaTeX.
            tolerance: Relative; 0 for exact values.

        Raises:
            AlgebraUnavailableError: No process was available, or it was killed from outside.
        """
        if max(len(left), len(right)) > _MAX_CHARS or self.hit_limit:
            return False
        question = Question(left=left, right=right, tolerance=tolerance, cpu_time_s=self._left_s)
        outcome = self._algebra.ask(question, self._deadline)
        if outcome is None:
            self.hit_limit = True
            return False
        self._left_s -= outcome.cpu_time_s
        self.hit_limit = self._left_s < _LEAST_S
        return outcome.is_equal


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Two expressions to compare."""

    left: str
    right: str
    tolerance: float
    """Relative."""
    cpu_time_s: float
    """The limit of the comparison."""


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """The result of a comparison."""

    is_equal: bool
    cpu_time_s: float
    """Used by the comparison."""


class _Worker:
    """One process. For one thread at a time, but any thread may kill it."""

    def __init__(self) -> None:
        """Start the process.

        Raises:
            AlgebraUnavailableError: It cannot be started.
        """
        try:
            # -P: modules beside the script must not hide those of other packages.
            self._child = Child("-P", str(_WORKER))
        except OSError as error:
            message = f"cannot start a process: {error}"
            raise AlgebraUnavailableError(message) from error
        self._is_ready = False

    def ask(self, question: Question, deadline: float) -> ComparisonResult | None:
        """Return the result of a comparison; None if it hit a limit, which killed the process.

        Raises:
            AlgebraUnavailableError: The process ended for another reason, or has not loaded its
                modules within a minute.
        """
        if not self._is_ready and not self._line(_START_S):
            message = f"a process for comparisons did not start within {_START_S:g} s"
            raise AlgebraUnavailableError(message)
        self._is_ready = True
        with contextlib.suppress(OSError, ValueError):  # It may be dead or closed.
            line = json.dumps(
                [question.left, question.right, question.tolerance, question.cpu_time_s]
            )
            self._child.stdin.write(line.encode() + b"\n")
            self._child.stdin.flush()
            left_s = max(0.0, deadline - time.monotonic())
            wall_time_s = question.cpu_time_s * _WALL_FACTOR + _WALL_S
            answer = json.loads(self._line(min(wall_time_s, left_s)) or "null")
            if isinstance(answer, list):
                is_equal, took_s = answer
                return ComparisonResult(is_equal is True, float(took_s))
            if answer in _LIMIT_CODES:
                _log.info(
                    "a comparison hit a limit: %.100r and %.100r", question.left, question.right
                )
                return None
            if answer is not None:
                message = f"a process for comparisons ended with {answer}"
                raise AlgebraUnavailableError(message)
        message = "a process for comparisons was late, or was killed"
        raise AlgebraUnavailableError(message)

    def kill(self) -> None:
        """Kill the process. Repeats harmlessly."""
        self._child.kill()

    def end(self) -> int:
        """End the process, and return its exit code. Repeats harmlessly."""
        return self._child.end()

    def _line(self, timeout_s: float) -> bytes:
        """Read one line; empty if the process ended, or was killed because it took too long."""
        alarm = threading.Timer(timeout_s, self._child.kill)
        alarm.start()
        try:
            line = self._child.stdout.readline()
        finally:
            alarm.cancel()
        return line if line.endswith(b"\n") else b""
