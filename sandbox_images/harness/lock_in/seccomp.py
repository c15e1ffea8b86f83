"""A system call filter, assembled here and installed in every run.

The kernel runs the filter for each call; it is classic BPF over the call's number, machine and
arguments. It looks the number up by binary search, so that a call costs some seven comparisons
however long the list is. What the filter answers:

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
import struct
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from sandbox_images.harness.kernel.calls import Calls
from sandbox_images.harness.kernel.syscalls import (
    CANDIDATE_ALLOWED,
    LAST_KNOWN,
    NUMBERS,
    SUPERVISOR_EXTRA,
    WATCHED,
)

_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_SET_MODE_FILTER = 1
_SECCOMP_GET_ACTION_AVAIL = 2
_FILTER_FLAG_NEW_LISTENER = 8

# Offsets into the record that the filter sees (struct seccomp_data); both machines are
# little-endian, so an argument's low half comes first.
_NUMBER = 0
_MACHINE = 4
_ARGUMENTS = 16
_HALF = 4

_AUDIT_MACHINE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000

_LOAD = 0x20
_JUMP = 0x05
_JUMP_IF_EQUAL = 0x15
_JUMP_IF_AT_LEAST = 0x35
_JUMP_IF_ANY_BIT = 0x45
_RETURN = 0x06

_ALLOW = 0x7FFF0000
_KILL_PROCESS = 0x80000000
_ERRNO = 0x00050000
_NOTIFY = 0x7FC00000

_LONGEST_JUMP = 255


class _Instruction(NamedTuple):
    """One instruction; the jumps count the instructions to skip."""

    code: int
    value: int
    if_true: int = 0
    if_false: int = 0


_Block = tuple[_Instruction, ...]
"""Instructions that return on every path."""


class OneOf(NamedTuple):
    """The low 32 bits of an argument must be one of `values`."""

    argument: int
    """Counted from 0."""
    values: tuple[int, ...]
    error: int = errno.EPERM

    def block(self, refusal: _Instruction) -> _Block:
        """Return the instructions that check the argument."""
        compare = (
            _Instruction(_JUMP_IF_EQUAL, value, if_true=len(self.values) - i)
            for i, value in enumerate(self.values)
        )
        return (_load_argument(self.argument), *compare, refusal, _return(_ALLOW))


class NoneOf(NamedTuple):
    """The low 32 bits of an argument must have no bit of `mask`."""

    argument: int
    """Counted from 0."""
    mask: int
    error: int = errno.EPERM

    def block(self, refusal: _Instruction) -> _Block:
        """Return the instructions that check the argument."""
        test = _Instruction(_JUMP_IF_ANY_BIT, self.mask, if_false=1)
        return (_load_argument(self.argument), test, refusal, _return(_ALLOW))


class ReadOnly(NamedTuple):
    """If an argument is `value`, another one, the address of what to write, must be null."""

    argument: int
    """Counted from 0."""
    value: int
    written: int
    """The other argument."""
    error: int

    def block(self, refusal: _Instruction) -> _Block:
        """Return the instructions that check the arguments."""
        low = _load_argument(self.written)
        return (
            _load_argument(self.argument),
            _Instruction(_JUMP_IF_EQUAL, self.value, if_false=4),
            low,
            _Instruction(_JUMP_IF_EQUAL, 0, if_false=3),
            low._replace(value=low.value + _HALF),
            _Instruction(_JUMP_IF_EQUAL, 0, if_false=1),
            _return(_ALLOW),
            refusal,
        )


class Own(NamedTuple):
    """The call must be about the caller itself (argument 0 is 0), and keep another rule."""

    then: OneOf | NoneOf | ReadOnly

    @property
    def error(self) -> int:
        """The error that a refused call gets."""
        return errno.EPERM

    def block(self, refusal: _Instruction) -> _Block:
        """Return the instructions that check the arguments."""
        compare = _Instruction(_JUMP_IF_EQUAL, 0, if_true=1)
        return (_load_argument(0), compare, refusal, *self.then.block(_refuse(self.then.error)))


class Ignore(NamedTuple):
    """With a certain argument, the call succeeds and does nothing; else another rule holds."""

    argument: int
    """Counted from 0."""
    value: int
    then: OneOf | NoneOf

    @property
    def error(self) -> int:
        """The error that a refused call gets."""
        return self.then.error

    def block(self, refusal: _Instruction) -> _Block:
        """Return the instructions that check the arguments."""
        compare = _Instruction(_JUMP_IF_EQUAL, self.value, if_false=1)
        ignore = _refuse(_PRETEND)
        return (_load_argument(self.argument), compare, ignore, *self.then.block(refusal))


Rule = OneOf | NoneOf | ReadOnly | Own | Ignore

_AF_UNIX = 1
_NEW_NAMESPACES = 0x7E020000
_CLONE_PARENT = 0x00008000
_MAP_HUGETLB = 0x00040000
_DEVICES = 0x2000
"""A bit of a file's mode. Of all that `mknod` can make, only devices have it."""
_IOCTLS = (
    0x5401,  # TCGETS: isatty
    0x540F,  # TIOCGPGRP: is this shell in the foreground?
    0x5413,  # TIOCGWINSZ: how wide is the terminal?
    0x541B,  # FIONREAD
    0x5421,  # FIONBIO
    0x5450,  # FIONCLEX
    0x5451,  # FIOCLEX
    0x40049409,  # FICLONE: shutil and pathlib try it before they copy
)
_PRCTLS = (
    1,  # PR_SET_PDEATHSIG
    2,  # PR_GET_PDEATHSIG
    3,  # PR_GET_DUMPABLE; setting it would let a relative look into this process
    15,  # PR_SET_NAME
    16,  # PR_GET_NAME
    38,  # PR_SET_NO_NEW_PRIVS
    39,  # PR_GET_NO_NEW_PRIVS
    0x53564D41,  # PR_SET_VMA: allocators name their mappings
)

