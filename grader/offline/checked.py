"""What checking problems tells: about each of them, as a row of a file, and about all."""

import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import astuple, dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar

from grader.config.settings import Settings
from grader.model.errors import ConfigurationError, GraderError
from grader.model.verdict import Verdict
from grader.model.wire import json_bytes
from grader.offline.attacks import PLAIN, Attack
from grader.offline.rows import ORIGIN_KEY
from grader.offline.source import parse_object
from grader.scoring.calibration import Measured
from grader.suites import ProblemIndex

if TYPE_CHECKING:
    from pydantic import TypeAdapter

SHOWN = 1000
"""How many problems a `CheckSummary` remembers whole: those to look at first."""

_STRICT: dict[str, Any] = {"extra": "forbid", "allow_inf_nan": False}


class ProblemHealth(StrEnum):
    """What is to be said of a problem; the first that applies."""

    UNCHECKED = "unchecked"
    """Our own failure: an internal error."""
    BROKEN = "broken"
    """The tests cannot be read, or the reference does not pass them."""
    FLAKY = "flaky"
    """Two runs of the reference came out differently."""
    EXPLOITABLE = "exploitable"
    """A submission that solves nothing passes the tests."""
    SLOW = "slow"
    """The reference takes more than half of the CPU time limit."""
    VACUOUS = "vacuous"
    """Some of the tests assert nothing."""
    NO_REFERENCE = "no_reference"
    """There is nothing to check the tests with, but for attacks, which they withstood."""
    OK = "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much is tried on each problem."""

    attacks: bool
    """False: only those that show which cases assert nothing."""
    mutants: int
    """How many changes of the reference, at most."""

    @property
    def most_runs(self) -> int:
        """How many submissions of a problem are graded at most."""
        return 2 + len(Attack if self.attacks else PLAIN) + self.mutants


@dataclass(frozen=True, slots=True, kw_only=True)
class Paid:
    """A submission that solves nothing and passes."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    attack: Attack
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change of the reference that the tests did not notice."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    line: int
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """How many changes of the reference the tests noticed."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    tried: int
    noticed: int
    missed: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemCheck:
    """What was found out about one problem."""

    __pydantic_config__: ClassVar[dict[str, Any]] = _STRICT

    id: str
    health: ProblemHealth
    feedback: str = ""
    """What was found, for a person; empty where all is well."""
    format: str | None = None
    """None: the tests could not be read."""
    verdicts: tuple[Verdict, ...] = ()
    """Of the reference, run by run."""
    cpu_time_s: float | None = None
    """What the reference's longest process took, here and below; None: it was not run."""
    wall_time_s: float | None = None
    cases: int = 0
    """How many the reference was judged by."""
    confirmable: int | None = None
    """Of these, how many have an expectation that can be changed, which confirms a pass; see
    docs/twins.md. None: the expectations of such tests never enter the sandbox, or nothing ran."""
    vacuous_cases: tuple[str, ...] = ()
    """The ids of cases that assert nothing; see `grader.offline.attacks.PLAIN`."""
    paid: tuple[Paid, ...] = ()
    mutants: Mutation | None = None
    """None: none was tried."""
    runs: int = 0
    """How many submissions were graded for this."""
    tests: str = ""
    """The key of its tests; see `grader.scoring.calibration.key_of`."""

    @property
    def measured(self) -> Measured | None:
        """What the reference took at most; None: it did not pass, and so took what it took."""
        if not self.verdicts or any(verdict is not Verdict.PASSED for verdict in self.verdicts):
            return None
        return Measured(cpu_time_s=self.cpu_time_s or 0.0, wall_time_s=self.wall_time_s or 0.0)

    @property
    def strength(self) -> float | None:
        """How much of what is wrong the tests notice, in [0, 1].

        The share of the reference's mutants that do not pass, and 0 where a submission that
        solves nothing does. None: nothing was tried that could tell.
        """
        if self.paid:
            return 0.0
        if self.mutants is None or not self.mutants.tried:
            return None
        return self.mutants.noticed / self.mutants.tried


# ---------------------------------------------------------------- rows


def check_key(settings: Settings, effort: Effort) -> str:
    """Return a short text that differs where other settings may find something else."""
    values = (astuple(settings.limits), settings.require_integrity, effort)
    return f"{zlib.crc32(repr(values).encode()):08x}"


def row_of(check: ProblemCheck, problem: bytes, run: str) -> bytes:
    """Return a checked problem as a line of JSON with its newline.

    Args:
        check: What was found.
        problem: The problem's own row.
        run: Of `check_key`.
    """
    found = _adapter().dump_python(check, mode="json")
    origin = {"input": f"{zlib.crc32(problem):08x}", "run": run}
    return json_bytes({**found, "strength": check.strength, ORIGIN_KEY: origin}) + b"\n"


