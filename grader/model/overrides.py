"""Settings that a submission may override."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from grader.model.verdict import Integrity


class ExtractionRule(StrEnum):
    """Which part of a completion is the submission's code."""

    AUTO = "auto"
    """The last complete block that parses and defines the entry point; see docs/extraction.md."""
    FIRST_BLOCK = "first_block"
    LAST_BLOCK = "last_block"
    LIVECODEBENCH = "livecodebench"
    """The text between the last two lines that contain three backticks."""
    VERBATIM = "verbatim"
    """The whole completion."""
    PREDICTED_OUTPUT = "predicted_output"
    """A program that returns the value which the answer predicts; see docs/extraction.md."""
    PREDICTED_INPUT = "predicted_input"
    """The same with the call for which the answer predicts a given value."""

    @property
    def is_task(self) -> bool:
        """Whether it belongs to the task that the model was given, so no setting replaces it."""
        return self in (ExtractionRule.PREDICTED_OUTPUT, ExtractionRule.PREDICTED_INPUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class GradingRules:
    """The settings that one submission overrides; None keeps the grader's own setting."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    policy: str | None = None
    extraction: ExtractionRule | None = None
    stop_early: bool | None = None
    require_integrity: Integrity | None = None


AS_SET = GradingRules()
"""Overrides nothing."""