_FCNTLS = (
    *range(8),  # F_DUPFD to F_SETLKW
    9,  # F_GETOWN
    *(36, 37, 38),  # F_OFD_GETLK to F_OFD_SETLKW
    1025,  # F_GETLEASE
    *range(1030, 1035),  # F_DUPFD_CLOEXEC, F_SETPIPE_SZ, F_GETPIPE_SZ, F_ADD_SEALS, F_GET_SEALS
)
"""All but F_SETLEASE and F_NOTIFY, and those of `_SIGNALLING_FCNTLS`. A lease keeps others, even
programs of the host, from opening a file for 45 s. F_NOTIFY tells when other programs read a
folder."""

_SIGNALLING_FCNTLS = (8, 10, 11, 15, 16)
"""F_SETOWN, F_SETSIG, F_GETSIG, F_SETOWN_EX, F_GETOWN_EX: by these, a process can have the kernel
send signals to any other of its run."""

_SOCKET_OPTIONS = (
    2,  # SO_REUSEADDR
    *(6, 8, 9),  # SO_BROADCAST, SO_RCVBUF, SO_KEEPALIVE
    *(10, 12, 13, 15),  # SO_OOBINLINE, SO_PRIORITY, SO_LINGER, SO_REUSEPORT
    *(16, 18, 19, 20, 21),  # SO_PASSCRED, SO_RCVLOWAT, SO_SNDLOWAT, SO_RCVTIMEO, SO_SNDTIMEO
    *(29, 35, 37, 42),  # SO_TIMESTAMP, SO_TIMESTAMPNS, SO_TIMESTAMPING, SO_PEEK_OFF
    *(63, 64, 65, 66, 67),  # SO_TIMESTAMP_NEW to SO_SNDTIMEO_NEW
)
"""Those that programs set on unix sockets, the only ones there are. Not among them: the options by
which the kernel runs filters that a program wrote."""
_SO_SNDBUF = 7
"""Programs may ask for larger buffers, and kernels need not give them. Without a control group,
sockets count with the most that their buffers can hold; see `kernel.shared_memory`."""
_MSG_OOB = 1
_NOT_OUT_OF_BAND = errno.EOPNOTSUPP
"""What kernels say that were built without out-of-band data for unix sockets. Almost no program
uses it, and its code in the kernel has had holes."""

