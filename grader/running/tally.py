"""What the runs of a line-up of twins show about each case.

A case has the result of a run in which its own expectation is unchanged. But a right program fails
what is changed, and a test that fails ends early, which may disturb the tests after it. So a
failure is certain only if nothing disturbed the run before it. If a wrong program passes what is
changed, the passes after that do not count either.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from grader.judging.report import Trouble
from grader.model import CaseResult
from grader.model.verdict import Verdict
from grader.running.suite_run import SuiteRun
from grader.source.swallowing import CAUGHT
from grader.twins import CaseKey, Pick, Twin


class State(Enum):
    """What is known about a case."""

    PASSED = auto()
    """It passed unchanged, and failed each time when it was changed."""
    FAILED = auto()
    """It certainly fails unchanged."""
    FORGED = auto()
    """It passed unchanged, and also though it was certainly changed."""
    UNSURE = auto()
    """The runs were disturbed."""
    OPEN = auto()
    """Not all of its runs are over."""


@dataclass(frozen=True, slots=True)
class TwinRun:
    """A run of a twin."""

    twin: Twin
    ran: SuiteRun

    def passed(self, key: CaseKey) -> bool:
        """Tell whether a case passed."""
        result = self.ran.results.get(key)
        return result is not None and result.verdict is Verdict.PASSED

    def failed_with(self, key: CaseKey, words: str) -> bool:
        """Tell whether a case was skipped, or failed by an error of these words or a caught one.

        If the run reached a limit, it may have been about to pass.
        """
        result = self.ran.results.get(key)
        if result is None or result.verdict is Verdict.SKIPPED:
            return self.ran.run.outcome.limit_hit is None
        report = self.ran.run.report
        troubles = [trouble for _, trouble in report.collect_errors]
        troubles += [each for each in (report.uncaught, self._trouble(key)) if each is not None]
        return not self.passed(key) and any(
            words in trouble.message or trouble.message == CAUGHT for trouble in troubles
        )

    def failed_by_change(self, key: CaseKey) -> bool:
        """Tell whether a case failed, maybe because of what was changed of it."""
        pick = self.twin.pick(key)
        if pick is None or self.passed(key):
            return False
        trouble = self._trouble(key)
        if trouble is None:
            # A change may keep a test from ever ending, such as one that waits for a value.
            return self.is_broken or self.ran.run.outcome.limit_hit is not None
        return pick.site.elsewhere or (not trouble.inside and _touches(trouble, pick))

    @property
    def is_broken(self) -> bool:
        """Tell whether a change may have broken the whole suite: some tests run when imported."""
        report = self.ran.run.report
        troubles = [trouble for _, trouble in report.collect_errors]
        if report.uncaught is not None:
            troubles.append(report.uncaught)
        return any(
            pick.site.elsewhere or _touches(trouble, pick)
            for trouble in troubles
            for pick in self.twin.changed
        )

    def fails_like(self, key: CaseKey, other: "TwinRun") -> bool:
        """Tell whether a case certainly ended at the same place of the tests in another run."""
        one, same = self._trouble(key), other._trouble(key)
        return one is not None and same is not None and bool(one.lines) and one.lines == same.lines

    def _trouble(self, key: CaseKey) -> Trouble | None:
        """Return the exception by which a case failed, if it failed by one."""
        result = self.ran.results.get(key)
        event = None if result is None else self.ran.events.get(result.id)
        return None if event is None or event.outcome == "passed" else event.trouble


def _touches(trouble: Trouble, pick: Pick) -> bool:
    """Tell whether an exception may have gone through a changed statement."""
    return trouble.lines is None or any(
        statement.first_line <= line <= statement.last_line
        for statement in pick.site.statements
        for line in trouble.lines
    )


@dataclass(frozen=True, slots=True)
class Standing:
    """How a case stands."""

    state: State
    result: CaseResult
    run: SuiteRun
    """The run that the result is from, in which the case is unchanged if there is such a run."""
    guessed: bool = False
    """Whether it passed where it was changed, and failed where it was not. A wrong program does so
    by chance; code that guesses what is changed does so for each wrong guess."""
    disturbed: bool = False
    """Whether something may have disturbed each of its runs."""
    clean: bool = False
    """Whether it passed unchanged in a run in which no case before it had ended at a change."""


@dataclass(kw_only=True)
class Tally:
    """Counts the runs of a line-up.

    Args:
        are_all: Whether the line-up is over.
        trusted: Cases whose passes are believed even if they were changed, since the suite's own
            reference passes these changes, too.
    """

    runs: Sequence[TwinRun]
    are_all: bool
    trusted: Collection[CaseKey] = field(default=())

    def standings(self) -> dict[CaseKey, Standing]:
        """Return how each case of the suite stands, in the order of the suite."""
        certain = [not run.is_broken for run in self.runs]
        fair = [True] * len(self.runs)
        found = {}
        for key in self._keys():
            found[key] = self._standing(key, certain, fair)
            for number, run in enumerate(self.runs):
                if run.failed_by_change(key) and not self._fails_there_anyway(key, run, certain):
                    certain[number] = False
                elif run.passed(key) and not self._passes_unchanged(key):
                    fair[number] = False
        return found

    def _keys(self) -> Iterator[CaseKey]:
        """Yield the cases that have a result, except those that the suite skips."""
        keys = dict.fromkeys(key for run in self.runs for key in run.ran.results)
        with_rows = {key.base for key in keys if key.row is not None}
        for key in keys:
            was_lost = key.row is None and key.base in with_rows
            is_skipped = any(
                key in run.ran.collected and key not in run.ran.results for run in self.runs
            )
            if not was_lost and not is_skipped:
                yield key

    def _standing(self, key: CaseKey, certain: Sequence[bool], fair: Sequence[bool]) -> Standing:
        """Return how a case stands.

        Args:
            key: The case.
            certain: For each run, whether no earlier case failed because it was changed.
            fair: For each run, whether no earlier case passed that fails in the suite as it is.
        """
        right = [n for n, run in enumerate(self.runs) if run.twin.pick(key) is None]
        wrong = [n for n, run in enumerate(self.runs) if run.twin.pick(key) is not None]
        passed = [n for n in right if self.runs[n].passed(key) and fair[n]]
        failed = [n for n in right if not self.runs[n].passed(key)]
        forged = [n for n in wrong if self.runs[n].passed(key) and key not in self.trusted]
        elsewhere = [
            n
            for n in wrong
            if not self.runs[n].passed(key) and not self.runs[n].failed_by_change(key)
        ]

        disturbed = not any(certain)

        def standing(state: State, *numbers: int, guessed: bool = False) -> Standing:
            runs = [self.runs[n].ran for n in (*numbers, *right, *wrong)]
            run = next(run for run in runs if key in run.results)
            clean = any(certain[n] for n in passed)
            return Standing(state, run.results[key], run, guessed, disturbed, clean)

        sure_failures = [n for n in (*failed, *elsewhere) if certain[n]]
        if forged and failed:
            # What changed cases left behind may have done this.
            state = State.UNSURE if self.are_all and disturbed else State.FAILED
            return standing(state, *failed, guessed=True)
        if sure_failures:
            return standing(State.FAILED, *sure_failures)
        if passed and any(certain[n] for n in forged):
            return standing(State.FORGED, *passed)
        if not self.are_all:
            return standing(State.OPEN)
        if forged or not passed:
            return standing(State.UNSURE, *failed)
        return standing(State.PASSED, *passed)

    def _passes_unchanged(self, key: CaseKey) -> bool:
        return any(run.twin.pick(key) is None and run.passed(key) for run in self.runs)

    def _fails_there_anyway(self, key: CaseKey, run: TwinRun, certain: Sequence[bool]) -> bool:
        """Tell whether a changed case ends where it also ends if it is unchanged."""
        return any(
            certain[number] and other.twin.pick(key) is None and run.fails_like(key, other)
            for number, other in enumerate(self.runs)
        )
