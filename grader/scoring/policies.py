"""From a verdict and its cases to a score in [0, 1] and a reward in [-1, 1], by a named policy.

Everything here is pure. docs/rewards.md has the policies side by side with examples.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from grader.model import CaseResult, Conditions, Evidence, GradeReport, Usage
from grader.model.errors import ConfigurationError, SuiteError
from grader.model.verdict import LIMIT_VERDICTS, Integrity, LimitKind, Suspicion, Verdict

NOTHING_RAN = frozenset({Verdict.COMPILE_ERROR, Verdict.NO_CODE, Verdict.TAMPERED})
"""Verdicts after which no case can count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What a policy decides from."""

    verdict: Verdict
    """Of the whole submission; never `INTERNAL_ERROR`, which no policy marks."""
    passed: int
    """Cases that passed."""
    crashed_everywhere: bool
    """Whether every case that was run ended in a runtime error."""
    fraction: float
    """Points earned of the points there are, in [0, 1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What a policy gives."""

    score: float
    """In [0, 1]."""
    reward: float
    """In [-1, 1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A named way to turn verdicts into numbers."""

    name: str
    summary: str
    """One line for a person who chooses."""
    mark: Callable[[Tally], Mark]
    needs_every_case: bool
    """Whether cases after the first that did not pass can still change the mark."""


def _from_reward(reward: float) -> Mark:
    return Mark(score=(reward + 1) / 2, reward=reward)


def _graded(tally: Tally) -> Mark:
    if tally.verdict is Verdict.PASSED:
        return _from_reward(1.0)
    if tally.verdict in NOTHING_RAN:
        return _from_reward(-1.0)
    if tally.verdict in LIMIT_VERDICTS:
        return _from_reward(-0.5)
    if tally.passed or tally.fraction:
        return _from_reward(0.3)
    return _from_reward(-1.0 if tally.crashed_everywhere else 0.0)


def _binary(tally: Tally) -> Mark:
    return _from_reward(1.0 if tally.verdict is Verdict.PASSED else -1.0)


def _fraction(tally: Tally) -> Mark:
    earned = 0.0 if tally.verdict in NOTHING_RAN else tally.fraction
    return Mark(score=earned, reward=2 * earned - 1)


def _ladder(tally: Tally) -> Mark:
    if tally.verdict is Verdict.PASSED:
        return _from_reward(1.0)
    if tally.verdict in NOTHING_RAN:
        return _from_reward(-1.0)
    if tally.verdict is Verdict.RUNTIME_ERROR or tally.verdict in LIMIT_VERDICTS:
        return _from_reward(-0.6)
    return _from_reward(-0.3)


POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        policy.name: policy
        for policy in (
            Policy(
                name="graded",
                summary="1 all passed, 0.3 some, 0 none, -0.5 a limit, -1 does not run at all",
                mark=_graded,
                needs_every_case=True,
            ),
            Policy(
                name="binary",
                summary="1 all passed, else -1",
                mark=_binary,
                needs_every_case=False,
            ),
            Policy(
                name="fraction",
                summary="points earned of all points, spread over -1 to 1",
                mark=_fraction,
                needs_every_case=True,
            ),
            Policy(
                name="ladder",
                summary="1 passed, -0.3 wrong, -0.6 crashed or hit a limit, -1 does not compile",
                mark=_ladder,
                needs_every_case=True,
            ),
        )
    }
)


def find_policy(name: str) -> Policy:
    """Return the policy of that name.

    Raises:
        ConfigurationError: There is none; the message lists those there are.
    """
    try:
        return POLICIES[name]
    except KeyError:
        message = f"no reward policy is called {name!r}; there are: {', '.join(POLICIES)}"
        raise ConfigurationError(message) from None


def score_report(
    *,
    verdict: Verdict,
    cases: tuple[CaseResult, ...],
    policy: str,
    total: int | None = None,
    usage: Usage | None = None,
    limit_hit: LimitKind | None = None,
    integrity: Integrity | None = None,
    suspicion: tuple[Suspicion, ...] = (),
    feedback: str = "",
    code: str | None = None,
    sandbox: str | None = None,
    conditions: Conditions | None = None,
    output: Evidence | None = None,
) -> GradeReport:
    """Build the report of one submission: its numbers from verdict and cases, the rest as given.

    Args:
        verdict: Of the whole submission: that of `grader.model.verdict.overall` over `cases`, or
            one that stands above any case, such as `NO_CODE`.
        cases: All of the suite, those that were skipped too; empty where nothing ran.
        policy: A name in `POLICIES`.
        total: How many cases the suite has, where `cases` is empty.
        usage: What all runs together took.
        limit_hit: As in `GradeReport`, like the arguments after it.
        integrity: See there.
        suspicion: See there.
        feedback: See there.
        code: See there.
        sandbox: See there.
        conditions: See there.
        output: See there.

    Raises:
        ConfigurationError: There is no such policy.
        SuiteError: The points of the cases are not numbers from 0 up with a sum above 0.
        ValueError: `PASSED` without a case, or with one that did not pass; or `SKIPPED`.
    """
    chosen = find_policy(policy)
    passed = sum(case.verdict is Verdict.PASSED for case in cases)
    graded = verdict is not Verdict.INTERNAL_ERROR
    if verdict is Verdict.SKIPPED or (
        verdict is Verdict.PASSED and not 0 < passed == len(cases) == (total or passed)
    ):
        message = f"{verdict} does not follow from {passed} of {len(cases)} cases passed"
        raise ValueError(message)
    mark = chosen.mark(tally(verdict, cases)) if graded else Mark(score=0.0, reward=0.0)
    return GradeReport(
        verdict=verdict,
        score=mark.score,
        reward=mark.reward,
        graded=graded,
        passed=passed,
        total=len(cases) if total is None else total,
        cases=cases,
        usage=usage or Usage(),
        limit_hit=limit_hit,
        integrity=integrity,
        suspicion=suspicion,
        feedback=feedback,
        code=code,
        sandbox=sandbox,
        policy=policy,
        conditions=conditions,
        output=output,
    )


def tally(verdict: Verdict, cases: Sequence[CaseResult]) -> Tally:
    """Return what a policy sees of a submission.

    Raises:
        SuiteError: The points of the cases cannot be shared out.
    """
    ran = [case.verdict for case in cases if case.verdict is not Verdict.SKIPPED]
    return Tally(
        verdict=verdict,
        passed=ran.count(Verdict.PASSED),
        crashed_everywhere=verdict is Verdict.RUNTIME_ERROR
        and ran.count(Verdict.RUNTIME_ERROR) == len(ran),
        fraction=1.0 if verdict is Verdict.PASSED else _points_earned(cases),
    )


def _points_earned(cases: Sequence[CaseResult]) -> float:
    """Return the share of all points that `cases` earned; of a group, all as much as the worst."""
    if not cases:
        return 0.0
    check_points(cases)
    least: dict[str | None, float] = {}
    for case in cases:
        least[case.group] = min(least.get(case.group, 1.0), _share(case))
    earned = math.fsum(
        case.points * (_share(case) if case.group is None else least[case.group]) for case in cases
    )
    return earned / math.fsum(case.points for case in cases)


def _share(case: CaseResult) -> float:
    """Return the share of its points that a case earned by itself."""
    return 1.0 if case.verdict is Verdict.PASSED else case.share or 0.0


def check_points(cases: Sequence[CaseResult]) -> None:
    """Check that the points of a suite's cases can be shared out.

    Raises:
        SuiteError: One is negative or no finite number, or they add up to nothing.
    """
    for case in cases:
        if not (math.isfinite(case.points) and case.points >= 0):
            message = f"case {case.id!r} is worth {case.points} points; expected 0 or more"
            raise SuiteError(message)
    together = sum(case.points for case in cases)
    if not 0 < together < math.inf:
        message = f"the {len(cases)} cases are worth {together} points together"
        raise SuiteError(message)
