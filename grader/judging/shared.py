"""Decides the cases of a run that many cases shared, from positive evidence only.

A case passes if it was reported exactly once, as passed, the report fits the suite, and the run
ended in order. If any of this is missing, it does not pass.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.judging.ending import (
    Finding,
    exception_words,
    exit_words,
    finding_of,
)
from grader.judging.report import CaseEvent, Report
from grader.model import CaseResult
from grader.model.verdict import LIMIT_VERDICTS, PRECEDENCE, Verdict
from grader.sandbox.contract import RunOutcome
from grader.text.inert import inert

Key = int | str
"""The key of a case in a report: its number in a script, or its pytest node id."""

NEVER_CAME = "the run came to its end without this case"
"""What is said of a case that a run which ended in order did not report."""

_ORDERLY_STATUSES = (0, 1, 5)
"""Statuses of a pytest session that was not interrupted or broken: passed, failed, no tests."""

_MAX_NAMED_STRANGERS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCase:
    """A case that the run should have reported."""

    key: Key
    id: str
    points: float = 1.0
    group: str | None = None
    obstacle: Finding | None = None
    """Why it cannot have run, for example because its module was not collected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedRun:
    """A run of many cases, after its end."""

    report: Report
    outcome: RunOutcome
    fault: Finding | None
    """What `find_fault` says of it."""
    stop_early: bool
    """Whether it was to end after the first case that did not pass."""


def settle(
    run: SharedRun,
    expected: Sequence[ExpectedCase],
    strangers: Sequence[Key],
) -> tuple[CaseResult, ...]:
    """Return the result of every expected case.

    Args:
        run: The run that they shared.
        expected: At least one case, in the order in which they run.
        strangers: Keys in the report that an honest run of the suite never reports. If there are
            any, something other than the runner has written to it, and no pass is believed.
    """
    events = _events_by_key(run.report)
    settled = {case.key: _reported(events[case.key]) for case in expected if case.key in events}
    missing = [case for case in expected if case.key not in settled]
    if missing:
        settled.update(_settle_missing(run, missing, settled))
    else:
        ending = _settle_ending(run, settled)
        last = expected[-1].key
        if ending is not None:
            settled[last] = min(settled[last], ending, key=lambda f: PRECEDENCE.index(f.verdict))
    if strangers:
        settled = _without_passes(settled, strangers)
    return tuple(
        CaseResult(
            id=case.id,
            verdict=settled[case.key].verdict,
            feedback=settled[case.key].feedback,
            points=case.points,
            group=case.group,
        )
        for case in expected
    )


def _events_by_key(report: Report) -> Mapping[Key, list[CaseEvent]]:
    if report.compile_error is not None or report.uncaught is not None:
        return {}  # no case can have run after that
    events: dict[Key, list[CaseEvent]] = defaultdict(list)
    for event in report.cases:
        events[event.key].append(event)
    return events


def _reported(events: Sequence[CaseEvent]) -> Finding:
    if len(events) > 1:
        return Finding(verdict=Verdict.FAILED, feedback=f"reported {len(events)} times, not once")
    (event,) = events
    match event.outcome:
        case "passed":
            return Finding(verdict=Verdict.PASSED, feedback="")
        case "failed":
            return Finding(verdict=Verdict.FAILED, feedback=exception_words(event.trouble))
        case "error":
            return finding_of(event.trouble)
        case "skipped":
            reason = inert(event.trouble.message) or "no reason given"
            return Finding(verdict=Verdict.SKIPPED, feedback=f"skipped itself: {reason}")
        case "xfailed" | "xpassed":
            words = "marked as expected to fail, which shows nothing"
            return Finding(verdict=Verdict.FAILED, feedback=words)
        case unknown:
            words = f"reported with the unknown outcome {inert(unknown)!r}"
            return Finding(verdict=Verdict.FAILED, feedback=words)


def _settle_missing(
    run: SharedRun, missing: Sequence[ExpectedCase], settled: Mapping[Key, Finding]
) -> dict[Key, Finding]:
    """Return the findings for cases that were not reported, by how the run ended."""
    found = {case.key: case.obstacle for case in missing if case.obstacle is not None}
    rest = [case.key for case in missing if case.obstacle is None]
    not_run = Finding(verdict=Verdict.SKIPPED, feedback="not run")
    if run.fault is not None:
        interrupted = run.report.started if run.report.started in rest else next(iter(rest), None)
        later = _later(run.fault)
        found.update((key, run.fault if key == interrupted else later) for key in rest)
    elif found or (run.stop_early and _any_failed(settled)):
        found.update((key, not_run) for key in rest)
    elif run.report.done and run.report.exit_status in _ORDERLY_STATUSES:
        found.update((key, Finding(verdict=Verdict.FAILED, feedback=NEVER_CAME)) for key in rest)
    else:
        found.update((key, _ended_early(run.outcome)) for key in rest)
    return found


def _later(fault: Finding) -> Finding:
    """Return the finding for cases that were still to run when a fault ended the run."""
    if fault.verdict in LIMIT_VERDICTS:
        return Finding(verdict=Verdict.SKIPPED, feedback="not run: a limit ended the run before")
    if fault.verdict is Verdict.COMPILE_ERROR:
        return Finding(verdict=Verdict.COMPILE_ERROR, feedback="the code does not compile")
    return Finding(verdict=fault.verdict, feedback="the run had ended before this case")


def _settle_ending(run: SharedRun, settled: Mapping[Key, Finding]) -> Finding | None:
    """Return why a run in which every case was reported does not count, or None if it counts."""
    if run.fault is not None:
        return run.fault
    if run.stop_early and _any_failed(settled):
        return None
    if not run.report.done:
        return _ended_early(run.outcome)
    if run.report.exit_status and all(event.outcome == "passed" for event in run.report.cases):
        words = f"every test passed, but pytest ended with status {run.report.exit_status}"
        return Finding(verdict=Verdict.RUNTIME_ERROR, feedback=words)
    return None


def _ended_early(outcome: RunOutcome) -> Finding:
    words = f"the program {exit_words(outcome)} before the tests were over"
    return Finding(verdict=Verdict.RUNTIME_ERROR, feedback=words)


def _any_failed(settled: Mapping[Key, Finding]) -> bool:
    return any(finding.verdict is not Verdict.PASSED for finding in settled.values())


def _without_passes(settled: Mapping[Key, Finding], strangers: Sequence[Key]) -> dict[Key, Finding]:
    named = ", ".join(repr(inert(str(key))) for key in strangers[:_MAX_NAMED_STRANGERS])
    words = f"not believed: the report names cases that the suite does not have ({named})"
    withdrawn = Finding(verdict=Verdict.FAILED, feedback=words)
    return {
        key: withdrawn if finding.verdict is Verdict.PASSED else finding
        for key, finding in settled.items()
    }
