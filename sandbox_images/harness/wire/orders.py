"""What supervisor and zygotes tell each other: small JSON messages and descriptors.

They travel over SOCK_SEQPACKET pairs that no submission ever holds. Test data travels in memory
files instead, which only the process that needs them reads. So what a zygote forks has never held
another run's data.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import re
import socket
import struct
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from sandbox_images.harness.kernel.calls import Calls

MAX_MESSAGE_BYTES = 64 * 1024
MAX_DESCRIPTORS = 8
# These touch less memory than what they are made from: `socket` makes an enum of each flag, and
# `json` looks for the encoding of each text.
_CUT_OFF = int(socket.MSG_CTRUNC)
_to_json = json.JSONEncoder().encode
_from_json = json.JSONDecoder().decode
_END_OF_HEAD = b"\0\0"
_TEXTS = 2
"""The first entries of a bundle are its prelude and its source."""
_MAX_NAME_BYTES = 255
_MAX_PATH_BYTES = 2048
_MAX_HEAD_BYTES = 1024 * 1024
"""Most bytes of a product's list of files: enough for thousands of paths."""
_PAGE = 4096
SEALED = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
"""The seals of a memory file that no process can change any more, whatever it may open."""


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
    """Descriptor: this run's bytes; for a compiler, the file to write its product to."""
    stdout: int
    stderr: int
    report: int
    channel: int | None = None
    """Descriptor: to the other process, if tests and submission have one each."""
    code: int | None = None
    """Descriptor: the code that the runs of a batch have in common; see `runners.shared_code`."""
    command: tuple[str, ...] = ()
    """The command that the process executes in place of Python code; empty if there is none."""
    environment: Mapping[str, str] = MappingProxyType({})
    """The command's variables. A message has only those that not every run has."""
    executable: str = ""
    """The command's program file, which the zygote finds."""

    @classmethod
    def parse(cls, message: dict[str, Any], descriptors: list[int]) -> "RunOrder":
        """Rebuild the order from a message and its descriptors."""
        names = message.pop("descriptors")
        named: dict[str, Any] = dict(zip(names, descriptors, strict=True))
        return cls(**{**message, "command": tuple(message["command"])}, **named)

    @property
    def message(self) -> dict[str, Any]:
        """The fields that are not descriptors."""
        return {
            "program": self.program,
            "limits": self.limits,
            "staged_bytes": self.staged_bytes,
            "staged_files": self.staged_files,
            "command": self.command,
            "environment": dict(self.environment),
            "descriptors": self._given,
        }

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The descriptors that are set, in the order in which they travel."""
        return tuple(getattr(self, name) for name in self._given)

    @property
    def _given(self) -> list[str]:
        return [name for name in _DESCRIPTORS if getattr(self, name) is not None]


_DESCRIPTORS = ("bundle", "payload", "stdout", "stderr", "report", "channel", "code")


def send(
    channel: socket.socket, message: dict[str, Any], descriptors: tuple[int, ...] = ()
) -> None:
    """Send one message.

    Raises:
        OSError: The other end is gone.
    """
    data = _to_json(message).encode()
    if descriptors:
        socket.send_fds(channel, [data], list(descriptors))
    else:
        channel.send(data)


def add_send(calls: Calls, channel: int, message: dict[str, Any], descriptor: int | None) -> None:
    """Add the call that `send` makes."""
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
    """Wait for one message; return None if the other end is gone.

    Raises:
        OSError: The message did not arrive whole.
    """
    received = _receive(channel)
    return None if received is None else (_from_json(received[0].decode()), received[1])


def receive_order(channel: socket.socket) -> tuple[RunOrder, list[int]] | None:
    """Wait for the order of a run; like `receive`.

    Orders that are the same, down to the numbers of their descriptors, are one object, since most
    runs of a batch have such orders.
    """
    received = _receive(channel)
    if received is None:
        return None
    data, descriptors = received
    return _read_order(data, tuple(descriptors)), descriptors


@lru_cache(maxsize=1)
def _read_order(data: bytes, descriptors: tuple[int, ...]) -> RunOrder:
    return RunOrder.parse(_from_json(data.decode()), list(descriptors))


def _receive(channel: socket.socket) -> tuple[bytes, list[int]] | None:
    try:
        data, descriptors, flags, _address = socket.recv_fds(
            channel, MAX_MESSAGE_BYTES, MAX_DESCRIPTORS
        )
    except ConnectionResetError:
        return None
    if not data:
        return None
    if flags & _CUT_OFF:
        raise OSError("a message came without all of its descriptors")
    return data, descriptors


class Span(NamedTuple):
    """Where a file's content is in a bundle."""

    start: int
    size: int


