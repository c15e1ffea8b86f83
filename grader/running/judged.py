"""Tests that are code themselves: scripts of assertions, modules of pytest and unittest tests.

They are run in one of two ways:

1. Apart from the submission, if the suite's code shows that only plain data has to cross.
2. Else, or if it turns out that more is needed, in one process with the submission, as plain
   Python or pytest would.

A submission that shares the process could make tests pass, so passes are then confirmed by twins of
the suite.
"""

import random
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from grader.judging import verdicts
from grader.judging.report import ReadRun, read_run
from grader.judging.suspicion import signs_of_calls, signs_of_report
from grader.model import CaseResult, PytestTests, ScriptTests
from grader.model.errors import SuiteError
from grader.model.verdict import Integrity, Verdict
from grader.running.references import References
from grader.running.task import Graded, Task, require_cases
from grader.sandbox import payload
from grader.sandbox.contract import Program, RunBatch, Slot
from grader.sandbox.payload import Apart
from grader.source.by_value import find_apart
from grader.source.staying import leaves_nothing
from grader.source.swallowing import CAUGHT, catches_failures
from grader.source.trees import script_trees
from grader.text.inert import inert
from grader.twins import (
    Pick,
    Site,
    Twin,
    find_sites,
    make_twins,
    pair_cases,
    propose,
    sites_to_doubt,
)

_LOOKS = 4
"""How many pairs of twins take a second look at the only case of a suite."""
_ORIGINALS = 2
"""How often the suite runs again as it is, if twins do not leave enough cases unchanged."""
_REASON_CHARS = 300

_random = random.SystemRandom()


class _Ran(NamedTuple):
    """A run of a suite, and what it means for each case."""

    cases: tuple[CaseResult, ...]
    run: ReadRun

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
        return all(case.verdict is Verdict.PASSED for case in self.cases)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(case.id for case in self.cases)

    @property
    def passed(self) -> frozenset[str]:
        return frozenset(case.id for case in self.cases if case.verdict is Verdict.PASSED)


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
    ran = _run_apart(task, slot)
    if ran is not None and ran.refused is None:
        graded = _graded(ran, Integrity.SPLIT)
    elif task.require is Integrity.SPLIT:
        return _not_apart(ran)
    else:
        ran = _run_together(task, slot)
        if ran.has_caught_failure and _reference_catches_failures(task, slot, references):
            task = replace(task, notes_failures=False)
            ran = _run_together(task, slot)
        graded = _confirmed(task, slot, ran, references)
    if not ran.has_passed:
        _require_sound_reference(task, slot, references)
    return graded


def _graded(ran: _Ran, integrity: Integrity) -> Graded:
    signs = {*signs_of_calls(ran.run.outcome), *signs_of_report(ran.run)}
    return Graded(
        cases=ran.cases,
        outcomes=(ran.run.outcome,),
        integrity=integrity,
        signs=frozenset(signs),
    )


def _not_apart(ran: _Ran | None) -> Graded:
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
    return replace(_graded(ran, Integrity.SPLIT), cases=cases)


def _require_sound_reference(task: Task, slot: Slot, references: References) -> None:
    """Make sure that the suite's reference, if it has one, passes it.

    Raises:
        SuiteError: The suite's own reference does not pass it.
    """
    reference = task.suite.reference
    if reference is None or reference == task.code:
        return

    def why_it_fails() -> str | None:
        again = replace(task, code=reference, stop_early=True)
        ran = _run_apart(again, slot)
        if ran is None or ran.refused is not None:
            ran = _run_together(again, slot)
            if ran.has_caught_failure:
                ran = _run_together(replace(again, notes_failures=False), slot)
        if ran.has_passed:
            return None
        return verdicts.summarise(ran.cases, [ran.run.outcome]).feedback

    reason = references.why_it_fails(task.suite, why_it_fails)
    if reason is not None:
        message = f"the suite's own reference solution does not pass it: {reason}"
        raise SuiteError(message)


def _reference_catches_failures(task: Task, slot: Slot, references: References) -> bool:
    """Tell whether a suite's reference, which is right, also catches failures of its assertions.

    Honest code that runs functions which may fail does so, such as a retry or a small test runner.
    """
    if task.suite.reference is None:
        return False
    reference = replace(task, code=task.suite.reference)

    def find() -> bool:
        if not _run_together(reference, slot).has_caught_failure:
            return False
        return _run_together(replace(reference, notes_failures=False), slot).has_passed

    return references.catches_failures(task.suite, find)


# ---------------------------------------------------------------- the two ways to run a suite


def _run_apart(task: Task, slot: Slot) -> _Ran | None:
    """Run a suite apart from the submission; None if the suite needs more than plain data."""
    tests = _tests_of(task)
    apart = find_apart(tests)
    return None if apart is None else _run(task, slot, tests, apart)