def read_checked(
    path: Path, run: str, problems: ProblemIndex, observe: Callable[[ProblemCheck], None]
) -> frozenset[str]:
    """Read what an earlier run has written; return the ids of the problems.

    Args:
        path: Ends with a whole line.
        run: The key of the run that wants to continue it.
        problems: Those that are being checked.
        observe: Is given every row.

    Raises:
        ConfigurationError: Something in it is no such row, or is of other problems or settings.
    """
    done: set[str] = set()
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                found = parse_object(line)
                origin = found.pop(ORIGIN_KEY)
                found.pop("strength")
                check = _adapter().validate_python(found)
                written = (origin["input"], origin["run"])
            except (GraderError, LookupError, TypeError, ValueError) as error:
                message = (
                    f"line {number} of {path} was not written by `grader check`; "
                    "remove it, or write to another file"
                )
                raise ConfigurationError(message) from error
            if written[1] != run:
                message = f"{path} was checked with other settings; write to another file"
                raise ConfigurationError(message)
            problem = problems.text(check.id)
            if problem is None or f"{zlib.crc32(problem):08x}" != written[0]:
                message = (
                    f"{path} was made from other problems: {check.id} differs. "
                    "Resume with the same ones, or write to another file"
                )
                raise ConfigurationError(message)
            done.add(check.id)
            observe(check)
    return frozenset(done)


@cache
def _adapter() -> "TypeAdapter[ProblemCheck]":
    from pydantic import TypeAdapter  # 100 ms, for those who write or read rows

    return TypeAdapter(ProblemCheck)


# ---------------------------------------------------------------- all of them


class CheckSummary:
    """What all problems come to, for a summary and a page."""

    def __init__(self) -> None:
        self.healths: Counter[ProblemHealth] = Counter()
        self.paid: Counter[Attack] = Counter()
        """By attack, the problems that pay it."""
        self.tried = self.noticed = 0
        """Mutants, and how many of them were noticed."""
        self.cases = self.confirmable = 0
        """Cases of tests that are code, and how many of them have a twin."""
        self.runs = 0
        """How many submissions were graded."""
        self._strengths: dict[str, tuple[ProblemHealth, float | None]] = {}
        self._worst: list[ProblemCheck] = []

    @property
    def problems(self) -> int:
        """How many problems were checked."""
        return self.healths.total()

    @property
    def strengths(self) -> list[float]:
        """The strengths that are known."""
        return [strength for _, strength in self._strengths.values() if strength is not None]

    @property
    def median_strength(self) -> float | None:
        """The strength that half of the problems have; None: that of none is known."""
        return median(self.strengths) if self.strengths else None

    def add(self, check: ProblemCheck) -> None:
        """Take in a problem."""
        self.healths[check.health] += 1
        self.paid.update(each.attack for each in check.paid)
        self.runs += check.runs
        self._strengths[check.id] = (check.health, check.strength)
        if check.mutants is not None:
            self.tried += check.mutants.tried
            self.noticed += check.mutants.noticed
        if check.confirmable is not None:
            self.cases += check.cases
            self.confirmable += check.confirmable
        self._worst.append(check)
        if len(self._worst) > 2 * SHOWN:
            self._worst = self.worst(SHOWN)

    def worst(self, most: int) -> list[ProblemCheck]:
        """Return the problems to look at first, at most `most` of them and `SHOWN`."""
        return sorted(self._worst, key=_urgency)[: min(most, SHOWN)]

    def findings(self, min_strength: float | None) -> int:
        """Return how many problems are not ok, or weaker than that; `worst` has them first."""
        return sum(
            health is not ProblemHealth.OK or (strength or 0.0) < (min_strength or 0.0)
            for health, strength in self._strengths.values()
        )

    def kept(self, min_strength: float) -> set[str]:
        """Return the ids of the problems that are at least so strong."""
        return {
            problem_id
            for problem_id, (_, strength) in self._strengths.items()
            if strength is not None and strength >= min_strength
        }

    def as_json(self, min_strength: float | None) -> dict[str, Any]:
        """Return the counts for a program; `min_strength` adds how many problems have it."""
        counts: dict[str, Any] = {
            "problems": self.problems,
            "healths": dict(self.healths.most_common()),
            "paid": dict(self.paid.most_common()),
            "mutants": {"tried": self.tried, "noticed": self.noticed},
            "twins": {"cases": self.cases, "confirmable": self.confirmable},
            "median_strength": self.median_strength,
            "runs": self.runs,
        }
        return counts if min_strength is None else {**counts, "kept": len(self.kept(min_strength))}


def _urgency(check: ProblemCheck) -> tuple[int, float, str]:
    return list(ProblemHealth).index(check.health), check.strength or 0.0, check.id
