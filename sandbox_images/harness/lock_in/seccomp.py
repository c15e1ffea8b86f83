"""The filters of system calls that every process of a slot gets, and their installation.

The kernel runs the filter for each call. What it answers:

- the call is allowed: it runs;
- allowed with certain arguments only: see `CANDIDATE_RULES`;
- known, but not allowed: EPERM;
- `clone3`, whose flags a filter cannot see, and calls newer than our tables: ENOSYS, so that C
  libraries use the older call;
- a call of another machine (i386 or x32 on x86_64): the process is killed.
"""

import ctypes
import errno
import os
from collections.abc import Mapping
from functools import lru_cache

from sandbox_images.harness.kernel.calls import Calls
from sandbox_images.harness.kernel.syscalls import (
    CANDIDATE_ALLOWED,
    NUMBERS,
    SUPERVISOR_EXTRA,
    WATCHED,
)
from sandbox_images.harness.lock_in.bpf import ALLOW, NOTIFY, Block, answer_with, assemble, refuse
from sandbox_images.harness.lock_in.rules import CANDIDATE_RULES, SESSION_RULES, SHARED_RULES, Rule

_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_SET_MODE_FILTER = 1
_SECCOMP_GET_ACTION_AVAIL = 2
_FILTER_FLAG_NEW_LISTENER = 8

ASKED = frozenset({"kill", "tgkill"})
"""Calls of a session that the supervisor decides on one by one, because a filter cannot tell which
process they are sent to. Without a listener they are allowed."""

_NOT_IN_SESSIONS = frozenset(
    {
        # It names its target by a descriptor of the caller, which the supervisor cannot look up.
        "pidfd_send_signal",
        # A file's attributes are not copied with it, so other branches would see them.
        *("setxattr", "lsetxattr", "fsetxattr"),
    }
)


def build_session_filter(machine: str | None = None, *, notifying: bool = False) -> bytes:
    """Return the filter for a session's processes; arguments and errors as below."""
    watched = WATCHED if notifying else frozenset()
    asked = ASKED if notifying else frozenset()
    allowed = CANDIDATE_ALLOWED - _NOT_IN_SESSIONS
    return build_filter(allowed, SESSION_RULES, machine, watched, asked)


def build_candidate_filter(machine: str | None = None, *, notifying: bool = False) -> bytes:
    """Return the filter for a submission's processes.

    Args:
        machine: As `os.uname().machine` names it; None for this machine.
        notifying: Whether the supervisor is notified of calls in `WATCHED`, and refuses them. Only
            for `add_install`.

    Raises:
        NotImplementedError: There is no table of system calls for that machine.
    """
    watched = WATCHED if notifying else frozenset()
    return build_filter(CANDIDATE_ALLOWED, CANDIDATE_RULES, machine, watched)


def build_supervisor_filter(machine: str | None = None) -> bytes:
    """Return the filter for the supervisor and its zygotes; arguments as above."""
    return build_filter(CANDIDATE_ALLOWED | SUPERVISOR_EXTRA, SHARED_RULES, machine)


def build_filter(
    allowed: frozenset[str],
    rules: Mapping[str, Rule],
    machine: str | None = None,
    watched: frozenset[str] = frozenset(),
    asked: frozenset[str] = frozenset(),
) -> bytes:
    """Assemble a filter.

    Args:
        allowed: Names of system calls. Those that the machine lacks are skipped.
        rules: For allowed calls whose arguments matter.
        machine: As `os.uname().machine` names it; None for this machine.
        watched: Names of calls whose refusal is left to the listener that `add_install` opens.
        asked: Names of calls that this listener may allow.

    Returns:
        The instructions as `install` takes them.

    Raises:
        NotImplementedError: There is no table of system calls for that machine.
    """
    machine = machine or os.uname().machine
    numbers = NUMBERS.get(machine)
    if numbers is None:
        message = f"no system call table for {machine}; there are {', '.join(NUMBERS)}"
        raise NotImplementedError(message)
    blocks: dict[int, Block] = {}
    for name, number in numbers.items():
        refusal = answer_with(NOTIFY) if name in watched else refuse(refusal_of(name, rules))
        if name in asked:
            blocks[number] = (answer_with(NOTIFY),)
        elif name not in allowed:
            blocks[number] = (refusal,)
        elif name in rules:
            blocks[number] = rules[name].block(refusal)
        else:
            blocks[number] = (answer_with(ALLOW),)
    blocks[numbers["clone3"]] = (refuse(errno.ENOSYS),)
    return assemble(blocks, machine)


def refusal_of(name: str, rules: Mapping[str, Rule] = CANDIDATE_RULES) -> int:
    """Return the error that a refused call gets."""
    rule = rules.get(name)
    return errno.EPERM if rule is None else rule.error


def can_notify() -> bool:
    """Tell whether this kernel can leave the refusal of a call to another process."""
    number = ctypes.c_long(NUMBERS[os.uname().machine]["seccomp"])
    action = ctypes.byref(ctypes.c_uint32(NOTIFY))
    return bool(_libc().syscall(number, _SECCOMP_GET_ACTION_AVAIL, 0, action) == 0)


def install(program: bytes) -> None:
    """Put this process, and what it forks or executes, under a filter for good.

    Executing a file can no longer give privileges, either. Filters add up: a call must
    pass all that were installed. Other threads of the process are not touched.

    Raises:
        OSError: The kernel refused.
    """
    calls = Calls()
    add_install(calls, program, notifying=False)
    calls.make()


def add_install(calls: Calls, program: bytes, *, notifying: bool) -> None:
    """Add the calls that `install` makes.

    A notifying filter opens a descriptor, the listener. A process that has it receives watched
    calls and answers each. Once no process has it, such calls fail.
    """
    calls.add("prctl", _PR_SET_NO_NEW_PRIVS, 1)
    flags = _FILTER_FLAG_NEW_LISTENER if notifying else 0
    calls.add("seccomp", _SECCOMP_SET_MODE_FILTER, flags, calls.keep(_as_struct(program)))


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


@lru_cache(maxsize=4)
def _as_struct(program: bytes) -> _FilterProgram:
    return _FilterProgram(len(program) // 8, program)


@lru_cache(maxsize=1)
def _libc() -> ctypes.PyDLL:
    return ctypes.PyDLL(None, use_errno=True)
