"""`python -m benchmarks.instant_worker`: a worker whose sandbox answers at once.

All that is left is the queue's own work. `BENCHMARK_RUN_S` makes each run take so many seconds.
"""

import os
import time
from typing import Any

from grader.config.settings import Settings
from grader.grading.engine import GradingEngine
from grader.model import CaseResult, GradeReport, Submission
from grader.model.verdict import Verdict
from grader.scoring.policies import score_report
from tests.fake.backend import FakeSandbox


class InstantEngine(GradingEngine):
    """Passes every submission, and runs none."""

    def __init__(self, settings: Settings) -> None:
        """Open nothing."""
        super().__init__(settings, sandbox=FakeSandbox())
        self._run_s = float(os.environ.get("BENCHMARK_RUN_S", "0"))

    def grade(self, submission: Submission, **_: Any) -> GradeReport:
        """Return a report of one passed case."""
        time.sleep(self._run_s)
        cases = (CaseResult(id=f"{submission.suite.problem_id}", verdict=Verdict.PASSED),)
        return score_report(verdict=Verdict.PASSED, cases=cases, policy=self.settings.policy)


def main() -> None:
    """Run the worker until it is told to stop."""
    from worker.app import app, lifecycle, settings

    lifecycle.open_grader = lambda: InstantEngine(settings)
    app.worker_main(["worker", "--loglevel=WARNING", "--without-gossip", "--without-mingle"])


if __name__ == "__main__":
    main()
