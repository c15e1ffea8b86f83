"""Ceilings for what a run may take, and what it took: sizes in bytes, times in seconds."""

from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar

KiB = 1024
MiB = 1024 * KiB

_STRICT: dict[str, Any] = {"extra": "forbid", "allow_inf_nan": False}


class LimitsFrom(StrEnum):
    """Who says how much CPU time a submission may take."""

    SUITE = "suite"
    """The label, its format, or `--set`."""
    REFERENCE = "reference"
    """What the problem's own solution was seen to take; see `grader.scoring.calibration`."""
    SETTINGS = "settings"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Ceilings for one process tree: a case, or a whole script or test module."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    cpu_time_s: float = 10.0
    """CPU time of the whole process tree; this decides "too slow"."""
    wall_time_s: float = 20.0
    """Backstop for sleepers and deadlocks; time spent waiting for a CPU does not count."""
    total_time_s: float = 300.0
    """Time on the clock of all runs of a submission together, counted like `wall_time_s`.

    Looked at between two runs: one that has begun has its own limits only.
    """
    memory_bytes: int = 512 * MiB
    output_bytes: int = 1 * MiB
    """Of standard output and of standard error, each; the rest is dropped and counted.

    Where a case expects an output that is longer than a quarter of it, four times as much.
    """
    processes: int = 64
    """Processes and threads alive at once."""
    work_bytes: int = 64 * MiB
    """Size of the private work area."""
    work_files: int = 4096
    """Files and folders in the private work area."""

    def override(self, overrides: "LimitOverrides") -> "Limits":
        """Return these limits with every value that `overrides` gives."""
        given = {
            f.name: value
            for f in fields(overrides)
            if (value := getattr(overrides, f.name)) is not None
        }
        return replace(self, **given)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitOverrides:
    """The limits that a label or a suite sets itself; `None` leaves the setting in force."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    cpu_time_s: float | None = None
    wall_time_s: float | None = None
    total_time_s: float | None = None
    memory_bytes: int | None = None
    output_bytes: int | None = None
    processes: int | None = None
    work_bytes: int | None = None
    work_files: int | None = None

    def __post_init__(self) -> None:
        """Refuse what is no limit, whoever has read it."""
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and not value > 0:
                message = f"limits.{field.name} must be above 0, but is {value!r}"
                raise ValueError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a run took."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    cpu_time_s: float | None = None
    wall_time_s: float | None = None
    peak_memory_bytes: int | None = None
    """Of the largest single process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationSettings:
    """How limits follow from what reference solutions took; see `grader.scoring.calibration`."""

    file: Path | None = None
    """None: the one beside `Settings.problems`, where that is there."""
    factor: float = 5.0
    floor_s: float = 2.0


CALIBRATION_DESCRIPTIONS = {
    "calibration.file": "file of the times that reference solutions took; default: the one beside "
    "the problems that `grader check --calibrate` wrote",
    "calibration.factor": "so many times what the reference took is the limit of CPU time",
    "calibration.floor_s": "seconds of CPU time that such a limit is never below",
}
"""The settings, with meaning and unit."""
