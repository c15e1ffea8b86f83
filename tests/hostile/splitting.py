"""Run suites over submissions on a real slot, apart from each other or in one process."""

from collections.abc import Sequence
from dataclasses import dataclass

from grader import judge
from grader.execution.standing import leaves_no_trace
from grader.model import (
    CaseResult,
    Limits,
    MiB,
    PytestTests,
    ScriptCase,
    ScriptTests,
    SuiteFile,
)
from grader.sandbox import payload
from grader.sandbox.base import Job, Program, RunOutcome, Slot

LIMITS = Limits(cpu_time_s=2.0, wall_time_s=30.0, memory_bytes=256 * MiB, output_bytes=64 * 1024)
"""Honest programs never wait; on a busy machine they are waited for all the same."""


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


def run(
    slot: Slot, suite: Suite, source: str, *, split: bool = True, limits: Limits = LIMITS
) -> tuple[tuple[CaseResult, ...], RunOutcome]:
    """Run a suite over a submission; return what its cases come to, and how the run ended."""
    if suite.module:
        return _run_pytest(slot, suite.module, source, split, limits)
    tests = ScriptTests(
        setup=suite.setup,
        cases=tuple(ScriptCase(id=str(i), source=case) for i, case in enumerate(suite.cases)),
    )
    run_bytes = payload.script(suite.setup, suite.cases, stop_early=False, branch=split)
    job = Job(
        program=Program.SCRIPT,
        source=source,
        runs=(run_bytes,),
        limits=limits,
        split=split,
        standing=split and leaves_no_trace(tests),
    )
    (outcome,) = slot.run(job)
    return judge.judge_script(tests, outcome, limits), outcome


def _run_pytest(
    slot: Slot, module: str, source: str, split: bool, limits: Limits
) -> tuple[tuple[CaseResult, ...], RunOutcome]:
    tests = PytestTests(
        files=(SuiteFile(path="test_solution.py", content=module.encode()),),
        test_paths=("test_solution.py",),
        solution_path="solution.py",
    )
    job = Job(
        program=Program.PYTEST,
        source=source,
        runs=(payload.pytest(tests.test_paths, [], stop_early=False, branch=split),),
        limits=limits,
        files=tests.files,
        split=split,
    )
    (outcome,) = slot.run(job)
    return judge.judge_pytest(tests, outcome, limits, judge.find_tests(tests)), outcome


def verdicts(cases: Sequence[CaseResult]) -> list[str]:
    """Return what each case came to, with the reason, for a message that says everything."""
    return [f"{case.id}: {case.verdict}: {case.feedback}" for case in cases]
