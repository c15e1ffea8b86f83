"""Grade one submission on one slot: extract, run, judge, score. The one use case."""

import ast
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import assert_never

from grader import canaries, judge
from grader.checkers import run_checker
from grader.compare import CheckResult, needs_checker
from grader.errors import GraderError, SandboxError, SuiteError
from grader.extract import extract
from grader.model import (
    CallTests,
    CaseResult,
    Checker,
    GradeReport,
    Limits,
    PytestTests,
    ScriptTests,
    StdinTests,
    Submission,
    TestSuite,
)
from grader.modes import Mode, ModeBook, look
from grader.sandbox import payload
from grader.sandbox.base import Job, Program, RunOutcome, Slot
from grader.score import find_policy, score_report
from grader.settings import Settings
from grader.verdict import Integrity, Verdict
from sandbox_images.harness.values import UnencodableError

_log = logging.getLogger(__name__)

BorrowSlot = Callable[[str, int], AbstractContextManager[Slot]]
"""Lends a slot of an image variant with at least so many bytes of memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """A submission whose code was found, with everything that decides how it runs."""

    suite: TestSuite
    code: str
    limits: Limits
    stop_early: bool
    require: Integrity | None

    @property
    def source(self) -> str:
        """The code with the suite's prelude before it."""
        prelude = self.suite.prelude
        return f"{prelude}\n{self.code}" if prelude else self.code


@dataclass(frozen=True, slots=True, kw_only=True)
class _Graded:
    """What running a task came to."""

    cases: tuple[CaseResult, ...]
    outcomes: tuple[RunOutcome, ...]
    integrity: Integrity
    tampered: bool = False
    """Whether a canary had the wrong outcome."""


def grade(
    submission: Submission, borrow: BorrowSlot, modes: ModeBook, settings: Settings
) -> GradeReport:
    """Grade a submission.

    A sandbox that fails is replaced and the submission run again, `settings.retries` times;
    what still fails then, and a suite that is broken, is reported as an internal error. Raises
    only for a fault in this program.

    Args:
        submission: What to grade.
        borrow: Lends a slot; one whose use raised is not lent again.
        modes: What is known about suites; learns from this submission.
        settings: Limits, policy and the rest.
    """
    suite = submission.suite
    extraction = extract(
        submission.completion,
        prompt=submission.prompt,
        rule=settings.extraction or suite.extraction,
        entry_point=suite.entry_point,
        continues=suite.prompt if suite.continues_prompt else None,
    )
    if extraction.code is None:
        return score_report(
            verdict=Verdict.NO_CODE,
            cases=(),
            policy=settings.policy,
            total=_count_cases(suite),
            feedback=extraction.note,
        )
    task = _Task(
        suite=suite,
        code=extraction.code,
        limits=settings.limits.override(suite.limits),
        stop_early=_stops_early(settings),
        require=settings.require_integrity,
    )
    try:
        graded, slot_name = _run_with_retries(task, borrow, modes, settings)
        judgement = judge.summarise(graded.cases, graded.outcomes)
        if graded.tampered:
            judgement = replace(
                judgement,
                verdict=Verdict.TAMPERED,
                feedback="the code interferes with its tests: a test that must fail passed, "
                "or one that must pass failed",
            )
        return score_report(
            verdict=judgement.verdict,
            cases=graded.cases,
            policy=settings.policy,
            usage=judgement.usage,
            limit_hit=judgement.limit_hit,
            integrity=graded.integrity,
            feedback=judgement.feedback,
            code=task.code,
            sandbox=slot_name.rpartition("-")[0],
        )
    except GraderError as error:
        _log.error("submission %s was not graded: %s", submission.id, error)
        return not_graded(f"{type(error).__name__}: {error}", settings, code=task.code)