_RLIMIT_CORE = 4
_PRETEND = 0
"""In place of an error: the call does nothing and reports success."""
_LIMITS = ReadOnly(argument=1, value=_RLIMIT_CORE, written=2, error=_PRETEND)
"""No process may change the limit on cores: see `confinement.CORE_BYTES`. Programs that change it
want no cores, and get none anyway."""

_SCHED_OTHER = 0
"""The ordinary way to share cores. mono asks for it in each new thread, which has it already, and
says on standard output if that is refused."""

_SHARED_RULES: Mapping[str, Rule] = {
    "socketpair": OneOf(argument=0, values=(_AF_UNIX,), error=errno.EAFNOSUPPORT),
    # Huge pages count towards no memory limit.
    "mmap": NoneOf(argument=3, mask=_MAP_HUGETLB, error=errno.ENOMEM),
    # Any other policy is refused.
    "sched_setscheduler": Ignore(
        argument=1, value=_SCHED_OTHER, then=NoneOf(argument=1, mask=0xFFFFFFFF)
    ),
}

CANDIDATE_RULES: Mapping[str, Rule] = {
    **_SHARED_RULES,
    # There is no network. Without other families, the kernel's code for it is out of reach.
    "socket": OneOf(argument=0, values=(_AF_UNIX,), error=errno.EAFNOSUPPORT),
    # No new namespace, and no child with another parent.
    "clone": NoneOf(argument=0, mask=_NEW_NAMESPACES | _CLONE_PARENT),
    "ioctl": OneOf(argument=1, values=_IOCTLS),
    # Pipes, sockets and files, but not devices. The lack of capabilities refuses those, too.
    "mknod": NoneOf(argument=1, mask=_DEVICES),
    "mknodat": NoneOf(argument=2, mask=_DEVICES),
    "fcntl": OneOf(argument=1, values=(*_FCNTLS, *_SIGNALLING_FCNTLS)),
    "prctl": OneOf(argument=0, values=_PRCTLS),
    "setsockopt": Ignore(
        argument=2,
        value=_SO_SNDBUF,
        then=OneOf(argument=2, values=_SOCKET_OPTIONS, error=errno.ENOPROTOOPT),
    ),
    "sendto": NoneOf(argument=3, mask=_MSG_OOB, error=_NOT_OUT_OF_BAND),
    "sendmsg": NoneOf(argument=2, mask=_MSG_OOB, error=_NOT_OUT_OF_BAND),
    "recvfrom": NoneOf(argument=3, mask=_MSG_OOB, error=_NOT_OUT_OF_BAND),
    "recvmsg": NoneOf(argument=2, mask=_MSG_OOB, error=_NOT_OUT_OF_BAND),
    "setrlimit": _LIMITS._replace(argument=0, written=1),
    "prlimit64": _LIMITS,
}
"""Allowed calls whose arguments matter."""


SESSION_RULES: Mapping[str, Rule] = {
    **CANDIDATE_RULES,
    "fcntl": OneOf(argument=1, values=_FCNTLS),
    "prlimit64": Own(_LIMITS),
    "sched_setaffinity": Own(NoneOf(argument=0, mask=0)),
    "setpriority": Own(OneOf(argument=1, values=(0,))),
}
"""The same for a session, in which a step must not affect the processes of parked states."""

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
    return build_filter(CANDIDATE_ALLOWED | SUPERVISOR_EXTRA, _SHARED_RULES, machine)


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
    blocks: dict[int, _Block] = {}
    for name, number in numbers.items():
        refusal = _return(_NOTIFY) if name in watched else _refuse(refusal_of(name, rules))
        if name in asked:
            blocks[number] = (_return(_NOTIFY),)
        elif name not in allowed:
            blocks[number] = (refusal,)
        elif name in rules:
            blocks[number] = rules[name].block(refusal)
        else:
            blocks[number] = (_return(_ALLOW),)
    blocks[numbers["clone3"]] = (_refuse(errno.ENOSYS),)
    program = (
        _Instruction(_LOAD, _MACHINE),
        _Instruction(_JUMP_IF_EQUAL, _AUDIT_MACHINE[machine], if_true=1),
        _return(_KILL_PROCESS),
        _Instruction(_LOAD, _NUMBER),
        *_Search().instructions(list(_ranges(blocks, x32=machine == "x86_64"))),
    )
    return b"".join(struct.pack("<HBBI", i.code, i.if_true, i.if_false, i.value) for i in program)


