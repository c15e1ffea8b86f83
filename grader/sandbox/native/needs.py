"""What the native sandbox needs of the machine, and what to do if it is missing."""

import os
import sys
from pathlib import Path

_SWITCHES = {
    "kernel/unprivileged_userns_clone": ("0", "1"),
    "kernel/apparmor_restrict_unprivileged_userns": ("1", "0"),
    "user/max_user_namespaces": ("0", "15000"),
}
"""Under /proc/sys: the value that forbids user namespaces, and one that allows them."""

_CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv")

_CAP_SETGID, _CAP_SETUID, _CAP_SETPCAP, _CAP_SYS_ADMIN = 6, 7, 8, 21
_ROOT_POWER = 1 << _CAP_SETGID | 1 << _CAP_SETUID | 1 << _CAP_SETPCAP | 1 << _CAP_SYS_ADMIN


def obstacle(switches: Path = Path("/proc/sys")) -> str | None:
    """Return why no jail can be built here, with the remedy; None if no reason is known."""
    if sys.platform != "linux":
        return f"the native sandbox needs Linux, this is {sys.platform}; use the docker sandbox"
    for name, (forbids, allows) in _SWITCHES.items():
        try:
            value = (switches / name).read_text().strip()
        except OSError:
            continue  # this kernel has no such switch
        if value == forbids:
            setting = name.replace("/", ".")
            return (
                f"this system forbids user namespaces ({setting} = {value}); "
                f"as root: sysctl -w {setting}={allows}"
            )
    return None


def advice(root: Path = Path("/")) -> str:
    """Return what may help if a jail did not start, as the rest of a sentence."""
    if any((root / mark.lstrip("/")).exists() for mark in _CONTAINER_MARKS):
        return (
            "; inside a container, jails need: docker run --security-opt seccomp=unconfined "
            "--security-opt apparmor=unconfined --security-opt systempaths=unconfined"
        )
    return ""


def has_root_power() -> bool:
    """Tell whether this process may build jails without a user namespace."""
    if os.geteuid() != 0:
        return False
    lines = Path("/proc/self/status").read_text().splitlines()
    effective = next(line for line in lines if line.startswith("CapEff:"))
    return int(effective.split()[1], 16) & _ROOT_POWER == _ROOT_POWER
