"""Carries what one program prints to the standard input of another.

The two never share a descriptor: each has pipes to the supervisor, which counts the bytes that
pass, and decides when one program sees the end of the other.
"""

import fcntl
import os
import struct
import termios

_CHUNK = 1 << 16
_MOST_WAITING_BYTES = 1 << 16


class Relay:
    """One direction of a dialogue."""

    def __init__(self, cap: int) -> None:
        """Make both pipes.

        Args:
            cap: How many bytes are carried. Bytes beyond that are dropped and counted.
        """
        self.source, self.source_writer = os.pipe2(os.O_CLOEXEC)
        self.sink_reader, self.sink = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.source, False)
        os.set_blocking(self.sink, False)
        self._cap = cap
        self._waiting = bytearray()
        self._carried = bytearray()
        self._at_end = False
        self._is_heard = True
        self.dropped_bytes = 0
        self.moved_bytes = 0
        """How many bytes were read and written so far, added up."""

    @property
    def content(self) -> bytes:
        """What was printed, up to the cap."""
        return bytes(self._carried)

    @property
    def wants_to_read(self) -> bool:
        """Whether there may be something to read, and there is room for it."""
        return not self._at_end and len(self._waiting) < _MOST_WAITING_BYTES

    @property
    def wants_to_write(self) -> bool:
        """Whether there is something to write, and a program that reads it."""
        return self._is_heard and bool(self._waiting)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is on its way from one program to the other."""
        pipes = (self.source, self.sink) if self._is_heard else (self.source,)
        return not self._waiting and not any(_bytes_in(pipe) for pipe in pipes)

    def start(self) -> None:
        """Close the programs' ends of the pipes here; the programs have their own."""
        for descriptor in (self.source_writer, self.sink_reader):
            os.close(descriptor)
        self.source_writer = self.sink_reader = -1

    def read(self) -> None:
        """Read what the one program has printed. Does not block."""
        try:
            data = os.read(self.source, _CHUNK)
        except BlockingIOError:
            return
        if not data:
            self._at_end = True
            return
        self.moved_bytes += len(data)
        kept = data[: self._cap - len(self._carried)]
        self._carried += kept
        self.dropped_bytes += len(data) - len(kept)
        if self._is_heard:
            self._waiting += kept

    def write(self) -> None:
        """Write what was read to the other program. Does not block."""
        try:
            written = os.write(self.sink, self._waiting)
        except BlockingIOError:
            return
        except OSError:  # the other program no longer reads
            self.hang_up()
            return
        self.moved_bytes += written
        del self._waiting[:written]

    def finish(self) -> None:
        """If the output has ended and all of it is delivered, let the other program see its end."""
        if self._at_end and not self._waiting:
            self.hang_up()

    def hang_up(self) -> None:
        """Let the other program see the end of its input; drop what is not delivered."""
        if self._is_heard:
            self._is_heard = False
            self._waiting.clear()
            os.close(self.sink)

    def close(self) -> None:
        """Close what is open."""
        self.hang_up()
        os.close(self.source)
        for descriptor in (self.source_writer, self.sink_reader):
            if descriptor >= 0:
                os.close(descriptor)


def _bytes_in(pipe: int) -> int:
    """Return how many bytes a pipe holds, asked at either end."""
    count = fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4)
    (found,) = struct.unpack("i", count)
    return int(found)
