"""Turns the outcomes of runs into a verdict for each case and one for the submission.

Nothing of the submission runs here. Standard output and returned values are compared here with
expected values that never entered the sandbox. Reports of scripts and of pytest come from a process
that the submission may have shared, so they count only if they are complete and consistent.

    stdin     judge_stdin, once per run
    call      judge_call, or judge_calls, once per run
    script    judge_script
    pytest    find_tests once per suite, judge_pytest
    any       summarise

If a checker of the suite decides (`grader.judging.compare.needs_checker`), the caller runs it on
each outcome for which `find_failure` returns None, and passes its result as `checked`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from grader.judging import evidence
from grader.judging.compare import CheckResult, compare_text, compare_value, count_values
from grader.judging.ending import Finding, find_fault, limit_hit, total_time_words
from grader.judging.languages import find_runtime_error
from grader.judging.pytest_run import judge_pytest
from grader.judging.report import ReadRun, Report, read_report
from grader.judging.shared import ExpectedCase, SharedRun, settle
from grader.languages import Language
from grader.model import (
    CallCase,
    CaseResult,
    Comparison,
    Evidence,
    Limits,
    ScriptTests,
    StdinCase,
    Usage,
)
from grader.model.verdict import LimitKind, Verdict, overall
from grader.sandbox.contract import RunOutcome
from grader.source.pytest_tests import ExpectedTests, find_tests
from grader.text import integers
from grader.text.inert import FEEDBACK_CHARS, inert, quote, shorten, show
from sandbox_images.harness.wire import values

__all__ = [
    "ExpectedTests",
    "Judgement",
    "find_failure",
    "find_tests",
    "judge_call",
    "judge_calls",
    "judge_checked",
    "judge_pytest",
    "judge_script",
    "judge_shown_call",
    "judge_stdin",
    "judge_uncompiled",
    "not_run",
    "read_calls",
    "returned_values",
    "summarise",
    "why_no_values",
]

_INPUT_CHARS = 120
_SMALL_NODES = 20_000
"""Most values that are read of a report, which takes a few milliseconds."""
_REFERENCE_NODES = 4_000_000
"""Most values that are read of a report of the suite's own reference, which may take a second."""
_NODES_PER_VALUE = 4
"""The most brackets and commas for one encoded value: those of a tuple within another value."""

_ARRAY = Finding(
    verdict=Verdict.FAILED, feedback="returned an array, which `==` compares item by item"
)

_NOT_RETURNED = Finding(
    verdict=Verdict.RUNTIME_ERROR,
    feedback="the program ended with exit code 0 before the call returned",
)

