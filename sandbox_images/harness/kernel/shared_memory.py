"""Memory that the processes of a run share, for slots without a control group.

The kernel tells of it in three ways. A work area knows how full it is. A map of shared memory is
counted with its whole size, because pages stay when no process has them in its page tables. And a
socket is counted with the most that the kernel would keep for it, because no file tells how much it
does keep. So a run never has more of these than is counted here, with one exception: if it maps,
fills and unmaps a part of shared memory between two looks, that part is not seen.
"""

import os
import re
import socket
from collections.abc import Iterable
from functools import cache

from sandbox_images.harness.kernel import sockets

_BUFFERS_OF_A_SOCKET = 2
"""The kernel keeps the last message whole that begins within the limit."""


def most_buffer_bytes(folder: str) -> int:
    """Return the most bytes that the sockets in a process's net namespace can keep.

    Args:
        folder: The process's folder in /proc.

    Raises:
        OSError: The process is gone.
    """
    return sockets.count(folder) * _BUFFERS_OF_A_SOCKET * _buffer_bytes()


class SharedMemory:
    """Adds up the memory that the processes of one run may share."""

    def __init__(self, work: str) -> None:
        """Nothing is shared yet.

        Args:
            work: Path of the work area, as the run sees it.
        """
        self._work = work
        self._maps: dict[bytes, int] = {}

    def bytes(self, folders: Iterable[str], *, with_maps: bool) -> int:
        """Return the bytes in use now.

        Args:
            folders: Those of the run's processes in /proc.
            with_maps: Whether to read the processes' maps, which takes longest.
        """
        folders = list(folders)
        areas: dict[int, int] = {}
        buffers: dict[int, int] = {}
        for folder in folders:
            try:
                area = os.stat(path := f"{folder}/root{self._work}").st_dev
                if area not in areas:
                    state = os.statvfs(path)
                    areas[area] = (state.f_blocks - state.f_bfree) * state.f_frsize
                namespace = os.stat(f"{folder}/ns/net").st_ino
                if namespace not in buffers:
                    buffers[namespace] = most_buffer_bytes(folder)
            except OSError:
                pass  # the process is gone
        self._look_at_maps(folders if with_maps else [])
        return sum(areas.values()) + sum(buffers.values()) + sum(self._maps.values())

    def _look_at_maps(self, folders: Iterable[str]) -> None:
        sizes: dict[bytes, int] = {}
        for folder in folders:
            try:
                with open(f"{folder}/maps", "rb", buffering=0) as file:
                    maps = file.read()
            except OSError:
                continue  # the process is gone
            for start, end, offset, number in _shared_maps().findall(maps):
                size = int(offset, 16) + int(end, 16) - int(start, 16)
                sizes[number] = max(size, sizes.get(number, 0))
        # If a part is unmapped, its pages stay as long as any other part is mapped.
        self._maps = {
            number: max(size, self._maps.get(number, 0)) for number, size in sizes.items()
        }


@cache
def _buffer_bytes() -> int:
    """Return how much a socket may send that is not received yet."""
    left, right = socket.socketpair()
    with left, right:
        return left.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)


@cache
def _shared_maps() -> "re.Pattern[bytes]":
    """Return a pattern for shared maps of memory: start, end, offset and number of the memory."""
    # The kernel keeps memory without a name in one file system, which memory files are in, too.
    descriptor = os.memfd_create("device", os.MFD_CLOEXEC)
    device = os.fstat(descriptor).st_dev
    os.close(descriptor)
    name = f"{os.major(device):02x}:{os.minor(device):02x}".encode()
    return re.compile(
        rb"^([0-9a-f]+)-([0-9a-f]+) ...s ([0-9a-f]+) %s ([0-9]+)" % name, re.MULTILINE
    )
