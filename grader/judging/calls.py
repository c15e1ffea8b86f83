"""Judges runs that called functions, by the returned values.

Expected values never entered the sandbox. They are compared here with what the run reports.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from grader.judging import evidence
from grader.judging.cases import find_failure, judge_checked, not_run, result_of
from grader.judging.compare import CheckResult, compare_value, count_values
from grader.judging.ending import Finding, find_fault
from grader.judging.report import ReadRun, Report, read_report
from grader.languages import Language
from grader.model import CallCase, CaseResult, Comparison, Limits
from grader.model.verdict import Verdict
from grader.sandbox.contract import RunOutcome
from grader.text import integers
from grader.text.inert import inert, quote
from sandbox_images.harness.wire import values

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
        return result_of(case, outcome, finding)
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
        return result_of(case, outcome, _NOT_RETURNED)
    try:
        got = integers.load_json(shown)
    except (ValueError, RecursionError):
        words = f"what it returned is not plain data: {quote(shown)}"
        return result_of(case, outcome, Finding(verdict=Verdict.FAILED, feedback=words))
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
        results[at:] = [result_of(cases[at], outcome, finding)]
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
        return result_of(case, outcome, _ARRAY)
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