def _run_together(task: Task, slot: Slot) -> _Ran:
    """Run a suite in one process with the submission."""
    return _run(task, slot, _tests_of(task), None)


def _confirmed(task: Task, slot: Slot, ran: _Ran, references: References) -> Graded:
    """Confirm what passed in one process with the submission, by twins of the suite.

    In a twin, some of the cases expect something wrong, and only the grader knows which. A right
    submission fails these cases and passes the others. A submission that manipulates the tests
    passes all of them.

    Raises:
        SuiteError: A case has no twin, and confirmed integrity is required.
    """
    graded = _graded(ran, Integrity.CONFIRMED)
    if not ran.passed:
        return graded
    sites = [*find_sites(_tests_of(task)), *_approved_sites(task, slot, ran, references)]
    try:
        has_twins = _fails_every_change(task, slot, ran, sites)
    except _TamperedError:
        return replace(graded, tampered=True)
    except _FailedAgainError as error:
        return replace(graded, cases=tuple(_again(case, error.cases) for case in ran.cases))
    if has_twins:
        return graded
    if task.require is Integrity.CONFIRMED:
        message = "refused, since require_integrity is confirmed: a case of the suite has no twin"
        raise SuiteError(message)
    return replace(graded, integrity=Integrity.SHARED)


class _TamperedError(Exception):
    """The submission passed a changed case that the reference fails or could fail."""


class _FailedAgainError(Exception):
    """Cases that had passed did not pass when the suite ran again as it is."""

    def __init__(self, cases: Set[str]) -> None:
        self.cases = cases


def _again(case: CaseResult, failed: Set[str]) -> CaseResult:
    if case.id not in failed:
        return case
    words = "passed, but did not pass when the same tests ran again"
    return replace(case, verdict=Verdict.FAILED, feedback=words)


def _fails_every_change(task: Task, slot: Slot, ran: _Ran, sites: Sequence[Site]) -> bool:
    """Tell whether each case that passed was seen to pass as it is and to fail in a twin.

    Raises:
        _TamperedError, _FailedAgainError: Some did otherwise.
    """
    changed: set[str] = set()
    unchanged: set[str] = set()
    doubtful: Set[str] = ran.passed
    for is_last in (False, True):
        twins = make_twins(
            _tests_of(task), doubtful, _random, collected=ran.ids, sites=sites, last=is_last
        )
        if not any(twin.changed for twin in twins):
            break
        # Which of several cases are changed is a secret in itself.
        originals = _ORIGINALS if is_last else max(0, 1 + _ORIGINALS - len(ran.passed))
        believed: dict[str, Pick] = {}
        for twin in _mixed(task, twins, originals):
            passed = _passed_in(task, slot, twin, ran)
            found = passed & twin.changed.keys()
            if found and _reference_fails(task, slot, twin, found, ran):
                raise _TamperedError
            believed |= {id: twin.changed[id] for id in found}
            changed |= twin.changed.keys() - found
            unchanged |= passed - found
        if believed:
            changed |= _look_again(task, slot, ran, believed)
        # A change can disturb the cases after it, by accident or because the submission sees a
        # failure. So cases that only failed are changed again, without the others.
        doubtful = ran.passed - unchanged
        if not doubtful:
            break
    return not doubtful and changed >= ran.passed


def _mixed(task: Task, twins: Sequence[Twin], originals: int) -> list[Twin]:
    """Return twins and the suite as it is, so many times, in an order that is a secret.

    A submission can find out how many runs came before: by clocks, for instance, if it waits for a
    full minute. So the order must not tell what a run is.
    """
    runs = [*twins, *[Twin(tests=_tests_of(task), changed={})] * originals]
    _random.shuffle(runs)
    return runs


