"""Programs that run once in a slot, for their output and not for a verdict."""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field

from grader.errors import (
    ConfigurationError,
    GradingStoppedError,
    SandboxError,
    SandboxUnavailableError,
)
from grader.pool import SlotCounts, SlotPool
from grader.sandbox.base import Job, RunOutcome, Sandbox
from grader.server.lobby import Lobby
from grader.server.visit import Visit, current_visit
from grader.settings import Settings
from grader.stoppable import Run

_log = logging.getLogger(__name__)


class NoSlotInTimeError(Exception):
    """Every slot was busy for as long as the caller could wait."""


@dataclass(slots=True, kw_only=True, eq=False)
class _Order:
    """A program that is to run."""

    job: Job
    image: str
    visit: Visit | None
    run: Run = field(default_factory=Run)
    has_slot: threading.Event = field(default_factory=threading.Event)
    when_begun: Callable[[], None]


class ProgramRunner:
    """Runs programs in the slots of a pool. Its methods are for the event loop's thread."""

    def __init__(self, settings: Settings, lobby: Lobby, slots: SlotPool | None) -> None:
        """Start nothing yet.

        Args:
            settings: Of the service.
            lobby: Where programs wait for a slot.
            slots: Those of the grader in this process; None: open some when first needed.
        """
        self._settings = settings
        self._lobby = lobby
        self._lock = threading.Lock()
        self._slots = slots
        self._sandbox: Sandbox | None = None
        self._open: set[_Order] = set()
        self._closed = False
        self._threads = ThreadPoolExecutor(settings.slots, thread_name_prefix="program")

    async def run(self, job: Job, *, image: str, begin_by: float) -> RunOutcome:
        """Run a job's only run. Cancelling stops it, down to the sandbox.

        Args:
            job: What to run.
            image: The image variant.
            begin_by: Of `time.monotonic`; when it must have a slot.

        Raises:
            NoSlotInTimeError: It had none by then.
            GradingStoppedError: The runner was closed.
            GraderError: The sandbox failed more often than the settings allow, or cannot work.
        """
        loop = asyncio.get_running_loop()
        begun = asyncio.Event()
        order = _Order(
            job=job,
            image=image,
            visit=current_visit(),
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
        """Return the state of the slots; None while there are none."""
        slots = self._slots
        return None if slots is None else slots.counts()

    def close(self) -> None:
        """Stop what runs and close the slots that were opened here. Repeats harmlessly."""
        with self._lock:
            self._closed = True
            sandbox, slots = self._sandbox, self._slots
        for order in list(self._open):
            order.run.stop()
        self._threads.shutdown(wait=True, cancel_futures=True)
        if sandbox is not None and slots is not None:
            slots.close()
            sandbox.close()

    # ------------------------------------------------------------ in a thread

    def _run(self, order: _Order) -> RunOutcome:
        left = self._settings.retries
        while True:
            try:
                return self._run_once(order)
            except SandboxError as error:
                if not error.retryable or left == 0 or order.run.is_stopped:
                    raise
                left -= 1
                _log.warning("running a program again after a sandbox failed: %s", error)

    def _run_once(self, order: _Order) -> RunOutcome:
        memory_bytes = order.job.limits.memory_bytes
        with self._pool().borrow(image=order.image, memory_bytes=memory_bytes) as slot:
            if not order.run.is_stopped:
                order.has_slot.set()
                if order.visit is not None:
                    order.visit.has_begun = True
                order.when_begun()
                with (
                    order.run.using(contextlib.nullcontext(slot)),
                    closing(slot.run(order.job)) as running,
                ):
                    for outcome in running:
                        return outcome
                message = f"{slot.name} ended a job without an outcome"
                raise SandboxUnavailableError(message)
        # Raised only here, where the slot has been given back unharmed.
        message = "nobody waits for this program any more"
        raise GradingStoppedError(message)

    def _pool(self) -> SlotPool:
        with self._lock:
            if self._closed:
                message = "the service is stopping"
                raise ConfigurationError(message)
            if self._slots is None:
                from grader.sandbox.choose import choose_sandbox

                self._sandbox = choose_sandbox(self._settings)
                self._slots = SlotPool(
                    self._sandbox,
                    size=self._settings.slots,
                    memory_bytes=self._settings.limits.memory_bytes,
                    outage_s=self._settings.outage_s,
                )
            return self._slots


def _tell(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    with contextlib.suppress(RuntimeError):  # The loop is closed: nobody waits any more.
        loop.call_soon_threadsafe(event.set)
