"""What the supervisor and the states of a session tell each other.

A state may have executed hostile code. So its messages are short and have a fixed form, and the
kernel says which process sent them.
"""

import os
import socket
import struct
from typing import NamedTuple

FORK = "fork"
"""Asks a state to fork, with a line for the process that it forks."""
REAP = "reap"
"""Asks a state for the wait status of the process that it forked last."""

FORKED = b"f"
"""From a new process: it waits for its order. From the one that forked it: it has closed its copy
of the new line."""
BEGUN = b"b"
"""The process begins to execute its cell."""
PARKED = b"p"
"""The process has executed its cell and waits to be forked."""

_STATUS = struct.Struct("<cI")
_CREDENTIALS = struct.Struct("iII")


def status(value: int) -> bytes:
    """Return the message with a wait status."""
    return _STATUS.pack(b"s", value)


def read_status(said: bytes) -> int | None:
    """Return the wait status in a message; None if it holds none."""
    if len(said) != _STATUS.size:
        return None
    _letter, value = _STATUS.unpack(said)
    return value if os.WIFEXITED(value) or os.WIFSIGNALED(value) else None


class Said(NamedTuple):
    """A message of a state."""

    what: bytes
    pid: int
    """The process that sent it, as the kernel says."""


def open_line() -> tuple[socket.socket, socket.socket]:
    """Return the supervisor's end of a new line, and the state's."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    return ours, theirs


def hear(line: socket.socket) -> Said | None:
    """Read a message that has arrived; None if the line is closed or the message is invalid.

    On gVisor, a message is also invalid if the process that sent it has ended.
    """
    try:
        # No room for descriptors: the kernel closes those that come along.
        data, ancillary, _flags, _address = line.recvmsg(
            _STATUS.size, socket.CMSG_SPACE(_CREDENTIALS.size)
        )
    except OSError:
        return None
    for level, kind, content in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
            pid, _user, _group = _CREDENTIALS.unpack(content[: _CREDENTIALS.size])
            # On gVisor, the number is 0 if the process has ended. A signal to 0 would go to our
            # group.
            return Said(data, pid) if data and pid not in (0, os.getpid()) else None
    return None
