"""Tests that share a process with the submission: only what twins of the suite confirm has passed.

In each run some of the cases expect something wrong, and only the grader knows which. A right
submission fails the changed cases and passes the others. A submission that manipulates the tests
passes all of them. No run is known to be of the unchanged suite. When nothing else is left to find
out, the suite runs once more with nothing changed, and with strict comparisons if the submission
may have objects that equal everything.
"""

import ast
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from grader.judging.suspicion import signs_of_calls, signs_of_report
from grader.model import CaseResult, PytestTests, ScriptTests
from grader.model.errors import SuiteError
from grader.model.verdict import PRECEDENCE, Integrity, Suspicion, Verdict
from grader.running.references import References
from grader.running.suite_run import SuiteRun, run_together, tests_of
from grader.running.tally import Standing, State, Tally, TwinRun
from grader.running.task import Graded, Task
from grader.sandbox.contract import Slot
from grader.source.looseness import combined_bases, compares_plainly, may_compare_loosely
from grader.source.trees import module_tree
from grader.twins import (
    CaseKey,
    Lineup,
    Site,
    Twin,
    find_sites,
    propose,
    settled_ids,
    with_strict_comparisons,
)

_LUCK = 3
"""With at most so many passes for each wrong guess, the passes may be lucky guesses. A guess among
two values is right half of the time; a wrong program seldom returns a changed value."""

_LINE_UPS = 12
"""The most line-ups after the first. Each decides at least one of the cases that it is for."""

_random = random.SystemRandom()


def confirm(task: Task, slot: Slot, references: References, *, by_choice: bool = False) -> Graded:
    """Run a suite in one process with the submission, as often as its passes need.

    Args:
        task: The submission and the suite.
        slot: Where to run it.
        references: What is known about references.
        by_choice: Whether only this submission needs one process: the suite can be judged apart,
            but the submission gave it something other than plain data.

    Raises:
        SuiteError: A case has no twin, and confirmed integrity is required.
        SandboxUnavailableError: The slot broke.
    """
    sites = _sites(task, slot, references)
    without: frozenset[str] = frozenset()
    while True:
        usable = [site for site in sites if not any(key.base in without for key in site.cases)]
        lineup = Lineup(tests_of(task), usable, _random)
        confirmation = _Confirmation(task, slot, references, lineup, by_choice=by_choice)
        try:
            return confirmation.graded()
        except _CaughtFailuresError:
            task = replace(task, notes_failures=False)
        except _UnknownRowsError as error:
            if not _may_multiply_rows(tests_of(task)):
                return _with_added_rows(error)
            without |= error.bases


class _CaughtFailuresError(Exception):
    """The submission caught failures of assertions, as the suite's reference does."""


class _UnknownRowsError(Exception):
    """Tests have other parameters than their source tells."""

    def __init__(self, bases: frozenset[str], ran: SuiteRun) -> None:
        self.bases = bases
        self.ran = ran


def _may_multiply_rows(tests: ScriptTests | PytestTests) -> bool:
    """Tell whether a suite may give its tests further parameters than those that mark them."""
    files = tests.files if isinstance(tests, PytestTests) else ()
    return any(_multiplies_rows(file.content.decode("utf-8", "replace")) for file in files)


def _multiplies_rows(source: str) -> bool:
    """Tell whether a source gives `params` to a fixture, or generates tests."""
    if "params" not in source and "generate_tests" not in source:
        return False
    tree = module_tree(source)
    return tree is not None and any(
        (isinstance(node, ast.keyword) and node.arg in ("params", None))
        or (isinstance(node, ast.FunctionDef | ast.alias) and node.name.endswith("generate_tests"))
        for node in ast.walk(tree)
    )


def _with_added_rows(found: _UnknownRowsError) -> Graded:
    """Return the results of a submission that has changed the parameters of tests."""
    words = "not believed: collected with other parameters than the suite has"
    cases = (
        replace(case, verdict=Verdict.FAILED, feedback=words)
        if case.verdict is Verdict.PASSED
        else case
        for case in found.ran.cases
    )
    return Graded(
        cases=tuple(cases),
        outcomes=(found.ran.run.outcome,),
        integrity=Integrity.SHARED,
        signs=frozenset({Suspicion.FORGED_REPORT}),
    )


