"""The engine of this process: a pool of warm slots, and host processes if there are many."""

import logging
import math
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import partial

from grader.config.settings import ImageSettings, SandboxChoice, Settings
from grader.grading import pipeline
from grader.grading.grading import Grading
from grader.grading.hosts import SLOTS_PER_PROCESS, Hosts
from grader.grading.stopping import STOPPED, StopHandle
from grader.model import GradeReport, Submission, Usage
from grader.model.errors import (
    GraderError,
    GradingStoppedError,
    SandboxError,
    SandboxUnavailableError,
)
from grader.model.verdict import LimitKind
from grader.process.closing import Closing
from grader.process.threads import Threads
from grader.running.references import References
from grader.sandbox.choice import choose_sandbox
from grader.sandbox.contract import RunBatch, RunOutcome, Sandbox, Slot
from grader.sandbox.pool import SlotCounts, SlotPool
from grader.sandbox.retrying import OPENING_S, retrying
from grader.scoring import calibration
from grader.scoring.own import load_policy

_log = logging.getLogger(__name__)


class GradingEngine(Closing):
    """Grades submissions, and runs programs, in slots of its own. Safe for many threads.

    Slots are opened when they are first needed and kept warm until `close`. If there are many, host
    processes (`grader/grading/hosts.py`) share them.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        sandbox: Sandbox | None = None,
        in_host: bool = False,
        on_turn: Callable[[Submission], None] = lambda _: None,
    ) -> None:
        """Choose the sandbox; nothing is started yet.

        Args:
            settings: None for the defaults.
            sandbox: None for the one that the settings choose. Closed with the grader.
            in_host: Whether this is a host process, which starts no others.
            on_turn: Called when it begins to grade a submission that was given to `submit`. It must
                neither raise nor wait.

        Raises:
            ConfigurationError: The settings name something that does not exist.
            SandboxError: The chosen sandbox cannot work here.
        """
        self.settings = settings or Settings()
        load_policy(self.settings.policy)
        self._calibration = calibration.find(self.settings)
        self.sandbox = sandbox or choose_sandbox(self.settings)
        self._references = References()
        self._pool = SlotPool(
            self.sandbox,
            size=self.settings.slots,
            memory_bytes=self.settings.limits.memory_bytes,
            outage_s=self.settings.outage_s,
            supersets={"python": "science"} if self.settings.images == ImageSettings() else {},
        )
        self._on_turn = on_turn
        self._threads = Threads(self.settings.slots, "grader-slot")
        # A sandbox that the caller made cannot be passed on to other processes.
        self._hosts = (
            Hosts(
                self.settings,
                SandboxChoice(self.sandbox.name),
                threads=self._threads,
                grade_here=self._grade_here,
                on_turn=on_turn,
            )
            if sandbox is None and not in_host and self.settings.slots > SLOTS_PER_PROCESS
            else None
        )
        self._warming: threading.Thread | None = None
        self._warming_error: GraderError | None = None

    def slot_counts(self) -> SlotCounts:
        """Return how many slots are in which state, those of host processes included."""
        own = self._pool.counts()
        return own if self._hosts is None else self._hosts.counts(own)

    def submit(
        self,
        submission: Submission,
        settle: Callable[[GradeReport], None],
        *,
        handle: StopHandle | None = None,
        settings: Settings | None = None,
    ) -> None:
        """Begin to grade one submission, and return at once. No submission makes it raise.

        Args:
            submission: What to grade.
            settle: Called once with the report, in any thread. It must not raise.
            handle: The handle by which it can be stopped. Its report is then an internal error.
            settings: The settings of this call. The backend, slots and retries stay the engine's.
        """
        grading = self._grading(submission, settle, handle, settings)
        if self._hosts is not None:
            self._hosts.grade(grading)
        else:
            grading.run_in(self._threads, partial(self._take_turn, grading))

    def grade(
        self,
        submission: Submission,
        *,
        handle: StopHandle | None = None,
        settings: Settings | None = None,
    ) -> GradeReport:
        """Grade one submission as `submit` does, and wait for its report."""
        reports: queue.SimpleQueue[GradeReport] = queue.SimpleQueue()
        grading = self._grading(submission, reports.put, handle, settings)
        if self._hosts is not None:
            self._hosts.grade(grading)
        else:
            self._grade_here(grading)
        return reports.get()

    def run_program(
        self,
        batch: RunBatch,
        handle: StopHandle,
        *,
        image: str,
        on_slot: Callable[[], None] = lambda: None,
        answer_by: Callable[[], float] = lambda: math.inf,
    ) -> RunOutcome:
        """Run a batch's only run, for its output and not for a verdict.

        If the program does not compile, the outcome is the compiler's.

        Args:
            batch: What to run.
            handle: The handle by which it can be stopped.
            image: The image variant.
            on_slot: Called whenever it has a slot.
            answer_by: Called after `on_slot`. Returns the time, of `time.monotonic`, by which the
                caller needs an answer. A program that still runs then has hit the limit on wall
                time, even if a busy machine left it little CPU time.

        Raises:
            GradingStoppedError: `handle` was stopped.
            SandboxError: The sandbox failed more often than the settings allow, or cannot work.
        """
        left, begun = self.settings.retries, time.monotonic()

        def had_slot() -> float:
            nonlocal begun
            begun = time.monotonic()
            on_slot()
            return answer_by()

        while True:
            clock = StopHandle()
            try:
                return self._run_once(batch, handle, clock, image, had_slot)
            except GradingStoppedError:
                if handle.is_stopped or not clock.is_stopped:
                    raise
                return _out_of_time(time.monotonic() - begun)
            except SandboxError as error:
                if not error.retryable or left == 0 or handle.is_stopped:
                    raise
                left -= 1
                _log.warning("running a program again after a sandbox failed: %s", error)

    def warm(self, image: str = "python") -> None:
        """Start opening a slot, so that the first submission need not wait for all of it.

        If it fails, it is tried again as often as a submission is. Then `look` and the first
        submission say so.
        """
        self._warming = threading.Thread(target=self._open_one, args=(image,), daemon=True)
        self._warming.start()

    def look(self) -> None:
        """Wait for the slot that `warm` began to open.

        Raises:
            GraderError: No slot can be opened.
        """
        if self._warming is not None:
            self._warming.join()
        if self._warming_error is not None:
            raise self._warming_error

    def stop(self) -> None:
        """Close the slots, without waiting for the threads that used them. Repeats harmlessly."""
        if self._hosts is not None:
            self._hosts.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._pool.close()
        self.sandbox.close()

    def close(self) -> None:
        """Close every slot and the sandbox. Repeats harmlessly."""
        # All slots at once, which is quicker than run by run; then slots that were being opened.
        self.stop()
        self._threads.shutdown(wait=True)
        self.stop()
        if self._warming is not None:
            self._warming.join()

    def _grading(
        self,
        submission: Submission,
        settle: Callable[[GradeReport], None],
        handle: StopHandle | None,
        settings: Settings | None,
    ) -> Grading:
        return Grading(
            submission=submission,
            settings=settings or self.settings,
            handle=handle or StopHandle(),
            settle=settle,
        )

    def _take_turn(self, grading: Grading) -> None:
        if grading.handle.is_stopped:
            grading.fail(GradingStoppedError(STOPPED))
            return
        self._on_turn(grading.submission)
        self._grade_here(grading)

    def _grade_here(self, grading: Grading) -> None:
        grading.finish(
            lambda: pipeline.grade(
                grading.submission,
                partial(self._borrow, grading.handle),
                self._references,
                grading.settings,
                self._calibration,
            )
        )

    def _run_once(
        self,
        batch: RunBatch,
        handle: StopHandle,
        clock: StopHandle,
        image: str,
        had_slot: Callable[[], float],
    ) -> RunOutcome:
        with (
            nullcontext() if self._hosts is None else self._hosts.here(),
            self._pool.borrow(image=image, memory_bytes=batch.memory_bytes) as slot,
        ):
            if not handle.is_stopped:
                deadline = had_slot()
                with (
                    handle.using(nullcontext(slot)),
                    clock.using(nullcontext(slot)),
                    _stopped_at(clock, deadline),
                    closing(slot.run(batch)) as running,
                ):
                    outcomes = list(running)
                if outcomes:
                    return outcomes[-1]
                message = f"{slot.name} ended a batch without an outcome"
                raise SandboxUnavailableError(message)
        # Raised only here, after the slot was given back unharmed.
        raise GradingStoppedError(STOPPED)

    def _open_one(self, image: str) -> None:
        def open_one() -> None:
            with self._borrow(StopHandle(), image, 0):
                pass

        try:
            retrying(open_one, retries=self.settings.retries, within_s=OPENING_S)
        except GraderError as error:
            self._warming_error = error

    def _borrow(
        self, handle: StopHandle, image: str, memory_bytes: int
    ) -> AbstractContextManager[Slot]:
        return handle.using(self._pool.borrow(image=image, memory_bytes=memory_bytes))


@contextmanager
def _stopped_at(handle: StopHandle, deadline: float) -> Iterator[None]:
    """Stop a run once a time of `time.monotonic` has come."""
    if deadline == math.inf:
        yield
        return
    alarm = threading.Timer(max(0.0, deadline - time.monotonic()), handle.stop)
    alarm.daemon = True
    alarm.start()
    try:
        yield
    finally:
        alarm.cancel()


def _out_of_time(wall_time_s: float) -> RunOutcome:
    """Return the outcome of a program that was stopped at `answer_by`. Its output is lost."""
    usage = Usage(wall_time_s=wall_time_s)
    return RunOutcome(index=0, usage=usage, limit_hit=LimitKind.WALL_TIME)
