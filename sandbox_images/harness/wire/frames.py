"""Length-prefixed frames: a JSON header and any number of binary blobs.

Layout: header length and body length as two big-endian 32-bit integers, the header, then the
blobs one after another; the header's key "blobs" holds their lengths. Binary data stays out of
the JSON, so it needs no escaping and may be anything.
"""

import json
import struct
from collections.abc import Iterator
from typing import Any

PREFIX = struct.Struct(">II")
MAX_HEADER_BYTES = 64 * 1024 * 1024
MAX_BODY_BYTES = 1024 * 1024 * 1024
READ_BYTES = 1 << 16
"""Most bytes of one read of a stream. With a megabyte, each read would map memory: 13 µs."""

Header = dict[str, Any]


class FrameError(ValueError):
    """The bytes are not a valid frame. The rest of the stream cannot be used."""


def encode(header: Header, *blobs: bytes) -> bytes:
    """Return the frame's bytes."""
    head = json.dumps({**header, "blobs": [len(blob) for blob in blobs]}).encode()
    return b"".join((PREFIX.pack(len(head), sum(map(len, blobs))), head, *blobs))


class FrameReader:
    """Cuts a byte stream into frames. Memory is bounded by one frame of the largest size."""

    def __init__(
        self, max_header_bytes: int = MAX_HEADER_BYTES, max_body_bytes: int = MAX_BODY_BYTES
    ) -> None:
        self._buffer = bytearray()
        self._max_header_bytes = max_header_bytes
        self._max_body_bytes = max_body_bytes

    def feed(self, data: bytes) -> Iterator[tuple[Header, list[bytes]]]:
        """Take more of the stream and yield every frame that is now complete.

        Raises:
            FrameError: Too large, not JSON, or lengths that do not add up.
        """
        self._buffer += data
        while len(self._buffer) >= PREFIX.size:
            head_size, body_size = PREFIX.unpack_from(self._buffer)
            if head_size > self._max_header_bytes or body_size > self._max_body_bytes:
                raise FrameError(f"frame of {head_size} + {body_size} bytes is too large")
            end = PREFIX.size + head_size + body_size
            if len(self._buffer) < end:
                return
            frame = bytes(memoryview(self._buffer)[PREFIX.size : end])
            del self._buffer[:end]
            yield _parse(frame, head_size)


def _parse(frame: bytes, head_size: int) -> tuple[Header, list[bytes]]:
    try:
        header = json.loads(frame[:head_size])
    except (ValueError, RecursionError) as error:
        raise FrameError(f"frame header is not JSON: {error}") from None
    sizes = header.pop("blobs", None) if isinstance(header, dict) else None
    if not isinstance(sizes, list) or not all(type(n) is int and n >= 0 for n in sizes):
        raise FrameError("frame header lacks its blob lengths")
    if head_size + sum(sizes) != len(frame):
        raise FrameError("blob lengths do not add up to the frame's body")
    blobs = []
    start = head_size
    for size in sizes:
        blobs.append(frame[start : start + size])
        start += size
    return header, blobs
