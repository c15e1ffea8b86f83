"""Judges a script's run: compares what it reported with the suite's own cases."""

from grader.judging import evidence
from grader.judging.ending import find_fault
from grader.judging.report import ReadRun
from grader.judging.shared import ExpectedCase, SharedRun, settle
from grader.model import CaseResult, Limits, ScriptTests


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
