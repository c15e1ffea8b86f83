"""Limits of a run, and its measured usage. Sizes are in bytes, times in seconds."""

from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Annotated, Any, ClassVar

from grader.model.errors import ConfigurationError
from grader.model.setting import Setting, declared

KiB = 1024
MiB = 1024 * KiB

LEAST_TIME_S = 0.01
LEAST_MEMORY_BYTES = MiB
"""No program starts with less: whatever is below was meant in another unit."""
_MOST = 2**50
"""Of seconds, bytes or processes. Kernels refuse some larger numbers."""

STRICT: dict[str, Any] = {"extra": "forbid", "allow_inf_nan": False}
"""The pydantic configuration of every record."""


class LimitsFrom(StrEnum):
    """What set the limit of CPU time."""

    SUITE = "suite"
    """The label, its format, or `--set`."""
    REFERENCE = "reference"
    """The measured time of the problem's own solution; see `grader.scoring.calibration`."""
    SETTINGS = "settings"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one run: a case, or a whole script or test module."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    cpu_time_s: Annotated[
        float,
        Setting(
            "seconds of CPU time of a case, its child processes included",
            least=LEAST_TIME_S,
            most=_MOST,
        ),
    ] = 10.0
    """Decides whether a submission is too slow."""
    wall_time_s: Annotated[
        float,
        Setting(
            "seconds on the clock; a backstop for sleepers and deadlocks",
            least=LEAST_TIME_S,
            most=_MOST,
        ),
    ] = 20.0
    """Time spent waiting for a CPU does not count, but ten times the limit is the end."""
    total_time_s: Annotated[
        float,
        Setting(
            "seconds on the clock of all cases of a submission together, if each has a process "
            "of its own",
            least=LEAST_TIME_S,
            most=_MOST,
        ),
    ] = 300.0
    """Counted like `wall_time_s`, and checked between two runs: a run that has begun is bound by
    its own limits only.
    """
    memory_bytes: Annotated[
        int,
        Setting(
            "bytes of memory of all processes of a case together",
            least=LEAST_MEMORY_BYTES,
            most=_MOST,
        ),
    ] = 512 * MiB
    output_bytes: Annotated[
        int,
        Setting(
            "bytes kept of standard output and of standard error, each; four times the longest "
            "expected output, if that is more",
            least=1,
            most=_MOST,
        ),
    ] = 1 * MiB
    """The rest is dropped and counted."""
    processes: Annotated[
        int, Setting("processes and threads alive at once", least=1, most=_MOST)
    ] = 64
    work_bytes: Annotated[
        int, Setting("bytes that fit into the private work area", least=1, most=_MOST)
    ] = 64 * MiB
    work_files: Annotated[
        int, Setting("files and folders that fit into the private work area", least=1, most=_MOST)
    ] = 4096

    def override(self, overrides: "LimitOverrides") -> "Limits":
        """Return these limits with every value that `overrides` gives."""
        return replace(self, **_given(overrides))


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitOverrides:
    """The limits that a label or suite sets itself; None keeps the value of the settings."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    cpu_time_s: float | None = None
    wall_time_s: float | None = None
    total_time_s: float | None = None
    memory_bytes: int | None = None
    output_bytes: int | None = None
    processes: int | None = None
    work_bytes: int | None = None
    work_files: int | None = None

    def __post_init__(self) -> None:
        """Refuse what `Limits` would refuse as a setting."""
        for name, _, setting in declared(Limits):
            try:
                setting.check(f"limits.{name}", getattr(self, name))
            except ConfigurationError as error:
                raise ValueError(str(error)) from error

    def override(self, overrides: "LimitOverrides") -> "LimitOverrides":
        """Return these limits with every value that `overrides` gives."""
        return replace(self, **_given(overrides))


def _given(overrides: LimitOverrides) -> dict[str, Any]:
    values = ((field.name, getattr(overrides, field.name)) for field in fields(overrides))
    return {name: value for name, value in values if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a run used. None: not measured."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    cpu_time_s: float | None = None
    wall_time_s: float | None = None
    peak_memory_bytes: int | None = None
    """Of the largest single process."""
