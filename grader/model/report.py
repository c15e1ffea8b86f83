"""What comes back for a submission: a report, with a result and evidence for each case.

Sizes are in bytes, times in seconds; `None` means "not measured". Everything is frozen;
collections are tuples.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from grader.model.limits import Limits, LimitsFrom, Usage
from grader.model.overrides import ExtractionRule
from grader.model.verdict import Integrity, LimitKind, Suspicion, Verdict

_STRICT: dict[str, Any] = {"extra": "forbid", "allow_inf_nan": False, "ser_json_bytes": "base64"}
_STRICT["val_json_bytes"] = "base64"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a person needs to see why a case got its verdict; `grader.evidence` bounds its texts.

    All of it is data: inputs and expectations are the label's, the rest the submission's. It is
    for people only, and nothing that scores or rewards reads it.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    input: str = ""
    """Standard input, the arguments as Python would write them, or the case's own source."""
    expected: str | None = None
    """None where the case itself says what it wants."""
    got: str | None = None
    """What the submission printed or returned; None where it was right, or gave nothing."""
    stdout: str = ""
    """What it printed, where that is not the answer."""
    stderr: str = ""
    traceback: str = ""
    """Of the exception that ended it, the submission's own lines."""
    cut: tuple[str, ...] = ()
    """Names of the texts above whose middle was left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """What became of one case."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    id: str
    verdict: Verdict
    feedback: str = ""
    """Short text that a person or a model can act on; what the submission printed is data in it."""
    usage: Usage | None = None
    """None where the case shared its process with others."""
    points: float = 1.0
    group: str | None = None
    share: float | None = None
    """Of the points, in (0, 1), where a program of the suite gave a part of them; else None."""
    evidence: Evidence | None = None
    """None where it was not run, or where other cases of the report took all the room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Under what a submission was graded: what else than its code decided."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    format: str
    """Of the label."""
    image: str
    """The sandbox image variant."""
    extraction: ExtractionRule
    """By which its code was looked for."""
    extraction_note: str
    """One sentence: what was taken of the completion, or why nothing was."""
    limits: Limits
    """In force for each run; in another language than Python, scaled by what that takes."""
    language: str = "python"
    """What the code is in."""
    limits_from: LimitsFrom = LimitsFrom.SETTINGS
    """Where the limit of CPU time comes from."""
    stop_early: bool = False
    """Whether the first case that did not pass ended the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeReport:
    """Everything learned about one submission."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    verdict: Verdict
    score: float
    """In [0, 1]."""
    reward: float
    """In [-1, 1] by every policy; that of answers and combinations is as set."""
    graded: bool
    """False only for an internal error, whose reward means nothing."""
    passed: int
    total: int
    cases: tuple[CaseResult, ...] = ()
    usage: Usage = field(default_factory=Usage)
    limit_hit: LimitKind | None = None
    integrity: Integrity | None = None
    """None where nothing ran."""
    suspicion: tuple[Suspicion, ...] = ()
    """Signs of an attack on the grader; they change no verdict."""
    feedback: str = ""
    code: str | None = None
    """What was extracted: the code that ran, without the suite's prelude, or a math answer."""
    sandbox: str | None = None
    """The backend that ran it, such as "docker"."""
    policy: str = "graded"
    conditions: Conditions | None = None
    """None where it did not get as far as being graded."""
    output: Evidence | None = None
    """What the one run printed whose process all cases shared: `stdout` and `stderr`."""