_Case = StdinCase | CallCase


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict of all cases of a submission together."""

    verdict: Verdict
    limit_hit: LimitKind | None
    feedback: str
    """How many cases passed, and the feedback of the case that decided."""
    usage: Usage
    """The sum of the times of all runs, and the memory of the largest process in any of them."""


# ---------------------------------------------------------------- one case per run


def judge_stdin(
    case: StdinCase,
    comparison: Comparison,
    outcome: RunOutcome,
    limits: Limits,
    *,
    checked: CheckResult | None = None,
    language: Language | None = None,
) -> CaseResult:
    """Judge one run of a program by how it ended and what it printed.

    Args:
        case: The case.
        comparison: How to compare.
        outcome: The outcome of the run.
        limits: The limits of the run, for feedback.
        checked: The result of the suite's checker, if it has one.
        language: The language of the program; None for Python.

    Raises:
        ValueError: The comparison needs a checker and `checked` is not given.
    """
    failure = find_failure(case, outcome, limits, language)
    if failure is not None:
        return failure
    if checked is None:
        checked = compare_text(comparison, expected=case.expected, got=outcome.stdout)
    return judge_checked(case, outcome, checked)


def find_failure(
    case: _Case, outcome: RunOutcome, limits: Limits, language: Language | None = None
) -> CaseResult | None:
    """Return the result of a run that fails whatever it printed, or None if the output decides.

    A crash, an exit code other than 0, or a limit fails the case even if the output is right.
    """
    fault = find_fault(outcome, read_report(outcome.report), limits)
    if fault is not None and fault.verdict is Verdict.RUNTIME_ERROR and language is not None:
        fault = find_runtime_error(outcome, language, limits) or fault
    return None if fault is None else _result(case, outcome, fault)


def judge_uncompiled(case: _Case, compiled: RunOutcome, why_not: Finding) -> CaseResult:
    """Return the result of the first case of a program that does not compile.

    Args:
        case: The case.
        compiled: The outcome of the compiler's run.
        why_not: What `grader.judging.languages.find_compile_error` returned for it.
    """
    return _result(case, compiled, why_not)


def read_calls(cases: Sequence[CallCase], outcome: RunOutcome) -> ReadRun:
    """Return a run that made the calls of some cases. Reads no more of its report than it needs."""
    room = _room(cases, outcome)
    return ReadRun(outcome, read_report(outcome.report, max_nodes=room), room)


def judge_call(case: CallCase, comparison: Comparison, run: ReadRun, limits: Limits) -> CaseResult:
    """Judge a run that made one call, by the returned value.

    Raises:
        ValueError: The comparison needs a checker, which can only read text.
    """
    outcome, report, room = run
    finding = find_fault(outcome, report, limits) or _find_no_value(report, 1)
    if finding is not None:
        return _result(case, outcome, finding)
    checked, got = _compare(case, comparison, report.values[0], room)
    return judge_checked(case, outcome, checked, got)


def judge_shown_call(
    case: CallCase,
    comparison: Comparison,
    outcome: RunOutcome,
    limits: Limits,
    language: Language,
    shown: str | None,
) -> CaseResult:
    """Judge a run that made one call in another language than Python.

    Args:
        case: The case.
        comparison: How to compare.
        outcome: The outcome of the run.
        limits: The limits of the run, for feedback.
        language: The language of the program.
        shown: The result as JSON; None if the program showed none.

    Raises:
        ValueError: As `judge_call`.
    """
    failure = find_failure(case, outcome, limits, language)
    if failure is not None:
        return failure
    if shown is None:
        return _result(case, outcome, _NOT_RETURNED)
    try:
        got = integers.load_json(shown)
    except (ValueError, RecursionError):
        words = f"what it returned is not plain data: {quote(shown)}"
        return _result(case, outcome, Finding(verdict=Verdict.FAILED, feedback=words))
    return judge_checked(case, outcome, *_compare_value(case, comparison, got))


def judge_calls(
    cases: Sequence[CallCase], comparison: Comparison, run: ReadRun, limits: Limits
) -> list[CaseResult]:
    """Judge a run that made the calls of all cases in order, by the returned values.

    If the run did not end in order, that is the result of the first case without a value, or of the
    last case; later cases are skipped. A returned array is wrong, since `==` with it is neither
    true nor false. There may be thousands of cases, so cases that pass have no evidence.

    Raises:
        ValueError: As `judge_call`.
    """
    outcome, report, room = run
    results = [
        _judge_value(case, comparison, outcome, value, room)
        for case, value in zip(cases, report.values, strict=False)
    ]
    finding = find_fault(outcome, report, limits) or _find_no_value(report, len(cases))
    if finding is not None:
        at = min(len(report.values), len(cases) - 1)
        results[at:] = [_result(cases[at], outcome, finding)]
    shared = [replace(result, usage=None) for result in results]
    return shared + not_run(cases[len(results) :], limits, out_of_time=False)


def why_no_values(outcome: RunOutcome, calls: int, limits: Limits) -> str | None:
    """Return why a run does not have one plain value for each of its calls, or None if it does."""
    report = read_report(outcome.report, max_nodes=_REFERENCE_NODES)
    finding = find_fault(outcome, report, limits)
    if finding is None and report.oversized:
        return f"more than {_REFERENCE_NODES} values"
    finding = finding or _find_no_value(report, calls)
    if finding is not None:
        return finding.feedback
    if any(map(values.holds_array, report.values)):
        return _ARRAY.feedback
    try:
        _decoded(report)
    except values.ValueDecodeError as error:
        return inert(str(error))
    return None


def returned_values(report: bytes) -> list[Any]:
    """Return the values that the calls of a run returned.

    Raises:
        sandbox_images.harness.wire.values.ValueDecodeError: One cannot be decoded.
    """
    return _decoded(read_report(report, max_nodes=_REFERENCE_NODES))


def _decoded(report: Report) -> list[Any]:
    return [values.decode(value) for value in report.values]


def _judge_value(
    case: CallCase, comparison: Comparison, outcome: RunOutcome, value: Any, room: int
) -> CaseResult:
    if values.holds_array(value):
        return _result(case, outcome, _ARRAY)
    checked, got = _compare(case, comparison, value, room)
    if not checked.equal:
        return judge_checked(case, outcome, checked, got)
    return CaseResult(id=case.id, verdict=Verdict.PASSED, points=case.points, group=case.group)


def _compare(
    case: CallCase, comparison: Comparison, value: Any, room: int
) -> tuple[CheckResult, str | None]:
    """Compare an encoded value; return the result and, if it differs, the text for evidence."""
    try:
        got = values.decode(value, max_nodes=room)
    except values.ValueDecodeError as error:
        words = f"what it returned cannot be read: {inert(str(error))}"
        return CheckResult(equal=False, difference=words), None
    return _compare_value(case, comparison, got)


def _compare_value(
    case: CallCase, comparison: Comparison, got: Any
) -> tuple[CheckResult, str | None]:
    """Compare a value; return the result and, if it differs, the text for evidence."""
    checked = compare_value(comparison, expected=case.expected, got=got)
    if not checked.equal and any(
        compare_value(comparison, expected=other, got=got).equal for other in case.alternatives
    ):
        checked = CheckResult(equal=True)
    return checked, None if checked.equal else evidence.shown(got)


def _room(cases: Sequence[CallCase], outcome: RunOutcome) -> int:
    """Return how many values to read of a report.

    A result that is much larger than the expected values is wrong, and reading it would take time.
    """
    if len(outcome.report) <= _SMALL_NODES:
        return _SMALL_NODES
    sizes = (max(map(count_values, (case.expected, *case.alternatives))) for case in cases)
    return _SMALL_NODES + _NODES_PER_VALUE * sum(1 + size for size in sizes)


def _find_no_value(report: Report, calls: int) -> Finding | None:
    """Return why an orderly run does not have exactly one value for each call, or None."""
    if report.oversized:
        words = "returned far more values than the expected answer has"
        return Finding(verdict=Verdict.FAILED, feedback=words)
    if report.unencodable is not None:
        reason = inert(report.unencodable.message or report.unencodable.type)
        words = f"returned something that is not plain data: {reason}"
        return Finding(verdict=Verdict.FAILED, feedback=words)
    count = len(report.values)
    if count > calls:
        wanted = "one call" if calls == 1 else f"{calls} calls"
        words = f"reported {count} results for {wanted}"
        return Finding(verdict=Verdict.FAILED, feedback=words)
    if count < calls:
        return _NOT_RETURNED
    return None


def judge_checked(
    case: _Case, outcome: RunOutcome, checked: CheckResult, got: str | None = None
) -> CaseResult:
    """Return the result of a case from the comparison alone.

    Args:
        case: The case.
        outcome: The outcome of its run.
        checked: The result of the comparison.
        got: The text, for evidence, of what a call returned.
    """
    if checked.equal:
        return _result(case, outcome, Finding(verdict=Verdict.PASSED, feedback=""))
    words = checked.difference or "refused by the suite's checker"
    result = _result(case, outcome, Finding(verdict=Verdict.FAILED, feedback=words), got)
    return result if checked.share is None else replace(result, share=checked.share)


def _result(
    case: _Case, outcome: RunOutcome, finding: Finding, got: str | None = None
) -> CaseResult:
    feedback = finding.feedback
    if feedback and finding.verdict is not Verdict.COMPILE_ERROR:
        feedback = f"{feedback}; {_given(case)}"
    return CaseResult(
        id=case.id,
        verdict=finding.verdict,
        feedback=shorten(feedback),
        usage=outcome.usage,
        points=case.points,
        group=case.group,
        evidence=_evidence(case, outcome, got, passed=finding.verdict is Verdict.PASSED),
    )


def _evidence(case: _Case, outcome: RunOutcome, got: str | None, *, passed: bool) -> Evidence:
    if isinstance(case, StdinCase):
        return evidence.of_stdin(case, outcome, passed=passed)
    return evidence.of_call(case, outcome, got=got, passed=passed)


def _given(case: _Case) -> str:
    if isinstance(case, StdinCase):
        return f"input: {quote(case.stdin, _INPUT_CHARS)}" if case.stdin else "no input"
    arguments = [show(arg, _INPUT_CHARS) for arg in case.args[:8]]
    arguments += [f"{name}={show(arg, _INPUT_CHARS)}" for name, arg in case.kwargs.items()]
    return f"arguments: ({shorten(', '.join(arguments), 2 * _INPUT_CHARS)})"


def not_run(cases: Sequence[_Case], limits: Limits, *, out_of_time: bool) -> list[CaseResult]:
    """Return the results of the cases that were not run.

    Args:
        cases: These cases; may be empty.
        limits: The limits of the other cases.
        out_of_time: Whether they were not run because the others had used up `total_time_s`.
    """
    results = [
        CaseResult(
            id=case.id,
            verdict=Verdict.SKIPPED,
            feedback="not run",
            points=case.points,
            group=case.group,
        )
        for case in cases
    ]
    if out_of_time and results:
        words = total_time_words(limits)
        results[0] = replace(results[0], verdict=Verdict.TIME_LIMIT, feedback=words)
    return results


# ---------------------------------------------------------------- all cases in one run


def judge_script(
    tests: ScriptTests, run: ReadRun, limits: Limits, *, stop_early: bool = False
) -> tuple[CaseResult, ...]:
    """Judge the one run of a script's cases.

    Args:
        tests: The suite; it has at least one case.
        run: The run.
        limits: The limits of the run, for feedback.
        stop_early: Whether the run was to end after the first case that did not pass.
    """
    report = run.report
    shared = SharedRun(
        report=report,
        outcome=run.outcome,
        fault=find_fault(run.outcome, report, limits),
        stop_early=stop_early,
    )
    expected = [
        ExpectedCase(key=index, id=case.id, points=case.points, group=case.group)
        for index, case in enumerate(tests.cases)
    ]
    strangers = [event.key for event in report.cases if event.key not in range(len(expected))]
    results = settle(shared, expected, strangers)
    return tuple(
        evidence.with_source(result, case.source, report, index)
        for index, (case, result) in enumerate(zip(tests.cases, results, strict=True))
    )


# ---------------------------------------------------------------- the submission


def summarise(cases: Sequence[CaseResult], outcomes: Sequence[RunOutcome]) -> Judgement:
    """Return the judgement of one submission.

    Args:
        cases: The results of all cases, including those that were not run.
        outcomes: The outcomes of all runs.

    Raises:
        ValueError: `cases` is empty.
    """
    verdict = overall(case.verdict for case in cases)
    passed = sum(case.verdict is Verdict.PASSED for case in cases)
    return Judgement(
        verdict=verdict,
        limit_hit=_limit_of(verdict, outcomes),
        feedback=_feedback(verdict, passed, cases),
        usage=_total_usage(outcomes),
    )


def _limit_of(verdict: Verdict, outcomes: Sequence[RunOutcome]) -> LimitKind | None:
    hit = [kind for outcome in outcomes if (kind := limit_hit(outcome)) is not None]
    match verdict:
        case Verdict.TIME_LIMIT:
            times = (LimitKind.CPU_TIME, LimitKind.WALL_TIME)
            return next((kind for kind in hit if kind in times), LimitKind.TOTAL_TIME)
        case Verdict.MEMORY_LIMIT:  # also for an uncaught MemoryError, without a hit limit
            return LimitKind.MEMORY
        case Verdict.OUTPUT_LIMIT:
            return LimitKind.OUTPUT
        case _:
            return next(iter(hit), None)


def _feedback(verdict: Verdict, passed: int, cases: Sequence[CaseResult]) -> str:
    count = f"{passed} of {len(cases)} cases passed"
    if verdict is Verdict.PASSED:
        return count
    decisive = next(
        case
        for case in cases
        if case.verdict is verdict
        or (verdict is Verdict.FAILED and case.verdict is Verdict.SKIPPED)
    )
    if verdict is Verdict.COMPILE_ERROR:
        return decisive.feedback
    return shorten(f"{count}. {inert(decisive.id)}: {decisive.feedback}", FEEDBACK_CHARS)


def _total_usage(outcomes: Sequence[RunOutcome]) -> Usage:
    cpu = [u for outcome in outcomes if (u := outcome.usage.cpu_time_s) is not None]
    wall = [u for outcome in outcomes if (u := outcome.usage.wall_time_s) is not None]
    peaks = [u for outcome in outcomes if (u := outcome.usage.peak_memory_bytes) is not None]
    return Usage(
        cpu_time_s=sum(cpu) if cpu else None,
        wall_time_s=sum(wall) if wall else None,
        peak_memory_bytes=max(peaks, default=None),
    )
