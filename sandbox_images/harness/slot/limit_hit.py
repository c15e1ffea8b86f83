"""Which limit counts if a run has exceeded several."""

from collections.abc import Mapping
from typing import Any


def limit_of(
    stopped_by: str | None, *, dropped_bytes: int, cpu_time_s: float, limits: Mapping[str, Any]
) -> str | None:
    """Return the limit that a finished run hit; None if it hit none.

    Args:
        stopped_by: The limit that it was stopped for; None if it ended by itself.
        dropped_bytes: What it printed beyond the output limit.
        cpu_time_s: The CPU time of all of its processes.
        limits: The fields of grader.model.Limits.
    """
    if dropped_bytes and stopped_by != "memory":
        return "output"  # the run exceeded this limit before the one that ended it
    if stopped_by is None and cpu_time_s > limits["cpu_time_s"]:
        return "cpu_time"
    return stopped_by
