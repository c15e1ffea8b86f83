"""Which arguments allowed system calls may have."""

import errno
from collections.abc import Mapping
from typing import NamedTuple

from sandbox_images.harness.lock_in.bpf import (
    ALLOW,
    HALF,
    JUMP_IF_ANY_BIT,
    JUMP_IF_EQUAL,
    Block,
    Instruction,
    answer_with,
    load_argument,
    refuse,
)


class OneOf(NamedTuple):
    """The low 32 bits of an argument must be one of `values`."""

    argument: int
    """Counted from 0."""
    values: tuple[int, ...]
    error: int = errno.EPERM

    def block(self, refusal: Instruction) -> Block:
        """Return the instructions that check the argument."""
        compare = (
            Instruction(JUMP_IF_EQUAL, value, if_true=len(self.values) - i)
            for i, value in enumerate(self.values)
        )
        return (load_argument(self.argument), *compare, refusal, answer_with(ALLOW))


class NoneOf(NamedTuple):
    """The low 32 bits of an argument must have no bit of `mask`."""

    argument: int
    """Counted from 0."""
    mask: int
    error: int = errno.EPERM

    def block(self, refusal: Instruction) -> Block:
        """Return the instructions that check the argument."""
        test = Instruction(JUMP_IF_ANY_BIT, self.mask, if_false=1)
        return (load_argument(self.argument), test, refusal, answer_with(ALLOW))


class ReadOnly(NamedTuple):
    """If an argument is `value`, another one, the address of what to write, must be null."""

    argument: int
    """Counted from 0."""
    value: int
    written: int
    """The other argument."""
    error: int

    def block(self, refusal: Instruction) -> Block:
        """Return the instructions that check the arguments."""
        low = load_argument(self.written)
        return (
            load_argument(self.argument),
            Instruction(JUMP_IF_EQUAL, self.value, if_false=4),
            low,
            Instruction(JUMP_IF_EQUAL, 0, if_false=3),
            low._replace(value=low.value + HALF),
            Instruction(JUMP_IF_EQUAL, 0, if_false=1),
            answer_with(ALLOW),
            refusal,
        )


class Own(NamedTuple):
    """The call must be about the caller itself (argument 0 is 0), and keep another rule."""

    then: OneOf | NoneOf | ReadOnly

    @property
    def error(self) -> int:
        """The error that a refused call gets."""
        return errno.EPERM

    def block(self, refusal: Instruction) -> Block:
        """Return the instructions that check the arguments."""
        compare = Instruction(JUMP_IF_EQUAL, 0, if_true=1)
        return (load_argument(0), compare, refusal, *self.then.block(refuse(self.then.error)))


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

    def block(self, refusal: Instruction) -> Block:
        """Return the instructions that check the arguments."""
        compare = Instruction(JUMP_IF_EQUAL, self.value, if_false=1)
        ignore = refuse(_PRETEND)
        return (load_argument(self.argument), compare, ignore, *self.then.block(refusal))


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

SHARED_RULES: Mapping[str, Rule] = {
    "socketpair": OneOf(argument=0, values=(_AF_UNIX,), error=errno.EAFNOSUPPORT),
    # Huge pages count towards no memory limit.
    "mmap": NoneOf(argument=3, mask=_MAP_HUGETLB, error=errno.ENOMEM),
    # Any other policy is refused.
    "sched_setscheduler": Ignore(
        argument=1, value=_SCHED_OTHER, then=NoneOf(argument=1, mask=0xFFFFFFFF)
    ),
}

CANDIDATE_RULES: Mapping[str, Rule] = {
    **SHARED_RULES,
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
