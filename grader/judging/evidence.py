"""Evidence for people: the input, the expected value and the output of a case, all bounded.

A long text keeps its start and its end: answers mostly differ early, and the end of a traceback
says the most. All evidence of one report has a common budget, so that a graded file is at most a
few times as large as its completions, whatever submissions print.
"""

from collections.abc import Sequence
from dataclasses import replace

from grader.judging.report import Report
from grader.model import CallCase, CaseResult, Evidence, StdinCase
from grader.model.verdict import Verdict
from grader.sandbox.contract import RunOutcome
from grader.text.inert import show

TEXT_CHARS = 2_000
"""The longest text of evidence."""
PASSED_CHARS = 300
"""The longest text of a case that passed, for which less is needed."""
REPORT_CHARS = 16_000
"""The budget of one report; the evidence of cases that do not fit is left out."""

_VALUE_CHARS = 1_000
_TAIL_SHARE = 3


def shortened(text: str | bytes, limit: int = TEXT_CHARS) -> tuple[str, bool]:
    """Return `text` in about `limit` characters, and whether its middle was left out.

    Takes time in proportion to `limit`, not to the text.
    """
    length = len(text)
    if length <= limit:
        return _decoded(text), False
    tail = limit // _TAIL_SHARE
    left_out = f"\n⋯ {length - limit:,} {_unit(text)} left out ⋯\n"
    return f"{_decoded(text[: limit - tail])}{left_out}{_decoded(text[-tail:])}", True


def evidence(*, limit: int = TEXT_CHARS, **texts: str | bytes | None) -> Evidence:
    """Return evidence with these texts, each shortened to about `limit` characters."""
    kept = {name: shortened(text, limit) for name, text in texts.items() if text is not None}
    return Evidence(
        **{name: text for name, (text, _) in kept.items()},
        cut=tuple(name for name, (_, was_cut) in kept.items() if was_cut),
    )


def of_stdin(case: StdinCase, outcome: RunOutcome, *, passed: bool) -> Evidence:
    """Return the evidence of a program's run on one input."""
    if passed:
        return evidence(limit=PASSED_CHARS, input=case.stdin, expected=case.expected)
    return evidence(
        input=case.stdin, expected=case.expected, got=outcome.stdout, stderr=outcome.stderr
    )


def of_call(case: CallCase, outcome: RunOutcome, *, got: str | None, passed: bool) -> Evidence:
    """Return the evidence of one call; `got` is the returned value as text, from `shown`."""
    limit = PASSED_CHARS if passed else _VALUE_CHARS
    arguments = [show(arg, limit) for arg in case.args]
    arguments += [f"{name}={show(arg, limit)}" for name, arg in case.kwargs.items()]
    called = f"({', '.join(arguments)})"
    expected = show(case.expected, limit)
    if passed:
        return evidence(limit=limit, input=called, expected=expected)
    return evidence(
        input=called, expected=expected, got=got, stdout=outcome.stdout, stderr=outcome.stderr
    )


def shown(value: object) -> str:
    """Return the text of evidence for a value that a call returned."""
    return show(value, _VALUE_CHARS)


def with_source(result: CaseResult, source: str, report: Report, key: int | str) -> CaseResult:
    """Return the result of a case that is code, with its source as evidence.

    Args:
        result: The case's result; if the case was not run, it stays without evidence.
        source: The case's source.
        report: The report of the run.
        key: The key of the case in the report.
    """
    if result.verdict is Verdict.SKIPPED:
        return result
    passed = result.verdict is Verdict.PASSED
    found = evidence(
        limit=PASSED_CHARS if passed else TEXT_CHARS,
        input=source,
        traceback="" if passed else _traceback(report, key),
    )
    return replace(result, evidence=found)


def _traceback(report: Report, key: int | str) -> str:
    """Return the reported traceback of a case, or of what ended its run; "" if there is none."""
    own = next((event.trouble.traceback for event in report.cases if event.key == key), "")
    return own or (report.uncaught.traceback if report.uncaught else "")


def of_output(outcome: RunOutcome) -> Evidence | None:
    """Return what a run of all cases printed, or None if it printed nothing."""
    if not outcome.stdout and not outcome.stderr:
        return None
    return evidence(stdout=outcome.stdout, stderr=outcome.stderr)


def fit(cases: Sequence[CaseResult]) -> tuple[CaseResult, ...]:
    """Return the cases with as much evidence as fits into `REPORT_CHARS` characters.

    Cases that did not pass take room first, then the others, both in the order of the suite.
    """
    room = REPORT_CHARS
    order = sorted(range(len(cases)), key=lambda i: cases[i].verdict is Verdict.PASSED)
    fitting = list(cases)
    for index in order:
        found = cases[index].evidence
        if found is None:
            continue
        size = sum(
            len(text or "")
            for text in (
                found.input,
                found.expected,
                found.got,
                found.stdout,
                found.stderr,
                found.traceback,
            )
        )
        if size <= room:
            room -= size
        else:
            fitting[index] = replace(cases[index], evidence=None)
    return tuple(fitting)


def _decoded(text: str | bytes) -> str:
    return text if isinstance(text, str) else text.decode("utf-8", "replace")


def _unit(text: str | bytes) -> str:
    return "characters" if isinstance(text, str) else "bytes"
