"""A program with its suite, which is judged twice, and its result on each side."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from grader.model import CallTests, LimitOverrides, MiB, Submission, TestSuite
from grader.model.overrides import ExtractionRule

LIMITS = LimitOverrides(
    cpu_time_s=60.0,
    wall_time_s=240.0,
    memory_bytes=2048 * MiB,
    output_bytes=64 * MiB,
    processes=512,
    work_bytes=256 * MiB,
    work_files=20_000,
)
"""Generous limits, so that they decide nothing which plain Python would not decide too."""

MUTANT_LIMITS = replace(LIMITS, cpu_time_s=20.0, wall_time_s=30.0)
"""Limits for a mutant, which may loop for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A program and the suite that judges it."""

    id: str
    code: str
    suite: TestSuite
    """Without a reference."""
    reference: str
    """The program that the suite was written for; `code` is the same unless it is a mutant."""
    mutation: str = ""
    """What was changed in the reference; empty for the reference itself."""

    @property
    def key(self) -> str:
        """What decides the outcome in plain Python, as a hash."""
        decides = (self.code, self.suite.prelude, self.suite.tests, bool(self.mutation))
        return hashlib.sha256(repr(decides).encode(errors="replace")).hexdigest()[:32]

    @property
    def asks_reference(self) -> bool:
        """Whether the suite needs its reference."""
        tests = self.suite.tests
        return isinstance(tests, CallTests) and tests.asks_reference

    def submission(self, *, with_reference: bool) -> Submission:
        """Return the pair as a submission."""
        suite = replace(
            self.suite,
            extraction=ExtractionRule.VERBATIM,
            limits=MUTANT_LIMITS if self.mutation else LIMITS,
            reference=self.reference if with_reference or self.asks_reference else None,
        )
        return Submission(id=self.id, completion=self.code, suite=suite)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a pair on one side."""

    passed: bool
    verdict: str
    """In the words of that side."""
    cases: Mapping[str, bool] = field(default_factory=dict)
    """Whether each case passed, by its id."""
    details: Mapping[str, str] = field(default_factory=dict)
    """Why a case did not pass, by its id; "" stands for the whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The pairs of a source."""

    pairs: Sequence[Pair] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Tests that plain Python does not pass here, and pairs without any other, with the reason."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """What could not be fetched or judged, with the reason: neither agreement nor difference."""


Judge = Callable[[Pair], Outcome]
"""Runs a pair in plain Python."""

Source = Callable[[Judge, int], Found]
"""Finds pairs; plain Python tells which tests they pass, in so many runs at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A difference between the two sides in one case, or in the whole if `case` is empty."""

    case: str
    plain: str
    ours: str


def differences(plain: Outcome, ours: Outcome) -> list[Difference]:
    """Return the differences between two outcomes of one pair; the whole comes first."""
    found = []
    if plain.passed != ours.passed:
        whole = Difference(case="", plain=_said(plain, ""), ours=_said(ours, ""))
        found.append(whole)
    for case in _ids(plain.cases, ours.cases):
        # If one side did not reach a case, it has not passed there.
        if plain.cases.get(case, False) != ours.cases.get(case, False):
            found.append(Difference(case=case, plain=_said(plain, case), ours=_said(ours, case)))
    return found


def _ids(*cases: Iterable[str]) -> dict[str, None]:
    return {id: None for each in cases for id in each}


def _said(outcome: Outcome, case: str) -> str:
    passed = outcome.cases.get(case) if case else outcome.passed
    if passed:
        return "passed"
    word = outcome.verdict if not case else "not there" if passed is None else "not passed"
    detail = outcome.details.get(case) or outcome.details.get("", "")
    return f"{word}: {detail}" if detail else word
