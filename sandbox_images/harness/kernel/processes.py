"""What the processes of a run use, read from /proc.

A slot runs one submission at a time, so every process in it that does not belong to the harness
belongs to the run. This is read only while a run lasts: afterwards, its zygote has the kernel's
account of it.
"""

import contextlib
import os
import re
import signal
import time
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from sandbox_images.harness.kernel import clock
from sandbox_images.harness.kernel.shared_memory import SharedMemory

_TICKS = os.sysconf("SC_CLK_TCK")
_NICENESS = os.getpriority(os.PRIO_PROCESS, 0)
_KIB = 1024
_MEMORY = re.compile(
    rb"^(RssAnon|RssFile|RssShmem|VmData|VmPTE|VmRSS|VmSize):\s+(\d+) kB$", re.MULTILINE
)
_PEAK = re.compile(rb"^VmHWM:\s+(\d+) kB$", re.MULTILINE)
_NUMBERS = (b"pid", b"pgid", b"sid")
_READ_BYTES = 64 * 1024
"""More than a file of a process has that is read here."""
_DEAD = (b"Z", b"X")
"""States of a first thread that has ended."""


class _Reading(NamedTuple):
    """What one process has used, at one moment."""

    started: int
    """When it started, in ticks since the machine did. If a pid is reused, this differs."""
    cpu_time_s: float
    """Without that of its children."""
    children_cpu_time_s: float
    """That of children that it has waited for."""
    run_delays_s: Mapping[int, float]
    """How long each thread was ready but had no CPU, by the thread's id. Threads are left out if
    their priority is lower than the harness's."""
    is_dead: bool
    """Whether it has ended, with all of its threads."""


class _Schedule(NamedTuple):
    """How long a thread was on a CPU, and how long it was ready for one."""

    on_cpu_s: float
    run_delay_s: float


class Memory(NamedTuple):
    """The memory of one process, at one moment."""

    own_bytes: int
    """Anonymous and private, with the tables that map it."""
    shared_bytes: int
    """Shared memory in its page tables."""
    mapped_bytes: int
    """Shared memory and parts of files in its page tables."""
    other_bytes: int
    """The size of its other maps: of files, and of memory that it may share."""
    folder: str
    """The folder of /proc that tells more about it."""


class Account:
    """What the processes of a run have used, while they come and go.

    `look` has to be called every few milliseconds. A process that ends counts as it was at the last
    look, since the kernel forgets the CPU time of a process if its parent does not wait for it. So
    what a process uses after the last look counts only if its parent waits, or a control group
    counts.
    """

    def __init__(
        self,
        inherited_bytes: int,
        most_bytes: int | None,
        shared: SharedMemory | None,
        *,
        cpu_time_before_s: float = 0.0,
    ) -> None:
        """Begin with the start of the run.

        Args:
            inherited_bytes: Memory of each process that does not count.
            most_bytes: The limit. Below it, memory is not measured more closely than necessary.
                None if something else measures it.
            shared: Adds up what processes share, if the kernel tells.
            cpu_time_before_s: CPU time that its processes had used before.
        """
        self.cpu_time_s = 0.0
        """The CPU time of all processes."""
        self.memory_bytes = 0
        """The memory in use at the last look, if it is measured here."""
        self.mapped_bytes: int | None = None
        """The most that any process had mapped of files and shared memory, at any look. None before
        the first look."""
        self._most_bytes = most_bytes
        self._shared = shared
        self._inherited_bytes = inherited_bytes
        self._before_s = cpu_time_before_s
        self._counted_before_s: float | None = None
        self._ended_s = 0.0
        self._ready_s = 0.0
        self._seen: dict[int, _Reading] = {}
        self._began_at = self._looked_at = clock.now()
        self._began_at_tick = int(time.clock_gettime(time.CLOCK_BOOTTIME) * _TICKS)

    @property
    def waited_s(self) -> float:
        """How long the run waited for a CPU because others had it.

        Between two looks, the thread that waited longest counts, unless it has made itself nice.
        The sum is at most the age of the run without its CPU time: if threads wait for each
        other, they use CPU time meanwhile.
        """
        left_s = self._looked_at - self._began_at - self.cpu_time_s
        return max(0.0, min(self._ready_s, left_s))

    def look(self, pids: Iterable[int], counted_s: float | None = None) -> None:
        """Read the run's processes.

        Args:
            pids: All of them.
            counted_s: The CPU time that a control group counts for them, if there is one. It may
                have begun to count earlier.
        """
        read = {pid: reading for pid in pids if (reading := _read_process(pid)) is not None}
        for pid, seen in self._seen.items():
            if pid not in read or read[pid].started != seen.started:
                self._ended_s += seen.cpu_time_s
        cpu_time_s = self._sum(read.values())
        if counted_s is not None:
            if self._counted_before_s is None:
                self._counted_before_s = counted_s - cpu_time_s
            cpu_time_s = max(cpu_time_s, counted_s - self._counted_before_s)
        self.cpu_time_s = max(self.cpu_time_s, cpu_time_s)
        ready_s = (
            run_delay_s - self._run_delay_before(pid, reading, thread)
            for pid, reading in read.items()
            for thread, run_delay_s in reading.run_delays_s.items()
        )
        self._ready_s += max([0.0, *ready_s])
        alive = (pid for pid, reading in read.items() if not reading.is_dead)
        memory = list(map(read_memory, alive))
        mapped_bytes = (each.mapped_bytes for each in memory)
        self.mapped_bytes = max([self.mapped_bytes or 0, *mapped_bytes])
        if self._most_bytes is not None:
            self.memory_bytes = self._count_memory(memory, self._most_bytes)
        self._seen, self._looked_at = read, clock.now()

    def _sum(self, read: Collection[_Reading]) -> float:
        own_s = sum(reading.cpu_time_s for reading in read) - self._before_s
        # Most children are seen before they end, and waited for afterwards: count them once.
        return own_s + max(self._ended_s, sum(reading.children_cpu_time_s for reading in read))

    def _count_memory(self, read: list[Memory], most_bytes: int) -> int:
        own_bytes = grown_bytes(read, self._inherited_bytes)
        if self._shared is None:
            return own_bytes
        most_shared_bytes = sum(each.other_bytes for each in read)
        return own_bytes + self._shared.bytes(
            [each.folder for each in read],
            with_maps=own_bytes + most_shared_bytes > most_bytes,
        )

    def _run_delay_before(self, pid: int, reading: _Reading, thread: int) -> float:
        seen = self._seen.get(pid)
        if seen is not None and seen.started == reading.started:
            return seen.run_delays_s.get(thread, 0.0)
        # A judge that stays has waited before this run, too.
        return reading.run_delays_s[thread] if reading.started < self._began_at_tick else 0.0


