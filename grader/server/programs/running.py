"""Run programs in the slots of this process."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

from grader.grading.engine import GradingEngine
from grader.grading.stopping import StopHandle
from grader.process.threads import Threads
from grader.sandbox.contract import RunBatch, RunOutcome
from grader.sandbox.pool import SlotCounts
from grader.server.http.request_context import RequestContext, current_request
from grader.server.http.wait_queue import WaitQueue


class NoSlotInTimeError(Exception):
    """Every slot was busy for as long as the caller could wait."""


@dataclass(slots=True, kw_only=True, eq=False)
class _Order:
    """A program that waits or runs."""

    batch: RunBatch
    image: str
    context: RequestContext | None
    answer_by: float
    handle: StopHandle = field(default_factory=StopHandle)
    has_slot: threading.Event = field(default_factory=threading.Event)
    when_begun: Callable[[], None]


class Programs(Protocol):
    """Runs programs. Its methods are for the event loop's thread."""

    async def run(
        self, batch: RunBatch, *, image: str, begin_by: float, answer_by: float
    ) -> RunOutcome:
        """Run a batch's only run. Cancelling stops it, down to the sandbox.

        Args:
            batch: What to run.
            image: The image variant.
            begin_by: Time, of `time.monotonic`, by which the program must have a slot.
            answer_by: Likewise; if the program still runs then, it has hit its wall time limit.

        Raises:
            NoSlotInTimeError: The program had no slot by `begin_by`.
            GraderError: The program was not run, through no fault of its own.
        """

    def counts(self) -> SlotCounts | None:
        """Return the state of the slots; None if workers have them."""

    def close(self) -> None:
        """Stop all running programs. Repeats harmlessly."""


class LocalPrograms:
    """Runs programs in the slots of this process."""

    def __init__(self, engine: GradingEngine, wait_queue: WaitQueue) -> None:
        """Start nothing yet.

        Args:
            engine: Has the slots, which programs share with submissions.
            wait_queue: Counts the programs that wait for a slot.
        """
        self._engine = engine
        self._wait_queue = wait_queue
        self._open: set[_Order] = set()
        self._threads = Threads(engine.settings.slots, "program")

    async def run(
        self, batch: RunBatch, *, image: str, begin_by: float, answer_by: float
    ) -> RunOutcome:
        """Run a batch's only run; see `Programs.run`."""
        loop = asyncio.get_running_loop()
        entry = self._wait_queue.enter()
        order = _Order(
            batch=batch,
            image=image,
            context=current_request(),
            answer_by=answer_by,
            when_begun=lambda: self._wait_queue.leave(entry),
        )
        self._open.add(order)
        is_late = False

        def give_up() -> None:
            nonlocal is_late
            if not order.has_slot.is_set():
                is_late = result.cancel()

        try:
            future: Future[RunOutcome] = self._threads.submit(self._run, order)
            result = asyncio.wrap_future(future)
            alarm = loop.call_later(max(0.0, begin_by - time.monotonic()), give_up)
            try:
                return await result
            except asyncio.CancelledError:
                if is_late:
                    raise NoSlotInTimeError from None
                raise
            finally:
                alarm.cancel()
                if not result.done() or result.cancelled():
                    # In a thread: killing a slot would block the event loop for too long.
                    _ = loop.run_in_executor(None, order.handle.stop)
        finally:
            self._wait_queue.leave(entry)
            self._open.discard(order)

    def counts(self) -> SlotCounts | None:
        """Return the state of the slots."""
        return self._engine.slot_counts()

    def close(self) -> None:
        """Stop all running programs; the engine closes the slots. Repeats harmlessly."""
        for order in list(self._open):
            order.handle.stop()
        self._threads.shutdown(wait=True, cancel_futures=True)

    # ------------------------------------------------------------ in a thread

    def _run(self, order: _Order) -> RunOutcome:
        def on_slot() -> None:
            order.has_slot.set()
            if order.context is not None:
                order.context.has_begun = True
            order.when_begun()

        return self._engine.run_program(
            order.batch,
            order.handle,
            image=order.image,
            on_slot=on_slot,
            answer_by=lambda: order.answer_by,
        )