def not_graded(reason: str, settings: Settings, *, code: str | None = None) -> GradeReport:
    """Return the report of a submission that we failed to grade."""
    return score_report(
        verdict=Verdict.INTERNAL_ERROR,
        cases=(),
        policy=settings.policy,
        total=0,
        feedback=reason,
        code=code,
    )


def _stops_early(settings: Settings) -> bool:
    if settings.stop_early is not None:
        return settings.stop_early
    return not find_policy(settings.policy).needs_every_case


def _count_cases(suite: TestSuite) -> int:
    tests = suite.tests
    return len(find_tests(tests).required) if isinstance(tests, PytestTests) else len(tests.cases)


def _run_with_retries(
    task: _Task, borrow: BorrowSlot, modes: ModeBook, settings: Settings
) -> tuple[_Graded, str]:
    """Run a task; return what came of it and on which slot."""
    left = settings.retries
    while True:
        try:
            with borrow(task.suite.image, task.limits.memory_bytes) as slot:
                return _run(task, slot, modes), slot.name
        except SandboxError as error:
            if not error.retryable or left == 0:
                raise
            left -= 1
            _log.warning("running again after a sandbox failed: %s", error)


def _run(task: _Task, slot: Slot, modes: ModeBook) -> _Graded:
    tests = task.suite.tests
    match tests:
        case StdinTests():
            return _run_stdin(task, tests, slot)
        case CallTests():
            return _run_calls(task, tests, slot)
        case ScriptTests() | PytestTests():
            return _run_judged(task, slot, modes)
        case _ as unknown:
            assert_never(unknown)


# ---------------------------------------------------------------- compared outside the sandbox


def _run_stdin(task: _Task, tests: StdinTests, slot: Slot) -> _Graded:
    _require_cases(tests.cases)
    runs = tuple(case.stdin.encode("utf-8", "surrogatepass") for case in tests.cases)
    job = Job(program=Program.STDIN, source=task.source, runs=runs, limits=task.limits)
    checker = tests.comparison.checker if needs_checker(tests.comparison) else None
    cases = []
    outcomes = []
    with closing(slot.run(job)) as running:
        for case, outcome in zip(tests.cases, running, strict=False):
            outcomes.append(outcome)
            if checker is not None:
                continue
            cases.append(judge.judge_stdin(case, tests.comparison, outcome, task.limits))
            if _decided(task, cases[-1]):
                break
    if checker is not None:
        cases = _check_outputs(tests, checker, outcomes, slot, task.limits)
    cases += [judge.skipped(case) for case in tests.cases[len(cases) :]]
    return _Graded(cases=tuple(cases), outcomes=tuple(outcomes), integrity=Integrity.ISOLATED)


def _check_outputs(
    tests: StdinTests,
    checker: Checker,
    outcomes: list[RunOutcome],
    slot: Slot,
    limits: Limits,
) -> list[CaseResult]:
    """Have the suite's checker look at every output that was not lost anyway."""
    cases = tests.cases
    sound = {
        index: outcome
        for index, outcome in enumerate(outcomes)
        if judge.find_failure(cases[index], outcome, limits) is None
    }
    questions = [(cases[index], outcome.stdout) for index, outcome in sound.items()]
    answers = run_checker(checker, questions, slot)
    checked: dict[int, CheckResult] = dict(zip(sound, answers, strict=True))
    return [
        judge.judge_stdin(
            cases[index], tests.comparison, outcome, limits, checked=checked.get(index)
        )
        for index, outcome in enumerate(outcomes)
    ]


def _run_calls(task: _Task, tests: CallTests, slot: Slot) -> _Graded:
    _require_cases(tests.cases)
    try:
        runs = tuple(payload.call(tests.entry_point, c.args, c.kwargs) for c in tests.cases)
    except UnencodableError as error:
        message = f"a case has an argument that cannot be passed: {error}"
        raise SuiteError(message) from error
    job = Job(program=Program.CALL, source=task.source, runs=runs, limits=task.limits)
    cases = []
    outcomes = []
    with closing(slot.run(job)) as running:
        for case, outcome in zip(tests.cases, running, strict=False):
            outcomes.append(outcome)
            cases.append(judge.judge_call(case, tests.comparison, outcome, task.limits))
            if _decided(task, cases[-1]):
                break
    cases += [judge.skipped(case) for case in tests.cases[len(cases) :]]
    return _Graded(cases=tuple(cases), outcomes=tuple(outcomes), integrity=Integrity.ISOLATED)