def refusal_of(name: str, rules: Mapping[str, Rule] = CANDIDATE_RULES) -> int:
    """Return the error that a refused call gets."""
    rule = rules.get(name)
    return errno.EPERM if rule is None else rule.error


def can_notify() -> bool:
    """Tell whether this kernel can leave the refusal of a call to another process."""
    number = ctypes.c_long(NUMBERS[os.uname().machine]["seccomp"])
    action = ctypes.byref(ctypes.c_uint32(_NOTIFY))
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


def _return(action: int) -> _Instruction:
    return _Instruction(_RETURN, action)


def _refuse(error: int) -> _Instruction:
    return _return(_ERRNO | error)


def _load_argument(index: int) -> _Instruction:
    return _Instruction(_LOAD, _ARGUMENTS + 8 * index)


def _ranges(blocks: Mapping[int, _Block], *, x32: bool) -> Iterator[tuple[int, _Block]]:
    """Yield the start of each range of numbers with the same answer, in order from 0."""
    previous: _Block | None = None
    for number in range(LAST_KNOWN + 1):
        block = blocks.get(number, (_refuse(errno.EPERM),))
        if block != previous:
            yield number, block
        previous = block
    yield LAST_KNOWN + 1, (_refuse(errno.ENOSYS),)
    if x32:
        yield _X32_BIT, (_return(_KILL_PROCESS),)


class _Search:
    """Instructions that find the range of the loaded number and give its answer.

    They are put down from the last to the first, since jumps only go forward. Ranges share an
    answer if a jump can reach it, since each instruction costs every run time when the filter is
    installed.
    """

    def __init__(self) -> None:
        self._backwards: list[_Instruction] = []
        self._answers: dict[_Instruction, int] = {}
        """Where in the list each answer was put down last."""

    def instructions(self, ranges: list[tuple[int, _Block]]) -> _Block:
        """Return them in order."""
        self._put_search(ranges)
        return tuple(reversed(self._backwards))

    def _put_search(self, ranges: list[tuple[int, _Block]]) -> int:
        """Put down the search in some ranges, and return where it begins."""
        if len(ranges) == 1:
            return self._put_block(ranges[0][1])
        middle = len(ranges) // 2
        high, low = self._put_search(ranges[middle:]), self._put_search(ranges[:middle])
        high, low = self._within_reach(high), self._within_reach(low)
        jumps = {"if_true": self._distance(high), "if_false": self._distance(low)}
        return self._put(_Instruction(_JUMP_IF_AT_LEAST, ranges[middle][0], **jumps))

    def _put_block(self, block: _Block) -> int:
        answer = block[0]
        if len(block) > 1:
            return [self._put(each) for each in reversed(block)][-1]
        if answer not in self._answers or self._distance(self._answers[answer]) > _LONGEST_JUMP:
            self._answers[answer] = self._put(answer)
        return self._answers[answer]

    def _within_reach(self, at: int) -> int:
        """Return a place that the next instruction can jump to, and that leads to another."""
        if self._distance(at) < _LONGEST_JUMP:  # less, since one more may come between
            return at
        target = self._backwards[at]
        is_answer = target.code == _RETURN
        return self._put(target if is_answer else _Instruction(_JUMP, self._distance(at)))

    def _distance(self, at: int) -> int:
        """Return how many instructions the next one skips if it jumps to a place."""
        return len(self._backwards) - 1 - at

    def _put(self, instruction: _Instruction) -> int:
        self._backwards.append(instruction)
        return len(self._backwards) - 1
