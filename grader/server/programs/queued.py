"""Programs that run on the workers of a queue."""

import asyncio
import time

from grader.model.errors import SandboxUnavailableError
from grader.queueing.grader import QueueGrader
from grader.queueing.programs import ProgramResult, QueuedProgram
from grader.sandbox.contract import RunBatch, RunOutcome
from grader.sandbox.pool import SlotCounts
from grader.server.http.request_context import current_request
from grader.server.programs.running import NoSlotInTimeError

_BACKSTOP_S = 5.0
_ON_THE_WAY_S = 1.0
"""Time that a program needs to reach a free slot, added to the time that it may wait for one."""


class QueuedPrograms:
    """Runs programs on the workers of a queue."""

    def __init__(self, grader: QueueGrader) -> None:
        """Start nothing yet.

        Args:
            grader: The grader whose connection programs share with submissions.
        """
        self._grader = grader

    async def run(
        self, batch: RunBatch, *, image: str, begin_by: float, answer_by: float
    ) -> RunOutcome:
        """Run a batch's only run; see `Programs.run`.

        The worker gets a limit for the time in the slot: the time that is left if the slot comes
        after half of the waiting time. A program that gets its slot later, and has not ended by
        `answer_by`, counts as not begun.

        Raises:
            QueueUnavailableError: Redis does not answer.
        """
        if (context := current_request()) is not None:
            context.has_begun = True
        now = time.monotonic()
        wait_s, patience_s = max(0.0, begin_by - now), max(0.0, answer_by - now)
        program = self._grader.run_program(
            batch,
            image=image,
            timeout_s=patience_s + _BACKSTOP_S,
            clock_s=max(batch.limits.wall_time_s, patience_s - wait_s / 2),
        )
        result = await self._result_of(program, min(wait_s + _ON_THE_WAY_S, patience_s), patience_s)
        if result.outcome is None:
            raise SandboxUnavailableError(result.reason)
        return result.outcome

    async def _result_of(
        self, program: QueuedProgram, slot_in_s: float, result_in_s: float
    ) -> ProgramResult:
        """Wait for a program's result.

        Raises:
            NoSlotInTimeError: The program has no slot after `slot_in_s`, or no result after
                `result_in_s`.
            QueueUnavailableError: Redis does not answer.
        """
        future = asyncio.wrap_future(program.result)
        try:
            await asyncio.wait([future], timeout=slot_in_s)
            if not future.done() and await asyncio.to_thread(self._grader.has_slot, program):
                await asyncio.wait([future], timeout=result_in_s - slot_in_s)
            if not future.done():
                raise NoSlotInTimeError
            return await future
        finally:
            future.cancel()

    def counts(self) -> SlotCounts | None:
        """Return None: the slots are the workers'."""
        return None

    def close(self) -> None:
        """Do nothing: closing the grader ends the open programs."""
