"""Tests that are code themselves: scripts of assertions, modules of pytest and unittest tests.

They are run in one of two ways:

1. Apart from the submission, if the suite's code shows that only plain data has to cross.
2. Else, or if it turns out that more is needed, in one process with the submission, as plain
   Python or pytest would (`confirmed.py`).
"""

from dataclasses import replace

from grader.judging.summary import summarise
from grader.judging.suspicion import signs_of_calls, signs_of_report
from grader.model.errors import SuiteError
from grader.model.verdict import Integrity, Verdict
from grader.running.confirmed import confirm
from grader.running.references import References
from grader.running.suite_run import SuiteRun, run_apart, run_together, tests_of
from grader.running.task import Graded, Task
from grader.sandbox.contract import Slot
from grader.source.by_value import find_apart
from grader.text.inert import inert

_REASON_CHARS = 300


def run_judged(task: Task, slot: Slot, references: References) -> Graded:
    """Run a suite's own code over the submission, apart from it if the suite allows that.

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
    ran = run_apart(task, slot)
    if ran is not None and ran.refused is None:
        graded = _graded(ran)
    elif task.require is Integrity.SPLIT:
        return _not_apart(ran)
    else:
        by_choice = find_apart(tests_of(task)) is not None
        graded = confirm(task, slot, references, by_choice=by_choice)
    if any(case.verdict is not Verdict.PASSED for case in graded.cases):
        references.require_sound(
            task.suite,
            task.code,
            lambda code: _why_it_fails(replace(task, code=code, stop_early=True), slot),
        )
    return graded


def _graded(ran: SuiteRun) -> Graded:
    signs = {*signs_of_calls(ran.run.outcome), *signs_of_report(ran.run)}
    return Graded(
        cases=ran.cases,
        outcomes=(ran.run.outcome,),
        integrity=Integrity.SPLIT,
        signs=frozenset(signs),
    )


def _not_apart(ran: SuiteRun | None) -> Graded:
    """Return the results of a submission whose tests would have to share a process with it.

    Raises:
        SuiteError: The suite needs this for any submission.
    """
    why = "require_integrity is split: the tests need more of the submission than plain data"
    if ran is None:
        message = f"refused, since {why}"
        raise SuiteError(message)
    words = f"{why}: {inert(ran.refused or '', _REASON_CHARS)}"
    cases = tuple(replace(case, verdict=Verdict.FAILED, feedback=words) for case in ran.cases)
    return replace(_graded(ran), cases=cases)


def _why_it_fails(task: Task, slot: Slot) -> str | None:
    """Return why a submission does not pass if it is trusted as a reference is; None if it does."""
    ran = run_apart(task, slot)
    if ran is None or ran.refused is not None:
        ran = run_together(task, slot)
        if ran.has_caught_failure:
            ran = run_together(replace(task, notes_failures=False), slot)
    if ran.has_passed:
        return None
    return summarise(ran.cases, [ran.run.outcome]).feedback
