"""System calls that one process prepares and its fork makes.

The kernel copies every page that a fork touches, which takes 4 µs each. So a few lines of Python
between the fork and the submission soon take a millisecond, most of it for objects that they create
and look up. To go through a prepared list touches a tenth of that.
"""

import ctypes
import os
from typing import Any

from sandbox_images.harness.kernel.syscalls import NUMBERS

AT_FDCWD = -100
_NUMBERS = NUMBERS[os.uname().machine]
_ARGUMENTS = 5

_syscall = ctypes.PyDLL(None, use_errno=True)["syscall"]
_syscall.argtypes = [ctypes.c_long] * (1 + _ARGUMENTS)
_syscall.restype = ctypes.c_long


class Calls:
    """A list of calls. Each of them has to succeed."""

    def __init__(self) -> None:
        self._calls: list[tuple[int, int, int, int, int, int, int, str]] = []
        self._kept: list[object] = []

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

    def keep(self, value: ctypes.Structure | ctypes.Array[Any] | ctypes.c_int64) -> int:
        """Keep what a call refers to as long as the list, and return its address."""
        self._kept.append(value)
        return ctypes.addressof(value)

    def make(self) -> None:
        """Make the calls.

        Raises:
            OSError: The kernel refused one. Those after it were not made.
        """
        for number, first, second, third, fourth, fifth, least, what in self._calls:
            if _syscall(number, first, second, third, fourth, fifth) < least:
                code = ctypes.get_errno()
                raise OSError(code, f"{what}: {os.strerror(code)}")

    def rows(self) -> list[tuple[int, int, int, int, int, int, int]]:
        """Return each call: its number, its arguments, and the least that it returns."""
        return [each[:-1] for each in self._calls]

    def name(self, index: int) -> str:
        """Return what a call is and what it is for."""
        return self._calls[index][-1]

    def _address(self, data: bytes) -> int:
        return self.keep(ctypes.create_string_buffer(data))


def is_known(name: str) -> bool:
    """Tell whether this kernel has `close_range`, or another call for a range of descriptors."""
    # No descriptor has this number, so the call does nothing.
    return bool(_syscall(_NUMBERS[name], (1 << 32) - 1, (1 << 32) - 1, 0, 0, 0) == 0)
