"""A process that makes prepared calls in the memory of this one, and then executes a program.

A fork gets a copy of its parent's page tables and, later, of each page that either of them writes
to. For a program that takes a millisecond, that costs more than the program. Here nothing is
copied, as with vfork(2): this process waits until the new one executes its program or has ended.
The interpreter cannot run in memory that is not its own, so a few machine instructions make the
calls.
"""

import ctypes
import mmap
import os
import signal
from array import array

from sandbox_images.harness.kernel import namespaces
from sandbox_images.harness.kernel.calls import Calls

_CLONE_VM = 0x00000100
_CLONE_VFORK = 0x00004000
_STACK_BYTES = 16 * 1024
_COLUMNS = 8
"""Of a row: a call's number, its five arguments, the least that it has to return, and what it has
returned."""
_LEAST, _RETURNED = 6, 7
_NOT_MADE = (1 << 63) - 1
_INSTRUCTIONS = {
    "x86_64": bytes.fromhex(
        "4889fb"  # mov rbx, rdi: the first row
        "488b03"  # next: mov rax, [rbx]
        "488b7b08"  # mov rdi, [rbx + 8]
        "488b7310"  # mov rsi, [rbx + 16]
        "488b5318"  # mov rdx, [rbx + 24]
        "4c8b5320"  # mov r10, [rbx + 32]
        "4c8b4328"  # mov r8, [rbx + 40]
        "0f05"  # syscall
        "48894338"  # mov [rbx + 56], rax
        "483b4330"  # cmp rax, [rbx + 48]
        "488d5b40"  # lea rbx, [rbx + 64]
        "7dd9"  # jge next
        "bf01000000"  # mov edi, 1
        "b8e7000000"  # mov eax, 231: exit_group
        "0f05"  # syscall
    )
}
"""By machine. They make the calls of a table row by row, and end if one fails. The last row has to
be `execve`, which does not return if it succeeds."""


class Starter:
    """Starts such processes, one at a time."""

    def __init__(self, instructions: bytes) -> None:
        """Prepare the memory.

        Raises:
            OSError: The kernel refuses memory that can be executed.
        """
        self._page = mmap.mmap(
            -1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
        )
        self._page.write(instructions)
        self._entry = ctypes.addressof(ctypes.c_char.from_buffer(self._page))
        self._stack = ctypes.create_string_buffer(_STACK_BYTES)
        self._stack_top = (ctypes.addressof(self._stack) + _STACK_BYTES) & ~15

    def prepare(self, calls: Calls) -> "Start":
        """Return the start of a process that makes some calls, the last of which is `execve`."""
        return Start(self._entry, self._stack_top, calls)


class Start:
    """The start of one process.

    Like a fork, the process has descriptors and signal handlers of its own. No signal with a
    handler may reach it before it executes its program: the handler would run in this memory.
    """

    def __init__(self, entry: int, stack_top: int, calls: Calls) -> None:
        """Prepare; see `Starter.prepare`."""
        self._entry, self._stack_top, self._calls = entry, stack_top, calls
        # An array of ctypes would take ten times as long to fill.
        self._table = array("q", [value for row in calls.rows() for value in (*row, _NOT_MADE)])

    def make(self, flags: int) -> int:
        """Start the process; return its pid when it executes its program or has ended.

        Args:
            flags: Of the namespaces that are made for it.

        Raises:
            OSError: The kernel refused.
        """
        pid = namespaces.libc.clone(
            ctypes.c_void_p(self._entry),
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
        for index, result in enumerate(self._table[_RETURNED::_COLUMNS]):
            if result < self._table[index * _COLUMNS + _LEAST]:
                code = max(0, -result)
                name, _, of = self._calls.name(index).partition(" ")
                return name, OSError(code, f"{os.strerror(code)}: {of}")
        return None


def find_starter() -> Starter | None:
    """Return what starts such processes; None if that is not possible here."""
    instructions = _INSTRUCTIONS.get(os.uname().machine)
    try:
        return None if instructions is None else Starter(instructions)
    except OSError:
        return None
