"""Hear of system calls that a submission tried and no honest program needs, and refuse them."""

import contextlib
import fcntl
import os
import struct
from collections.abc import Iterable
from functools import cache, cached_property

from sandbox_images.harness.kernel import processes
from sandbox_images.harness.kernel.syscalls import NUMBERS
from sandbox_images.harness.lock_in import seccomp

_RECEIVE = 0xC0502100
_ANSWER = 0xC0182101
_NOTICE = struct.Struct("<QIIiIQ6Q")
_REPLY = struct.Struct("<QqiI")
_CONTINUE = 1
_KILL_ALL = -1
_INT_HALF = 1 << 31
_MAX_NAMES = 16


class Guard:
    """Decides which processes a step of a session may send signals to: not those of states."""

    def __init__(self, pids: Iterable[int]) -> None:
        """Protect these processes, none of which changes its group meanwhile."""
        self._pids = tuple(pids)

    def allows(self, caller: int, name: str, target: int) -> bool:
        """Tell whether a call is allowed.

        Args:
            caller: The process that makes it.
            name: One of `seccomp.ASKED`.
            target: Its first argument: a process or, for `kill`, perhaps a group of them.
        """
        guarded, groups, sessions = self._identities
        if name != "kill" or target > 0:
            return target not in guarded
        if target == _KILL_ALL:
            return False
        if target < 0:
            return -target not in groups
        # It can leave its group until the call is carried out, but not its session.
        return processes.identity(caller).session not in sessions

    @cached_property
    def _identities(self) -> tuple[set[int], set[int], set[int]]:
        found = [processes.identity(pid) for pid in self._pids]
        return {i.pid for i in found}, {i.group for i in found}, {i.session for i in found}


class Tellings:
    """What one run was refused."""

    def __init__(self, guard: Guard | None = None) -> None:
        """Refuse nothing yet.

        Args:
            guard: Decides on calls that are left to the supervisor altogether.
        """
        self.names: list[str] = []
        """Each name once, in the order of the first tries."""
        self._guard = guard

    def hear(self, listener: int) -> None:
        """Take one notice and answer the call; the caller may be gone by now."""
        notice = bytearray(_NOTICE.size)
        with contextlib.suppress(OSError):
            fcntl.ioctl(listener, _RECEIVE, notice)
            id, pid, _flags, number, *_rest, target, _, _, _, _, _ = _NOTICE.unpack(notice)
            name = _names_by_number().get(number, str(number))
            if self._guard is not None and name in seccomp.ASKED:
                # A C int; the kernel looks at no more of the register either.
                whom = (target + _INT_HALF) % (2 * _INT_HALF) - _INT_HALF
                if self._guard.allows(pid, name, whom):
                    fcntl.ioctl(listener, _ANSWER, bytearray(_REPLY.pack(id, 0, 0, _CONTINUE)))
                    return
            if name not in self.names and len(self.names) < _MAX_NAMES:
                self.names.append(name)
            reply = bytearray(_REPLY.pack(id, 0, -seccomp.refusal_of(name), 0))
            fcntl.ioctl(listener, _ANSWER, reply)


@cache
def _names_by_number() -> dict[int, str]:
    return {number: name for name, number in NUMBERS[os.uname().machine].items()}
