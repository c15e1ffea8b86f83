"""Judges a case that has a run of its own, and the cases that were not run.

If a checker of the suite decides (`grader.judging.compare.needs_checker`), the caller runs it on
each outcome for which `find_failure` returns None, and passes its result as `checked`.
"""

from collections.abc import Sequence
from dataclasses import replace

from grader.judging import evidence
from grader.judging.compare import CheckResult, compare_text
from grader.judging.ending import Finding, find_fault, total_time_words
from grader.judging.languages import find_runtime_error
from grader.judging.report import read_report
from grader.languages import Language
from grader.model import CallCase, CaseResult, Comparison, Evidence, Limits, StdinCase
from grader.model.verdict import Verdict
from grader.sandbox.contract import RunOutcome
from grader.text.inert import quote, shorten, show

_INPUT_CHARS = 120

_Case = StdinCase | CallCase


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
    return None if fault is None else result_of(case, outcome, fault)


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
        return result_of(case, outcome, Finding(verdict=Verdict.PASSED, feedback=""))
    words = checked.difference or "refused by the suite's checker"
    result = result_of(case, outcome, Finding(verdict=Verdict.FAILED, feedback=words), got)
    return result if checked.share is None else replace(result, share=checked.share)


def result_of(
    case: _Case, outcome: RunOutcome, finding: Finding, got: str | None = None
) -> CaseResult:
    """Return the result of a case from what was found of its run.

    Args:
        case: The case.
        outcome: The outcome of its run.
        finding: Its verdict, with the words for its feedback.
        got: The text, for evidence, of what a call returned.
    """
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