def _decided(task: _Task, last: CaseResult) -> bool:
    """Tell whether no further case needs to run: a compile error is one for all of them."""
    lost = last.verdict is not Verdict.PASSED
    return lost and (task.stop_early or last.verdict is Verdict.COMPILE_ERROR)


def _require_cases(cases: tuple[object, ...]) -> None:
    if not cases:
        message = "the suite has no case"
        raise SuiteError(message)


# ---------------------------------------------------------------- judged by the suite's own code


def _run_judged(task: _Task, slot: Slot, modes: ModeBook) -> _Graded:
    """Run a suite's own code over the submission, apart from it wherever the suite allows that."""
    mode = modes.find(task.suite)
    if mode is None or mode is Mode.SPLIT:
        graded = _run_suite(task, slot, split=True)
        if mode is Mode.SPLIT or _all_passed(graded):
            return graded
        mode = _find_mode(task, slot)
        modes.enter(task.suite, mode)
        if mode is Mode.SPLIT:
            return graded
    if mode is Mode.BROKEN:
        message = "the suite's own reference solution does not pass it"
        raise SuiteError(message)
    if task.require is Integrity.SPLIT:
        message = "the suite cannot be judged apart from the submission, which is required"
        raise SuiteError(message)
    return _run_with_canaries(task, slot)


def _find_mode(task: _Task, slot: Slot) -> Mode:
    """Find out how a suite can be judged, by running its reference where it has one."""
    if task.suite.reference is None:
        return look(task.suite)
    reference = replace(task, code=task.suite.reference, stop_early=True)
    for mode in (Mode.SPLIT, Mode.SHARED):
        if _all_passed(_run_suite(reference, slot, split=mode is Mode.SPLIT)):
            return mode
    return Mode.BROKEN


def _run_with_canaries(task: _Task, slot: Slot) -> _Graded:
    """Run a suite in the submission's process, with cases whose outcome is known beforehand."""
    tests = task.suite.tests
    if isinstance(tests, PytestTests):
        find_tests(tests)  # a suite that does not parse is refused as such
        with_canaries, hidden = canaries.into_pytest(tests)
    elif isinstance(tests, ScriptTests):
        with_canaries, hidden = canaries.into_script(tests)
    else:
        raise TypeError(tests)
    suite = replace(task.suite, tests=with_canaries)
    # One canary fails, so that the run cannot stop at the first failure.
    graded = _run_suite(replace(task, suite=suite, stop_early=False), slot, split=False)
    cases, results = hidden.split(graded.cases)
    return replace(graded, cases=cases, tampered=hidden.betray(results))


def _all_passed(graded: _Graded) -> bool:
    return all(case.verdict is Verdict.PASSED for case in graded.cases)


def _run_suite(task: _Task, slot: Slot, *, split: bool) -> _Graded:
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
    return _Graded(cases=cases, outcomes=(outcome,), integrity=integrity)


def _script_job(task: _Task, tests: ScriptTests, *, split: bool) -> Job:
    _require_sound(tests)
    run = payload.script(
        tests.setup, [case.source for case in tests.cases], stop_early=task.stop_early
    )
    return Job(
        program=Program.SCRIPT,
        source=task.source,
        runs=(run,),
        limits=task.limits,
        preload=_preload(tests, task.suite.image),
        split=split,
    )


def _pytest_job(task: _Task, tests: PytestTests, *, split: bool) -> Job:
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
    _require_cases(tests.cases)
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