class _Confirmation:
    """The runs of one submission."""

    def __init__(
        self, task: Task, slot: Slot, references: References, lineup: Lineup, *, by_choice: bool
    ) -> None:
        # A run that ended at its first failure would end where something was changed.
        self._task = replace(task, stop_early=False)
        self._stop_early = task.stop_early
        self._slot = slot
        self._references = references
        self._lineup = lineup
        self._by_choice = by_choice
        self._trusted: set[CaseKey] = set()
        self._reference_runs: dict[Twin, TwinRun] = {}
        self._signs: set[Suspicion] = set()
        self._ids: list[dict[CaseKey, str]] = []

    def graded(self) -> Graded:
        """Run twins of the suite until it is known which cases pass.

        Raises:
            _CaughtFailuresError, _UnknownRowsError: The line-up does not serve.
            SuiteError: A case has no twin, and confirmed integrity is required.
        """
        found = self._line_up(self._lineup.twins(), ())
        latest = found
        for _ in range(_LINE_UPS):
            doubtful = [*self._in(State.UNSURE, found), *self._lucky(latest)]
            if not doubtful or self._has_lost(found):
                break
            latest = self._line_up(self._lineup.twins(doubtful), doubtful)
            found = found | latest
        return self._graded(self._as_it_is(self._strictly(found)))

    def _lucky(self, found: Mapping[CaseKey, Standing]) -> list[CaseKey]:
        """Return cases that passed, if others look guessed: these may be the lucky guesses.

        If a case that looks guessed runs again, so do those that passed under the same conditions.
        Otherwise code that sees which cases change again would know which guesses were wrong.
        """
        guessed = [each.state for each in found.values() if each.guessed]
        passed = [key for key in self._in(State.PASSED, found) if self._lineup.has(key)]
        if len(passed) <= _LUCK * guessed.count(State.FAILED):
            return passed
        return [key for key in passed if State.UNSURE in guessed and found[key].disturbed]

    def _line_up(
        self, twins: Iterator[Twin], doubtful: Collection[CaseKey]
    ) -> dict[CaseKey, Standing]:
        """Run twins until all that is wanted is known.

        Args:
            twins: The twins.
            doubtful: The cases that matter; none: all.
        """
        runs: list[TwinRun] = []
        wanted: dict[CaseKey, Standing] = {}
        planned = [*twins]
        for number, twin in enumerate(planned, 1):
            runs.append(self._run(twin))
            found = self._tally(runs, are_all=number == len(planned))
            wanted = {key: found[key] for key in doubtful or found if key in found}
            if self._is_decided(wanted) and _have_ids(runs, wanted):
                break
        return wanted

    def _as_it_is(self, found: dict[CaseKey, Standing]) -> dict[CaseKey, Standing]:
        """Return how cases stand after the suite has run once more, with nothing changed.

        A pass before may be due to a change that ended another case early, or to chance. This run
        comes last, so it tells the submission nothing that it could use.
        """
        passed, forged = self._in(State.PASSED, found), self._in(State.FORGED, found)
        if not forged and (self._has_lost(found) or all(found[key].clean for key in passed)):
            return found
        last = self._run(Twin(tests=tests_of(self._task), changed=()))
        return found | {
            key: replace(
                found[key],
                state=State.FAILED,
                result=last.ran.results.get(key, _not_run(found[key].result)),
                run=last.ran,
            )
            for key in (*passed, *forged)
            if not last.passed(key)
        }

    def _strictly(self, found: dict[CaseKey, Standing]) -> dict[CaseKey, Standing]:
        """Return how cases stand after the suite has run with nothing changed but strictly.

        Whatever a suite compares, and however, right values pass this run, and objects that equal
        everything fail it. If the suite's reference fails it, too, it shows nothing. If a
        submission certainly has no such objects, there is no such run.
        """
        passed = self._in(State.PASSED, found)
        if not passed or self._has_lost(found):
            return found
        if not self._by_choice and compares_plainly(self._task.code):
            return found
        # The object of a class that tests are for may honestly contain everything.
        tests, secret = with_strict_comparisons(
            tests_of(self._task), _random, containers=self._by_choice
        )
        twin = Twin(tests=tests, changed=())
        ran = TwinRun(twin, self._together(tests))
        failed = {key for key in passed if ran.failed_with(key, secret)}
        if failed and self._task.suite.reference is not None:
            right = self._run_reference(twin)
            failed = {key for key in failed if right.passed(key)}
        words = "passed, but with values that also equal wrong ones"
        return found | {
            key: replace(
                found[key],
                state=State.FAILED,
                result=replace(
                    found[key].result, verdict=Verdict.FAILED, feedback=words, evidence=None
                ),
            )
            if key in failed
            else replace(found[key], clean=found[key].clean or ran.passed(key))
            for key in passed
        }

    def _run_reference(self, twin: Twin) -> TwinRun:
        """Return how the suite's reference runs with a twin."""
        if twin not in self._reference_runs:
            reference = replace(self._task, code=self._task.suite.reference or "")
            ran = run_together(reference, self._slot, twin.tests)
            self._reference_runs[twin] = TwinRun(twin, ran)
        return self._reference_runs[twin]

    def _together(self, tests: ScriptTests | PytestTests) -> SuiteRun:
        ran = run_together(self._task, self._slot, tests)
        self._signs |= {*signs_of_calls(ran.run.outcome), *signs_of_report(ran.run)}
        return ran

    def _run(self, twin: Twin) -> TwinRun:
        ran = self._together(twin.tests)
        if ran.has_caught_failure and self._task.notes_failures and self._reference_catches():
            raise _CaughtFailuresError
        rows = {key.base: key.rows for key in ran.keys.values() if key.row is not None}
        unknown = {
            key.base
            for unit in self._lineup.units
            for key in unit.cases
            if key.row is not None and rows.get(key.base, key.rows) != key.rows
        }
        if unknown:
            raise _UnknownRowsError(frozenset(unknown), ran)
        with_rows = {key: id for id, key in ran.keys.items() if key.row is not None}
        self._ids.append({key: id for key, id in with_rows.items() if twin.pick(key) is None})
        return TwinRun(twin, ran)

    def _tally(self, runs: Sequence[TwinRun], *, are_all: bool) -> dict[CaseKey, Standing]:
        """Return how each case stands.

        A reference that passes a changed case, too, shows that the change proves nothing, for
        example since a case before it has left just that value behind.
        """
        while True:
            found = Tally(runs=runs, are_all=are_all, trusted=self._trusted).standings()
            forged = {
                key for key, each in found.items() if each.state is State.FORGED or each.guessed
            }
            trusted = self._passed_by_reference(runs, forged) if forged else set()
            if not trusted:
                return found
            self._trusted |= trusted

    def _passed_by_reference(
        self, runs: Sequence[TwinRun], forged: Collection[CaseKey]
    ) -> set[CaseKey]:
        """Return the cases whose changes a suite's reference passes where the submission did."""
        if self._task.suite.reference is None:
            return set()
        trusted = set(forged)
        for run in runs:
            passed = {key for key in trusted if run.twin.pick(key) and run.passed(key)}
            if passed:
                again = self._run_reference(run.twin)
                trusted -= {key for key in passed if not again.passed(key)}
        return trusted

    def _reference_catches(self) -> bool:
        """Tell whether a suite's reference, which is right, also catches failed assertions.

        Honest code that runs functions which may fail does so, such as a retry or a small test
        runner.
        """
        task = self._task
        if task.suite.reference is None:
            return False
        reference = replace(task, code=task.suite.reference)

        def find() -> bool:
            if not run_together(reference, self._slot).has_caught_failure:
                return False
            return run_together(replace(reference, notes_failures=False), self._slot).has_passed

        return self._references.catches_failures(task.suite, find)

    def _is_decided(self, found: Mapping[CaseKey, Standing]) -> bool:
        """Tell whether further runs could not change what counts."""
        is_known = not self._in(State.OPEN, found) and not self._in(State.UNSURE, found)
        return is_known or self._has_lost(found)

    def _has_lost(self, found: Mapping[CaseKey, Standing]) -> bool:
        """Tell whether no other case counts any more."""
        if self._in(State.FORGED, found):
            return True
        return self._stop_early and bool(self._in(State.FAILED, found))

    @staticmethod
    def _in(state: State, found: Mapping[CaseKey, Standing]) -> list[CaseKey]:
        return [key for key, each in found.items() if each.state is state]

    # ------------------------------------------------------------ the result

    def _graded(self, found: Mapping[CaseKey, Standing]) -> Graded:
        passed = {key for key, each in found.items() if each.state is State.PASSED}
        is_confirmed = all(self._lineup.shows(key) and key not in self._trusted for key in passed)
        if passed and not is_confirmed and self._task.require is Integrity.CONFIRMED:
            message = (
                "refused, since require_integrity is confirmed: a case of the suite has no twin"
            )
            raise SuiteError(message)
        ids = settled_ids(self._ids)
        cases = [_result(each, ids.get(key)) for key, each in found.items()]
        lost = [number for number, each in enumerate(found.values()) if each.state is State.FAILED]
        if self._stop_early and lost:
            # As if the runs had ended at this case. They went on, since it may fail by a change.
            cases[lost[0] + 1 :] = map(_not_run, cases[lost[0] + 1 :])
        # The verdict of the whole is that of its worst case.
        _, deciding = min(
            zip(cases, found.values(), strict=True),
            key=lambda both: PRECEDENCE.index(both[0].verdict),
        )
        return Graded(
            cases=tuple(cases),
            outcomes=(deciding.run.run.outcome,),
            integrity=Integrity.CONFIRMED if is_confirmed else Integrity.SHARED,
            tampered=any(each.state is State.FORGED for each in found.values()),
            signs=frozenset(self._signs),
        )


