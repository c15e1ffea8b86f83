"""The Celery task. It only calls the executor."""

from typing import Any

from grader.queueing.names import GRADE_TASK
from worker.lifecycle import Lifecycle


def register(app: Any, lifecycle: Lifecycle) -> None:
    """Give a Celery application its one task."""

    @app.task(name=GRADE_TASK)  # type: ignore[untyped-decorator]
    def grade(keys: list[str]) -> None:
        """Grade the jobs with these keys; the reports go to the ledger."""
        lifecycle.executor.execute([str(key) for key in keys])