def _look_again(task: Task, slot: Slot, ran: _Ran, believed: Mapping[str, Pick]) -> Set[str]:
    """Run cases that passed although they were changed again, with other changes.

    An honest program's own class may leave the changed part out of its equality, and its exceptions
    may be of two kinds.

    Returns:
        The cases that failed this time, as they do for a right program.

    Raises:
        _TamperedError: The submission passed another change that the suite's reference fails or
            could fail, or there is no other change and no reference.
        _FailedAgainError: A case failed without a change.
    """
    has_reference = task.suite.reference is not None
    tests = _tests_of(task)
    others = sites_to_doubt(tests, ran.ids, believed, _random)
    # Often enough that code which answers at random gains little from another chance.
    twins = [
        twin
        for _ in range(max(1, _LOOKS // len(ran.passed)))
        for twin in make_twins(tests, believed, _random, collected=ran.ids, sites=others)
        if twin.changed
    ]
    changed: set[str] = set()
    passed: set[str] = set()
    for twin in _mixed(task, twins, _ORIGINALS if twins else 0):
        doubted = twin.changed.keys()
        found = _passed_in(task, slot, twin, ran) & doubted
        if found and (not has_reference or _reference_fails(task, slot, twin, found, ran)):
            raise _TamperedError
        changed |= doubted
        passed |= found
    if not has_reference and changed != believed.keys():
        raise _TamperedError
    return changed - passed


def _passed_in(task: Task, slot: Slot, twin: Twin, ran: _Ran) -> frozenset[str]:
    """Return which cases pass in a twin.

    Raises:
        _FailedAgainError: Nothing is changed in it, and a case that had passed did not pass.
    """
    passed = _ids_in(task, slot, twin, ran, Verdict.PASSED)
    if not twin.changed and not passed >= ran.passed:
        raise _FailedAgainError(ran.passed - passed)
    return passed


def _reference_fails(task: Task, slot: Slot, twin: Twin, passed: Set[str], original: _Ran) -> bool:
    """Tell whether a suite has a reference that fails some of these cases of a twin."""
    if task.suite.reference is None:
        return False
    reference = replace(task, code=task.suite.reference)
    return not passed <= _ids_in(reference, slot, twin, original, Verdict.PASSED)


def _approved_sites(task: Task, slot: Slot, ran: _Ran, references: References) -> tuple[Site, ...]:
    """Return further changes to a suite that its reference, if it has one, was seen to fail."""
    if task.suite.reference is None:
        return ()
    reference = replace(task, code=task.suite.reference, stop_early=False)

    def find() -> tuple[Site, ...]:
        proposal = propose(_tests_of(task), ran.ids, _random)
        if not proposal.sites:
            return ()
        original = _run_together(reference, slot)
        # A reference that crashes says nothing about the change.
        failed = _ids_in(reference, slot, proposal.twin, original, Verdict.FAILED)
        return proposal.approved(failed & original.passed)

    return references.sites(task.suite, find)


def _ids_in(task: Task, slot: Slot, twin: Twin, original: _Ran, verdict: Verdict) -> frozenset[str]:
    """Return the cases of the original suite whose forms in a twin get a verdict."""
    changed = replace(task, suite=replace(task.suite, tests=twin.tests), stop_early=False)
    ran = _run_together(changed, slot)
    partners = pair_cases(original.ids, ran.ids)
    return frozenset(
        partners[case.id] for case in ran.cases if case.verdict is verdict and case.id in partners
    )


def _tests_of(task: Task) -> ScriptTests | PytestTests:
    tests = task.suite.tests
    if not isinstance(tests, ScriptTests | PytestTests):
        raise TypeError(tests)
    return tests


# ---------------------------------------------------------------- one run


def _run(task: Task, slot: Slot, tests: ScriptTests | PytestTests, apart: Apart | None) -> _Ran:
    if isinstance(tests, ScriptTests):
        _require_sound(tests)
        (outcome,) = slot.run(_batch(task, tests, apart))
        run = read_run(outcome)
        cases = verdicts.judge_script(tests, run, task.limits, stop_early=task.stop_early)
    else:
        expected = find_tests(tests)
        (outcome,) = slot.run(_batch(task, tests, apart))
        run = read_run(outcome)
        cases = verdicts.judge_pytest(tests, run, task.limits, expected, stop_early=task.stop_early)
    return _Ran(cases, run)


def _batch(task: Task, tests: ScriptTests | PytestTests, apart: Apart | None) -> RunBatch:
    preload = _preload(tests, task.suite.image)
    batch = RunBatch(
        program=Program.SCRIPT if isinstance(tests, ScriptTests) else Program.PYTEST,
        source=task.code,
        prelude=task.suite.prelude,
        runs=(_payload(task, tests, apart),),
        limits=task.limits,
        preload=preload,
        split=apart is not None,
        standing=apart is not None and not preload and _may_stay(tests),
    )
    if isinstance(tests, ScriptTests):
        return batch
    return replace(batch, files=tests.files, source_path=tests.solution_path)


def _may_stay(tests: ScriptTests | PytestTests) -> bool:
    """Tell whether a judge may run other tests after these, which can be judged apart."""
    return isinstance(tests, ScriptTests) or leaves_nothing(tests)


def _payload(task: Task, tests: ScriptTests | PytestTests, apart: Apart | None) -> bytes:
    notes = apart is None and task.notes_failures and not catches_failures(tests)
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


find_tests = lru_cache(maxsize=4096)(verdicts.find_tests)
"""`verdicts.find_tests`, cached, because many samples of one problem come together."""


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