def _have_ids(runs: Sequence[TwinRun], keys: Collection[CaseKey]) -> bool:
    """Tell whether each case was once unchanged: a parameter that is changed may be in its id."""
    return all(key.row is None or any(run.twin.pick(key) is None for run in runs) for key in keys)


def _result(standing: Standing, id: str | None) -> CaseResult:
    result = standing.result if id is None else replace(standing.result, id=id)
    match standing.state:
        case State.OPEN:
            if result.verdict is not Verdict.PASSED:
                return _not_run(result)
            words = "not confirmed, since another case had failed"
            return replace(result, verdict=Verdict.SKIPPED, feedback=words, evidence=None)
        case State.UNSURE if result.verdict is Verdict.PASSED:
            words = "passed, but not each time that the same test ran"
            return replace(result, verdict=Verdict.FAILED, feedback=words)
        case _:
            return result


def _not_run(result: CaseResult) -> CaseResult:
    return replace(result, verdict=Verdict.SKIPPED, feedback="not run", evidence=None)


# ---------------------------------------------------------------- what can be changed


def _sites(task: Task, slot: Slot, references: References) -> list[Site]:
    """Return what can be changed of a suite so that a right submission certainly notices it."""
    bases = combined_bases(task.code)
    is_loose = task.suite.reference is None and (bool(bases) or may_compare_loosely(task.code))
    sites = [*find_sites(tests_of(task), joint=is_loose), *_approved(task, slot, references)]
    if not bases:
        return sites
    kept = (
        replace(
            site,
            changes=tuple(
                change for change in site.changes if not any(edit.text in bases for edit in change)
            ),
        )
        for site in sites
    )
    return [site for site in kept if site.changes]


def _approved(task: Task, slot: Slot, references: References) -> tuple[Site, ...]:
    """Return further changes to a suite that its reference, if it has one, was seen to fail."""
    if task.suite.reference is None:
        return ()
    reference = replace(task, code=task.suite.reference, stop_early=False)

    def find() -> tuple[Site, ...]:
        proposals = propose(tests_of(task), _random)
        if not proposals:
            return ()
        original = run_together(reference, slot).results
        found: list[Site] = []
        for proposal in proposals:
            changed = run_together(reference, slot, proposal.twin.tests).results
            found += proposal.approved(
                {
                    key
                    for key, result in changed.items()
                    # A reference that crashes says nothing about the change.
                    if result.verdict is Verdict.FAILED
                    and key in original
                    and original[key].verdict is Verdict.PASSED
                }
            )
        return tuple(found)

    return references.sites(task.suite, find)
