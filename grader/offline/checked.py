"""The results of checking problems: of each one, as a row of a file, and of all together."""

import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import astuple, dataclass
from enum import StrEnum
from pathlib import Path
from statistics import median
from typing import Any, ClassVar

from grader.config.settings import Settings
from grader.model.adapters import adapter
from grader.model.errors import ConfigurationError, GraderError
from grader.model.limits import STRICT
from grader.model.verdict import Verdict
from grader.model.wire import json_bytes
from grader.offline.attacks import PLAIN, Attack
from grader.offline.rows import ORIGIN_KEY
from grader.scoring.calibration import Measured
from grader.suites import ProblemIndex
from grader.suites.problems import parse_object

SHOWN = 1000
"""Problems that a `CheckSummary` keeps in full: the most urgent ones."""


class ProblemHealth(StrEnum):
    """The state of a problem: the first of these that applies."""

    UNCHECKED = "unchecked"
    """Grading failed with an internal error."""
    BROKEN = "broken"
    """The tests cannot be read, or the reference does not pass them."""
    FLAKY = "flaky"
    """Two runs of the reference had different results."""
    EXPLOITABLE = "exploitable"
    """An attack, which solves nothing, passes the tests."""
    SLOW = "slow"
    """The reference takes more than half of the CPU time limit."""
    VACUOUS = "vacuous"
    """Some cases assert nothing."""
    NO_REFERENCE = "no_reference"
    """There is no reference to check the tests with. No attack passed."""
    OK = "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """What is tried on each problem."""

    attacks: bool
    """Whether to try all attacks; if not, only those that find cases without assertions."""
    mutants: int
    """The most mutants of the reference."""

    @property
    def most_runs(self) -> int:
        """The most submissions that are graded for one problem."""
        return 2 + len(Attack if self.attacks else PLAIN) + self.mutants


@dataclass(frozen=True, slots=True, kw_only=True)
class Paid:
    """An attack that passes."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    attack: Attack
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A mutant that passes."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    line: int
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """How many mutants the tests noticed."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    tried: int
    noticed: int
    missed: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemCheck:
    """The result of checking one problem."""

    __pydantic_config__: ClassVar[dict[str, Any]] = STRICT

    id: str
    health: ProblemHealth
    feedback: str = ""
    """What was found, for a person; empty if the problem is ok."""
    format: str | None = None
    """None if the tests could not be read."""
    verdicts: tuple[Verdict, ...] = ()
    """Of each run of the reference."""
    cpu_time_s: float | None = None
    """Of the reference's longest process, like `wall_time_s`; None if it did not run."""
    wall_time_s: float | None = None
    cases: int = 0
    """The number of cases that the reference ran."""
    confirmable: int | None = None
    """The number of cases that a twin can confirm; see docs/twins.md. None if the tests need no
    twins, because expected values never enter the sandbox, or if nothing ran."""
    vacuous_cases: tuple[str, ...] = ()
    """The ids of cases that assert nothing; see `grader.offline.attacks.PLAIN`."""
    paid: tuple[Paid, ...] = ()
    mutants: Mutation | None = None
    """None if no mutant was tried."""
    runs: int = 0
    """The number of submissions that were graded."""
    tests: str = ""
    """See `grader.scoring.calibration.key_of`."""

    @property
    def measured(self) -> Measured | None:
        """The reference's longest times; None if it did not pass."""
        if not self.verdicts or any(verdict is not Verdict.PASSED for verdict in self.verdicts):
            return None
        return Measured(cpu_time_s=self.cpu_time_s or 0.0, wall_time_s=self.wall_time_s or 0.0)

    @property
    def strength(self) -> float | None:
        """The strength of the tests, in [0, 1].

        It is the share of mutants that do not pass, or 0 if an attack passes. None if neither
        mutants were tried nor an attack passed.
        """
        if self.paid:
            return 0.0
        if self.mutants is None or not self.mutants.tried:
            return None
        return self.mutants.noticed / self.mutants.tried


# ---------------------------------------------------------------- rows


def check_key(settings: Settings, effort: Effort) -> str:
    """Return a short text that differs if settings differ that may change the results."""
    values = (astuple(settings.limits), settings.require_integrity, effort)
    return f"{zlib.crc32(repr(values).encode()):08x}"


def row_of(check: ProblemCheck, problem: bytes, run: str) -> bytes:
    """Return the result of a check as a line of JSON with its newline.

    Args:
        check: The result.
        problem: The text of the problem's row.
        run: From `check_key`.
    """
    found = adapter(ProblemCheck).dump_python(check, mode="json")
    origin = {"input": f"{zlib.crc32(problem):08x}", "run": run}
    return json_bytes({**found, "strength": check.strength, ORIGIN_KEY: origin}) + b"\n"


def read_checked(
    path: Path, run: str, problems: ProblemIndex, observe: Callable[[ProblemCheck], None]
) -> frozenset[str]:
    """Read the results of an earlier run; return the ids of its problems.

    Args:
        path: A file that ends with a whole line.
        run: The `check_key` of the run that continues it.
        problems: The problems that are being checked.
        observe: Called with each result.

    Raises:
        ConfigurationError: A line is invalid, or is of other problems or settings.
    """
    done: set[str] = set()
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                found = parse_object(line)
                origin = found.pop(ORIGIN_KEY)
                found.pop("strength")
                check = adapter(ProblemCheck).validate_python(found)
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


# ---------------------------------------------------------------- summary


class CheckSummary:
    """The results of all problems, added up for a summary and a page."""

    def __init__(self) -> None:
        self.healths: Counter[ProblemHealth] = Counter()
        self.paid: Counter[Attack] = Counter()
        """By attack: the number of problems whose tests it passes."""
        self.tried = self.noticed = 0
        """The number of mutants, and of those that were noticed."""
        self.cases = self.confirmable = 0
        """The number of cases of tests that are code, and of those that a twin can confirm."""
        self.runs = 0
        """The number of submissions that were graded."""
        self._strengths: dict[str, tuple[ProblemHealth, float | None]] = {}
        self._worst: list[ProblemCheck] = []

    @property
    def problems(self) -> int:
        """The number of problems that were checked."""
        return self.healths.total()

    @property
    def strengths(self) -> list[float]:
        """The known strengths."""
        return [strength for _, strength in self._strengths.values() if strength is not None]

    @property
    def median_strength(self) -> float | None:
        """The median of the known strengths; None if there are none."""
        return median(self.strengths) if self.strengths else None

    def add(self, check: ProblemCheck) -> None:
        """Add a result."""
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
        """Return the most urgent problems, at most `most` and at most `SHOWN`."""
        return sorted(self._worst, key=_urgency)[: min(most, SHOWN)]

    def findings(self, min_strength: float | None) -> int:
        """Return how many problems are not ok or too weak; `worst` returns them first."""
        return sum(
            health is not ProblemHealth.OK or (strength or 0.0) < (min_strength or 0.0)
            for health, strength in self._strengths.values()
        )

    def kept(self, min_strength: float) -> set[str]:
        """Return the ids of the problems with at least this strength."""
        return {
            problem_id
            for problem_id, (_, strength) in self._strengths.items()
            if strength is not None and strength >= min_strength
        }

    def as_json(self, min_strength: float | None) -> dict[str, Any]:
        """Return the counts for JSON; with `min_strength`, also how many problems reach it."""
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