class Identity(NamedTuple):
    """The numbers of a process in its own pid namespace; 0 if it is gone."""

    pid: int
    group: int
    session: int


def identity(pid: int) -> Identity:
    """Return the numbers that a process has for the others in its namespace."""
    status = _read(f"/proc/{pid}/status")
    # One number for each namespace, the innermost last. gVisor has none of these lines.
    found = (re.search(rb"^NS%s:.*?(\d+)$" % name, status, re.MULTILINE) for name in _NUMBERS)
    return Identity(*(int(match[1]) if match else 0 for match in found))


def all_pids() -> frozenset[int]:
    """Return every process of the slot; between two runs, these are the harness's own."""
    # gVisor lists a process as 0 while it is reaped. A signal to 0 is one to our own group.
    return frozenset(int(name) for name in os.listdir("/proc") if name.isdigit()) - {0}


def descendants(ancestors: frozenset[int], harness_pids: frozenset[int]) -> dict[int, list[int]]:
    """Return the processes outside the harness, by the one of `ancestors` they come from."""
    parents = {pid: _parent(pid) for pid in all_pids()}
    found: dict[int, list[int]] = {pid: [] for pid in ancestors}
    for pid in parents.keys() - harness_pids:
        above: int | None = pid
        while above is not None and above not in ancestors:
            above = parents.get(above)
        if above is not None:
            found[above].append(pid)
    return found


def count_children(parents: frozenset[int], pids: Iterable[int]) -> int:
    """Return how many of `pids` are children of one of `parents`."""
    return sum(_parent(pid) in parents for pid in pids)


def cpu_time_s(pids: frozenset[int]) -> float:
    """Return the CPU time of some processes, without that of their children."""
    return sum(sum(_times(pid)[:2]) for pid in pids) / _TICKS


def kill_run(harness_pids: frozenset[int]) -> None:
    """Kill every process but `harness_pids`; process 1 of the run takes all others with it."""
    for pid in all_pids() - harness_pids:
        kill(pid)


def kill(pid: int) -> None:
    """Kill a process, which may have ended by itself."""
    send_signal(pid, signal.SIGKILL)


