"""A Python process that is asked through a pipe and answers through another."""

import contextlib
import os
import signal
import subprocess
import sys

from grader.process.exits import keep_from_forks


class Child:
    """Such a process, in a session of its own. For one thread, but any thread may kill it."""

    def __init__(self, *arguments: str) -> None:
        """Start it.

        Args:
            arguments: Those of the Python that runs this process.

        Raises:
            OSError: It cannot be started.
        """
        self._process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        if self._process.stdin is None or self._process.stdout is None:
            raise AssertionError(self._process)
        self._parent = os.getpid()
        self.stdin, self.stdout = self._process.stdin, self._process.stdout
        keep_from_forks(self.stdin)

    def kill(self) -> None:
        """Kill it, with the processes that it has started. Repeats harmlessly."""
        # It is not a child of a process that was forked later.
        if os.getpid() == self._parent and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def end(self, *, patience_s: float = 0.0) -> int:
        """Kill it unless it ends by itself, and return its exit code. Repeats harmlessly.

        In a process that was forked later, does nothing and returns 0.

        Args:
            patience_s: Seconds in which it may end by itself.
        """
        if os.getpid() != self._parent:
            return 0
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(patience_s)
        self.kill()
        code = self._process.wait()
        for stream in (self.stdin, self.stdout):
            with contextlib.suppress(OSError, ValueError):
                stream.close()
        return code
