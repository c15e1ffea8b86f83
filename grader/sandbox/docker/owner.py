"""Which process a container belongs to, in words that another process can check later."""

import os
import platform
from dataclasses import dataclass
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A process, told apart from every other one that has had or will have its number."""

    machine: str
    """The kernel's boot, and the pid namespace in it: where `pid` means something."""
    pid: int
    started: str
    """The kernel's start time of the process; empty where the system does not tell."""

    @classmethod
    def current(cls) -> "Owner":
        """Return the calling process."""
        pid = os.getpid()
        return cls(machine=_machine(), pid=pid, started=_start_time(pid))

    @classmethod
    def parse(cls, label: str) -> "Owner | None":
        """Read what `label` wrote; None for any other text."""
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
        """Whether the process has certainly ended. An owner elsewhere cannot be known: False."""
        if self.machine != _machine():
            return False
        if not _is_alive(self.pid):
            return True
        return self.started != _start_time(self.pid)


def _machine() -> str:
    """Name this boot of this kernel and our pid namespace; the host's name where there is none."""
    try:
        return f"{_BOOT_ID.read_text().strip()}:{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return platform.node() or "unknown"


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # alive, and somebody else's
    return True


def _start_time(pid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return ""
    # The name in parentheses may hold anything; the start time is the 20th field behind it.
    return stat.rpartition(")")[2].split()[19]
