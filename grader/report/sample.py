"""One graded sample as a view: everything that a page or the terminal shows of it.

A view is made only from a report and its completion, or from a row of a graded file. Its texts are
hostile and unchanged; show them through `grader.text.visible`.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from grader.languages import PYTHON
from grader.model import CaseResult, GradeReport, KiB, Limits, MiB, Usage
from grader.model.verdict import LimitKind, Suspicion, Verdict
from grader.report.differ import DiffLine, diff
from grader.report.reasons import (
    SUSPICIONS,
    VERDICTS,
    Improvement,
    RewardStep,
    is_code,
    next_better,
    steps,
)

MAX_CASES = 200
"""Most cases in a view; cases that did not pass take precedence."""
MAX_COMPLETION_CHARS = 40_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitUse:
    """How much of a limit was used."""

    name: str
    used: str
    """With its unit, or "not measured"."""
    limit: str
    share: float | None
    """Share of the limit; above 1 if usage adds up over cases. None: unknown."""
    hit: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseView:
    """One case."""

    id: str
    verdict: Verdict
    feedback: str
    facts: tuple[str, ...]
    """Time, memory, points and group as texts, if they are known and not the default."""
    input: str
    expected: str | None
    got: str | None
    diff: tuple[DiffLine, ...]
    """Empty if there are not two texts to compare."""
    stdout: str
    stderr: str
    traceback: str

    @property
    def input_name(self) -> str:
        """The heading of `input`: it is the input of the code, or the source of the case."""
        return "Test" if self.expected is None else "Input"

    @property
    def has_evidence(self) -> bool:
        """Whether there is more to show than the feedback."""
        texts = (self.input, self.expected, self.got, self.stdout, self.stderr, self.traceback)
        return any(text for text in texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleView:
    """One graded sample."""

    id: str
    problem_id: str | None
    verdict: Verdict
    label: str
    """The verdict in words."""
    graded: bool
    score: float
    reward: float
    policy: str
    passed: int
    total: int
    feedback: str
    steps: tuple[RewardStep, ...]
    better: Improvement | None
    completion: str
    completion_cut: int
    """Characters that are left out at the end of the completion."""
    prompt: str
    """What the model was asked; "" if that is not known."""
    prompt_cut: int
    """Characters that are left out at the end of the prompt."""
    reference: str
    """A right answer; "" if that is not known."""
    code: str | None
    """The extracted code, or the answer that was compared."""
    is_code: bool
    """Whether `code` is code, not an answer."""
    language: str
    """What code is in."""
    cases: tuple[CaseView, ...]
    cases_left_out: int
    case_counts: tuple[tuple[Verdict, int], ...]
    stdout: str
    stderr: str
    limits: tuple[LimitUse, ...]
    suspicion: tuple[tuple[Suspicion, str], ...]
    """Each sign with what it means."""
    facts: tuple[tuple[str, str], ...]
    """Further facts as name and value: format, image, sandbox, integrity."""


def view_of(
    report: GradeReport,
    *,
    id: str,
    completion: str,
    problem_id: str | None = None,
    prompt: str = "",
    reference: str = "",
) -> SampleView:
    """Return the view of a sample.

    Args:
        report: The sample's report.
        id: The sample's name.
        completion: The completion as the model wrote it.
        problem_id: The sample's problem.
        prompt: What the model was asked, if that is known.
        reference: A right answer, if one is known.
    """
    cases = sorted(report.cases, key=lambda case: case.verdict is Verdict.PASSED)
    counts = Counter(case.verdict for case in report.cases)
    output = report.output
    return SampleView(
        id=id,
        problem_id=problem_id,
        verdict=report.verdict,
        label=VERDICTS[report.verdict].label,
        graded=report.graded,
        score=report.score,
        reward=report.reward,
        policy=report.policy,
        passed=report.passed,
        total=report.total,
        feedback=report.feedback,
        steps=steps(report),
        better=next_better(report),
        completion=completion[:MAX_COMPLETION_CHARS],
        completion_cut=max(0, len(completion) - MAX_COMPLETION_CHARS),
        prompt=prompt[:MAX_COMPLETION_CHARS],
        prompt_cut=max(0, len(prompt) - MAX_COMPLETION_CHARS),
        reference=reference[:MAX_COMPLETION_CHARS],
        code=report.code,
        is_code=is_code(report),
        language=report.conditions.language if report.conditions else PYTHON,
        cases=tuple(_case(case) for case in cases[:MAX_CASES]),
        cases_left_out=max(0, len(cases) - MAX_CASES),
        case_counts=tuple((v, counts[v]) for v in Verdict if counts[v]),
        stdout=output.stdout if output else "",
        stderr=output.stderr if output else "",
        limits=tuple(_limits(report)),
        suspicion=tuple((sign, SUSPICIONS[sign]) for sign in report.suspicion),
        facts=tuple(_facts(report)),
    )


# ---------------------------------------------------------------- cases


def _case(case: CaseResult) -> CaseView:
    found = case.evidence
    expected, got = (found.expected, found.got) if found else (None, None)
    return CaseView(
        id=case.id,
        verdict=case.verdict,
        feedback=case.feedback,
        facts=tuple(_case_facts(case)),
        input=found.input if found else "",
        expected=expected,
        got=got,
        diff=diff(expected, got) if expected is not None and got is not None else (),
        stdout=found.stdout if found else "",
        stderr=found.stderr if found else "",
        traceback=found.traceback if found else "",
    )


def _case_facts(case: CaseResult) -> Iterator[str]:
    if case.usage is not None and case.usage.cpu_time_s is not None:
        yield seconds(case.usage.cpu_time_s)
    if case.usage is not None and case.usage.peak_memory_bytes is not None:
        yield size(case.usage.peak_memory_bytes)
    if case.share is not None:
        yield f"{100 * case.share:.3g} % of its points"
    if case.points != 1:
        yield f"{case.points:g} points"
    if case.group is not None:
        yield f"group {case.group}"


# ---------------------------------------------------------------- limits and facts


def _limits(report: GradeReport) -> Iterator[LimitUse]:
    limits = report.conditions.limits if report.conditions else None
    usage = heaviest(report)
    hit = report.limit_hit
    if usage == Usage() and hit is None:
        return  # nothing ran
    for kind, name, used, limit in _pairs(usage, limits):
        show = size if kind is LimitKind.MEMORY else seconds
        yield LimitUse(
            name=name,
            used="not measured" if used is None else show(used),
            limit="?" if limit is None else show(limit) + _unless_waited(kind, hit, used, limit),
            share=None if used is None or limit is None else used / limit,
            hit=hit is kind,
        )
    if hit in _UNMEASURED:
        name, amount = _UNMEASURED[hit]
        yield LimitUse(
            name=name,
            used=amount,
            limit=_other_limit(hit, limits),
            share=1.0,
            hit=True,
        )


_UNMEASURED = {
    LimitKind.OUTPUT: ("Output", "too much"),
    LimitKind.PROCESSES: ("Processes", "too many"),
    LimitKind.TOTAL_TIME: ("Time of all cases", "all of it"),
}
"""Limits whose use is not measured, with their names and words for the use."""


def _unless_waited(kind: LimitKind, hit: LimitKind | None, used: float | None, limit: float) -> str:
    """Say why a wall time may be above its limit without having hit it."""
    is_late = kind is LimitKind.WALL_TIME is not hit and used is not None and used > limit
    return ", not counting waits for a CPU" if is_late else ""


def _pairs(
    usage: Usage, limits: Limits | None
) -> tuple[tuple[LimitKind, str, float | None, float | None], ...]:
    cpu, wall, memory = (
        (limits.cpu_time_s, limits.wall_time_s, limits.memory_bytes)
        if limits
        else (None, None, None)
    )
    return (
        (LimitKind.CPU_TIME, "CPU time", usage.cpu_time_s, cpu),
        (LimitKind.WALL_TIME, "Wall time", usage.wall_time_s, wall),
        (LimitKind.MEMORY, "Memory", usage.peak_memory_bytes, memory),
    )


def heaviest(report: GradeReport) -> Usage:
    """Return the most that any single run used: limits apply to a run, not to the sum."""
    runs = [case.usage for case in report.cases if case.usage is not None]
    if not runs:
        return report.usage
    return Usage(
        cpu_time_s=max((u.cpu_time_s for u in runs if u.cpu_time_s is not None), default=None),
        wall_time_s=max((u.wall_time_s for u in runs if u.wall_time_s is not None), default=None),
        peak_memory_bytes=max(
            (u.peak_memory_bytes for u in runs if u.peak_memory_bytes is not None), default=None
        ),
    )


def _other_limit(hit: LimitKind, limits: Limits | None) -> str:
    if limits is None:
        return "?"
    match hit:
        case LimitKind.OUTPUT:
            return size(limits.output_bytes)
        case LimitKind.TOTAL_TIME:
            return seconds(limits.total_time_s)
        case _:
            return str(limits.processes)


def _facts(report: GradeReport) -> Iterator[tuple[str, str]]:
    if report.conditions is not None:
        yield "Label format", report.conditions.format
        yield "Language", report.conditions.language
        yield "Image", report.conditions.image
        yield "CPU time limit from", f"{report.conditions.limits_from}"
    if report.sandbox is not None:
        yield "Sandbox", report.sandbox
    if report.integrity is not None:
        yield "Judged", f"{report.integrity}"
    if report.usage.cpu_time_s is not None:
        yield "CPU time in all", seconds(report.usage.cpu_time_s)


def seconds(value: float) -> str:
    """Return a time, such as "12 ms" or "1.50 s"."""
    return f"{1000 * value:.0f} ms" if value < 1 else f"{value:.2f} s"


def size(value: float) -> str:
    """Return a number of bytes, such as "12.5 MiB"."""
    for unit, name in ((1024 * MiB, "GiB"), (MiB, "MiB"), (KiB, "KiB")):
        if value >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value:.0f} B"
