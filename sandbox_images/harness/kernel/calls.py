"""System calls that are written down in one process and made in its fork.

What a fork touches, the kernel copies, page by page, at 4 µs each: a few lines of Python between
fork and code soon cost a millisecond, most of it for objects that the lines create and look up.
To go through a list that lies ready touches a tenth of that.
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
    """A list of calls, each of which has to succeed."""

    def __init__(self) -> None:
        self._calls: list[tuple[int, int, int, int, int, int, str]] = []
        self._kept: list[object] = []

    def add(self, name: str, *args: int | bytes, of: str = "") -> None:
        """Write a call down.

        Args:
            name: Of the system call.
            args: At most five; for bytes, the address of a copy that is kept.
            of: What it is for, in the message of a failure.
        """
        values = [self._address(arg) if isinstance(arg, bytes) else arg for arg in args]
        values += [0] * (_ARGUMENTS - len(values))
        first, second, third, fourth, fifth = values
        what = f"{name} {of}" if of else name
        self._calls.append((_NUMBERS[name], first, second, third, fourth, fifth, what))

    def keep(self, value: ctypes.Structure | ctypes.Array[Any]) -> int:
        """Return the address of something that a call refers to, which lives as long as this."""
        self._kept.append(value)
        return ctypes.addressof(value)

    def make(self) -> None:
        """Make them.

        Raises:
            OSError: One was refused; those after it were not made.
        """
        for number, first, second, third, fourth, fifth, what in self._calls:
            if _syscall(number, first, second, third, fourth, fifth) < 0:
                code = ctypes.get_errno()
                raise OSError(code, f"{what}: {os.strerror(code)}")

    def _address(self, data: bytes) -> int:
        return self.keep(ctypes.create_string_buffer(data))


def is_known(name: str) -> bool:
    """Tell whether this kernel has a call that refuses nothing but does not exist in older ones."""
    # No descriptor has this number, so that there is nothing to be done.
    return bool(_syscall(_NUMBERS[name], (1 << 32) - 1, (1 << 32) - 1, 0, 0, 0) == 0)
