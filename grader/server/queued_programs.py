"""Programs that run on the workers of a queue."""

import asyncio
import time

from grader.client import QueueGrader
from grader.errors import SandboxUnavailableError
from grader.pool import SlotCounts
from grader.sandbox.base import Job, RunOutcome
from grader.server.programs import NoSlotInTimeError
from grader.server.visit import current_visit

_BACKSTOP_S = 5.0


class QueuedPrograms:
    """Runs programs over a queue, whose workers need no word from us to be many."""

    def __init__(self, grader: QueueGrader) -> None:
        """Start nothing yet.

        Args:
            grader: Whose connection programs share with submissions.
        """
        self._grader = grader

    async def run(self, job: Job, *, image: str, begin_by: float, answer_by: float) -> RunOutcome:
        """Run a job's only run; see `Programs.run`.

        When it gets its slot is not told here. So the worker is told how long it may run then:
        as long as a program can that gets its slot at half of the time in which it may. What gets
        it later and has not ended in time counts as not begun.
        """
        if (visit := current_visit()) is not None:
            visit.has_begun = True
        now = time.monotonic()
        wait_s, patience_s = max(0.0, begin_by - now), max(0.0, answer_by - now)
        future = self._grader.run_program(
            job,
            image=image,
            timeout_s=patience_s + _BACKSTOP_S,
            clock_s=max(job.limits.wall_time_s, patience_s - wait_s / 2),
        )
        try:
            result = await asyncio.wait_for(asyncio.wrap_future(future), patience_s)
        except TimeoutError:
            raise NoSlotInTimeError from None
        if result.outcome is None:
            raise SandboxUnavailableError(result.reason)
        return result.outcome

    def counts(self) -> SlotCounts | None:
        """Return nothing: the slots are the workers'."""
        return None

    def close(self) -> None:
        """Do nothing: the grader settles what is open."""
