"""Compares the values of expressions that a program showed with the expected ones.

The submission shares the process that shows its values and can print whatever it likes. That
gains it nothing: a value that it forges has to be right, too.
"""

import operator
import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import replace

from grader.judging import evidence
from grader.judging.ending import Finding, find_fault
from grader.judging.languages import find_runtime_error
from grader.judging.report import read_report
from grader.languages import Language
from grader.model import CaseResult, ExpressionCase, Limits, Verdict
from grader.sandbox.contract import RunOutcome
from grader.text.inert import quote, shorten

_EXPRESSION_CHARS = 160
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def shown_values(
    stdout: bytes, mark: str, count: int, repeated: Container[int] = ()
) -> list[str | None]:
    """Return the values of expressions, in order, up to the last that was shown.

    If an expression was not shown, its value is None, as after an error that ended one test but
    not the others. A value does not count if that of a later expression was shown before it, or if
    its expression was shown already. But if an expression may be evaluated several times, all its
    values count, each on a line.

    Args:
        stdout: What the program printed.
        mark: See `grader.languages.language.ValueDriver`.
        count: How many expressions there are.
        repeated: The numbers of those that may be evaluated several times.
    """
    values: list[list[str] | None] = []
    for number, value in _shown(stdout, mark):
        if len(values) <= number < count:
            values += [None] * (number - len(values))
            values.append([value])
        elif number < count and number in repeated:
            values[number] = all_values = values[number] or []
            all_values.append(value)
    return [None if each is None else "\n".join(each) for each in values]


def _shown(stdout: bytes, mark: str) -> Iterator[tuple[int, str]]:
    line = re.compile(rb"^%b (\d{1,9}) (.*)$" % re.escape(mark.encode()), re.MULTILINE)
    for match in line.finditer(stdout):
        yield int(match[1]), match[2].decode("utf-8", "replace")


def is_shown_again(stdout: bytes, mark: str, repeated: Container[int]) -> bool:
    """Tell whether a program showed a value again that is not one of the repeated ones."""
    once = [number for number, _ in _shown(stdout, mark) if number not in repeated]
    return len(once) > len(set(once))


def find_run_fault(outcome: RunOutcome, language: Language, limits: Limits) -> Finding | None:
    """Return why a program did not end in order, in its runtime's words; None if it did."""
    fault = find_fault(outcome, read_report(outcome.report), limits)
    if fault is not None and fault.verdict is Verdict.RUNTIME_ERROR:
        return find_runtime_error(outcome, language, limits) or fault
    return fault


def judge_expressions(
    cases: Sequence[ExpressionCase],
    expected: Sequence[str],
    got: Sequence[str | None],
    outcome: RunOutcome,
    fault: Finding | None,
) -> list[CaseResult]:
    """Judge the one run that evaluated all cases.

    What ended the run is the result of the first case after all that have a value, or of the last
    case if each has a value. The cases after that one are skipped. Any other case without a value
    is a runtime error. If the run ended by one after the last case had a value, that case tells so,
    and the last case keeps its result.

    Args:
        cases: At least one.
        expected: The value that each must have, as text.
        got: The values that the submission's expressions had, up to the last that was shown.
        outcome: The run.
        fault: Why it did not end in order, if it did not.
    """
    words = "the {} ended before this expression had a value"
    ended = Finding(verdict=Verdict.RUNTIME_ERROR, feedback=words.format("test"))
    crash = fault if fault is not None and fault.verdict is Verdict.RUNTIME_ERROR else ended
    results = [
        _result_of(case, crash, outcome, wanted)
        if value is None
        else _compared(case, wanted, value, outcome)
        for case, wanted, value in zip(cases, expected, got, strict=False)
    ]
    if fault is None and len(got) < len(cases):
        fault = replace(ended, feedback=words.format("program"))
    is_told = fault is crash and None in got and len(got) == len(cases)
    if fault is not None and not is_told:
        at = min(len(got), len(cases) - 1)
        results[at:] = [_result_of(cases[at], fault, outcome, expected[at])]
    skipped = Finding(verdict=Verdict.SKIPPED, feedback="not run")
    return results + [_plain(case, skipped) for case in cases[len(results) :]]


def _result_of(
    case: ExpressionCase,
    finding: Finding,
    outcome: RunOutcome,
    expected: str | None = None,
    got: str | None = None,
) -> CaseResult:
    """Return the result of a case that did not pass.

    Args:
        case: The case.
        finding: What became of it.
        outcome: The run, or the compiler's end.
        expected: The value that it must have, if that is known.
        got: The value that it had, if it had one.
    """
    feedback = finding.feedback
    if finding.verdict is not Verdict.COMPILE_ERROR:
        feedback = f"{feedback}; evaluated: {quote(case.actual, _EXPRESSION_CHARS)}"
    return CaseResult(
        id=case.id,
        verdict=finding.verdict,
        feedback=shorten(feedback),
        points=case.points,
        group=case.group,
        evidence=evidence.evidence(
            input=case.actual, expected=expected, got=got, stderr=outcome.stderr
        ),
    )


def _compared(case: ExpressionCase, expected: str, got: str, outcome: RunOutcome) -> CaseResult:
    is_part = case.contains and expected[1:-1] in got[1:-1]
    is_close = case.within is not None and _is_close(expected, got, case.within)
    is_equal = expected == got or is_part or is_close
    if _is_related(case.relation, got, expected) if case.relation else is_equal:
        return _plain(case, Finding(verdict=Verdict.PASSED, feedback=""))
    relation = f"{case.relation} " if case.relation else ""
    words = f"expected {relation}{quote(expected)}, got {quote(got)}"
    finding = Finding(verdict=Verdict.FAILED, feedback=words)
    return _result_of(case, finding, outcome, expected, got)


def _is_close(expected: str, got: str, within: float) -> bool:
    """Tell whether two values differ in their numbers only, and in these by less than `within`."""
    if _NUMBER.split(expected) != _NUMBER.split(got):
        return False
    pairs = zip(_NUMBER.findall(expected), _NUMBER.findall(got), strict=True)
    return all(abs(float(wanted) - float(value)) < within for wanted, value in pairs)


def _is_related(relation: str, got: str, expected: str) -> bool:
    """Tell whether a value and an expected one are related as they must be."""
    if relation == "!=":
        return got != expected
    pairs = [[each.strip('"') for each in text.split("\n")] for text in (got, expected)]
    if len(pairs[0]) != len(pairs[1]):
        return False
    return all(
        _NUMBER.fullmatch(value) is not None
        and _NUMBER.fullmatch(bound) is not None
        and _RELATIONS[relation](float(value), float(bound))
        for value, bound in zip(*pairs, strict=True)
    )


_RELATIONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _plain(case: ExpressionCase, finding: Finding) -> CaseResult:
    return CaseResult(
        id=case.id,
        verdict=finding.verdict,
        feedback=finding.feedback,
        points=case.points,
        group=case.group,
    )
