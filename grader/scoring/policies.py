"""Policies: a verdict and its cases become a score in [0, 1] and a reward in [-1, 1].

Everything here is pure. docs/rewards.md compares the policies by examples.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from grader.model import CaseResult, Conditions, Evidence, GradeReport, Usage
from grader.model.errors import ConfigurationError, SuiteError
from grader.model.verdict import LIMIT_VERDICTS, Integrity, LimitKind, Suspicion, Verdict

NOTHING_RAN = frozenset({Verdict.COMPILE_ERROR, Verdict.NO_CODE, Verdict.TAMPERED})
"""Verdicts with which no case counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyInput:
    """What a policy knows of a submission."""

    verdict: Verdict
    """Of the whole submission; never `INTERNAL_ERROR`, which gets no mark."""
    passed: int
    """Cases that passed."""
    crashed_everywhere: bool
    """Whether every case that was run ended in a runtime error."""
    fraction: float
    """The share of all points that was earned, in [0, 1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Score and reward by a policy."""

    score: float
    """In [0, 1]."""
    reward: float
    """In [-1, 1]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A named rule that turns verdicts into score and reward."""

    name: str
    summary: str
    """One line, for help texts."""
    mark: Callable[[PolicyInput], Mark]
    needs_every_case: bool
    """Whether cases after the first that does not pass can change the mark."""
    reward_of: Callable[[GradeReport], float] | None = None
    """Gives the reward, from the report with the mark's; None: the mark gives it. Raises
    `ConfigurationError` if it cannot."""


def _from_reward(reward: float) -> Mark:
    return Mark(score=(reward + 1) / 2, reward=reward)


def _graded(given: PolicyInput) -> Mark:
    if given.verdict is Verdict.PASSED:
        return _from_reward(1.0)
    if given.verdict in NOTHING_RAN:
        return _from_reward(-1.0)
    if given.verdict in LIMIT_VERDICTS:
        return _from_reward(-0.5)
    if given.passed or given.fraction:
        return _from_reward(0.3)
    return _from_reward(-1.0 if given.crashed_everywhere else 0.0)


def _binary(given: PolicyInput) -> Mark:
    return _from_reward(1.0 if given.verdict is Verdict.PASSED else -1.0)


def _fraction(given: PolicyInput) -> Mark:
    earned = 0.0 if given.verdict in NOTHING_RAN else given.fraction
    return Mark(score=earned, reward=2 * earned - 1)


def _ladder(given: PolicyInput) -> Mark:
    if given.verdict is Verdict.PASSED:
        return _from_reward(1.0)
    if given.verdict in NOTHING_RAN:
        return _from_reward(-1.0)
    if given.verdict is Verdict.RUNTIME_ERROR or given.verdict in LIMIT_VERDICTS:
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


_own: dict[str, Policy] = {}
"""Policies that `register` added, by name."""


def register(policy: Policy) -> Policy:
    """Make a policy known to this process, and return it. It is not among `POLICIES`."""
    return _own.setdefault(policy.name, policy)


def find_policy(name: str) -> Policy:
    """Return the policy of that name: built in, or registered in this process.

    Raises:
        ConfigurationError: There is none. The message lists the built-in policies.
    """
    found = POLICIES.get(name) or _own.get(name)
    if found is None:
        message = f"there is no reward policy {name!r}; expected one of: {', '.join(POLICIES)}"
        raise ConfigurationError(message)
    return found


def marked(report: GradeReport, policy: str) -> GradeReport:
    """Return a report with the reward that a policy gives it.

    Args:
        report: By the built-in policy that the policy is based on.
        policy: The name of a policy that `find_policy` finds.

    Raises:
        ConfigurationError: There is no such policy, or it gives no reward.
    """
    reward_of = find_policy(policy).reward_of
    if reward_of is None:
        return report
    report = replace(report, policy=policy)
    return replace(report, reward=reward_of(report)) if report.graded else report


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
    """Build the report of one submission: score and reward by the policy, the rest as given.

    Args:
        verdict: Of the whole submission: `grader.model.verdict.overall` of its cases, or a verdict
            that does not depend on cases, such as `NO_CODE`.
        cases: All cases of the suite, including skipped ones; empty if nothing ran.
        policy: A name in `POLICIES`.
        total: The number of cases of the suite, if `cases` is empty.
        usage: The total of all runs.
        limit_hit: See `GradeReport` for this and the following arguments.
        integrity: See there.
        suspicion: See there.
        feedback: See there.
        code: See there.
        sandbox: See there.
        conditions: See there.
        output: See there.

    Raises:
        ConfigurationError: There is no such policy, or it is the user's own and gives no reward.
        SuiteError: The points of the cases are invalid; see `check_points`.
        ValueError: The verdict is `SKIPPED`, or `PASSED` although not all cases passed.
    """
    chosen = find_policy(policy)
    passed = sum(case.verdict is Verdict.PASSED for case in cases)
    graded = verdict is not Verdict.INTERNAL_ERROR
    if verdict is Verdict.SKIPPED or (
        verdict is Verdict.PASSED and not 0 < passed == len(cases) == (total or passed)
    ):
        message = f"{verdict} does not follow from {passed} of {len(cases)} cases passed"
        raise ValueError(message)
    mark = chosen.mark(policy_input(verdict, cases)) if graded else Mark(score=0.0, reward=0.0)
    report = GradeReport(
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
    return marked(report, policy)


def policy_input(verdict: Verdict, cases: Sequence[CaseResult]) -> PolicyInput:
    """Return what a policy knows of a submission.

    Raises:
        SuiteError: The points of the cases are invalid.
    """
    ran = [case.verdict for case in cases if case.verdict is not Verdict.SKIPPED]
    return PolicyInput(
        verdict=verdict,
        passed=ran.count(Verdict.PASSED),
        crashed_everywhere=verdict is Verdict.RUNTIME_ERROR
        and ran.count(Verdict.RUNTIME_ERROR) == len(ran),
        fraction=1.0 if verdict is Verdict.PASSED else _points_earned(cases),
    )


def _points_earned(cases: Sequence[CaseResult]) -> float:
    """Return the share of all points that was earned. A group earns the share of its worst case."""
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
    """Return the share of its points that a case earned, without regard to its group."""
    return 1.0 if case.verdict is Verdict.PASSED else case.share or 0.0


def check_points(cases: Sequence[CaseResult]) -> None:
    """Check the points of a suite's cases.

    Raises:
        SuiteError: A number is negative or not finite, or their sum is 0 or not finite.
    """
    for case in cases:
        if not (math.isfinite(case.points) and case.points >= 0):
            message = f"case {case.id!r} is worth {case.points} points; expected 0 or more"
            raise SuiteError(message)
    together = sum(case.points for case in cases)
    if not 0 < together < math.inf:
        message = (
            f"the {len(cases)} cases are worth {together} points together; expected more than 0"
        )
        raise SuiteError(message)
