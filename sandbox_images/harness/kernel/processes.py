"""What the processes of a run use, read from /proc.

A slot runs one submission at a time, so every process in it that does not belong to the harness
belongs to the run. This is read only while a run lasts: afterwards, its zygote has the kernel's
account of it.
"""

import contextlib
import os
import re
import signal
from collections.abc import Iterable, Mapping
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")
_KIB = 1024
_ANONYMOUS = re.compile(rb"^Rss(?:Anon|Shmem):\s+(\d+) kB$", re.MULTILINE)
_PEAK = re.compile(rb"^VmHWM:\s+(\d+) kB$", re.MULTILINE)
_NUMBERS = (b"pid", b"pgid", b"sid")
_DEAD = (b"", b"Z", b"X")
"""States of a process that has ended; empty if it is gone."""
_RESIDENT = re.compile(rb"^VmRSS:\s+(\d+) kB$", re.MULTILINE)


class ProcessReading(NamedTuple):
    """The sums over a run's processes, at one moment."""

    cpu_time_s: float
    run_delay_s: float
    """The longest time that a single process was ready but had no CPU."""
    run_delays_s: Mapping[int, float]
    """The same for each process."""
    memory_bytes: int
    """Anonymous memory beyond what each process shared with its zygote at first."""


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
    return frozenset(int(name) for name in os.listdir("/proc") if name.isdigit())


def read_run(harness_pids: frozenset[int], inherited_bytes: int) -> ProcessReading:
    """Read all processes but `harness_pids`; see `read`."""
    return read(all_pids() - harness_pids, inherited_bytes)


def read(pids: Iterable[int], inherited_bytes: int) -> ProcessReading:
    """Read some processes. `inherited_bytes` of the memory of each do not count."""
    cpu_ticks = memory = 0
    run_delays_s: dict[int, float] = {}
    for pid in pids:
        cpu_ticks += sum(_times(pid))
        run_delays_s[pid] = _run_delay_ns(pid) / 1e9
        memory += max(0, memory_bytes(pid) - inherited_bytes)
    return ProcessReading(
        cpu_time_s=cpu_ticks / _TICKS,
        run_delay_s=max(run_delays_s.values(), default=0.0),
        run_delays_s=run_delays_s,
        memory_bytes=memory,
    )


class Waiting:
    """How long a run was ready but had no CPU, while its processes come and go.

    Between two looks, only the process that waited longest counts.
    """

    def __init__(self) -> None:
        """Nothing has waited yet."""
        self.time_s = 0.0
        self._seen: Mapping[int, float] = {}

    def look(self, run_delays_s: Mapping[int, float]) -> None:
        """Add the longest wait since the last look; `run_delays_s` is by pid."""
        grown = [delay - self._before(pid, delay) for pid, delay in run_delays_s.items()]
        self.time_s += max(grown, default=0.0)
        self._seen = run_delays_s

    def _before(self, pid: int, delay: float) -> float:
        """Return how long a process had waited at the last look; its pid may have been reused."""
        seen = self._seen.get(pid, 0.0)
        return seen if seen <= delay else 0.0


def descendants(ancestors: frozenset[int], harness_pids: frozenset[int]) -> dict[int, list[int]]:
    """Return the processes outside the harness, by which of `ancestors` they come from."""
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
    return frozenset(pid for pid in pids if _state(pid) not in _DEAD)


def is_stopped(pid: int) -> bool:
    """Tell whether a process is stopped by a signal, or has ended."""
    return _state(pid) in (b"T", *_DEAD)


def count_threads(pid: int) -> int:
    """Return how many threads a process has; 0 if it has ended."""
    fields = _stat(pid)
    return int(fields[17]) if fields and fields[0] not in _DEAD else 0


def cpu_time_with_children_s(pid: int) -> float:
    """Return the CPU time of a process and of its reaped children."""
    return sum(_times(pid)) / _TICKS


def peak_memory_bytes(pid: int) -> int:
    """Return the most memory that a living process has had, in bytes."""
    return _KIB * sum(map(int, _PEAK.findall(_read(f"/proc/{pid}/status"))))


def memory_bytes(pid: int | str) -> int:
    """Return the anonymous memory of a process, private and shared, in bytes."""
    status = _read(f"/proc/{pid}/status")
    # gVisor does not tell the kinds of memory apart.
    kinds = _ANONYMOUS.findall(status) or _RESIDENT.findall(status)
    return _KIB * sum(map(int, kinds))


def _read(path: str) -> bytes:
    """Read a file of /proc; empty if its process is gone."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""


def _times(pid: int) -> list[int]:
    """Return the ticks of a process in user and system mode, and those of reaped children."""
    return list(map(int, _stat(pid)[11:15]))


def _state(pid: int) -> bytes:
    """Return the letter of a process's state; empty if it is gone."""
    fields = _stat(pid)
    return fields[0] if fields else b""


def _parent(pid: int) -> int | None:
    """Return the parent of a process; None if it is gone."""
    fields = _stat(pid)
    return int(fields[1]) if fields else None


def _stat(pid: int) -> list[bytes]:
    """Return the fields after a process's name in its stat file; empty if it is gone."""
    # The name in the second field may hold blanks and brackets: count from the last bracket.
    return _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def _run_delay_ns(pid: int) -> int:
    fields = _read(f"/proc/{pid}/schedstat").split()
    return int(fields[1]) if len(fields) == 3 else 0
