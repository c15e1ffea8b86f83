"""Tests whose outputs are compared here: expected values never enter the sandbox."""

from collections.abc import Sequence
from contextlib import closing

from grader import judge
from grader.compare import CheckResult, needs_checker
from grader.errors import SuiteError
from grader.execution.budget import TimeBudget
from grader.execution.checkers import run_checker
from grader.execution.task import Graded, Task, is_decided, isolated, require_cases
from grader.model import CallTests, CaseResult, Checker, StdinCase, StdinTests
from grader.sandbox import payload
from grader.sandbox.base import Job, Program, RunOutcome, Slot
from sandbox_images.harness.values import UnencodableError


def run_stdin(task: Task, tests: StdinTests, slot: Slot) -> Graded:
    """Run a program once per case and compare what it prints.

    Raises:
        SuiteError: The suite has no case, or its checker program failed.
        SandboxUnavailableError: The slot broke.
    """
    require_cases(tests.cases)
    runs = tuple(_bytes(case.stdin) for case in tests.cases)
    job = _job(task, Program.STDIN, runs)
    checker = tests.comparison.checker if needs_checker(tests.comparison) else None
    cases = []
    outcomes = []
    budget = TimeBudget(task)
    with closing(slot.run(job)) as running:
        for case, outcome in zip(tests.cases, running, strict=False):
            outcomes.append(outcome)
            budget.take(outcome)
            if checker is None:
                cases.append(judge.judge_stdin(case, tests.comparison, outcome, task.limits))
            if budget.is_spent or (cases and is_decided(task, cases[-1])):
                break
    if checker is not None:
        cases = _check_outputs(task, tests, checker, outcomes, slot)
    cases += budget.not_run(tests.cases, cases)
    return isolated(cases, outcomes)


def _check_outputs(
    task: Task, tests: StdinTests, checker: Checker, outcomes: list[RunOutcome], slot: Slot
) -> list[CaseResult]:
    """Have the suite's checker look at every output that was not lost anyway."""
    cases, limits = tests.cases, task.limits
    sound = {
        index: outcome
        for index, outcome in enumerate(outcomes)
        if judge.find_failure(cases[index], outcome, limits) is None
    }
    questions = [(cases[index], outcome.stdout) for index, outcome in sound.items()]
    answers = run_checker(checker, questions, slot, lambda cases: _find_right(task, cases, slot))
    checked: dict[int, CheckResult] = dict(zip(sound, answers, strict=True))
    return [
        judge.judge_stdin(
            cases[index], tests.comparison, outcome, limits, checked=checked.get(index)
        )
        for index, outcome in enumerate(outcomes)
    ]


def _find_right(task: Task, cases: Sequence[StdinCase], slot: Slot) -> list[bytes | None]:
    """Return a right output for each case: the suite's, or its own solution's; None: unknown."""
    expected = [_bytes(case.expected) for case in cases]
    reference = task.suite.reference
    if all(map(bytes.strip, expected)) or reference is None or reference == task.code:
        return [each if each.strip() else None for each in expected]
    runs = tuple(_bytes(case.stdin) for case in cases)
    job = _job(task, Program.STDIN, runs, source=reference)
    with closing(slot.run(job)) as running:
        return [outcome.stdout if outcome.exit_code == 0 else None for outcome in running]


def _job(
    task: Task, program: Program, runs: tuple[bytes, ...], *, source: str | None = None
) -> Job:
    """Return a job; of the submission's code where no other source is given."""
    return Job(
        program=program,
        source=task.code if source is None else source,
        prelude=task.suite.prelude,
        runs=runs,
        limits=task.limits,
    )


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def run_calls(task: Task, tests: CallTests, slot: Slot) -> Graded:
    """Call the submission for each case and compare what it returns.

    Raises:
        SuiteError: The suite has no case, or one with arguments that are no plain data.
        SandboxUnavailableError: The slot broke.
    """
    require_cases(tests.cases)
    calls = [(case.args, case.kwargs) for case in tests.cases]
    try:
        runs = tuple(
            payload.calls(tests.entry_point, group)
            for group in ([calls] if tests.in_one_run else [[call] for call in calls])
        )
    except UnencodableError as error:
        message = f"a case has an argument that cannot be passed: {error}"
        raise SuiteError(message) from error
    job = _job(task, Program.CALL, runs)
    cases: list[CaseResult] = []
    outcomes = []
    budget = TimeBudget(task)
    with closing(slot.run(job)) as running:
        for case, outcome in zip(tests.cases, running, strict=False):
            outcomes.append(outcome)
            budget.take(outcome)
            if tests.in_one_run:
                cases = judge.judge_calls(tests.cases, tests.comparison, outcome, task.limits)
                break
            cases.append(judge.judge_call(case, tests.comparison, outcome, task.limits))
            if budget.is_spent or is_decided(task, cases[-1]):
                break
    cases += budget.not_run(tests.cases, cases)
    return isolated(cases, outcomes)
