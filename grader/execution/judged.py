"""Tests that are code themselves: scripts of assertions, modules of pytest and unittest tests."""

import ast
from dataclasses import replace
from functools import lru_cache

from grader import judge
from grader.errors import SuiteError
from grader.execution import canaries
from grader.execution.modes import Decision, Mode, ModeBook, look
from grader.execution.standing import leaves_no_trace
from grader.execution.task import Graded, Task, require_cases
from grader.model import PytestTests, ScriptTests, TestSuite
from grader.sandbox import payload
from grader.sandbox.base import Job, Program, Slot
from grader.verdict import Integrity, Verdict


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
        graded = run_suite(task, slot, split=True)
        if _all_passed(graded):
            return graded
        if decision is None:
            decision = _decide(task, slot)
            modes.enter(task.suite, decision)
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


def _decide(task: Task, slot: Slot) -> Decision:
    """Find out how a suite can be judged, by running its reference where it has one.

    Args:
        task: One that did not pass apart from its tests; perhaps the reference itself.
        slot: Where to run it.
    """
    if task.suite.reference is None:
        return Decision(mode=look(task.suite))
    reference = replace(task, code=task.suite.reference, stop_early=True)
    if task.code != reference.code and _all_passed(run_suite(reference, slot, split=True)):
        return Decision(mode=Mode.SPLIT)
    graded = run_suite(reference, slot, split=False)
    if _all_passed(graded):
        return Decision(mode=Mode.SHARED)
    reason = judge.summarise(graded.cases, graded.outcomes).feedback
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


def run_suite(task: Task, slot: Slot, *, split: bool) -> Graded:
    """Run a suite's own code, in one way or the other."""
    tests = task.suite.tests
    match tests:
        case ScriptTests():
            job = _script_job(task, tests, split=split)
            (outcome,) = slot.run(job)
            cases = judge.judge_script(tests, outcome, task.limits, stop_early=task.stop_early)
        case PytestTests():
            expected = find_tests(tests)
            (outcome,) = slot.run(_pytest_job(task, tests, split=split))
            cases = judge.judge_pytest(
                tests, outcome, task.limits, expected, stop_early=task.stop_early
            )
        case _:
            raise AssertionError(tests)
    integrity = Integrity.SPLIT if split else Integrity.SHARED
    return Graded(cases=cases, outcomes=(outcome,), integrity=integrity)


def _script_job(task: Task, tests: ScriptTests, *, split: bool) -> Job:
    _require_sound(tests)
    run = payload.script(
        tests.setup, [case.source for case in tests.cases], stop_early=task.stop_early
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


def _pytest_job(task: Task, tests: PytestTests, *, split: bool) -> Job:
    return Job(
        program=Program.PYTEST,
        source=task.source,
        runs=(payload.pytest(tests.test_paths, tests.pytest_args, stop_early=task.stop_early),),
        limits=task.limits,
        files=tests.files,
        source_path=tests.solution_path,
        preload=_preload(tests, task.suite.image),
        split=split,
    )


find_tests = lru_cache(maxsize=4096)(judge.find_tests)
"""`judge.find_tests`, once per suite: many samples of one problem come together."""


@lru_cache(maxsize=4096)
def _require_sound(tests: ScriptTests) -> None:
    """Make sure that a script has cases and that they are Python.

    Raises:
        SuiteError: It has none, or they are not.
    """
    require_cases(tests.cases)
    for name, source in (("setup", tests.setup), *((c.id, c.source) for c in tests.cases)):
        try:
            ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            message = f"the suite's case {name!r} does not parse: {error}"
            raise SuiteError(message) from error


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
