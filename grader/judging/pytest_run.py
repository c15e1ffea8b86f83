"""Judges a pytest run: compares what was collected and reported with the suite's own tests."""

from collections import Counter
from collections.abc import Iterable

from grader.judging import evidence
from grader.judging.ending import find_fault, finding_of
from grader.judging.report import ReadRun, Report
from grader.judging.shared import ExpectedCase, Key, SharedRun, settle
from grader.model import CaseResult, Limits, PytestTests
from grader.model.verdict import Verdict
from grader.source.pytest_sources import source_of
from grader.source.pytest_tests import ExpectedTests, base_id
from grader.text.inert import inert

_ID_CHARS = 300


def judge_pytest(
    tests: PytestTests,
    run: ReadRun,
    limits: Limits,
    expected: ExpectedTests,
    *,
    stop_early: bool = False,
) -> tuple[CaseResult, ...]:
    """Judge the run of a suite's test modules.

    Args:
        tests: The suite.
        run: Its only run.
        limits: The limits of the run, for feedback.
        expected: What `find_tests` says of the suite.
        stop_early: Whether the run was to end after the first test that did not pass.

    Returns:
        One result for each collected test of the suite, with its parameters, and one for each
        expected test of which some or all were not collected; never empty. Tests that the suite
        itself skips or expects to fail (see `ExpectedTests.waived`) have no result.
    """
    outcome, report, _ = run
    collected = dict.fromkeys(report.collected)
    cases = _expected_cases(tests, expected, report, collected)
    fault = find_fault(outcome, report, limits)
    if fault is None and report.collect_errors and not any(case.obstacle for case in cases):
        # No expected test is in this module, but the error ended the run.
        fault = finding_of(report.collect_errors[0][1])
    shared = SharedRun(report=report, outcome=outcome, fault=fault, stop_early=stop_early)
    strangers = [id for id in collected if _path_of(id) not in tests.test_paths]
    strangers += [str(event.key) for event in report.cases if event.key not in collected]
    results = settle(shared, cases, strangers)
    return tuple(
        result
        if result.verdict is Verdict.PASSED
        else evidence.with_source(result, source_of(tests, str(case.key)), report, case.key)
        for case, result in zip(cases, results, strict=True)
    )


def _expected_cases(
    tests: PytestTests, expected: ExpectedTests, report: Report, collected: Iterable[str]
) -> list[ExpectedCase]:
    """Return the collected tests that count, then the expected ones that were not collected.

    If a test was collected with fewer parameters than the suite shows, one case stands for those
    that are missing.

    A test that the suite only imported from the submission does not count.
    """
    skipped = _skips_of_the_suite(expected, report)
    required = set(expected.required)
    dynamic = expected.dynamic_paths.intersection(tests.test_paths)
    failed = {event.key for event in report.cases if event.outcome in ("failed", "error")}
    counted = [
        id
        for id in collected
        if (base := base_id(id)) in required
        # A test that is expected to fail, strictly, and passes. pytest fails it.
        or (base in expected.waived and id in failed)
        or (
            (_path_of(id) in dynamic or _class_of(base) in expected.classes)
            and base not in expected.waived
        )
    ]
    cases = [ExpectedCase(key=id, id=shown_id(id)) for id in counted if id not in skipped]
    seen = Counter(map(base_id, counted))
    obstacles = {_path_of(id): finding_of(trouble) for id, trouble in report.collect_errors}
    cases += [
        ExpectedCase(key=base, id=base, obstacle=obstacles.get(_path_of(base)))
        for base in expected.required
        if base not in seen
    ]
    cases += [
        ExpectedCase(key=id, id=id)
        for base, rows in expected.rows.items()
        if 0 < seen[base] < rows
        for id in [f"{base}[{seen[base]} of {rows}]"]
    ]
    if not cases:  # the suite makes its tests at run time, and has made none
        path = tests.test_paths[0]
        cases.append(ExpectedCase(key=path, id=path, obstacle=obstacles.get(path)))
    return cases


def _skips_of_the_suite(expected: ExpectedTests, report: Report) -> set[Key]:
    """Return the cases that the suite itself skips, or expects to fail, as its source shows.

    A submission can raise a skip, too. So a skip counts only if it gives a reason of the test's, if
    the same test passed with other parameters, and if no more of its cases are skipped than those
    that the source shows. The same goes for cases that are expected to fail.
    """
    passed = {base_id(str(event.key)) for event in report.cases if event.outcome == "passed"}
    found: set[Key] = set()
    for base in passed.intersection(expected.row_skips):
        skips = expected.row_skips[base]
        events = [event for event in report.cases if base_id(str(event.key)) == base]
        skipped = {
            event.key
            for event in events
            if event.outcome == "skipped"
            and event.trouble.message.removeprefix("Skipped: ") in skips.reasons
        }
        failed = {event.key for event in events if event.outcome in ("xfailed", "xpassed")}
        if skips.most is None or len(skipped) <= skips.most:
            found |= skipped
        if len(failed) <= skips.xfails:
            found |= failed
    return found


def _class_of(base: str) -> str:
    """Return the outermost class of a test, with its path; the test's own id if it has no class."""
    return "::".join(base.split("::")[:2])


def shown_id(id: str) -> str:
    """Return the id that a result has, for a pytest node id."""
    return inert(id, _ID_CHARS)


def _path_of(id: str) -> str:
    return id.partition("::")[0]
