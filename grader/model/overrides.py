"""What whoever sends a submission may decide about how it is graded."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from grader.model.verdict import Integrity


class ExtractionRule(StrEnum):
    """Which part of a completion is the submission's code."""

    AUTO = "auto"
    """The last complete block that parses and defines the entry point; docs/extraction.md."""
    FIRST_BLOCK = "first_block"
    LAST_BLOCK = "last_block"
    LIVECODEBENCH = "livecodebench"
    """The text between the last two lines that contain three backticks."""
    VERBATIM = "verbatim"
    """The completion is code as it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradingRules:
    """What whoever sends a submission may decide about it, instead of whoever grades it."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    policy: str | None = None
    """None, here and below: as the grader is set."""
    extraction: ExtractionRule | None = None
    stop_early: bool | None = None
    require_integrity: Integrity | None = None


AS_SET = GradingRules()
"""Nothing is decided by the sender."""
