"""The process of one step of a session, from its order to its end or to a state."""

import os
import select
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sandbox_images.harness.kernel import processes
from sandbox_images.harness.wire import orders, session_lines
from sandbox_images.harness.wire.session_lines import BEGUN, PARKED

_END_S = 3.0
"""How long a killed process may take to end."""
_KILLED = int(signal.SIGKILL)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """A process that a step can be forked from."""

    pid: int
    line: socket.socket
    inherited_bytes: int
    """The memory of the process that it was forked from."""


class StepSource:
    """The process of one step; see `zygotes.RunSource`."""

    cpu_time_s = 0.0
    is_standing = False

    def __init__(
        self, state: SessionState, listener: int | None, reap: Callable[[], int | None]
    ) -> None:
        """Take over a process that waits for its order.

        Args:
            state: The process.
            listener: Descriptor by which the kernel reports calls of the session's processes.
            reap: Returns the wait status of the ended process; None if it is unknown.
        """
        self.memory_bytes = state.inherited_bytes
        self._reap = reap
        self.pids: frozenset[int] = frozenset()
        self.is_parked = False
        self._state = state
        self._listener = listener
        self._has_begun = False
        self._is_over = False
        self._process = _open_pidfd(state.pid)
        self.control: Any = select.epoll()
        """Readable when the process has sent a message, and when it has ended."""
        for descriptor in (state.line.fileno(), self._process):
            if descriptor is not None:
                self.control.register(descriptor, select.EPOLLIN)

    @property
    def is_gone(self) -> bool:
        """Whether the process has ended, even if `control` does not show it.

        Without a pidfd, `control` shows it only once no process has the other end of the line.
        """
        return not processes.living({self._state.pid})

    def start(self, order: orders.RunOrder) -> None:
        """Begin the step."""
        try:
            orders.send(self._state.line, order.message, order.descriptors)
        except OSError:
            self._is_over = True  # the process is gone; `receive` reports its end

    def receive(self) -> tuple[dict[str, Any], list[int]]:
        """Return the next event of the step: it has started, or it has ended."""
        said = None if self._is_over else self._hear()
        if said != BEGUN and said != PARKED:
            self._is_over = True
        if not self._has_begun:
            # A step that ends before it begins is reported as started, and then as ended.
            self._has_begun = True
            listener = [] if self._listener is None else [os.dup(self._listener)]
            return {"event": "started"}, listener
        if said == PARKED:
            self.is_parked = True
            self.pids = frozenset({self._state.pid})
            return self._ended(0), []
        cpu_time_s = processes.cpu_time_with_children_s(self._state.pid)
        return {**self._ended(self._await_end()), "cpu_time_s": cpu_time_s}, []

    def close(self) -> None:
        """Close the descriptors of this object. The process and its line stay."""
        self.control.close()
        if self._process is not None:
            os.close(self._process)

    def _hear(self) -> bytes | None:
        if not select.select([self._state.line], [], [], 0)[0]:
            return None
        said = session_lines.hear(self._state.line)
        return said.what if said is not None and said.pid == self._state.pid else None

    def _await_end(self) -> int:
        """Kill what is left of the process, and return its wait status."""
        processes.kill(self._state.pid)
        if self._process is not None:
            select.select([self._process], [], [], _END_S)
        status = self._reap()
        return _KILLED if status is None else status

    def _ended(self, status: int) -> dict[str, Any]:
        return {
            "event": "ended",
            "status": status,
            "cpu_time_s": processes.cpu_time_with_children_s(self._state.pid),
            "peak_memory_bytes": processes.peak_memory_bytes(self._state.pid),
        }


def _open_pidfd(pid: int) -> int | None:
    """Return a descriptor that is readable once a process has ended; None on older kernels."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None
