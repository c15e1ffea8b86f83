"""Runs a program once per case and judges each run as it ends."""

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TypeVar

from grader.model import CallCase, CaseResult, StdinCase
from grader.running.budget import TimeBudget
from grader.running.programs import find_uncompiled, recall_product
from grader.running.references import References
from grader.running.task import Graded, Task, is_decided, isolated
from grader.sandbox.contract import RunBatch, RunOutcome, Slot

_Case = TypeVar("_Case", StdinCase, CallCase)


def run_cases(
    task: Task,
    cases: Sequence[_Case],
    batch: RunBatch,
    slot: Slot,
    judge: Callable[[_Case, RunOutcome], CaseResult],
    references: References | None = None,
) -> Graded:
    """Return the results of all cases, also of those that no longer need to run.

    Args:
        task: The submission.
        cases: At least one.
        batch: Runs it once per case.
        slot: Where to run it.
        judge: Returns the result of a case; what it raises ends the batch.
        references: Remembers what compilers made, for equal programs; None if none can be equal.

    Raises:
        SandboxUnavailableError: The slot broke.
    """
    results: list[CaseResult] = []
    outcomes: list[RunOutcome] = []
    budget = TimeBudget(task)
    if references is not None:
        batch = recall_product(task, batch, references)
    with closing(slot.run(batch)) as running:
        if (uncompiled := find_uncompiled(task, batch, running, references)) is not None:
            results = [uncompiled.result(cases[0])]
            return isolated(results + budget.not_run(cases, results), [uncompiled.outcome])
        for case, outcome in zip(cases, running, strict=False):
            outcomes.append(outcome)
            budget.take(outcome)
            results.append(judge(case, outcome))
            if budget.is_spent or is_decided(task, results[-1]):
                break
    return isolated(results + budget.not_run(cases, results), outcomes)
