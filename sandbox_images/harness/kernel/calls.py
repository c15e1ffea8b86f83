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
        self._calls: list[tuple[int, int, int, int, int, int, str]] = []
        self._kept: list[object] = []

    def add(self, name: str, *args: int | bytes, of: str = "") -> None:
        """Add a call to the list.

        Args:
            name: Name of the system call.
            args: At most five. Bytes are copied, and the call gets the address of the copy.
            of: What the call is for, for the error message.
        """
        values = [self._address(arg) if isinstance(arg, bytes) else arg for arg in args]
        values += [0] * (_ARGUMENTS - len(values))
        first, second, third, fourth, fifth = values
        what = f"{name} {of}" if of else name
        self._calls.append((_NUMBERS[name], first, second, third, fourth, fifth, what))

    def keep(self, value: ctypes.Structure | ctypes.Array[Any]) -> int:
        """Keep what a call refers to as long as the list, and return its address."""
        self._kept.append(value)
        return ctypes.addressof(value)

    def make(self) -> None:
        """Make the calls.

        Raises:
            OSError: The kernel refused one. Those after it were not made.
        """
        for number, first, second, third, fourth, fifth, what in self._calls:
            if _syscall(number, first, second, third, fourth, fifth) < 0:
                code = ctypes.get_errno()
                raise OSError(code, f"{what}: {os.strerror(code)}")

    def _address(self, data: bytes) -> int:
        return self.keep(ctypes.create_string_buffer(data))


def is_known(name: str) -> bool:
    """Tell whether this kernel has `close_range`, or another call for a range of descriptors."""
    # No descriptor has this number, so the call does nothing.
    return bool(_syscall(_NUMBERS[name], (1 << 32) - 1, (1 << 32) - 1, 0, 0, 0) == 0)
