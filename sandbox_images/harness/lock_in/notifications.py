"""Receive system calls that no honest program needs, note their names, and refuse them."""

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
    """Decides which processes a step of a session may send signals to: all but those of states."""

    def __init__(self, pids: Iterable[int]) -> None:
        """Protect these processes. Each must stay in its process group meanwhile."""
        self._pids = tuple(pids)

    def allows(self, caller: int, name: str, target: int) -> bool:
        """Tell whether a call is allowed.

        Args:
            caller: The pid of the process that makes it.
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
        # Until the call is carried out, the caller can leave its group, but not its session.
        return processes.identity(caller).session not in sessions

    @cached_property
    def _identities(self) -> tuple[set[int], set[int], set[int]]:
        found = [processes.identity(pid) for pid in self._pids]
        return {i.pid for i in found}, {i.group for i in found}, {i.session for i in found}


class Notifications:
    """The notifications of one run."""

    def __init__(self, guard: Guard | None = None) -> None:
        """Nothing was refused yet.

        Args:
            guard: Decides on the calls in `seccomp.ASKED`.
        """
        self.names: list[str] = []
        """The names of refused calls, each once, in the order of the first tries."""
        self._guard = guard

    def hear(self, listener: int) -> None:
        """Receive one notification and answer the call. The caller may be gone by now."""
        notice = bytearray(_NOTICE.size)
        with contextlib.suppress(OSError):
            fcntl.ioctl(listener, _RECEIVE, notice)
            id, pid, _flags, number, *_rest, target, _, _, _, _, _ = _NOTICE.unpack(notice)
            name = _names_by_number().get(number, str(number))
            if self._guard is not None and name in seccomp.ASKED:
                # The kernel, too, reads a C int: the lower half of the register.
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
