"""A process that makes prepared calls in the memory of this one, and then executes a program.

A fork gets a copy of its parent's page tables and, later, of each page that either of them writes
to. For a program that takes a millisecond, that costs more than the program. Here nothing is
copied, as with vfork(2): this process waits until the new one executes its program or has ended.
The interpreter cannot run in memory that is not its own; the machine instructions of `calls` can.
"""

import ctypes
import os
import signal
from typing import Any

from sandbox_images.harness.kernel import namespaces
from sandbox_images.harness.kernel.calls import Calls, find_function

_CLONE_VM = 0x00000100
_CLONE_VFORK = 0x00004000
_STACK_BYTES = 16 * 1024


class Starter:
    """Starts such processes, one at a time."""

    def __init__(self, function: Any) -> None:
        """`function` makes the calls of a table."""
        self._function = function
        self._stack = ctypes.create_string_buffer(_STACK_BYTES)
        self._stack_top = (ctypes.addressof(self._stack) + _STACK_BYTES) & ~15

    def prepare(self, calls: Calls) -> "Start":
        """Return the start of a process that makes some calls, the last of which is `execve`."""
        return Start(self._function, self._stack_top, calls)


class Start:
    """The start of a process. It can be made more than once.

    Like a fork, the process has descriptors and signal handlers of its own. No signal with a
    handler may reach it before it executes its program: the handler would run in this memory.
    """

    def __init__(self, function: Any, stack_top: int, calls: Calls) -> None:
        """Prepare; see `Starter.prepare`."""
        self._function, self._stack_top, self._calls = function, stack_top, calls
        self._table = calls.write_down()
        self._before = self._table[:]

    def make(self, flags: int) -> int:
        """Start the process; return its pid when it executes its program or has ended.

        Args:
            flags: Of the namespaces that are made for it.

        Raises:
            OSError: The kernel refused.
        """
        self._table[:] = self._before
        pid = namespaces.libc.clone(
            self._function,
            ctypes.c_void_p(self._stack_top),
            ctypes.c_int(_CLONE_VM | _CLONE_VFORK | flags | signal.SIGCHLD),
            ctypes.c_void_p(self._table.buffer_info()[0]),
        )
        if pid < 0:
            code = ctypes.get_errno()
            raise OSError(code, f"clone: {os.strerror(code)}")
        return int(pid)

    def failure(self) -> tuple[str, OSError] | None:
        """Return the name of the call that failed, and its error; None if none did."""
        found = self._calls.failure()
        if found is None:
            return None
        name, _, of = found[0].partition(" ")
        return name, OSError(found[1], f"{os.strerror(found[1])}: {of}")


def find_starter() -> Starter | None:
    """Return a starter of such processes; None if this machine has no instructions for it."""
    function = find_function()
    return None if function is None else Starter(function)