def send_signal(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process, which may have ended by itself."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def living(pids: Iterable[int]) -> frozenset[int]:
    """Return those processes that have not ended, though the others may not be reaped yet."""
    return frozenset(pid for pid in pids if not _is_dead(_stat(pid)))


def is_stopped(pid: int) -> bool:
    """Tell whether a process is stopped by a signal, or has ended."""
    fields = _stat(pid)
    return _is_dead(fields) or fields[0] == b"T"


def count_threads(pid: int) -> int:
    """Return how many threads a process has; 0 if it has ended."""
    fields = _stat(pid)
    return 0 if _is_dead(fields) else int(fields[17])


def cpu_time_with_children_s(pid: int) -> float:
    """Return the CPU time of a process and of its reaped children."""
    return sum(_times(pid)) / _TICKS


def peak_memory_bytes(pid: int) -> int:
    """Return the most memory that a living process has had, in bytes."""
    return _KIB * sum(map(int, _PEAK.findall(_read(f"/proc/{pid}/status"))))


def memory_bytes(pid: int | str) -> int:
    """Return the memory of a process, in bytes, with the shared memory in its page tables."""
    memory = read_memory(pid)
    return memory.own_bytes + memory.shared_bytes


def read_memory(pid: int | str) -> Memory:
    """Read the memory of a process; none if it is gone."""
    folder = f"/proc/{pid}"
    if not (found := _read_sizes(folder)):
        # Its first thread has ended. Others may go on.
        for thread in _list(f"/proc/{pid}/task"):
            folder = f"/proc/{pid}/task/{thread}"
            if found := _read_sizes(folder):
                break
    # gVisor does not tell the kinds of memory apart.
    own_bytes = found.get(b"RssAnon", found.get(b"VmRSS", 0)) + found.get(b"VmPTE", 0)
    other_bytes = found.get(b"VmSize", 0) - found.get(b"VmData", 0)
    shared_bytes = found.get(b"RssShmem", 0)
    mapped_bytes = shared_bytes + found.get(b"RssFile", 0)
    return Memory(own_bytes, shared_bytes, mapped_bytes, other_bytes, folder)


def grown_bytes(memory: Iterable[Memory], inherited_bytes: int) -> int:
    """Return the own memory of processes beyond the first `inherited_bytes` of each."""
    return sum(max(0, each.own_bytes - inherited_bytes) for each in memory)


def _read_sizes(folder: str) -> dict[bytes, int]:
    """Read the sizes in a status file, in bytes; empty for a thread that has ended."""
    status = _read(f"{folder}/status")
    return {name: _KIB * int(size) for name, size in _MEMORY.findall(status)}


def _list(folder: str) -> list[str]:
    """List a folder of /proc; empty if its process is gone."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _read(path: str) -> bytes:
    """Read a file of /proc; empty if its process is gone."""
    # Without `open`, which takes up to three times as long: it asks for the size, and reads twice.
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _READ_BYTES)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _times(pid: int) -> list[int]:
    """Return the ticks of a process in user and system mode, and those of reaped children."""
    return list(map(int, _stat(pid)[11:15]))


def _is_dead(fields: list[bytes]) -> bool:
    """Tell from a process's stat file whether it is gone or has ended, with all of its threads."""
    return not fields or (fields[0] in _DEAD and int(fields[17]) <= 1)


def _parent(pid: int) -> int | None:
    """Return the parent of a process; None if it is gone."""
    fields = _stat(pid)
    return int(fields[1]) if fields else None


def _stat(pid: int) -> list[bytes]:
    """Return the fields after a process's name in its stat file; empty if it is gone."""
    # The name in the second field may hold blanks and brackets: count from the last bracket.
    return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def _read_process(pid: int) -> _Reading | None:
    """Read what a process has used; None if it is gone."""
    fields = _stat(pid)
    if not fields:
        return None
    schedules = {pid: _schedule(f"/proc/{pid}")}
    if int(fields[17]) > 1:
        # Often the first thread only waits for the others, as in Java and rustc.
        folder = f"/proc/{pid}/task"
        with contextlib.suppress(OSError):
            schedules |= {int(each): _schedule(f"{folder}/{each}") for each in os.listdir(folder)}
    user, system, children_user, children_system = map(int, fields[11:15])
    return _Reading(
        started=int(fields[19]),
        cpu_time_s=max((user + system) / _TICKS, schedules[pid].on_cpu_s),
        children_cpu_time_s=(children_user + children_system) / _TICKS,
        run_delays_s={
            thread: schedule.run_delay_s
            for thread, schedule in schedules.items()
            if not _is_nice(thread)
        },
        is_dead=_is_dead(fields),
    )


def _schedule(folder: str) -> _Schedule:
    # That of a process is its first thread's. gVisor has no such file.
    on_cpu_ns, run_delay_ns, *_ = map(int, _read(f"{folder}/schedstat").split() or (0, 0))
    return _Schedule(on_cpu_ns / 1e9, run_delay_ns / 1e9)


def _is_nice(thread: int) -> bool:
    """Whether a thread's priority is lower than the harness's, or it is gone."""
    try:
        return os.getpriority(os.PRIO_PROCESS, thread) > _NICENESS
    except OSError:
        return True
