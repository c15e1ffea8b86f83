"""Check what this machine offers to sandboxes, without changing anything."""

import ctypes
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import packages_distributions
from pathlib import Path

from grader.model import MiB
from grader.process.cores import usable_cores

_DISTRIBUTION = "grader-rl"
_PACKAGES = ("grader", "sandbox_images")
"""What it installs. The index has an unrelated project with a package `grader`."""

_ADVISORY = "native limits on memory and CPU time are advisory"
_CLONE_NEWNS = 0x00020000
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWPID = 0x20000000


class DiagnosticStatus(StrEnum):
    """The result of a check."""

    OK = "ok"
    WARNING = "warning"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """The result of one check, in words."""

    name: str
    health: DiagnosticStatus
    state: str
    remedy: str = ""
    """What to do about a problem; empty if there is nothing to do."""


def examine() -> list[Diagnostic]:
    """Check the machine itself, apart from any backend."""
    diagnostics = [_python(), find_packages(), _kernel(), _cores(), _memory()]
    if sys.platform == "linux":
        diagnostics += [_namespaces(), _cgroups(), _seccomp()]
    return diagnostics


def _python() -> Diagnostic:
    return Diagnostic(
        name="Python",
        health=DiagnosticStatus.OK,
        state=f"{platform.python_version()} at {sys.executable}",
    )


def find_packages() -> Diagnostic:
    """Check whether another project has installed files into a package of ours."""
    name = "packages"
    known = packages_distributions()
    owners = {owner for package in _PACKAGES for owner in known.get(package, ())}
    others = sorted(owners - {_DISTRIBUTION})
    if not others:
        state = f"{' and '.join(_PACKAGES)} are ours alone"
        return Diagnostic(name=name, health=DiagnosticStatus.OK, state=state)
    return Diagnostic(
        name=name,
        health=DiagnosticStatus.WARNING,
        state=f"{', '.join(others)} installed files into {' or '.join(_PACKAGES)}, too",
        remedy=f"pip uninstall {' '.join(others)} {_DISTRIBUTION}, then install the latter again",
    )


def _kernel() -> Diagnostic:
    state = f"{platform.system()} {platform.release()}, {platform.machine()}"
    if sys.platform == "linux":
        return Diagnostic(name="kernel", health=DiagnosticStatus.OK, state=state)
    remedy = "the native sandbox needs Linux; use --sandbox docker"
    return Diagnostic(name="kernel", health=DiagnosticStatus.WARNING, state=state, remedy=remedy)


def _cores() -> Diagnostic:
    total = os.cpu_count() or 1
    state = f"{usable_cores()} of {total} usable; as many slots by default"
    return Diagnostic(name="cores", health=DiagnosticStatus.OK, state=state)


def _memory() -> Diagnostic:
    available = _meminfo("MemAvailable:")
    if available is None:
        return Diagnostic(
            name="memory", health=DiagnosticStatus.WARNING, state="unknown: no /proc/meminfo"
        )
    slots = usable_cores()
    state = f"{available // MiB:,} MiB available, {available // MiB // slots:,} MiB per slot"
    if available // slots >= 512 * MiB:
        return Diagnostic(name="memory", health=DiagnosticStatus.OK, state=state)
    remedy = "less than the default limit of a submission: use fewer --slots"
    return Diagnostic(name="memory", health=DiagnosticStatus.WARNING, state=state, remedy=remedy)


def _meminfo(field: str) -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field)), None)


def _namespaces() -> Diagnostic:
    name = "user namespaces"
    problem = _in_child(lambda: _unshare(_CLONE_NEWUSER | _CLONE_NEWNS | _CLONE_NEWPID))
    if problem == 0:
        state = "allowed, with pid and mount namespaces"
        return Diagnostic(name=name, health=DiagnosticStatus.OK, state=state)
    return Diagnostic(
        name=name,
        health=DiagnosticStatus.MISSING,
        state=f"refused: {os.strerror(problem)}",
        remedy=_namespace_remedy(),
    )


def _namespace_remedy() -> str:
    switches = {
        "kernel/unprivileged_userns_clone": "1",
        "kernel/apparmor_restrict_unprivileged_userns": "0",
        "user/max_user_namespaces": "15000",
    }
    for switch, wanted in switches.items():
        try:
            value = Path("/proc/sys", switch).read_text().strip()
        except OSError:
            continue
        if (value == "0") == (wanted != "0"):
            return f"as root: sysctl -w {switch.replace('/', '.')}={wanted}"
    return "inside a container, allow unshare and clone in its seccomp profile"


def _unshare(flags: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    return ctypes.get_errno() if libc.unshare(flags) else 0


def _in_child(attempt: Callable[[], int]) -> int:
    """Return the error number that `attempt` returns in a process of its own; 0: no error."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(attempt())
        finally:
            os._exit(255)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _cgroups() -> Diagnostic:
    root = Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        version, folder = 2, _own_cgroup("")
    elif (root / "memory").is_dir():
        version, folder = 1, _own_cgroup("memory")
    else:
        remedy = f"mount them; without cgroups, {_ADVISORY}"
        return Diagnostic(
            name="cgroups", health=DiagnosticStatus.WARNING, state="none", remedy=remedy
        )
    if folder is not None and os.access(folder, os.W_OK) and _is_mounted_writable(folder):
        return Diagnostic(
            name="cgroups", health=DiagnosticStatus.OK, state=f"version {version}, writable"
        )
    return Diagnostic(
        name="cgroups",
        health=DiagnosticStatus.WARNING,
        state=f"version {version}, not writable",
        remedy=f"{_ADVISORY}; run as root, or in a delegated cgroup: "
        "systemd-run --user --scope -p Delegate=yes grader ...",
    )


def _own_cgroup(controller: str) -> Path | None:
    """Return the folder of this process's cgroup for a controller of version 1; "": version 2."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            folder = Path("/sys/fs/cgroup", controller, path.lstrip("/"))
            return folder if folder.is_dir() else Path("/sys/fs/cgroup", controller)
    return None


def _is_mounted_writable(folder: Path) -> bool:
    return not os.statvfs(folder).f_flag & os.ST_RDONLY


def _seccomp() -> Diagnostic:
    lines = Path("/proc/self/status").read_text().splitlines()
    mode = next((line.split()[1] for line in lines if line.startswith("Seccomp:")), None)
    if mode is None:
        remedy = "a kernel with CONFIG_SECCOMP_FILTER"
        return Diagnostic(
            name="seccomp", health=DiagnosticStatus.MISSING, state="missing", remedy=remedy
        )
    state = "filters available" + ("; this process is under one already" if mode == "2" else "")
    return Diagnostic(name="seccomp", health=DiagnosticStatus.OK, state=state)
