"""The task: take what the hint names, grade it, hand the reports in. No logic."""

from typing import Any

from grader.queueing.names import GRADE_TASK
from worker.lifecycle import Lifecycle


def register(app: Any, lifecycle: Lifecycle) -> None:
    """Give a Celery application its one task."""

    @app.task(name=GRADE_TASK)  # type: ignore[untyped-decorator]
    def grade(keys: list[str]) -> None:
        """Grade the jobs of these keys; every other outcome than a report is the ledger's."""
        lifecycle.executor.execute([str(key) for key in keys])
