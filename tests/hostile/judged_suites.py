"""Run suites of assertions over submissions on a real slot."""

from collections.abc import Sequence
from dataclasses import dataclass

from grader.judging.pytest_run import judge_pytest
from grader.judging.report import read_run
from grader.judging.script_run import judge_script
from grader.model import (
    CaseResult,
    Limits,
    MiB,
    PytestTests,
    ScriptCase,
    ScriptTests,
    SuiteFile,
    TestSuite,
)
from grader.model.verdict import Verdict
from grader.running.judged import run_judged
from grader.running.references import References
from grader.running.task import Graded, Task
from grader.sandbox import payload
from grader.sandbox.contract import Program, RunBatch, RunOutcome, Slot
from grader.sandbox.payload import Apart
from grader.source.by_value import find_apart
from grader.source.pytest_tests import find_tests

LIMITS = Limits(cpu_time_s=2.0, wall_time_s=30.0, memory_bytes=256 * MiB, output_bytes=64 * 1024)
"""Honest programs never wait, but a busy machine may be slow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Tests that a right submission passes."""

    right: str
    """A submission that passes."""
    cases: Sequence[str] = ()
    """Of a script."""
    setup: str = ""
    """Of a script."""
    module: str = ""
    """Of a suite for pytest, instead."""
    reference: str | None = None

    @property
    def tests(self) -> ScriptTests | PytestTests:
        """The tests as the grader has them."""
        if self.module:
            file = SuiteFile(path="test_solution.py", content=self.module.encode())
            return PytestTests(files=(file,), test_paths=(file.path,))
        cases = tuple(ScriptCase(id=str(i), source=case) for i, case in enumerate(self.cases))
        return ScriptTests(setup=self.setup, cases=cases)


def grade(slot: Slot, suite: Suite, source: str, *, limits: Limits = LIMITS) -> Graded:
    """Grade a submission in the way that the suite and the submission allow."""
    task = Task(
        suite=TestSuite(tests=suite.tests, format="hostile", reference=suite.reference),
        code=source,
        limits=limits,
        stop_early=False,
        require=None,
    )
    return run_judged(task, slot, References())


def run_apart(
    slot: Slot, suite: Suite, source: str, *, limits: Limits = LIMITS, standing: bool = True
) -> tuple[tuple[CaseResult, ...], RunOutcome]:
    """Run a suite apart from the submission; return the results of its cases, and the outcome."""
    tests = suite.tests
    apart = find_apart(tests)
    assert apart is not None, "the suite must be such that it can be judged apart"
    outcome = run_script(slot, suite, source, apart, limits=limits, standing=standing)
    if isinstance(tests, ScriptTests):
        return judge_script(tests, read_run(outcome), limits), outcome
    expected = find_tests(tests)
    return judge_pytest(tests, read_run(outcome), limits, expected), outcome


def run_script(
    slot: Slot,
    suite: Suite,
    source: str,
    apart: Apart,
    *,
    limits: Limits = LIMITS,
    standing: bool = True,
) -> RunOutcome:
    """Run tests apart from the submission, even if the grader would not."""
    tests = suite.tests
    if isinstance(tests, ScriptTests):
        run = payload.script(suite.setup, suite.cases, stop_early=False, apart=apart)
        batch = RunBatch(
            program=Program.SCRIPT,
            source=source,
            runs=(run,),
            limits=limits,
            split=True,
            standing=standing,
        )
    else:
        run = payload.pytest(tests.test_paths, [], stop_early=False, apart=apart)
        batch = RunBatch(
            program=Program.PYTEST,
            source=source,
            runs=(run,),
            limits=limits,
            files=tests.files,
            split=True,
            standing=standing,
        )
    (outcome,) = slot.run(batch)
    return outcome


def passed(cases: Sequence[CaseResult]) -> set[str]:
    """Return the ids of the cases that passed."""
    return {case.id for case in cases if case.verdict is Verdict.PASSED}


def verdicts(cases: Sequence[CaseResult]) -> list[str]:
    """Return each case with its verdict and feedback, for messages."""
    return [f"{case.id}: {case.verdict}: {case.feedback}" for case in cases]
