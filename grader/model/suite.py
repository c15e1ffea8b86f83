"""A submission with its suite, and the kinds of tests that a suite can hold.

Sizes are in bytes, times in seconds; `None` means "not measured" in a measurement and
"not given" in an override. Everything is frozen; collections are tuples.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from grader.model.limits import STRICT, LimitOverrides
from grader.model.overrides import AS_SET, ExtractionRule, GradingRules

_STRICT = {**STRICT, "ser_json_bytes": "base64", "val_json_bytes": "base64"}


# ---------------------------------------------------------------- tests


class Comparator(StrEnum):
    """How an output or value is compared with the expected one."""

    EXACT = "exact"
    """Text: byte for byte. Values: `==` on plain data."""
    LINES = "lines"
    """Text: equal after blanks at line ends and at the end of the text are dropped."""
    TOKENS = "tokens"
    """Text: equal sequences of whitespace-separated tokens."""
    FLOATS = "floats"
    """Numbers are equal within a tolerance. Text: token by token. Values: at any depth."""
    DECIMALS = "decimals"
    """Text: line by line; decimal numbers are compared by value. LiveCodeBench's rule."""
    ALLCLOSE = "allclose"
    """Values: `==`, or as numpy.allclose if `abs_tol` is not 0 or floats are expected. EvalPlus's
    rule."""
    UNORDERED = "unordered"
    """Text: the same lines in any order. Values: the same items in any order, at the top level."""
    SET = "set"
    """Text: as `EXACT`. Values: `set(got) == set(expected)`. EvalPlus's rule for some
    tasks."""
    FOUND = "found"
    """Text: as `EXACT`. Values: both are found, or neither is; None and False count as not found.
    EvalPlus's rule for some tasks."""
    CHECKER = "checker"
    """A program of the suite decides; see `Checker`."""


class CheckerKind(StrEnum):
    """How a checker or interactor gets its arguments and returns its result."""

    TESTLIB = "testlib"
    """Called with the paths of input, output and answer; exit code 0 accepts, 1 and 2 reject,
    7 gives the share of the points that it writes to standard error as `points SHARE`."""
    FUNCTION = "function"
    """Defines `check(input, output, answer)`, or `interact(input, answer)`, which returns whether
    the output is right, or the share of the points in [0, 1]. Python only."""
    ICPC = "icpc"
    """Called with the paths of input and answer and of a folder for messages; a checker reads the
    output on standard input. Exit code 42 accepts, 43 rejects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteFile:
    """A file of the suite: a test module, a helper or data."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    path: str
    """Relative, with forward slashes, without "..", and not the path of the submission."""
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Checker:
    """A program of the suite that decides whether an output is right."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    source: str
    kind: CheckerKind = CheckerKind.FUNCTION
    language: str = "python"
    """A name of `grader.languages`, or "python"."""
    files: tuple[SuiteFile, ...] = ()
    """Put beside the source if it is compiled, such as headers."""
    arguments: tuple[str, ...] = ()
    """Further arguments of the program, after those of its kind. Not for functions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interactor(Checker):
    """A program of the suite that talks to the submission and decides whether it is right.

    Each of the two reads what the other prints.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A comparator with its parameters."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    comparator: Comparator = Comparator.EXACT
    abs_tol: float = 1e-6
    rel_tol: float = 1e-6
    abs_tol_share: float | None = None
    """`abs_tol` is at most this share of the expected number, so that 0 does not equal 9e-7."""
    nan_equal: bool = False
    """Values: whether NaN equals NaN."""
    tuples_as_lists: bool = False
    """Values: whether a tuple equals a list of the same items, since JSON has no tuples."""
    checker: Checker | None = None
    """Given if and only if the comparator is `Comparator.CHECKER`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StdinCase:
    """Standard input, and the output that is expected for it."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    id: str
    stdin: str
    expected: str
    points: float = 1.0
    group: str | None = None
    """Each case of a group earns the share of its points that the worst of them earned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCase:
    """One call of the entry point, and the value that it must return."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {**_STRICT, "allow_inf_nan": True}

    id: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    expected: Any = None
    alternatives: tuple[Any, ...] = ()
    """Other right values."""
    points: float = 1.0
    group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptCase:
    """Statements that use the submission's names. The case passes if they raise nothing."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    id: str
    source: str
    points: float = 1.0
    group: str | None = None


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
    """Only the interactor sees `stdin` and `expected`."""
    interactor: Interactor


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTests:
    """Call one function or method of the submission, in one process per call or one for all."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    entry_point: str
    """A name, or `Class.method` for a method of a new instance made without arguments.

    A plain name that the submission does not define may be a method of its class `Solution`:
    labels that give only a `fn_name` do not say which.
    """
    cases: tuple[CallCase, ...]
    comparison: Comparison = Comparison()
    in_one_run: bool = False
    """Whether one process makes all calls, in order, as the harnesses of some benchmarks do."""
    asks_reference: bool = False
    """Whether each case expects what the suite's reference returns, instead of its `expected`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptTests:
    """Assertions that use the submission's names: assert lines, `check(candidate)`."""

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
    """The path of the submission's code."""
    pytest_args: tuple[str, ...] = ()
    """More command-line arguments, such as an option that the suite's conftest defines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionCase:
    """An expression over the submission's names, and the one that it must equal."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    id: str
    actual: str
    expected: str
    within: float | None = None
    """How far numbers in the values may lie apart; None: the texts must be equal."""
    contains: bool = False
    """Whether the expected value need only be a part of the other one; both are texts in quotes."""
    relation: str = ""
    """How it must be related to the expected one: `!=`, or `<`, `<=`, `>` or `>=` of numbers. Both
    must be equal if it is empty."""
    repeats: bool = False
    """Whether it may be evaluated several times. Then all values are compared, in order."""
    points: float = 1.0
    group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionTests:
    """Expressions in another language than Python, evaluated in order in one process.

    The expected expressions are evaluated in a process apart from the submission. The values of
    both are compared as text, outside of the sandbox.
    """

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    cases: tuple[ExpressionCase, ...]
    setup: str = ""
    """Statements ahead of the submission's expressions, such as the definition of a short name.

    If there is source around the expressions, only the submission's program has these, ahead of
    that source."""
    around: tuple[str, ...] = ()
    """The source that has the expressions between its parts, one part more than there are cases.

    Empty: the expressions alone.
    """
    around_expected: tuple[str, ...] = ()
    """The same for the program that shows what is expected; empty if there is no difference."""
    stub: str = ""
    """Stands for the submission in the program that shows what is expected."""
    solution_path: str = ""
    """The submission's file, beside the one that has the expressions; empty: its code is in front
    of them."""
    begun: tuple[SuiteFile, ...] = ()
    """Further files that a submission may have, as they are if it lacks them."""