class Bundle(NamedTuple):
    """A submission's code, and the files that are put next to it."""

    source_path: str
    source: str | None
    """None in the process of the tests, which must not have it."""
    prelude: str
    """Executed before the source, in the same module, but not part of its file."""
    files: dict[str, Span]
    """By path. Their contents stay in the bundle: a compiled program may be large."""


class Parcel(NamedTuple):
    """A bundle on its way to a run."""

    descriptor: int
    bytes: int
    """How many bytes its files will take in a work area."""
    files: int
    """How many there will be, folders included."""
    source_bytes: int = 0
    """The part of `bytes` that is the submission's source."""

    def closed_by(self, stack: contextlib.ExitStack) -> "Parcel":
        """Return this parcel, whose descriptor a stack closes at its end."""
        stack.callback(os.close, self.descriptor)
        return self


def write_bundle(
    source_path: str,
    source: bytes | None,
    files: list[tuple[str, bytes]],
    *,
    prelude: bytes = b"",
) -> Parcel:
    """Write a submission's code and files to a new memory file."""
    staged = [(source_path, source), *files]
    sizes = [(path, len(data)) for path, data in staged if data is not None]
    descriptor = memory_file("bundle", _encode([("", prelude), *staged]))
    return Parcel(descriptor, *_room_for(sizes), len(source or b""))


def _encode(contents: list[tuple[str, bytes | None]]) -> bytes:
    # Not JSON: every fork would touch the memory of its decoder, which many do not need.
    sizes = [f"{-1 if data is None else len(data)} {path}" for path, data in contents]
    body = [data for _path, data in contents if data is not None]
    head = "\0".join(sizes).encode("utf-8", "surrogatepass")
    return b"".join((head, _END_OF_HEAD, *body))


