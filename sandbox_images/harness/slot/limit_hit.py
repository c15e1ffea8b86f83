"""Which limit counts, where a run has gone beyond several."""

from collections.abc import Mapping
from typing import Any


def limit_of(
    stopped_by: str | None, *, dropped_bytes: int, cpu_time_s: float, limits: Mapping[str, Any]
) -> str | None:
    """Return the limit that a run hit, by all that is known of it once it has ended.

    Args:
        stopped_by: The limit for which it was ended; None where it ended by itself.
        dropped_bytes: What it printed beyond its limits.
        cpu_time_s: What it took in all.
        limits: The fields of grader.model.Limits.
    """
    if dropped_bytes and stopped_by != "memory":
        return "output"  # whatever limit ended the run, this one it had passed before
    if stopped_by is None and cpu_time_s > limits["cpu_time_s"]:
        return "cpu_time"
    return stopped_by
