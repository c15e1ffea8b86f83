"""Why a report says what it says, in sentences, and what would have earned more.

Only the report is needed: the policy that gave the reward is applied to it again.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from grader.model import CaseResult, GradeReport
from grader.model.errors import ConfigurationError, SuiteError
from grader.model.verdict import Suspicion, Verdict
from grader.scoring.policies import NOTHING_RAN, Policy, PolicyInput, find_policy, policy_input


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictText:
    """The name of a verdict, and its meaning in one clause."""

    label: str
    meaning: str


VERDICTS = {
    Verdict.PASSED: VerdictText(label="Passed", meaning="every case ran and was right"),
    Verdict.FAILED: VerdictText(
        label="Wrong answer", meaning="it ran, and was not right everywhere"
    ),
    Verdict.RUNTIME_ERROR: VerdictText(
        label="Runtime error", meaning="it crashed, or ended too early"
    ),
    Verdict.COMPILE_ERROR: VerdictText(
        label="Compile error", meaning="it is not Python; none of it ran"
    ),
    Verdict.TIME_LIMIT: VerdictText(label="Time limit", meaning="it ran out of time"),
    Verdict.MEMORY_LIMIT: VerdictText(label="Memory limit", meaning="it ran out of memory"),
    Verdict.OUTPUT_LIMIT: VerdictText(label="Output limit", meaning="it printed more than it may"),
    Verdict.NO_CODE: VerdictText(label="No code", meaning="the completion holds nothing to run"),
    Verdict.TAMPERED: VerdictText(
        label="Tampered", meaning="it was caught writing its own verdict"
    ),
    Verdict.INTERNAL_ERROR: VerdictText(
        label="Internal error", meaning="it was not graded, through our fault or the label's"
    ),
    Verdict.SKIPPED: VerdictText(
        label="Not run", meaning="the case was not run, or skipped itself"
    ),
}
"""The texts of every verdict."""

SUSPICIONS = {
    Suspicion.EARLY_EXIT: "The process ended by itself before its tests were over.",
    Suspicion.LOOKED: "The code looked at its tests, at its callers or at all objects.",
    Suspicion.TWIN: "A test passed although it had been changed to expect something wrong.",
    Suspicion.FORGED_REPORT: "A case was reported more than once.",
    Suspicion.FORGED_FRAME: "The code sent its tests what no honest code sends.",
    Suspicion.FORBIDDEN_CALL: "It made a system call that no honest program needs.",
    Suspicion.NETWORK: "It tried to reach a network.",
}
"""What each sign of an attack means."""


class Family(StrEnum):
    """A family of attacks: what a submission did instead of solving its problem."""

    FORGING = "forging results"
    READING = "reading tests"
    ENDING = "ending early"
    PROBING = "probing the sandbox"


FAMILIES = {
    Suspicion.TWIN: Family.FORGING,
    Suspicion.FORGED_REPORT: Family.FORGING,
    Suspicion.FORGED_FRAME: Family.FORGING,
    Suspicion.LOOKED: Family.READING,
    Suspicion.EARLY_EXIT: Family.ENDING,
    Suspicion.FORBIDDEN_CALL: Family.PROBING,
    Suspicion.NETWORK: Family.PROBING,
}
"""The family of each sign of an attack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardStep:
    """One step from a completion to its reward."""

    name: str
    text: str
    """May quote the label or the submission."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Improvement:
    """A change that would have earned more."""

    what: str
    """Its description; "would have earned" follows."""
    reward: float


_ANSWERS = {
    Verdict.PASSED: "it is right",
    Verdict.FAILED: "it is not right",
    Verdict.NO_CODE: "no answer was found",
}
"""Meanings of verdicts on answers that are compared and not run, such as in mathematics."""


def is_code(report: GradeReport) -> bool:
    """Tell whether a report is about code, not about an answer."""
    return report.conditions is not None or report.sandbox is not None or bool(report.cases)


def steps(report: GradeReport) -> tuple[RewardStep, ...]:
    """Return the steps from the completion to verdict and reward, in order."""
    return tuple(_steps(report))


def _steps(report: GradeReport) -> Iterator[RewardStep]:
    if report.conditions is not None:
        rule, note = report.conditions.extraction, report.conditions.extraction_note
        yield RewardStep(name="Extraction", text=f"{note} (rule “{rule}”)")
    if report.cases:
        yield RewardStep(name="Cases", text=_cases_sentence(report))
    meaning = VERDICTS[report.verdict].meaning
    if not is_code(report):
        meaning = _ANSWERS.get(report.verdict, meaning)
    yield RewardStep(name="Verdict", text=f"{report.verdict}: {meaning}.{_why_worst(report)}")
    yield RewardStep(name="Reward", text=_reward_sentence(report))


def _cases_sentence(report: GradeReport) -> str:
    counts = Counter(case.verdict for case in report.cases)
    if len(counts) == 1:
        (verdict,) = counts
        count = "The one case" if report.total == 1 else f"All {report.total} cases"
        return f"{count}: {VERDICTS[verdict].label.lower()}."
    parts = ", ".join(
        f"{counts[verdict]} {VERDICTS[verdict].label.lower()}"
        for verdict in Verdict
        if counts[verdict]
    )
    early = report.conditions is not None and report.conditions.stop_early
    ended = " The first case that did not pass ended the run." if early else ""
    return f"Of {len(report.cases)}: {parts}.{ended}"


def _why_worst(report: GradeReport) -> str:
    verdicts = {case.verdict for case in report.cases}
    if report.verdict in verdicts and len(verdicts) > 1:
        return " If cases differ, the worst decides."
    if report.verdict is Verdict.FAILED and verdicts and report.verdict not in verdicts:
        return " A case that was not run proves nothing."
    return ""


def _reward_sentence(report: GradeReport) -> str:
    if not report.graded:
        return "An internal error has no reward; trainers leave the sample out."
    policy = _policy(report)
    summary = f" ({policy.summary})" if policy else ""
    return (
        f"The policy “{report.policy}”{summary} gives reward {report.reward:+.3g} "
        f"and score {report.score:.3g}."
    )


def next_better(report: GradeReport) -> Improvement | None:
    """Return the smallest improvement that would have earned more; None if there is none.

    Applies the report's own policy to slightly better results. None also if the sample was not
    graded, or if the policy is unknown here.
    """
    policy = _policy(report)
    if policy is None or not report.graded:
        return None
    found = [
        Improvement(what=what, reward=mark.reward)
        for what, better in _improvements(report)
        if (mark := policy.mark(better)).reward > report.reward
    ]
    return min(found, key=lambda better: better.reward, default=None)


def _improvements(report: GradeReport) -> Iterator[tuple[str, PolicyInput]]:
    """Yield possible improvements, each with the input that a policy would get."""
    try:
        now = policy_input(report.verdict, report.cases)
    except SuiteError:
        return
    total = report.total
    everything = "Being right in every case" if total > 1 else "Being right in its one case"
    yield everything, replace(now, verdict=Verdict.PASSED, passed=total, fraction=1.0)
    ran_wrong = replace(now, verdict=Verdict.FAILED, crashed_everywhere=False)
    if report.verdict in NOTHING_RAN:
        nothing_right = replace(ran_wrong, passed=0, fraction=0.0)
        yield "Code that runs to its end, even if no case is right,", nothing_right
    elif report.verdict is not Verdict.FAILED:
        yield f"The same answers {_without(report.verdict)}", ran_wrong
    if total > 1 and (step := _least_step(report.cases)) is not None:
        passed, fraction = now.passed + step.cases, min(1.0, now.fraction + step.fraction)
        yield step.what, replace(ran_wrong, passed=passed, fraction=fraction)


def _without(verdict: Verdict) -> str:
    return {
        Verdict.TIME_LIMIT: "within the time limit",
        Verdict.MEMORY_LIMIT: "within the memory limit",
        Verdict.OUTPUT_LIMIT: "within the output limit",
        Verdict.RUNTIME_ERROR: "without a crash on every case",
    }.get(verdict, "without that fault")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    what: str
    cases: int
    fraction: float
    """The share of all points that it would have gained."""


def _least_step(cases: Sequence[CaseResult]) -> _Step | None:
    """Return the case or group whose passing would have gained the least, but more than nothing.

    If none would have gained anything, such as cases without points, return the first.
    """
    points = math.fsum(case.points for case in cases)
    groups: dict[str, list[CaseResult]] = defaultdict(list)
    found: list[_Step] = []
    for case in cases:
        if case.group is not None:
            groups[case.group].append(case)
        elif case.verdict is not Verdict.PASSED:
            gained = case.points * (1 - (case.share or 0)) / points
            found.append(_Step(what=f"One more case right, {case.id},", cases=1, fraction=gained))
    for name, members in groups.items():
        lacking = [case for case in members if case.verdict is not Verdict.PASSED]
        if lacking:
            missing = 1 - min(case.share or 0 for case in lacking)
            gained = missing * math.fsum(case.points for case in members) / points
            what = f"The whole group {name} right"
            found.append(_Step(what=what, cases=len(lacking), fraction=gained))
    return min(found, key=lambda step: (step.fraction == 0, step.fraction), default=None)


def _policy(report: GradeReport) -> Policy | None:
    """Return the report's policy; None if it is unknown here, or a function of the user's own."""
    try:
        policy = find_policy(report.policy)
    except ConfigurationError:
        return None
    return None if policy.reward_of else policy
