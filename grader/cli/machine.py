"""Check what this machine offers to sandboxes, and leave it as it was."""

import os
import platform
import sys
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import packages_distributions
from pathlib import Path

from grader.model import MiB
from grader.process.cores import usable_cores
from grader.sandbox.native import needs

_DISTRIBUTION = "grader-rl"
_PACKAGES = ("grader", "sandbox_images")
"""What the distribution installs. On the public index, another project has a package `grader`,
too."""


class DiagnosticStatus(StrEnum):
    """The result of a check."""

    OK = "ok"
    WARNING = "warning"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """The result of one check, in words."""

    name: str
    health: DiagnosticStatus = DiagnosticStatus.OK
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
        return Diagnostic(name=name, state=state)
    return Diagnostic(
        name=name,
        health=DiagnosticStatus.WARNING,
        state=f"{', '.join(others)} installed files into {' or '.join(_PACKAGES)}, too",
        remedy=f"pip uninstall {' '.join(others)} {_DISTRIBUTION}, then install the latter again",
    )


def _kernel() -> Diagnostic:
    state = f"{platform.system()} {platform.release()}, {platform.machine()}"
    if sys.platform == "linux":
        return Diagnostic(name="kernel", state=state)
    remedy = "the native sandbox needs Linux; use --sandbox docker"
    return Diagnostic(name="kernel", health=DiagnosticStatus.WARNING, state=state, remedy=remedy)


def _cores() -> Diagnostic:
    total = os.cpu_count() or 1
    state = f"{usable_cores()} of {total} usable; as many slots by default"
    return Diagnostic(name="cores", state=state)


def _memory() -> Diagnostic:
    available = _meminfo("MemAvailable:")
    if available is None:
        return Diagnostic(
            name="memory", health=DiagnosticStatus.WARNING, state="unknown: no /proc/meminfo"
        )
    slots = usable_cores()
    state = f"{available // MiB:,} MiB available, {available // MiB // slots:,} MiB per slot"
    if available // slots >= 512 * MiB:
        return Diagnostic(name="memory", state=state)
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
    problem = _problem_of_namespaces()
    if problem == 0:
        return Diagnostic(name=name, state="allowed, with pid and mount namespaces")
    return Diagnostic(
        name=name,
        health=DiagnosticStatus.MISSING,
        state=f"refused: {os.strerror(problem)}",
        remedy=needs.obstacle()
        or "inside a container, allow unshare and clone in its seccomp profile",
    )


def _problem_of_namespaces() -> int:
    """Try to make namespaces in a process of its own; return the error number, or 0."""
    from sandbox_images.harness.kernel import namespaces

    child = os.fork()
    if child == 0:
        try:
            namespaces.unshare(
                namespaces.CLONE_NEWUSER | namespaces.CLONE_NEWNS | namespaces.CLONE_NEWPID
            )
            os._exit(0)
        except OSError as error:
            os._exit(error.errno or 255)
        finally:
            os._exit(255)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _cgroups() -> Diagnostic:
    from grader.sandbox.native.cgroups import find_home

    home = find_home()
    if isinstance(home, str):
        return Diagnostic(
            name="cgroups",
            health=DiagnosticStatus.WARNING,
            state=home,
            remedy="native limits on memory and CPU time are advisory; run as root, or in a "
            "delegated cgroup: systemd-run --user --scope -p Delegate=yes grader ...",
        )
    home.close()
    return Diagnostic(name="cgroups", state=f"version {home.version}, writable")


def _seccomp() -> Diagnostic:
    lines = Path("/proc/self/status").read_text().splitlines()
    mode = next((line.split()[1] for line in lines if line.startswith("Seccomp:")), None)
    if mode is None:
        remedy = "a kernel with CONFIG_SECCOMP_FILTER"
        return Diagnostic(
            name="seccomp", health=DiagnosticStatus.MISSING, state="missing", remedy=remedy
        )
    state = "filters available" + ("; this process is under one already" if mode == "2" else "")
    return Diagnostic(name="seccomp", state=state)
