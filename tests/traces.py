"""What the processes that a test started may leave behind on this machine."""

import contextlib
import os
from pathlib import Path

Known = tuple[int, str]
"""A process: its id, and when the kernel started it."""


def family(pid: int) -> set[Known]:
    """Return a process and all that descend from it now."""
    found: set[Known] = set()
    left = [pid]
    while left:
        member = left.pop()
        with contextlib.suppress(OSError):
            found.add((member, start_time(member)))
            for task in Path(f"/proc/{member}/task").iterdir():
                left += map(int, (task / "children").read_text().split())
    return found


def start_time(pid: int) -> str:
    """Return when a process was started; raises `OSError` if there is none."""
    return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]


def living(known: set[Known]) -> set[Known]:
    """Return those of the processes that have not ended."""
    alive = set()
    for pid, started in known:
        with contextlib.suppress(OSError):
            state = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
            if state[19] == started and state[0] != "Z":
                alive.add((pid, started))
    return alive


def cgroups_of(known: set[Known]) -> set[Path]:
    """Return the control groups that these processes made for slots."""
    # Not a glob, which trips over groups that others remove meanwhile.
    return {
        Path(folder, name)
        for folder, names, _ in os.walk("/sys/fs/cgroup")
        for name in names
        if Path(folder).name == "grader"
        and any(f",{pid},{started}." in name for pid, started in known)
    }


def mounts() -> set[str]:
    """Return all mount points that this process sees.

    Without what engines and tests mount for themselves, for others may be at work meanwhile.
    """
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    places = {line.split()[4] for line in lines}
    foreign = ("/var/lib/docker/", "/run/docker/", "/var/run/docker/", "/run/netns")
    within = ("/pytest-of-", "/overlay2/")  # the second of an engine with its data elsewhere
    return {p for p in places if not (p.startswith(foreign) or any(part in p for part in within))}
