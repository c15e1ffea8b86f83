"""What supervisor and zygotes tell each other: small JSON messages and descriptors.

All of it travels over SOCK_SEQPACKET pairs that no submission ever holds. Test data does not:
it goes in memory files that only the one process reads that needs it, so that what a zygote
forks has never held another run's data.
"""

import json
import os
import socket
from typing import Any, NamedTuple

MAX_MESSAGE_BYTES = 64 * 1024
MAX_DESCRIPTORS = 8


class RunOrder(NamedTuple):
    """One run, as its process gets it."""

    program: str
    """A value of grader.sandbox.base.Program."""
    limits: dict[str, Any]
    """The fields of grader.model.Limits."""
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


def receive(channel: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Wait for one message; None when the other end is gone."""
    try:
        data, descriptors, _flags, _address = socket.recv_fds(
            channel, MAX_MESSAGE_BYTES, MAX_DESCRIPTORS
        )
    except ConnectionResetError:
        return None
    if not data:
        return None
    message: dict[str, Any] = json.loads(data)
    return message, descriptors


class Bundle(NamedTuple):
    """A submission's code and the files that are put beside it."""

    source_path: str
    source: str | None
    """None where the tests' own process has no business with it."""
    files: dict[str, bytes]


def write_bundle(source_path: str, source: bytes | None, files: list[tuple[str, bytes]]) -> int:
    """Write a submission's code and files to a new memory file and return its descriptor."""
    contents = [(source_path, source), *files]
    sizes = [[path, None if content is None else len(content)] for path, content in contents]
    body = b"".join(content for _path, content in contents if content is not None)
    return memory_file("bundle", json.dumps(sizes).encode() + b"\n" + body)


def read_bundle(descriptor: int) -> Bundle:
    """Read what `write_bundle` wrote, leaving the descriptor's offset alone."""
    data = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    head, _, body = data.partition(b"\n")
    contents = []
    start = 0
    for path, size in json.loads(head):
        contents.append((path, None if size is None else body[start : start + size]))
        start += size or 0
    (source_path, source), *files = contents
    return Bundle(
        source_path=source_path,
        source=None if source is None else source.decode("utf-8", "surrogatepass"),
        files={path: content for path, content in files if content is not None},
    )


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
