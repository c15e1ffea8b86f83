"""Equality by computer algebra, in processes that can be killed.

Simplifying what a model wrote can take forever, or all memory, inside code that no exception
reaches. So it happens in child processes with limits of their own: CPU time, which makes the
outcome the same on a busy machine, and memory. One that hits a limit dies and is replaced, and
the answer is "not equal".
"""

import contextlib
import json
import logging
import queue
import subprocess
import sys
import threading
from pathlib import Path

from grader.errors import ConfigurationError, GraderError

_log = logging.getLogger(__name__)

_WORKER = Path(__file__).with_name("worker.py")
_START_S = 60.0
_WALL_FACTOR = 10
"""Wall time, in multiples of the CPU time that a comparison has: a backstop for what sleeps."""
_MAX_CHARS = 2000


class AlgebraUnavailableError(GraderError):
    """A process for comparisons does not start or answer, through no fault of the answer."""


class Algebra:
    """A few processes that compare expressions. Safe for many threads."""

    def __init__(self, *, processes: int, cpu_time_s: float) -> None:
        """Start nothing yet.

        Args:
            processes: How many may compare at once.
            cpu_time_s: What one comparison may take.

        Raises:
            ConfigurationError: math-verify is not installed.
        """
        import importlib.util

        if importlib.util.find_spec("math_verify") is None:
            message = (
                "comparing expressions needs the extra: pip install 'grader-rl[math]';"
                " or set GRADER_MATH_SYMBOLIC=0"
            )
            raise ConfigurationError(message)
        self._cpu_time_s = cpu_time_s
        self._idle: queue.LifoQueue[_Worker | None] = queue.LifoQueue()
        for _ in range(processes):
            self._idle.put(None)
        self._lock = threading.Lock()
        self._closed = False

    def same(self, left: str, right: str) -> bool:
        """Return whether two expressions are equal; False where that was not found out in time.

        Raises:
            AlgebraUnavailableError: No process could be had.
        """
        if max(len(left), len(right)) > _MAX_CHARS:
            return False
        worker = self._idle.get()
        try:
            if worker is None:
                worker = _Worker(self._cpu_time_s)
            answer = worker.ask(left, right)
            if answer is None:
                worker = None
            return bool(answer)
        except BaseException:
            if worker is not None:
                worker.kill()
            worker = None
            raise
        finally:
            self._give_back(worker)

    def close(self) -> None:
        """End every process. Repeats harmlessly."""
        with self._lock:
            self._closed = True
        with contextlib.suppress(queue.Empty):
            while True:
                worker = self._idle.get_nowait()
                if worker is not None:
                    worker.kill()

    def _give_back(self, worker: "_Worker | None") -> None:
        with self._lock:
            if self._closed and worker is not None:
                worker.kill()
                worker = None
            self._idle.put(worker)


class _Worker:
    """One process. Used by one thread at a time."""

    def __init__(self, cpu_time_s: float) -> None:
        """Start it and wait until it is ready.

        Raises:
            AlgebraUnavailableError: It does not start.
        """
        self._wall_time_s = cpu_time_s * _WALL_FACTOR
        try:
            self._process = subprocess.Popen(
                # -P: the folder of the script must not hide modules of other packages.
                [sys.executable, "-P", str(_WORKER), str(cpu_time_s)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            message = f"cannot start a process: {error}"
            raise AlgebraUnavailableError(message) from error
        if self._process.stdin is None or self._process.stdout is None:
            raise AssertionError(self._process)
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        try:
            ready = self._line(_START_S)
        except BaseException:
            self.kill()
            raise
        if ready is None:
            self.kill()
            message = f"a process for comparisons did not start within {_START_S:g} s"
            raise AlgebraUnavailableError(message)

    def ask(self, left: str, right: str) -> bool | None:
        """Return whether two expressions are equal; None where the process died of it."""
        line = json.dumps([left, right]).encode() + b"\n"
        try:
            self._stdin.write(line)
            self._stdin.flush()
        except OSError:
            self.kill()
            return None
        answer = self._line(self._wall_time_s)
        if answer is None:
            self.kill()
            _log.info("a comparison was killed: %.100r and %.100r", left, right)
        return answer

    def kill(self) -> None:
        """End the process. Repeats harmlessly."""
        self._process.kill()
        self._process.wait()
        for stream in (self._stdin, self._stdout):
            with contextlib.suppress(OSError):
                stream.close()

    def _line(self, timeout_s: float) -> bool | None:
        """Read one answer; None where the process ended or took too long."""
        alarm = threading.Timer(timeout_s, self._process.kill)
        alarm.start()
        try:
            line = self._stdout.readline()
        finally:
            alarm.cancel()
        return json.loads(line) is True if line.endswith(b"\n") else None
