"""Tests that are code themselves: scripts of assertions, modules of pytest and unittest tests."""

from dataclasses import replace
from functools import lru_cache

from grader import judge
from grader.errors import SuiteError
from grader.execution import canaries
from grader.execution.independent import are_independent
from grader.execution.modes import Decision, Mode, ModeBook, look
from grader.execution.own_process import knows_its_process
from grader.execution.standing import leaves_no_trace
from grader.execution.stateless import keeps_nothing
from grader.execution.task import Graded, Task, require_cases
from grader.judging.report import Report, read_report
from grader.judging.trees import script_trees
from grader.model import PytestTests, ScriptTests, TestSuite
from grader.sandbox import payload
from grader.sandbox.base import Job, Program, Slot
from grader.verdict import Integrity, StateSpan, Verdict


def run_judged(task: Task, slot: Slot, modes: ModeBook) -> Graded:
    """Run a suite's own code over the submission, apart from it wherever the suite allows that.

    Raises:
        SuiteError: The suite is broken, or cannot give the integrity that is required.
        SandboxUnavailableError: The slot broke.
    """
    if task.require is Integrity.ISOLATED:
        message = (
            "refused, since require_integrity is isolated: the suite's tests are code, which runs "
            "in the sandbox, apart from the submission (split) at best"
        )
        raise SuiteError(message)
    decision = modes.find(task.suite)
    if decision is None or decision.mode is not Mode.SHARED:
        together = decision is not None and decision.together
        graded = _run_apart(task, slot, together=together)
        if decision is None and (graded.crossed or not _all_passed(graded)):
            decision = _decide(task, slot, graded)
            modes.enter(task.suite, decision)
            if decision.together and not graded.crossed:
                graded = _run_apart(task, slot, together=True)
        if _all_passed(graded):
            return graded
        if decision is None:
            raise AssertionError(graded)
        is_reference = task.code == task.suite.reference
        if decision.mode is Mode.SPLIT or (decision.mode is Mode.BROKEN and is_reference):
            return graded
    if decision.mode is Mode.BROKEN:
        message = f"the suite's own reference solution does not pass it: {decision.reason}"
        raise SuiteError(message)
    if task.require is Integrity.SPLIT:
        message = (
            "refused, since require_integrity is split: the suite's tests work only in one process "
            "with the submission (shared)"
        )
        raise SuiteError(message)
    return _run_with_canaries(task, slot)


def _run_apart(task: Task, slot: Slot, *, together: bool) -> Graded:
    """Run a suite apart from the submission.

    Where a test uses what an earlier one had of the submission, all get the same process after
    all; that is for this submission alone to want or not, and gives it what plain pytest would.
    """
    graded = run_suite(task, slot, split=True, together=together)
    if not graded.crossed:
        return graded
    return replace(run_suite(task, slot, split=True, together=True), crossed=True)


def _decide(task: Task, slot: Slot, graded: Graded) -> Decision:
    """Find out how a suite can be judged, by running its reference where it has one.

    Args:
        task: One that did not pass apart from its tests, or whose tests were not as independent of
            each other as they look; perhaps the reference itself.
        slot: Where to run it.
        graded: What came of it.
    """
    if task.suite.reference is None:
        # Nothing of what this submission did may decide about others.
        return Decision(mode=look(task.suite))
    reference = replace(task, code=task.suite.reference, stop_early=True)
    apart = graded if task.code == reference.code else _run_apart(reference, slot, together=False)
    if _all_passed(apart):
        return Decision(mode=Mode.SPLIT, together=apart.crossed)
    if not apart.crossed and _all_passed(run_suite(reference, slot, split=True, together=True)):
        return Decision(mode=Mode.SPLIT, together=True)
    whole = run_suite(reference, slot, split=False)
    if _all_passed(whole):
        return Decision(mode=Mode.SHARED)
    reason = judge.summarise(whole.cases, whole.outcomes).feedback
    return Decision(mode=Mode.BROKEN, reason=reason)


def _with_canaries(suite: TestSuite) -> tuple[TestSuite, canaries.Canaries]:
    tests = suite.tests
    if isinstance(tests, PytestTests):
        find_tests(tests)  # a suite that does not parse is refused as such
        hiding, hidden = canaries.into_pytest(tests)
        return replace(suite, tests=hiding), hidden
    if isinstance(tests, ScriptTests):
        _require_sound(tests)
        script, hidden = canaries.into_script(tests)
        return replace(suite, tests=script), hidden
    raise TypeError(tests)


