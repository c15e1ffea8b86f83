"""One run of a suite whose tests are code, apart from the submission or in one process with it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from grader.judging.pytest_run import judge_pytest, shown_id
from grader.judging.report import CaseEvent, ReadRun, read_run
from grader.judging.script_run import judge_script
from grader.model import CaseResult, PytestTests, ScriptTests
from grader.model.verdict import Integrity, Verdict
from grader.running.task import Task, require_cases
from grader.sandbox import payload
from grader.sandbox.contract import Program, RunBatch, Slot
from grader.sandbox.payload import Apart
from grader.source import pytest_tests
from grader.source.by_value import find_apart, may_ask_for_callers
from grader.source.staying import leaves_nothing
from grader.source.swallowing import CAUGHT, catches_failures
from grader.source.trees import script_trees
from grader.twins import CaseKey, keys_of


@dataclass(frozen=True, kw_only=True)
class SuiteRun:
    """A run of a suite, and what it means for each case."""

    cases: tuple[CaseResult, ...]
    run: ReadRun
    events: Mapping[str, CaseEvent]
    """What was reported of each case that has a result, by its id."""

    @property
    def refused(self) -> str | None:
        """Why the tests need more of the submission than plain data; None if they do not."""
        return self.run.report.refused

    @property
    def has_caught_failure(self) -> bool:
        """Whether a case failed because the submission caught the error of a failed assertion."""
        return any(event.trouble.message == CAUGHT for event in self.run.report.cases)

    @property
    def has_passed(self) -> bool:
        """Whether all cases passed."""
        return all(case.verdict is Verdict.PASSED for case in self.cases)

    @cached_property
    def keys(self) -> Mapping[str, CaseKey]:
        """The cases that were collected or have a result, by id, in order."""
        collected = map(shown_id, self.run.report.collected)
        return keys_of([*dict.fromkeys([*collected, *(case.id for case in self.cases)])])

    @cached_property
    def collected(self) -> frozenset[CaseKey]:
        """The same cases, in no order."""
        return frozenset(self.keys.values())

    @cached_property
    def results(self) -> Mapping[CaseKey, CaseResult]:
        """The results by case."""
        return {self.keys[case.id]: case for case in self.cases}


def tests_of(task: Task) -> ScriptTests | PytestTests:
    """Return the tests of a task whose tests are code."""
    tests = task.suite.tests
    if not isinstance(tests, ScriptTests | PytestTests):
        raise TypeError(tests)
    return tests


def run_apart(task: Task, slot: Slot) -> SuiteRun | None:
    """Run a suite apart from the submission, if only plain data has to cross; else return None.

    A submission may ask which function called it. Apart from the tests, the harness does.
    """
    tests = tests_of(task)
    apart = find_apart(tests)
    must_be = task.require is Integrity.SPLIT
    if apart is None or (may_ask_for_callers(task.code) and not must_be):
        return None
    return _run(task, slot, tests, apart)


def run_together(task: Task, slot: Slot, twin: ScriptTests | PytestTests | None = None) -> SuiteRun:
    """Run a suite in one process with the submission.

    Args:
        task: The submission and the suite.
        slot: Where to run it.
        twin: The tests to run instead of the suite's own, with the same cases.
    """
    return _run(task, slot, tests_of(task) if twin is None else twin, None)


def _run(task: Task, slot: Slot, tests: ScriptTests | PytestTests, apart: Apart | None) -> SuiteRun:
    original = tests_of(task)
    if isinstance(original, ScriptTests):
        _require_sound(original)
        (outcome,) = slot.run(_batch(task, tests, apart))
        run = read_run(outcome)
        cases = judge_script(original, run, task.limits, stop_early=task.stop_early)
        ids = {index: case.id for index, case in enumerate(original.cases)}
        events = {ids[event.key]: event for event in run.report.cases if event.key in ids}
        return SuiteRun(cases=cases, run=run, events=events)
    expected = find_tests(original)
    (outcome,) = slot.run(_batch(task, tests, apart))
    run = read_run(outcome)
    cases = judge_pytest(original, run, task.limits, expected, stop_early=task.stop_early)
    events = {shown_id(str(event.key)): event for event in run.report.cases}
    return SuiteRun(cases=cases, run=run, events=events)


def _batch(task: Task, tests: ScriptTests | PytestTests, apart: Apart | None) -> RunBatch:
    original = tests_of(task)
    preload = _preload(original, task.suite.image)
    batch = RunBatch(
        program=Program.SCRIPT if isinstance(tests, ScriptTests) else Program.PYTEST,
        source=task.code,
        prelude=task.suite.prelude,
        runs=(_payload(task, tests, apart),),
        limits=task.limits,
        preload=preload,
        split=apart is not None,
        standing=apart is not None and not preload and _may_stay(original),
    )
    if isinstance(tests, ScriptTests):
        return batch
    return replace(batch, files=tests.files, source_path=tests.solution_path)


def _may_stay(tests: ScriptTests | PytestTests) -> bool:
    """Tell whether a judge may run other tests after these, which can be judged apart."""
    return isinstance(tests, ScriptTests) or leaves_nothing(tests)


def _payload(task: Task, tests: ScriptTests | PytestTests, apart: Apart | None) -> bytes:
    notes = apart is None and task.notes_failures and not catches_failures(tests_of(task))
    if isinstance(tests, ScriptTests):
        sources = [case.source for case in tests.cases]
        return payload.script(
            tests.setup, sources, stop_early=task.stop_early, apart=apart, notes=notes
        )
    return payload.pytest(
        tests.test_paths,
        tests.pytest_args,
        stop_early=task.stop_early,
        apart=apart,
        notes=notes,
    )


find_tests = lru_cache(maxsize=4096)(pytest_tests.find_tests)
"""`pytest_tests.find_tests`, cached, because many samples of one problem come together."""


@lru_cache(maxsize=4096)
def _require_sound(tests: ScriptTests) -> None:
    """Make sure that a script has cases and that they are Python.

    Raises:
        SuiteError: It has no case, or one is not Python.
    """
    require_cases(tests.cases)
    script_trees(tests)


_PRELOADED = ("numpy", "pandas")
"""Modules that are common in suites and take 0.1 s or more to import."""


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