def _room_for(sizes: list[tuple[str, int]]) -> tuple[int, int]:
    """Return the bytes and the files, folders included, that files take in a work area."""
    total = sum(-(-size // _PAGE) * _PAGE for _path, size in sizes)
    return total, sum(path.count("/") + 1 for path, _size in sizes)


def write_product(descriptor: int, source_path: str, files: dict[str, bytes]) -> None:
    """Write what a compiler left in the work area, as a bundle for the runs of its program.

    Args:
        descriptor: Of an empty file, which may grow to the work area's size.
        source_path: The submission's file, which may be one of `files`.
        files: Content by path.

    Raises:
        OSError: There is no room for it.
    """
    view = memoryview(_encode([("", b""), (source_path, None), *files.items()]))
    while view:
        view = view[os.write(descriptor, view) :]


def open_product(descriptor: int) -> Parcel:
    """Return what `write_product` wrote to a memory file, for reading.

    The process that wrote it had run a compiler, and compilers of some languages execute the code
    that they compile. So nothing in it is trusted.

    Raises:
        ValueError: It is not a bundle, or would leave the work area.
    """
    size = os.fstat(descriptor).st_size
    head, found, _ = os.pread(descriptor, min(size, _MAX_HEAD_BYTES), 0).partition(_END_OF_HEAD)
    if not found:
        raise ValueError("it has no head")
    prelude, source, *entries = head.decode("utf-8", "surrogatepass").split("\0")
    if prelude != "0 " or not source.startswith("-1 "):
        raise ValueError("it does not begin with a source")
    _require_inside(source.removeprefix("-1 "))
    staged: list[tuple[str, int]] = []
    for entry in entries:
        number, _, path = entry.partition(" ")
        if not re.fullmatch("[0-9]{1,15}", number):
            raise ValueError(f"a file has no size: {entry[:80]!r}")
        _require_inside(path)
        staged.append((path, int(number)))
    paths = {path for path, _size in staged}
    folders = {path[: match.start()] for path in paths for match in re.finditer("/", path)}
    if len(paths) != len(staged) or paths & folders:
        raise ValueError("two of its files have one path")
    if len(head) + len(_END_OF_HEAD) + sum(size for _path, size in staged) != size:
        raise ValueError("the sizes of its files are wrong")
    reader = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_CLOEXEC)
    return Parcel(reader, *_room_for(staged))


def _require_inside(path: str) -> None:
    parts = path.split("/")
    if any(part in ("", ".", "..") or len(os.fsencode(part)) > _MAX_NAME_BYTES for part in parts):
        raise ValueError(f"a path is not in the work area: {path[:80]!r}")
    if len(os.fsencode(path)) > _MAX_PATH_BYTES:
        raise ValueError(f"a path is too long: {path[:80]!r}")


def read_bundle(descriptor: int) -> Bundle:
    """Read what `write_bundle` wrote, without moving the descriptor's offset."""
    head, start = read_head(descriptor)
    source_path = ""
    texts: list[str | None] = []
    files: dict[str, Span] = {}
    # Every fork does this, so it makes few objects: each of them may cost the copy of a page.
    for entry in head.split("\0"):
        number, _, path = entry.partition(" ")
        size = int(number)
        if len(texts) < _TEXTS:
            content = None if size < 0 else os.pread(descriptor, size, start)
            texts.append(None if content is None else content.decode("utf-8", "surrogatepass"))
            source_path = path
        elif size >= 0:
            files[path] = Span(start, size)
        start += max(0, size)
    prelude, source = texts
    return Bundle(source_path, source, prelude or "", files)


def read_head(descriptor: int) -> tuple[str, int]:
    """Return a bundle's head, and where its contents begin."""
    size = _PAGE
    while True:
        head, found, _ = os.pread(descriptor, size, 0).partition(_END_OF_HEAD)
        if found:
            return head.decode("utf-8", "surrogatepass"), len(head) + len(found)
        size *= 16


def read_spans(head: str, start: int) -> dict[str, Span]:
    """Return where each file of a bundle is, the source included, by path.

    The arguments are what `read_head` returns.
    """
    spans: dict[str, Span] = {}
    for index, entry in enumerate(head.split("\0")):
        number, _, path = entry.partition(" ")
        size = int(number)
        if index > 0 and size >= 0:  # the first is the prelude
            spans[path] = Span(start, size)
        start += max(0, size)
    return spans


def read_files(descriptor: int) -> dict[str, bytes]:
    """Return all files of a bundle, the source included, by path."""
    spans = read_spans(*read_head(descriptor))
    return {path: read_span(descriptor, span) for path, span in spans.items()}


def read_span(descriptor: int, span: Span) -> bytes:
    """Return the content of a file of a bundle."""
    return os.pread(descriptor, span.size, span.start)


@contextlib.contextmanager
def order_by_channel(
    program: str, parcel: Parcel, limits: dict[str, Any], channel: int
) -> Iterator[RunOrder]:
    """Open an order whose process gets its work over a channel, and whose output is dropped."""
    with nothing() as dropped:
        yield RunOrder(
            program=program,
            limits=limits,
            staged_bytes=parcel.bytes,
            staged_files=parcel.files,
            bundle=parcel.descriptor,
            payload=dropped,
            stdout=dropped,
            stderr=dropped,
            report=dropped,
            channel=channel,
        )


@contextlib.contextmanager
def nothing() -> Iterator[int]:
    """Open /dev/null for one run: runs that shared the open file would share flags and locks."""
    descriptor = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def memory_file(name: str, data: bytes) -> int:
    """Return a read-only descriptor of a new file in memory that holds `data` for good.

    A process that gets the descriptor can open the file for writing, through `/proc/self/fd`. But
    the seals refuse every change.
    """
    writer = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(writer, view) :]
        fcntl.fcntl(writer, fcntl.F_ADD_SEALS, SEALED)
        return os.open(f"/proc/self/fd/{writer}", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(writer)
