"""Names the process that owns a slot, so that another process can check later if it lives."""

import os
import platform
from dataclasses import dataclass
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACES = (Path("/proc/self/ns/pid"), Path("/proc/self/ns/time"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A process, distinct from earlier and later processes with the same pid."""

    machine: str
    """The boot of the kernel, the pid namespace in which `pid` is valid, and the time namespace in
    which `started` is."""
    pid: int
    started: str
    """The start time of the process, by the kernel; empty if unknown."""

    @classmethod
    def current(cls) -> "Owner":
        """Return the calling process."""
        pid = os.getpid()
        return cls(machine=_machine(), pid=pid, started=_start_time(pid))

    @classmethod
    def parse(cls, label: str) -> "Owner | None":
        """Read a label; return None if the text is not one."""
        machine, _, rest = label.partition("/")
        pid, _, started = rest.partition("/")
        if not machine or not pid.isdecimal():
            return None
        return cls(machine=machine, pid=int(pid), started=started)

    @property
    def label(self) -> str:
        """The owner as one line of text."""
        return f"{self.machine}/{self.pid}/{self.started}"

    def is_gone(self) -> bool:
        """Tell whether the process has certainly ended. False for an owner on another machine."""
        if self.machine != _machine():
            return False
        if not _is_alive(self.pid):
            return True
        return self.started != _start_time(self.pid)


def _machine() -> str:
    """Name this boot of the kernel and our namespaces of pids and time; without /proc, the host."""
    namespaces = [each for each in _NAMESPACES if each.exists()]  # that of time from Linux 5.6 on
    try:
        return ":".join([_BOOT_ID.read_text().strip(), *(str(n.stat().st_ino) for n in namespaces)])
    except OSError:
        return platform.node() or "unknown"


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # alive, but of another user
    return True


def _start_time(pid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return ""
    # The name in parentheses may hold anything. The start time is the 20th field after it.
    return stat.rpartition(")")[2].split()[19]
