"""The time that all runs of a submission have together, whatever each of them may take."""

from collections.abc import Sequence

from grader.judging import verdicts
from grader.model import CallCase, CaseResult, StdinCase
from grader.running.task import Task, is_decided
from grader.sandbox.contract import RunOutcome


class TimeBudget:
    """Counts the time of a submission's runs, one after another."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._left_s = task.limits.total_time_s

    @property
    def is_spent(self) -> bool:
        """Whether no further run is to begin."""
        return self._left_s <= 0

    def take(self, outcome: RunOutcome) -> None:
        """Count a run that has ended. Its waits for a CPU were not its own doing."""
        self._left_s -= max(0.0, (outcome.usage.wall_time_s or 0.0) - outcome.waited_s)

    def not_run(
        self, cases: Sequence[StdinCase | CallCase], done: Sequence[CaseResult]
    ) -> list[CaseResult]:
        """Return the results of the cases of a suite that were not run, of which `done` lacks them.

        The first has hit the time limit, where it was that which ended it all.
        """
        decided = bool(done) and is_decided(self._task, done[-1])
        return verdicts.not_run(
            cases[len(done) :], self._task.limits, out_of_time=self.is_spent and not decided
        )
