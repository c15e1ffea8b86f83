"""What supervisor and zygotes tell each other: small JSON messages and descriptors.

All of it travels over SOCK_SEQPACKET pairs that no submission ever holds. Test data does not:
it goes in memory files that only the one process reads that needs it, so that what a zygote
forks has never held another run's data.
"""

import ctypes
import json
import os
import socket
import struct
from functools import cache
from typing import Any, NamedTuple

from sandbox_images.harness.kernel.calls import Calls

MAX_MESSAGE_BYTES = 64 * 1024
MAX_DESCRIPTORS = 8
_END_OF_HEAD = b"\0\0"
_PAGE = 4096


class RunOrder(NamedTuple):
    """One run, as its process gets it."""

    program: str
    """A value of grader.sandbox.contract.Program."""
    limits: dict[str, Any]
    """The fields of grader.model.Limits."""
    staged_bytes: int
    """What the files of the bundle take in the work area."""
    staged_files: int
    bundle: int
    """Descriptor: the submission's source and files; see `write_bundle`."""
    payload: int
    """Descriptor: this run's bytes."""
    stdout: int
    stderr: int
    report: int
    channel: int | None = None
    """Descriptor: to the other process, where tests and submission have one each."""

    @classmethod
    def parse(cls, message: dict[str, Any], descriptors: list[int]) -> "RunOrder":
        """Put together what `send` took apart."""
        named: dict[str, Any] = dict(zip(_DESCRIPTORS, descriptors, strict=False))
        return cls(**message, **named)

    @property
    def message(self) -> dict[str, Any]:
        """All that is no descriptor."""
        return {
            "program": self.program,
            "limits": self.limits,
            "staged_bytes": self.staged_bytes,
            "staged_files": self.staged_files,
        }

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Every descriptor that there is, in the order in which they travel."""
        every = (getattr(self, name) for name in _DESCRIPTORS)
        return tuple(descriptor for descriptor in every if descriptor is not None)


_DESCRIPTORS = ("bundle", "payload", "stdout", "stderr", "report", "channel")


def send(
    channel: socket.socket, message: dict[str, Any], descriptors: tuple[int, ...] = ()
) -> None:
    """Send one message.

    Raises:
        OSError: The other end is gone.
    """
    data = json.dumps(message).encode()
    if descriptors:
        socket.send_fds(channel, [data], list(descriptors))
    else:
        channel.send(data)


def add_send(calls: Calls, channel: int, message: dict[str, Any], descriptor: int | None) -> None:
    """Write down what `send` does."""
    data = json.dumps(message).encode()
    text = ctypes.create_string_buffer(data, len(data))
    vector = _Vector(calls.keep(text), len(data))
    header = _MessageHeader(vectors=calls.keep(vector), vectors_count=1)
    if descriptor is not None:
        # struct cmsghdr: length, level, type; then the data.
        size = struct.calcsize("Qiii")
        rights = struct.pack("Qiiixxxx", size, socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptor)
        header.control = calls.keep(ctypes.create_string_buffer(rights, len(rights)))
        header.control_size = len(rights)
    calls.add("sendmsg", channel, calls.keep(header), 0)


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))


class _MessageHeader(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_size", ctypes.c_uint32),
        ("vectors", ctypes.c_void_p),
        ("vectors_count", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_size", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    )


def receive(channel: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Wait for one message; None when the other end is gone.

    Raises:
        OSError: The message did not arrive whole.
    """
    try:
        data, descriptors, flags, _address = socket.recv_fds(
            channel, MAX_MESSAGE_BYTES, MAX_DESCRIPTORS
        )
    except ConnectionResetError:
        return None
    if not data:
        return None
    if flags & socket.MSG_CTRUNC:
        raise OSError("a message came without all of its descriptors")
    message: dict[str, Any] = json.loads(data)
    return message, descriptors


class Bundle(NamedTuple):
    """A submission's code and the files that are put beside it."""

    source_path: str
    source: str | None
    """None where the tests' own process has no business with it."""
    prelude: str
    """Executed before the source, in the same module; no part of its file."""
    files: dict[str, bytes]


class Parcel(NamedTuple):
    """A bundle on its way to a run."""

    descriptor: int
    bytes: int
    """What its files will take of a work area."""
    files: int
    """How many there will be, folders included."""


def write_bundle(
    source_path: str,
    source: bytes | None,
    files: list[tuple[str, bytes]],
    *,
    prelude: bytes = b"",
) -> Parcel:
    """Write a submission's code and files to a new memory file."""
    staged = [(source_path, source), *files]
    contents = [("", prelude), *staged]
    # Not JSON, which a program that is no JSON's would have to read in every fork.
    sizes = [f"{-1 if data is None else len(data)} {path}" for path, data in contents]
    body = [data for _path, data in contents if data is not None]
    head = "\0".join(sizes).encode("utf-8", "surrogatepass")
    return Parcel(
        descriptor=memory_file("bundle", b"".join((head, _END_OF_HEAD, *body))),
        bytes=sum(-(-len(data) // _PAGE) * _PAGE for _path, data in staged if data is not None),
        files=sum(path.count("/") + 1 for path, data in staged if data is not None),
    )


def read_bundle(descriptor: int) -> Bundle:
    """Read what `write_bundle` wrote, leaving the descriptor's offset alone."""
    data = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    head, _, body = data.partition(_END_OF_HEAD)
    contents: list[tuple[str, bytes | None]] = []
    start = 0
    for entry in head.decode("utf-8", "surrogatepass").split("\0"):
        size, _, path = entry.partition(" ")
        end = start + int(size)
        contents.append((path, None if end < start else body[start:end]))
        start = max(start, end)
    (_, prelude), (source_path, source), *files = contents
    return Bundle(
        source_path=source_path,
        source=None if source is None else source.decode("utf-8", "surrogatepass"),
        prelude=(prelude or b"").decode("utf-8", "surrogatepass"),
        files={path: content for path, content in files if content is not None},
    )


@cache
def nothing() -> int:
    """Return a descriptor of /dev/null, which stays open."""
    return os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)


def memory_file(name: str, data: bytes) -> int:
    """Return a read-only descriptor of a new file in memory that holds `data`."""
    writer = os.memfd_create(name, os.MFD_CLOEXEC)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(writer, view) :]
        return os.open(f"/proc/self/fd/{writer}", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(writer)
