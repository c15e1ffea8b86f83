"""Tests whose outputs are compared here: expected values never enter the sandbox."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from keyword import iskeyword

from grader.judging.calls import judge_call, judge_calls, read_calls, returned_values, why_no_values
from grader.judging.cases import judge_checked, judge_stdin
from grader.judging.compare import needs_checker
from grader.judging.compare.result import EQUAL
from grader.judging.suspicion import signs_of_report
from grader.model import CallCase, CallTests, CaseResult, Checker, Comparator, StdinCase, StdinTests
from grader.model.errors import SuiteError
from grader.model.verdict import Suspicion, Verdict
from grader.running.budget import TimeBudget
from grader.running.casewise import run_cases
from grader.running.checkers import run_checker
from grader.running.programs import stdin_batch
from grader.running.references import References
from grader.running.task import Graded, Task, is_decided, isolated, require_cases
from grader.sandbox import payload
from grader.sandbox.contract import Program, RunBatch, Slot
from sandbox_images.harness.wire.values import UnencodableError

_LARGE_REPORT_BYTES = 8 << 20
"""Half of the largest report. If a larger report lacks values, it may have been cut off."""
_TOO_LARGE = b""


def run_stdin(task: Task, tests: StdinTests, slot: Slot, references: References) -> Graded:
    """Run a program once per case and compare what it prints.

    Raises:
        SuiteError: The suite has no case, or its checker program failed.
        SandboxUnavailableError: The slot broke.
    """
    require_cases(tests.cases)
    runs = tuple(payload.text_bytes(case.stdin) for case in tests.cases)
    checker = tests.comparison.checker if needs_checker(tests.comparison) else None
    graded = run_cases(
        task,
        tests.cases,
        stdin_batch(task, runs),
        slot,
        lambda case, outcome: judge_stdin(
            case,
            tests.comparison,
            outcome,
            task.limits,
            checked=None if checker is None else EQUAL,  # until all have run
            language=task.language,
        ),
        references,
    )
    if checker is None:
        return graded
    return _checked(task, tests.cases, checker, graded, slot, references)


def _checked(
    task: Task,
    cases: Sequence[StdinCase],
    checker: Checker,
    graded: Graded,
    slot: Slot,
    references: References,
) -> Graded:
    """Have the checker judge the outputs of the runs that did not fail."""
    results = list(graded.cases)
    sound = [index for index, each in enumerate(results) if each.verdict is Verdict.PASSED]
    questions = [(cases[index], graded.outcomes[index].stdout) for index in sound]
    answers = run_checker(
        checker, questions, slot, references, lambda cases: _find_right(task, cases, slot)
    )
    for index, answer in zip(sound, answers, strict=True):
        results[index] = judge_checked(cases[index], graded.outcomes[index], answer)
    return replace(graded, cases=tuple(results))


def _find_right(task: Task, cases: Sequence[StdinCase], slot: Slot) -> list[bytes | None]:
    """Return a right output for each case, from the suite or its reference; None if unknown."""
    expected = [payload.text_bytes(case.expected) for case in cases]
    reference = task.suite.reference
    if all(map(bytes.strip, expected)) or reference is None or reference == task.code:
        return [each if each.strip() else None for each in expected]
    runs = tuple(payload.text_bytes(case.stdin) for case in cases)
    batch = stdin_batch(task, runs, source=reference)
    with closing(slot.run(batch)) as running:
        right = {outcome.index: outcome.stdout for outcome in running if outcome.exit_code == 0}
    return [right.get(index) for index in range(len(cases))]


def _call_batch(task: Task, runs: tuple[bytes, ...], *, source: str | None = None) -> RunBatch:
    """Return a batch that makes calls; of the submission's code if `source` is None."""
    return RunBatch(
        program=Program.CALL,
        source=task.code if source is None else source,
        prelude=task.suite.prelude,
        runs=runs,
        limits=task.limits,
    )


