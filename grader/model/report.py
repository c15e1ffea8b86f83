"""The report of a submission, with a result and evidence for each case.

Sizes are in bytes, times in seconds; `None` means "not measured". Everything is frozen;
collections are tuples.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from grader.model.limits import STRICT, Limits, LimitsFrom, Usage
from grader.model.overrides import ExtractionRule
from grader.model.verdict import Integrity, LimitKind, Suspicion, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Shows a person why a case got its verdict; `grader.judging.evidence` bounds the texts.

    Inputs and expected values come from the label, the rest from the submission. All of it is
    untrusted data, and no score or reward depends on it.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    input: str = ""
    """Standard input, the arguments as Python source, or the source of the case."""
    expected: str | None = None
    """None if the source of the case says what it expects."""
    got: str | None = None
    """What the submission printed or returned; None if that was right, or if there was none."""
    stdout: str = ""
    """What it printed, if `got` is not that."""
    stderr: str = ""
    traceback: str = ""
    """Of the exception that ended the case, with the submission's own lines only."""
    cut: tuple[str, ...] = ()
    """Names of the fields above whose middle was left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """The result of one case."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    id: str
    verdict: Verdict
    feedback: str = ""
    """A short text for a person or a model. It may quote what the submission printed."""
    usage: Usage | None = None
    """None if the case shared its process with others."""
    points: float = 1.0
    group: str | None = None
    share: float | None = None
    """The share of the points, in (0, 1), if a checker or interactor gave a part of them."""
    evidence: Evidence | None = None
    """None if the case did not run, or if the evidence of other cases used up the bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """The conditions under which a submission was graded."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    format: str
    """The format of the label."""
    image: str
    """The sandbox image variant."""
    extraction: ExtractionRule
    """The rule that found its code."""
    extraction_note: str
    """One sentence: which part of the completion was taken, or why none was."""
    limits: Limits
    """In force for each run; scaled by a factor if the language is not Python."""
    language: str = "python"
    """The language of the code."""
    limits_from: LimitsFrom = LimitsFrom.SETTINGS
    """What set the limit of CPU time."""
    stop_early: bool = False
    """Whether the run ended at the first case that did not pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeReport:
    """The report of one submission."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    verdict: Verdict
    score: float
    """In [0, 1]."""
    reward: float
    """In [-1, 1] by every built-in policy for code. A policy of the user's own defines it, and the
    settings define that of answers and combinations."""
    graded: bool
    """False only for an internal error. Its reward has no meaning."""
    passed: int
    total: int
    cases: tuple[CaseResult, ...] = ()
    usage: Usage = field(default_factory=Usage)
    limit_hit: LimitKind | None = None
    integrity: Integrity | None = None
    """None if nothing ran."""
    suspicion: tuple[Suspicion, ...] = ()
    """Signs of an attack on the grader. They do not change the verdict."""
    feedback: str = ""
    code: str | None = None
    """The extracted code, without the suite's prelude, or the extracted math answer."""
    sandbox: str | None = None
    """The backend that ran it, such as "docker". It ends in "-reduced" if the kernel gives it less
    than usual to isolate or limit submissions.
    """
    policy: str = "graded"
    conditions: Conditions | None = None
    """None if grading failed before they were known."""
    output: Evidence | None = None
    """If all cases shared one process: its `stdout` and `stderr`."""
