"""System calls that one process prepares and its fork makes.

The kernel copies every page that a fork touches, which takes 4 µs each. So a few lines of Python
between the fork and the submission soon take a millisecond, most of it for objects that they create
and look up. So a list of calls is written down as a table, and a few machine instructions make the
calls. On a machine for which there are no instructions, a loop in Python does.
"""

import ctypes
import mmap
import os
from array import array
from functools import cache
from typing import Any

from sandbox_images.harness.kernel.syscalls import NUMBERS

AT_FDCWD = -100
_NUMBERS = NUMBERS[os.uname().machine]
_ARGUMENTS = 5

_COLUMNS = 8
"""Of a row of a table: a call's number, its five arguments, the least that it has to return, and
what it has returned."""
_LEAST, _RETURNED = 6, 7
_NOT_MADE = (1 << 63) - 1
_END = (-1,) + (0,) * (_COLUMNS - 1)
_INSTRUCTIONS = {
    "x86_64": bytes.fromhex(
        "53"  # push rbx
        "4889fb"  # mov rbx, rdi: the first row
        "488b03"  # next: mov rax, [rbx]
        "4885c0"  # test rax, rax
        "782d"  # js end
        "488b7b08"  # mov rdi, [rbx + 8]
        "488b7310"  # mov rsi, [rbx + 16]
        "488b5318"  # mov rdx, [rbx + 24]
        "4c8b5320"  # mov r10, [rbx + 32]
        "4c8b4328"  # mov r8, [rbx + 40]
        "0f05"  # syscall
        "48894338"  # mov [rbx + 56], rax
        "483b4330"  # cmp rax, [rbx + 48]
        "7c06"  # jl failed
        "4883c340"  # add rbx, 64
        "ebd2"  # jmp next
        "b801000000"  # failed: mov eax, 1
        "eb02"  # jmp return
        "31c0"  # end: xor eax, eax
        "5b"  # return: pop rbx
        "c3"  # ret
    )
}
"""By machine. A function that makes the calls of a table row by row; it returns 0, or 1 if one
fails."""

_syscall = ctypes.PyDLL(None, use_errno=True)["syscall"]
_syscall.argtypes = [ctypes.c_long] * (1 + _ARGUMENTS)
_syscall.restype = ctypes.c_long
_mprotect = ctypes.PyDLL(None)["mprotect"]
_mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class Calls:
    """A list of calls. Each of them has to succeed."""

    def __init__(self) -> None:
        self._calls: list[tuple[int, int, int, int, int, int, int, str]] = []
        self._kept: list[object] = []
        self._table = array("q")
        self._function: Any = None

    def add(self, name: str, *args: int | bytes, of: str = "", least: int = 0) -> None:
        """Add a call to the list.

        Args:
            name: Name of the system call.
            args: At most five. Bytes are copied, and the call gets the address of the copy.
            of: What the call is for, for the error message.
            least: The call has failed if it returns less.
        """
        values = [self._address(arg) if isinstance(arg, bytes) else arg for arg in args]
        values += [0] * (_ARGUMENTS - len(values))
        first, second, third, fourth, fifth = values
        what = f"{name} {of}" if of else name
        number = _NUMBERS[name]
        self._calls.append((number, first, second, third, fourth, fifth, least, what))

    def extend(self, more: "Calls") -> None:
        """Add the calls of another list."""
        self._calls += more._calls
        self._kept.append(more)

    def keep(self, value: ctypes.Structure | ctypes.Array[Any]) -> int:
        """Keep what a call refers to as long as the list, and return its address."""
        self._kept.append(value)
        return ctypes.addressof(value)

    def write_down(self) -> "array[int]":
        """Return the table of all calls. From now on, `make` uses it and touches little memory."""
        # An array of ctypes would take ten times as long to fill.
        self._table = array(
            "q", [value for call in self._calls for value in (*call[:-1], _NOT_MADE)]
        )
        self._table.extend(_END)
        self._function = find_function()
        return self._table

    def make(self) -> None:
        """Make the calls.

        Raises:
            OSError: The kernel refused one. Those after it were not made.
        """
        if self._function is not None:
            if self._function(self._table.buffer_info()[0]) != 0:
                what, code = self.failure() or ("a call", 0)
                raise OSError(code, f"{what}: {os.strerror(code)}")
            return
        for number, first, second, third, fourth, fifth, least, what in self._calls:
            if _syscall(number, first, second, third, fourth, fifth) < least:
                code = ctypes.get_errno()
                raise OSError(code, f"{what}: {os.strerror(code)}")

    def failure(self) -> tuple[str, int] | None:
        """Return the call of the table that failed, with what it was for, and its error."""
        for index, (*_call, what) in enumerate(self._calls):
            result = self._table[index * _COLUMNS + _RETURNED]
            if result < self._table[index * _COLUMNS + _LEAST]:
                return what, max(0, -result)
        return None

    def _address(self, data: bytes) -> int:
        return self.keep(ctypes.create_string_buffer(data))


@cache
def find_function() -> Any:
    """Return the function of `_INSTRUCTIONS`; None if there is none, or the kernel refuses it."""
    instructions = _INSTRUCTIONS.get(os.uname().machine)
    if instructions is None:
        return None
    # Not shared: what a fork executes must not be able to change it here.
    page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    page.write(instructions)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    if _mprotect(address, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_EXEC) != 0:
        return None
    _pages.append(page)
    return ctypes.PYFUNCTYPE(ctypes.c_long, ctypes.c_void_p)(address)


_pages: list[mmap.mmap] = []
"""Kept as long as the functions in them."""


def is_known(name: str) -> bool:
    """Tell whether this kernel has `close_range`, or another call for a range of descriptors."""
    # No descriptor has this number, so the call does nothing.
    return bool(_syscall(_NUMBERS[name], (1 << 32) - 1, (1 << 32) - 1, 0, 0, 0) == 0)
