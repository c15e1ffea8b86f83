"""The records that travel through the grader, from a label to a report, with their limits.

Sizes are in bytes, times in seconds; `None` means "not measured" in a measurement and
"not given" in an override. Everything is frozen; collections are tuples.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from grader.model.limits import LimitOverrides
from grader.model.overrides import AS_SET, ExtractionRule, GradingRules

_STRICT: dict[str, Any] = {"extra": "forbid", "allow_inf_nan": False, "ser_json_bytes": "base64"}
_STRICT["val_json_bytes"] = "base64"


# ---------------------------------------------------------------- tests


class Comparator(StrEnum):
    """How an output is held against the expected one."""

    EXACT = "exact"
    """Text: byte for byte. Values: `==` on plain data."""
    LINES = "lines"
    """Text: equal after blanks at line ends and at the end of the text are dropped."""
    TOKENS = "tokens"
    """Text: equal sequences of whitespace-separated tokens."""
    FLOATS = "floats"
    """Text: token by token, values: at any depth; numbers are equal within a tolerance."""
    DECIMALS = "decimals"
    """Text: line by line; a line of decimal numbers by their values. LiveCodeBench's rule."""
    ALLCLOSE = "allclose"
    """Values: `==`; else as numpy.allclose has it, if `abs_tol` is not 0 or floats are expected.
    EvalPlus's rule."""
    UNORDERED = "unordered"
    """Text: the same lines in any order. Values: the same items in any order, at the top level."""
    SET = "set"
    """Text: as `EXACT`. Values: `set(got) == set(expected)`. A rule of EvalPlus for some tasks."""
    FOUND = "found"
    """Text: as `EXACT`. Values: both are None or false, or neither; EvalPlus's, for some tasks.
    What is no bool is true unless it is None."""
    CHECKER = "checker"
    """A program of the suite decides; see `Checker`."""


class CheckerKind(StrEnum):
    """How a checker or interactor takes its arguments and tells its result."""

    TESTLIB = "testlib"
    """Called with the paths of input, output and answer; exit code 0 accepts, 1 and 2 refuse,
    7 gives the share of the points that it writes to standard error as `points SHARE`."""
    FUNCTION = "function"
    """Defines `check(input, output, answer)`, or `interact(input, answer)`, which returns whether
    all is right, or the share of the points in [0, 1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checker:
    """A Python program of the suite that decides whether an output is right."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    source: str
    kind: CheckerKind = CheckerKind.FUNCTION


@dataclass(frozen=True, slots=True, kw_only=True)
class Interactor:
    """A Python program of the suite that talks to the submission and decides whether it is right.

    What it prints is what the submission reads, and the other way round.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    source: str
    kind: CheckerKind = CheckerKind.FUNCTION


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A comparator with its parameters."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    comparator: Comparator = Comparator.EXACT
    abs_tol: float = 1e-6
    rel_tol: float = 1e-6
    abs_tol_share: float | None = None
    """At most what share of the expected number `abs_tol` covers, so that 0 is not 9e-7."""
    nan_equal: bool = False
    """Values: whether NaN equals NaN."""
    tuples_as_lists: bool = False
    """Values: whether a tuple equals a list of the same items; JSON knows no tuples."""
    checker: Checker | None = None
    """Only, and always, with `Comparator.CHECKER`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StdinCase:
    """One input on standard input and the output that is expected for it."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    id: str
    stdin: str
    expected: str
    points: float = 1.0
    group: str | None = None
    """Cases of one group earn their points together or not at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCase:
    """One call of the entry point, and the value that it must return."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {**_STRICT, "allow_inf_nan": True}

    id: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    expected: Any = None
    alternatives: tuple[Any, ...] = ()
    """Other values that are as right as `expected`."""
    points: float = 1.0
    group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptCase:
    """Statements over the submission's names; no exception means passed."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    id: str
    source: str
    points: float = 1.0
    group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteFile:
    """A file that the suite brings: a test module, a helper, data. Never the submission's."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    path: str
    """Relative, with forward slashes, without "..", and never the submission's own path."""
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class StdinTests:
    """Run the submission as a program, once per case, and compare what it prints."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    cases: tuple[StdinCase, ...]
    comparison: Comparison = Comparison(comparator=Comparator.LINES)


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractiveTests:
    """Run the submission as a program that talks to the suite's interactor, once per case."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    cases: tuple[StdinCase, ...]
    """`stdin` and `expected` are the interactor's alone."""
    interactor: Interactor


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTests:
    """Call one function or method of the submission, each time in a fresh process or in one."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    entry_point: str
    """A name, or `Class.method` for a method of a new instance made without arguments.

    A plain name that the submission does not define may be a method of its class `Solution`:
    labels that give only a `fn_name` do not say which.
    """
    cases: tuple[CallCase, ...]
    comparison: Comparison = Comparison()
    in_one_run: bool = False
    """Whether one process makes all calls, in order, as where a harness of record has a loop."""
    asks_reference: bool = False
    """Whether each case expects what the suite's reference returns, and not its `expected`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptTests:
    """Assertions over the submission's namespace: assert lines, `check(candidate)`."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    cases: tuple[ScriptCase, ...]
    setup: str = ""
    """Source that runs once after the submission's code and before the first case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestTests:
    """Modules of pytest or unittest tests that import the submission."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    files: tuple[SuiteFile, ...]
    test_paths: tuple[str, ...]
    """Which of `files` are collected."""
    solution_path: str = "solution.py"
    """Where the submission's code is put."""
    pytest_args: tuple[str, ...] = ()
    """More command-line arguments, such as an option that the suite's conftest defines."""


Tests = StdinTests | InteractiveTests | CallTests | ScriptTests | PytestTests


@dataclass(frozen=True, slots=True, kw_only=True)
class TestSuite:
    """How to test one problem, whatever format it came in."""

    __test__: ClassVar[bool] = False  # pytest must not take this class for a test
    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    tests: Tests
    format: str
    """The name of the label format that it was read from."""
    problem_id: str | None = None
    prompt: str = ""
    """The problem's own text; where `continues_prompt`, code that a completion continues."""
    continues_prompt: bool = False
    """Whether a completion may be the mere continuation of `prompt` (HumanEval)."""
    entry_point: str | None = None
    """The function or class that the tests use, for extraction."""
    prelude: str = ""
    """Source put before the submission's code, such as imports that its harness of record gives."""
    extraction: ExtractionRule = ExtractionRule.AUTO
    limits: LimitOverrides = field(default_factory=LimitOverrides)
    image: str = "python"
    """The sandbox image variant that the tests need, such as "python" or "science"."""
    language: str = "python"
    """What submissions are written in; "any" for what their code blocks say. Other languages than
    Python are for programs that read standard input; see `grader.languages`."""
    reference: str | None = None
    """A solution that should pass, as complete code. Required if the tests ask it."""


# ---------------------------------------------------------------- a submission and its report


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A completion with the tests that judge it."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    id: str
    completion: str
    """Raw model output, or a whole query that starts with `prompt`."""
    suite: TestSuite
    prompt: str = ""
    """The text that the model was given; cut off the completion where it is a true prefix."""
    rules: GradingRules = AS_SET
