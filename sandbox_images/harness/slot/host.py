"""The connection of a slot's supervisor to the grader."""

import os
from collections import deque

from sandbox_images.harness.wire import frames
from sandbox_images.harness.wire.frames import Header

STDIN = 0
"""Where the grader's frames come from."""


class HostGone(Exception):
    """The grader has hung up."""


class HostConnection:
    """The frames to and from the grader."""

    def __init__(self) -> None:
        self._reader = frames.FrameReader()
        self._requests: deque[tuple[Header, list[bytes]]] = deque()
        self._stopped = -1
        """The last batch or session that the grader has stopped; 0 is the test batch."""
        self._out = os.dup(1)
        # From here on, nothing that is printed by accident can get between two frames.
        os.dup2(2, 1)

    def send(self, header: Header, *blobs: bytes) -> None:
        """Write one frame."""
        view = memoryview(frames.encode(header, *blobs))
        try:
            while view:
                view = view[os.write(self._out, view) :]
        except OSError as error:
            raise HostGone from error

    def receive(self) -> None:
        """Read what has arrived; wait if nothing has."""
        data = os.read(STDIN, frames.READ_BYTES)
        if not data:
            raise HostGone
        for header, blobs in self._reader.feed(data):
            if header["op"] == "stop":
                self._stopped = max(self._stopped, header["seq"])
            else:
                self._requests.append((header, blobs))

    def wait_for_request(self) -> tuple[Header, list[bytes]]:
        """Wait for the next request."""
        while (request := self.next_request()) is None:
            pass
        return request

    def next_request(self) -> tuple[Header, list[bytes]] | None:
        """Wait for a message of the grader; return None if it completes no request."""
        if not self._requests:
            self.receive()
        return self._requests.popleft() if self._requests else None

    def is_stopped(self, seq: int) -> bool:
        """Tell whether the grader has stopped the batch or session `seq`."""
        return seq <= self._stopped
