"""Pipes that a hostile program writes to."""

import os
import select

_CHUNK = 1 << 16
_CHUNKS_AT_ONCE = 16
"""How many chunks are read from one pipe before other descriptors get their turn."""


class CappedOutput:
    """What came out of one pipe or several, in the order in which it was read, up to a cap."""

    def __init__(self, cap: int) -> None:
        """`cap` is the number of bytes that are kept."""
        self._cap = cap
        self._kept = bytearray()
        self.dropped_bytes = 0

    def add(self, data: bytes) -> None:
        """Keep what there is room for, and drop the rest."""
        room = self._cap - len(self._kept)
        self._kept += data[:room]
        self.dropped_bytes += max(0, len(data) - room)

    @property
    def content(self) -> bytes:
        """What was kept."""
        return bytes(self._kept)


class CappedPipe:
    """The reading end of a pipe.

    Each process of a run has pipes of its own: through `/proc/self/fd`, a process can open the
    pipe that it writes to for reading.
    """

    def __init__(self, output: CappedOutput) -> None:
        """`output` gets what is read."""
        self.reader, self.writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.set_blocking(self.writer, True)
        self.output = output

    def drain(self) -> bool:
        """Read what is there, up to a bound; return False at the end of the stream."""
        for _ in range(_CHUNKS_AT_ONCE):
            try:
                data = os.read(self.reader, _CHUNK)
            except BlockingIOError:
                return True
            if not data:
                return False
            self.output.add(data)
            if len(data) < _CHUNK:
                break
        return True

    def drain_rest(self) -> None:
        """Read everything that is left. All writers must have ended."""
        while self.drain() and select.select([self.reader], [], [], 0)[0]:
            pass

    def close_writer(self) -> None:
        """Close the writing end here; the run's processes have their own. Idempotent."""
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    def close(self) -> None:
        """Close both ends."""
        self.close_writer()
        os.close(self.reader)
