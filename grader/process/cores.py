"""The number of cores that this process may use, by its affinity and the quota of its cgroups."""

import math
import os
from pathlib import Path


def usable_cores(
    proc_cgroup: Path = Path("/proc/self/cgroup"), cgroup_root: Path = Path("/sys/fs/cgroup")
) -> int:
    """Return the number of usable cores; at least 1, also with a quota of half a core.

    The paths are parameters so that tests can read recorded hierarchies.
    """
    # macOS knows no affinity.
    known = hasattr(os, "sched_getaffinity")
    affinity = len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1
    quota = _cgroup_quota(proc_cgroup, cgroup_root)
    return affinity if quota is None else max(1, min(affinity, math.ceil(quota)))


def _cgroup_quota(proc_cgroup: Path, root: Path) -> float | None:
    """Return the tightest CPU quota of this process's cgroups in cores; None without one."""
    try:
        memberships = proc_cgroup.read_text().splitlines()
    except OSError:
        return None
    quotas: list[float] = []
    for membership in memberships:
        _, controllers, path = membership.split(":", 2)
        if not controllers:
            quotas += _quotas_upwards(root, path, _quota_v2)
        elif "cpu" in controllers.split(","):
            quotas += _quotas_upwards(root / "cpu", path, _quota_v1)
    return min(quotas, default=None)


def _quotas_upwards(base: Path, path: str, read: "_QuotaReader") -> list[float]:
    # A quota also binds the cgroups below it. Inside a container, the host's path may not be
    # visible; then the mounted root is the container's own cgroup.
    folder = base / path.lstrip("/")
    folders = [f for f in (folder, *folder.parents) if f.is_relative_to(base)]
    return [quota for f in folders if (quota := read(f)) is not None]


class _QuotaReader:
    """Reads the quota of one cgroup folder, in cores; None if it has no quota."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def __call__(self, folder: Path) -> float | None:
        try:
            words = " ".join((folder / name).read_text() for name in self._names).split()
            quota, period = int(words[0]), int(words[1])
        except (OSError, ValueError, IndexError):
            # No such file, or "max": no quota.
            return None
        return quota / period if quota > 0 and period > 0 else None


_quota_v2 = _QuotaReader("cpu.max")
_quota_v1 = _QuotaReader("cpu.cfs_quota_us", "cpu.cfs_period_us")
