"""What the processes of a run take, read from /proc.

A slot runs one submission at a time, so every process in it that is not the harness's belongs
to the run. Read only while a run lasts: once it ended, its box tells from the kernel's accounts.
"""

import os
from dataclasses import dataclass

_TICKS = os.sysconf("SC_CLK_TCK")
_KIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The sums over a run's processes, at one moment."""

    cpu_time_s: float
    run_delay_s: float
    """The longest that any one process was ready but had no CPU."""
    memory_bytes: int
    """Anonymous memory beyond what each process began with as a copy of the box."""
    peak_memory_bytes: int
    """The highest that any one process had."""


def read_run(box_pid: int, harness_pids: frozenset[int]) -> Reading:
    """Read every process that is neither the box nor one of `harness_pids`."""
    cpu_ticks = _ticks(box_pid, children_only=True)
    inherited, _ = _memory(box_pid)
    run_delay_ns = memory = peak = 0
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        pid = int(name)
        if pid == box_pid or pid in harness_pids:
            continue
        cpu_ticks += _ticks(pid)
        run_delay_ns = max(run_delay_ns, _run_delay_ns(pid))
        resident, highest = _memory(pid)
        memory += max(0, resident - inherited)
        peak = max(peak, highest)
    return Reading(
        cpu_time_s=cpu_ticks / _TICKS,
        run_delay_s=run_delay_ns / 1e9,
        memory_bytes=memory,
        peak_memory_bytes=peak,
    )


def _read(path: str) -> bytes:
    """Read a file of /proc; empty when its process is gone."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""


def _ticks(pid: int, *, children_only: bool = False) -> int:
    """Return the clock ticks of a process and of the children that it waited for."""
    # The name in the second field may hold blanks and brackets: count from the last bracket.
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    if len(fields) < 15:
        return 0
    own, children = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
    return children if children_only else own + children


def _run_delay_ns(pid: int) -> int:
    fields = _read(f"/proc/{pid}/schedstat").split()
    return int(fields[1]) if len(fields) == 3 else 0


def _memory(pid: int) -> tuple[int, int]:
    """Return a process's anonymous memory and its highest resident memory, in bytes."""
    resident = highest = 0
    for line in _read(f"/proc/{pid}/status").splitlines():
        key, _, value = line.partition(b":")
        if key in (b"RssAnon", b"RssShmem"):
            resident += int(value.split()[0]) * _KIB
        elif key == b"VmHWM":
            highest = int(value.split()[0]) * _KIB
    return resident, highest