Tests = StdinTests | InteractiveTests | CallTests | ScriptTests | PytestTests | ExpressionTests


@dataclass(frozen=True, slots=True, kw_only=True)
class TestSuite:
    """The tests of one problem, read from a label of any format."""

    __test__: ClassVar[bool] = False  # pytest would collect this class
    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    tests: Tests
    format: str
    """The format of the label."""
    problem_id: str | None = None
    prompt: str = ""
    """The problem's own text; if `continues_prompt`, code that a completion continues."""
    continues_prompt: bool = False
    """Whether a completion may be only the continuation of `prompt` (HumanEval)."""
    entry_point: str | None = None
    """The function or class that the tests use, for extraction."""
    prelude: str = ""
    """Source that runs before the submission's code, such as the imports of its benchmark."""
    extraction: ExtractionRule = ExtractionRule.AUTO
    limits: LimitOverrides = field(default_factory=LimitOverrides)
    image: str = "python"
    """The sandbox image variant that the tests need, such as "python", "science" or "cpp"."""
    language: str = "python"
    """The language of submissions; "any": that of each one's code block. Scripts and pytest tests
    are for Python only, and so are calls in many languages; see `grader.languages`."""
    reference: str | None = None
    """A solution that should pass, as complete code. Required if the tests run it."""


# ---------------------------------------------------------------- submissions


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A completion with its suite."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    id: str
    completion: str
    """Raw model output, or a whole query that starts with `prompt`."""
    suite: TestSuite
    prompt: str = ""
    """The text that the model was given. If the completion begins with it, it is cut off."""
    rules: GradingRules = AS_SET

    def __post_init__(self) -> None:
        """Check the types, since a wrong one would look like a bug of ours when it is graded.

        Raises:
            TypeError: One is wrong.
        """
        for name, kind in _TYPES:
            if not isinstance(value := getattr(self, name), kind):
                message = (
                    f"{name} of a submission must be {kind.__name__}, but is {type(value).__name__}"
                )
                raise TypeError(message)


_TYPES = (
    ("id", str),
    ("completion", str),
    ("suite", TestSuite),
    ("prompt", str),
    ("rules", GradingRules),
)
