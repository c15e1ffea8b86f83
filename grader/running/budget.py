"""The time limit for all runs of a submission together."""

from collections.abc import Sequence

from grader.judging.cases import not_run
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
        """Count a run that has ended, without the time that it waited for a CPU."""
        self._left_s -= max(0.0, (outcome.usage.wall_time_s or 0.0) - outcome.waited_s)

    def not_run(
        self, cases: Sequence[StdinCase | CallCase], done: Sequence[CaseResult]
    ) -> list[CaseResult]:
        """Return results for the cases of a suite that were not run.

        The first of them has hit the time limit, if that was the reason to stop.

        Args:
            cases: All cases of the suite.
            done: The results so far, of the first cases.
        """
        decided = bool(done) and is_decided(self._task, done[-1])
        return not_run(
            cases[len(done) :], self._task.limits, out_of_time=self.is_spent and not decided
        )
