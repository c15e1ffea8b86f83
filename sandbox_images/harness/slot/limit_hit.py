"""Which limits a run has exceeded, and which of them counts."""

from collections.abc import Callable, Mapping
from typing import Any

from sandbox_images.harness.kernel.cgroup import CgroupReader
from sandbox_images.harness.slot.zygotes import SlotBroken

_MOST_WAITING = 10
"""A run ends after this many times its wall time limit, however long it waited for a CPU."""


def is_late(age_s: float, *, waited_s: float, limits: Mapping[str, Any]) -> bool:
    """Tell whether a run has exceeded its wall time limit.

    Waiting for a CPU does not count, so that a program gets the same verdict on a busy machine. But
    no run may hold its slot for ever: a program can arrange to wait.

    Args:
        age_s: Seconds on the clock since its start.
        waited_s: How many of them do not count.
        limits: The fields of grader.model.Limits.
    """
    limit_s: float = limits["wall_time_s"]
    return age_s - waited_s > limit_s or age_s > _MOST_WAITING * limit_s


def limit_of(
    stopped_by: str | None,
    *,
    dropped_bytes: int,
    cpu_time_s: float,
    memory_bytes: int = 0,
    limits: Mapping[str, Any],
) -> str | None:
    """Return the limit that a finished run hit; None if it hit none.

    Args:
        stopped_by: The limit that it was stopped for; None if it ended by itself.
        dropped_bytes: What it printed beyond the output limit.
        cpu_time_s: The CPU time of all of its processes.
        memory_bytes: What its largest process certainly had, if that is known.
        limits: The fields of grader.model.Limits.
    """
    if dropped_bytes and stopped_by != "memory":
        return "output"  # the run exceeded this limit before the one that ended it
    if stopped_by is None and memory_bytes > limits["memory_bytes"]:
        return "memory"
    if stopped_by is None and cpu_time_s > limits["cpu_time_s"]:
        return "cpu_time"
    return stopped_by


class OomKills:
    """What the kernel has killed in the slot for want of memory."""

    def __init__(self, cgroup: CgroupReader | None) -> None:
        """Begin to count. Without a `cgroup`, nothing counts."""
        self._cgroup = cgroup
        self._seen = 0 if cgroup is None else cgroup.oom_kills()
        """How many there were when a run was last asked about."""

    def require_none_between_runs(self) -> None:
        """Make sure that the kernel has killed nothing since the last run ended.

        It may have killed a process of the harness that the next run needs, such as a judge that
        waits. A process is counted before it ends, so the run could begin in spite of that.

        Raises:
            SlotBroken: It has.
        """
        if self._cgroup is not None and self._cgroup.oom_kills() != self._seen:
            raise SlotBroken("the machine ran out of memory between two runs")

    def alarm(self) -> Callable[[], bool]:
        """Return a function that tells whether the kernel has killed since now.

        It raises SlotBroken if the slot still had memory left. Then the machine has too little, or
        another cgroup above the slot's, which is not the submission's fault.
        """
        cgroup = self._cgroup
        if cgroup is None:
            return lambda: False
        kills, hits = cgroup.oom_kills(), cgroup.limit_hits()

        def happened() -> bool:
            self._seen = cgroup.oom_kills()
            if self._seen == kills:
                return False
            if cgroup.limit_hits() == hits:
                raise SlotBroken("the machine has run out of memory, but the slot has not")
            return True

        return happened