def _run_with_canaries(task: Task, slot: Slot) -> Graded:
    """Run a suite in the submission's process, with cases whose outcome is known beforehand."""
    suite, hidden = _with_canaries(task.suite)
    # One canary fails, so that the run cannot stop at the first failure.
    graded = run_suite(replace(task, suite=suite, stop_early=False), slot, split=False)
    cases, results = hidden.split(graded.cases)
    return replace(graded, cases=cases, tampered=hidden.betray(results))


def _all_passed(graded: Graded) -> bool:
    return all(case.verdict is Verdict.PASSED for case in graded.cases)


def run_suite(task: Task, slot: Slot, *, split: bool, together: bool = True) -> Graded:
    """Run a suite's own code, in one way or the other.

    Args:
        task: What to run.
        slot: Where.
        split: Whether the submission gets a process of its own.
        together: Whether it then has one for all tests, whatever they are like.
    """
    tests = task.suite.tests
    if not isinstance(tests, PytestTests | ScriptTests):
        raise TypeError(tests)
    count = len(tests.cases) if isinstance(tests, ScriptTests) else None
    # Whatever a script's only case is like, nothing comes after it: most scripts have one.
    together = together or count == 1 or not (split and are_independent(tests))
    branch = not together and not keeps_nothing(task.source)
    too_many = count is not None and count > _MOST_COPIES
    if branch and (too_many or knows_its_process(task.source)):
        together, branch = True, False
    if isinstance(tests, ScriptTests):
        (outcome,) = slot.run(_script_job(task, tests, split=split, branch=branch))
        cases = judge.judge_script(tests, outcome, task.limits, stop_early=task.stop_early)
    else:
        expected = find_tests(tests)
        (outcome,) = slot.run(_pytest_job(task, tests, split=split, branch=branch))
        cases = judge.judge_pytest(
            tests, outcome, task.limits, expected, stop_early=task.stop_early
        )
    report = read_report(outcome.report)
    return Graded(
        cases=cases,
        outcomes=(outcome,),
        integrity=Integrity.SPLIT if split else Integrity.SHARED,
        state=_span(report, len(cases), together=together),
        crossed=split and report.crossed,
    )


def _span(report: Report, cases: int, *, together: bool) -> StateSpan | None:
    """Return how fresh tests found the submission; None where none ran."""
    if not report.cases:
        return None
    if cases > 1 and together:
        return StateSpan.PER_SUITE
    return _SPANS.get(report.state_per, StateSpan.PER_TEST if cases == 1 else StateSpan.PER_SUITE)


_SPANS = {
    "module": StateSpan.PER_MODULE,
    "suite": StateSpan.PER_SUITE,
    "test": StateSpan.PER_TEST,
}


def _script_job(task: Task, tests: ScriptTests, *, split: bool, branch: bool) -> Job:
    _require_sound(tests)
    run = payload.script(
        tests.setup,
        [case.source for case in tests.cases],
        stop_early=task.stop_early,
        branch=branch,
    )
    preload = _preload(tests, task.suite.image)
    return Job(
        program=Program.SCRIPT,
        source=task.source,
        runs=(run,),
        limits=task.limits,
        preload=preload,
        split=split,
        standing=split and not preload and leaves_no_trace(tests),
    )


def _pytest_job(task: Task, tests: PytestTests, *, split: bool, branch: bool) -> Job:
    run = payload.pytest(
        tests.test_paths, tests.pytest_args, stop_early=task.stop_early, branch=branch
    )
    return Job(
        program=Program.PYTEST,
        source=task.source,
        runs=(run,),
        limits=task.limits,
        files=tests.files,
        source_path=tests.solution_path,
        preload=_preload(tests, task.suite.image),
        split=split,
    )


_MOST_COPIES = 8
"""As many cases of a script get a copy of the submission each: a copy takes as long as all of the
cases of most scripts, and some have hundreds."""

find_tests = lru_cache(maxsize=4096)(judge.find_tests)
"""`judge.find_tests`, once per suite: many samples of one problem come together."""


@lru_cache(maxsize=4096)
def _require_sound(tests: ScriptTests) -> None:
    """Make sure that a script has cases and that they are Python.

    Raises:
        SuiteError: It has none, or they are not.
    """
    require_cases(tests.cases)
    script_trees(tests)


_PRELOADED = ("numpy", "pandas")
"""What takes a process 0.1 s and more to import, and is common in suites."""


@lru_cache(maxsize=4096)
def _preload(tests: ScriptTests | PytestTests, image: str) -> tuple[str, ...]:
    """Return the modules that a suite's processes should find imported already."""
    if image != "science":
        return ()
    if isinstance(tests, ScriptTests):
        sources = [tests.setup, *(case.source for case in tests.cases)]
    else:
        sources = [file.content.decode("utf-8", "replace") for file in tests.files]
    return tuple(name for name in _PRELOADED if any(f"import {name}" in s for s in sources))