def run_calls(task: Task, tests: CallTests, slot: Slot, references: References) -> Graded:
    """Call the submission for each case and compare what it returns.

    Raises:
        SuiteError: The suite has no case or names nothing that can be called, an argument is not
            plain data, or the reference does not return what to expect.
        SandboxUnavailableError: The slot broke.
    """
    require_cases(tests.cases)
    names = tests.entry_point.split(".")
    if len(names) > 2 or not all(name.isidentifier() and not iskeyword(name) for name in names):
        message = (
            f"the function to call is {tests.entry_point[:80]!r}, which cannot be the name of a "
            "function in Python"
        )
        raise SuiteError(message)
    if tests.asks_reference:
        groups = _ask_reference(task, tests, tests.cases, slot, references)
    elif tests.in_one_run:
        groups = [_Group(tests.cases)]
    else:
        groups = [_Group((case,)) for case in tests.cases]
    runs = tuple(_calls(tests, group.cases) for group in groups)
    batch = _call_batch(task, runs)
    cases: list[CaseResult] = []
    outcomes = []
    signs: set[Suspicion] = set()
    budget = TimeBudget(task)
    with closing(slot.run(batch)) as running:
        for group, outcome in zip(groups, running, strict=False):
            outcomes.append(outcome)
            budget.take(outcome)
            known = group.answered()
            run = read_calls(known, outcome)
            signs.update(signs_of_report(run, calls=len(known)))
            if tests.in_one_run:
                cases += judge_calls(known, tests.comparison, run, task.limits)
            else:
                cases += [judge_call(known[0], tests.comparison, run, task.limits)]
            if budget.is_spent or any(is_decided(task, case) for case in cases):
                break
    cases += budget.not_run(tests.cases, cases)
    return isolated(cases, outcomes, signs)


@dataclass(frozen=True, slots=True)
class _Group:
    """Cases whose calls one run makes."""

    cases: tuple[CallCase, ...]
    report: bytes | None = None
    """What the suite's reference reported for them, if its values are expected."""

    def answered(self) -> tuple[CallCase, ...]:
        """Return the cases with what they expect, which is decoded one group at a time."""
        if self.report is None:
            return self.cases
        expected = returned_values(self.report)
        return tuple(
            replace(case, expected=value) for case, value in zip(self.cases, expected, strict=True)
        )


def _calls(tests: CallTests, cases: Sequence[CallCase]) -> bytes:
    """Return the payload of a run that makes the calls of some cases.

    Raises:
        SuiteError: An argument is not plain data.
    """
    try:
        return payload.calls(
            tests.entry_point,
            [(case.args, case.kwargs) for case in cases],
            asks_presence=tests.comparison.comparator is Comparator.FOUND,
        )
    except UnencodableError as error:
        message = f"a case has an argument that cannot be passed: {error}"
        raise SuiteError(message) from error


def _ask_reference(
    task: Task,
    tests: CallTests,
    cases: tuple[CallCase, ...],
    slot: Slot,
    references: References,
) -> list[_Group]:
    """Return cases in as few groups as possible, with what the suite's reference returns for them.

    A group is halved as long as its results are too large for one run to report.

    Args:
        task: Gives the suite, and the limits of the reference's runs.
        tests: The suite's.
        cases: Some of its cases.
        slot: Where to run the reference.
        references: What earlier runs of the reference have shown.

    Raises:
        SuiteError: There is no reference, or it does not return a value for each case.
        SandboxUnavailableError: The slot broke.
    """
    reference = task.suite.reference
    if reference is None:
        message = "the tests expect what the suite's reference returns, and the suite has none"
        raise SuiteError(message)
    run = _calls(tests, cases)

    def find() -> bytes:
        with closing(slot.run(_call_batch(task, (run,), source=reference))) as running:
            outcome = next(running)
        why = why_no_values(outcome, len(cases), task.limits)
        if why is None:
            return outcome.report
        if len(cases) > 1 and len(outcome.report) > _LARGE_REPORT_BYTES:
            return _TOO_LARGE
        message = f"the suite's own reference solution does not return what to expect: {why}"
        raise SuiteError(message)

    report = references.report(task.suite, run, find)
    if report != _TOO_LARGE:
        return [_Group(cases, report)]
    middle = len(cases) // 2
    return [
        group
        for half in (cases[:middle], cases[middle:])
        for group in _ask_reference(task, tests, half, slot, references)
    ]
