"""Hear of system calls that a submission tried and no honest program needs, and refuse them."""

import contextlib
import fcntl
import os
import struct
from functools import cache

from sandbox_images.harness.kernel.syscalls import NUMBERS
from sandbox_images.harness.lock_in import seccomp

_RECEIVE = 0xC0502100
_ANSWER = 0xC0182101
_NOTICE = struct.Struct("<QIIiIQ6Q")
_REPLY = struct.Struct("<QqiI")
_MAX_NAMES = 16


class Tellings:
    """What one run was refused."""

    def __init__(self) -> None:
        self.names: list[str] = []
        """Each name once, in the order of the first tries."""

    def hear(self, listener: int) -> None:
        """Take one notice and refuse the call; the caller may be gone by now."""
        notice = bytearray(_NOTICE.size)
        with contextlib.suppress(OSError):
            fcntl.ioctl(listener, _RECEIVE, notice)
            id, _pid, _flags, number, *_rest = _NOTICE.unpack(notice)
            name = _names_by_number().get(number, str(number))
            if name not in self.names and len(self.names) < _MAX_NAMES:
                self.names.append(name)
            reply = bytearray(_REPLY.pack(id, 0, -seccomp.refusal_of(name), 0))
            fcntl.ioctl(listener, _ANSWER, reply)


@cache
def _names_by_number() -> dict[int, str]:
    return {number: name for name, number in NUMBERS[os.uname().machine].items()}
