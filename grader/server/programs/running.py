"""Programs that run once in a slot, for their output and not for a verdict."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

from grader.grading.stoppable import Run, StoppableGrader
from grader.process.threads import Threads
from grader.sandbox.contract import Job, RunOutcome
from grader.sandbox.pool import SlotCounts
from grader.server.http.request_context import Visit, current_visit
from grader.server.http.wait_queue import Lobby


class NoSlotInTimeError(Exception):
    """Every slot was busy for as long as the caller could wait."""


@dataclass(slots=True, kw_only=True, eq=False)
class _Order:
    """A program that is to run."""

    job: Job
    image: str
    visit: Visit | None
    answer_by: float
    run: Run = field(default_factory=Run)
    has_slot: threading.Event = field(default_factory=threading.Event)
    when_begun: Callable[[], None]


class Programs(Protocol):
    """Runs programs. Its methods are for the event loop's thread."""

    async def run(self, job: Job, *, image: str, begin_by: float, answer_by: float) -> RunOutcome:
        """Run a job's only run. Cancelling stops it, down to the sandbox.

        Args:
            job: What to run.
            image: The image variant.
            begin_by: Of `time.monotonic`; when it must have a slot.
            answer_by: Likewise; what has begun and still runs then is out of wall time.

        Raises:
            NoSlotInTimeError: It had none by then.
            GraderError: It was not run, through no fault of its own.
        """

    def counts(self) -> SlotCounts | None:
        """Return the state of the slots; None where they are elsewhere."""

    def close(self) -> None:
        """Stop what runs. Repeats harmlessly."""


class LocalPrograms:
    """Runs programs in the slots of this process."""

    def __init__(self, grader: StoppableGrader, lobby: Lobby) -> None:
        """Start nothing yet.

        Args:
            grader: Whose slots programs share with submissions.
            lobby: Where programs wait for a slot.
        """
        self._grader = grader
        self._lobby = lobby
        self._open: set[_Order] = set()
        self._threads = Threads(grader.settings.slots, "program")

    async def run(self, job: Job, *, image: str, begin_by: float, answer_by: float) -> RunOutcome:
        """Run a job's only run; see `Programs.run`."""
        loop = asyncio.get_running_loop()
        begun = asyncio.Event()
        order = _Order(
            job=job,
            image=image,
            visit=current_visit(),
            answer_by=answer_by,
            when_begun=lambda: _tell(loop, begun),
        )
        ticket = self._lobby.enter()
        self._open.add(order)
        try:
            future: Future[RunOutcome] = self._threads.submit(self._run, order)
            result = asyncio.wrap_future(future)
            turn = asyncio.ensure_future(begun.wait())
            try:
                await asyncio.wait(
                    (result, turn),
                    timeout=max(0.0, begin_by - time.monotonic()),
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if not (result.done() or order.has_slot.is_set()):
                    result.cancel()
                    raise NoSlotInTimeError
                self._lobby.leave(ticket)
                return await result
            finally:
                turn.cancel()
                if not result.done() or result.cancelled():
                    # Killing a slot takes longer than this thread has.
                    _ = loop.run_in_executor(None, order.run.stop)
        finally:
            self._lobby.leave(ticket)
            self._open.discard(order)

    def counts(self) -> SlotCounts | None:
        """Return the state of the slots."""
        return self._grader.slot_counts()

    def close(self) -> None:
        """Stop what runs; the slots are the grader's. Repeats harmlessly."""
        for order in list(self._open):
            order.run.stop()
        self._threads.shutdown(wait=True, cancel_futures=True)

    # ------------------------------------------------------------ in a thread

    def _run(self, order: _Order) -> RunOutcome:
        def on_slot() -> None:
            order.has_slot.set()
            if order.visit is not None:
                order.visit.has_begun = True
            order.when_begun()

        return self._grader.run_program(
            order.job,
            order.run,
            image=order.image,
            on_slot=on_slot,
            answer_by=lambda: order.answer_by,
        )


def _tell(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    with contextlib.suppress(RuntimeError):  # The loop is closed: nobody waits any more.
        loop.call_soon_threadsafe(event.set)
