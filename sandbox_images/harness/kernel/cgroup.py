"""The counters of the slot's own cgroup, in version 1 or 2 of cgroups.

Inside a slot the cgroup is mounted read-only: its files at the top for version 2, one folder
per controller for version 1. A folder that belongs to the whole machine is never read: what it
counts is not the slot's.
"""

import os
from functools import cache
from typing import NamedTuple

_CACHE_V1 = (b"total_active_file", b"total_inactive_file")
_CACHE_V2 = (b"active_file", b"inactive_file", b"slab_reclaimable")
_READ_BYTES = 64 * 1024
_LARGE_REQUEST_BYTES = 1024 * 1024
"""More than a process asks the kernel for at once. One that is refused leaves so much unused."""


class CgroupReader(NamedTuple):
    """Reads counters over every process that is or was in the slot.

    Each method raises OSError if the cgroup is gone, and ValueError if a file does not have the
    form that the kernel documents.
    """

    version: int
    """1 or 2."""
    memory: str
    """Folder of the memory controller."""
    cpu: str
    """Folder of the CPU accounting."""

    def cpu_time_s(self) -> float:
        """Return the CPU time of all processes so far, in seconds."""
        if self.version == 1:
            return int(_read(self.cpu, "cpuacct.usage")) / 1e9
        return _number(_read(self.cpu, "cpu.stat"), b"usage_usec") / 1e6

    def oom_kills(self) -> int:
        """Return how many processes the kernel has killed for want of memory so far."""
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        return _number(_read(self.memory, name), b"oom_kill")

    def limit_hits(self) -> int:
        """Return how many times the cgroup itself has had no more memory to give so far.

        Version 1 has no such count: its failcnt stays 0 in newer kernels (seen in Linux 6.18). From
        the first time that its use of memory comes to the limit, every kill counts there.
        """
        if self.version == 2:
            return _number(_read(self.memory, "memory.events"), b"oom")
        # The second counts if memory and swap together were at their limit, which is the same here.
        kinds = [
            kind for kind in ("", "memsw.") if _has(self.memory, f"memory.{kind}max_usage_in_bytes")
        ]
        return self.oom_kills() if any(map(self._was_full, kinds)) else 0

    def _was_full(self, kind: str) -> bool:
        """Whether a cgroup of version 1 has ever used as much of a kind of memory as it may."""
        most, limit = (
            int(_read(self.memory, f"memory.{kind}{name}_in_bytes"))
            for name in ("max_usage", "limit")
        )
        return most > limit - _LARGE_REQUEST_BYTES

    def memory_bytes(self) -> int:
        """Return the memory in use now, without what the kernel can drop.

        The kernel can drop cached pages of files, and its cache of file names and inodes. Version 1
        has no count of the latter, so they are included there.
        """
        names = _CACHE_V1 if self.version == 1 else _CACHE_V2
        stat = _read(self.memory, "memory.stat")
        usage = _read(
            self.memory, "memory.usage_in_bytes" if self.version == 1 else "memory.current"
        )
        return max(0, int(usage) - sum(_number(stat, name) for name in names))


def open_reader(root: str) -> CgroupReader | None:
    """Find the slot's counters under `root`, usually /sys/fs/cgroup.

    Returns:
        None if cgroups are missing, incomplete, or show the whole machine.
    """
    # Only the root of a version 2 hierarchy lacks memory.events.
    if _has(root, "memory.events") and _has(root, "memory.current"):
        return CgroupReader(version=2, memory=root, cpu=root)
    memory = os.path.join(root, "memory")
    if not _has(memory, "memory.oom_control") or _has(memory, "release_agent"):
        return None
    for name in ("cpuacct", "cpu,cpuacct", "cpuacct,cpu"):
        cpu = os.path.join(root, name)
        # Only the root of a version 1 hierarchy has a release_agent.
        if _has(cpu, "cpuacct.usage") and not _has(cpu, "release_agent"):
            return CgroupReader(version=1, memory=memory, cpu=cpu)
    return None


def _has(folder: str, name: str) -> bool:
    return os.access(os.path.join(folder, name), os.R_OK)


def _read(folder: str, name: str) -> bytes:
    return os.pread(_opened(f"{folder}/{name}"), _READ_BYTES, 0)


@cache
def _opened(path: str) -> int:
    """Return a descriptor of a file. It stays open, since opening takes longer than reading."""
    return os.open(path, os.O_RDONLY)


def _number(content: bytes, name: bytes) -> int:
    """Return the number of a name, in a file whose lines have a name and a number each."""
    before, found, after = (b"\n" + content).partition(b"\n" + name + b" ")
    if not found:
        raise ValueError(f"no {name.decode()} in {before[:200]!r}")
    return int(after.partition(b"\n")[0])
