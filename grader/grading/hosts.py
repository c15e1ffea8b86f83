"""Host processes, so that extraction, judging and the like run on more than one core.

An interpreter runs Python on one core at a time, and a submission takes about a millisecond of it.
A grader with more than a few slots therefore starts further processes, each a grader with a share
of the slots (`grader/grading/host.py`), and hands whole submissions to them. The grader has one
more slot itself, so that a single call never waits for a process to start: nothing is started until
more submissions are open.
"""

import itertools
import logging
import os
import threading
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from grader.config.settings import SandboxChoice, Settings
from grader.grading.grading import Grading
from grader.grading.host_connection import Host, HostLostError
from grader.grading.host_messages import differ_in_rules_alone, make_order
from grader.grading.stopping import STOPPED
from grader.model import GradeReport, Submission, wire
from grader.model.errors import (
    ConfigurationError,
    GradingStoppedError,
    WireError,
)
from grader.process.request_id import caller
from grader.process.threads import Threads
from grader.process.tracing import lasting_span
from grader.process.turns import TurnQueue
from grader.sandbox.pool import SlotCounts
from grader.suites.cache import EncodedSuite, EncodedSuites

_log = logging.getLogger(__name__)

SLOTS_PER_PROCESS = 4
OWN_SLOTS = 1
"""How many slots a grader with host processes has besides theirs. It uses them only while host
processes start: later it is busy with handing out submissions."""
_FAILED_STARTS = 3
"""After so many failed starts in a row, no further host process is started."""
_PATIENCE_S = 1.0
"""If settling a future takes as long, another thread reads what the host process sends next."""
_SHORT = 1 << 16
"""At most so many characters are encoded by a thread that must not be kept waiting, such as that of
an event loop."""


class Hosts:
    """Gives each submission a slot, here or in a host process. Safe for many threads.

    An order goes to a host process straight from the thread that submits, or from the one that
    reads the report which frees the slot.
    """

    def __init__(
        self,
        settings: Settings,
        backend: SandboxChoice,
        *,
        threads: Threads,
        grade_here: Callable[[Grading], None],
        on_turn: Callable[[Submission], None],
    ) -> None:
        """Start nothing yet.

        Args:
            settings: The grader's.
            backend: The backend that the grader has chosen.
            threads: For all that takes a while.
            grade_here: Grades in this process, and waits for it.
            on_turn: Called when a submission gets a slot. It must neither raise nor wait.
        """
        self._settings = settings
        self._backend = backend
        self._threads = threads
        self._grade_here = grade_here
        self._on_turn = on_turn
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._turns: TurnQueue[_Turn] = TurnQueue()
        self._busy_here = 0
        self._shares = _shares(settings.slots)
        self._hosts: list[Host] = []
        self._failed_starts = 0
        self._closed = threading.Event()
        self._suites = EncodedSuites()
        self._numbers = itertools.count()
        self._watch: threading.Thread | None = None

    def grade(self, grading: Grading) -> None:
        """Have a submission graded once a slot is free. Returns at once, and never raises."""
        if self._suites.knows(grading.submission.suite):
            self._take_in(grading)
        else:
            grading.run_in(self._threads, lambda: self._take_in(grading))

    @contextmanager
    def here(self) -> Iterator[None]:
        """Wait for the right to use a slot of this process.

        Raises:
            ConfigurationError: The grader is closed.
        """
        begun: Future[None] = Future()
        self._enter(_OwnTurn(begun))
        try:
            begun.result()
            yield
        finally:
            # It is cancelled only if this thread was interrupted while it waited.
            if not begun.cancel() and begun.exception() is None:
                self._leave(None)

    def counts(self, own: SlotCounts) -> SlotCounts:
        """Return how many of all slots are in which state; `own` are those of this process."""
        with self._lock:
            busy = self._busy()
            opened = own.busy + own.idle + sum(host.open_slots for host in self._hosts)
        idle = max(0, min(opened, self._settings.slots) - busy)
        unopened = max(0, self._settings.slots - busy - idle)
        return SlotCounts(busy=busy, idle=idle, unopened=unopened)

    def close(self) -> None:
        """End all host processes. Repeats harmlessly."""
        if os.getpid() != self._pid:
            return  # This is a forked process, which has none of them.
        with self._lock:
            self._closed.set()
            hosts, turns = list(self._hosts), list(self._turns)
            self._turns.clear()
        for turn in turns:
            turn.refuse()
        for host in hosts:
            host.hang_up()
        for host in hosts:
            host.join()

    # ------------------------------------------------------------ turns

    def _enter(self, turn: "_Turn", *, is_next: bool = False) -> None:
        """Let something wait for a slot, or refuse it if the grader is closed."""
        with self._lock:
            is_closed = self._closed.is_set()
            if not is_closed:
                put = self._turns.put_back if is_next else self._turns.put
                put(turn, turn.whose)
        if is_closed:
            turn.refuse()
        else:
            self._hand_out()

    def _leave(self, host: Host | None) -> None:
        """Free a slot of a host process, or of this one."""
        with self._lock:
            self._count(host, -1)
        self._hand_out()

    def _hand_out(self) -> None:
        """Give the free slots to what waits."""
        while (given := self._next()) is not None:
            turn, host = given
            is_begun = turn.begin() if isinstance(turn, _OwnTurn) else self._begin(turn, host)
            if not is_begun:
                with self._lock:
                    self._count(host, -1)

    def _next(self) -> "tuple[_Turn, Host | None] | None":
        """Return what may begin now and the process of its slot, None for this one."""
        with self._lock:
            if self._busy() >= self._settings.slots:
                return None
            turn = self._turns.take_if(self._may_begin)
            if turn is None:
                return None
            host = None if turn.suite is None else self._free_host(turn.suite)
            self._count(host, 1)
            return turn, host

    def _may_begin(self, turn: "_Turn") -> bool:
        if turn.suite is None or self._free_host(turn.suite) is not None:
            return True
        if self._busy_here < OWN_SLOTS or self._failed_starts >= _FAILED_STARTS:
            return True
        self._start_host()
        return False

    def _free_host(self, suite: EncodedSuite) -> Host | None:
        """Return the best host process for a suite, if any has a free slot."""
        return max(
            (host for host in self._hosts if host.takes_orders and host.busy < host.slots),
            key=lambda host: (host.knows(suite), -host.busy),
            default=None,
        )

    def _busy(self) -> int:
        return self._busy_here + sum(host.busy for host in self._hosts)

    def _count(self, host: Host | None, change: int) -> None:
        if host is None:
            self._busy_here += change
        else:
            host.busy += change

    # ------------------------------------------------------------ submissions

    def _take_in(self, grading: Grading) -> None:
        try:
            suite = self._suite(grading)
        except Exception as error:  # noqa: BLE001 - a bug of ours; the report says it
            grading.fail(error)
        else:
            self._enter(_SubmissionTurn(grading, suite, self._settings.retries))

    def _suite(self, grading: Grading) -> EncodedSuite | None:
        """Return the suite as it travels; None if it or the settings cannot be sent."""
        if not differ_in_rules_alone(self._settings, grading.settings):
            return None
        suite = grading.submission.suite
        try:
            return self._suites.get(suite, lambda: wire.encode_suite(suite))
        except WireError:
            return None

    def _begin(self, turn: "_SubmissionTurn", host: Host | None) -> bool:
        """Begin to grade; return whether the slot is needed."""
        grading, suite = turn.grading, turn.suite
        if grading.handle.is_stopped:
            grading.fail(GradingStoppedError(STOPPED))
            return False
        self._on_turn(submission := grading.submission)
        is_short = len(submission.completion) + len(submission.prompt) <= _SHORT
        if host is not None and suite is not None and is_short:
            return self._send(turn, suite, host)

        def begin() -> None:
            if host is None or suite is None:
                self._grade_here(grading)
            elif self._send(turn, suite, host):
                return
            self._leave(host)

        return grading.run_in(self._threads, begin)

    def _send(self, turn: "_SubmissionTurn", suite: EncodedSuite, host: Host) -> bool:
        """Send a submission to a host process; return whether that was possible."""
        grading, number = turn.grading, next(self._numbers)
        try:
            order = make_order(grading.submission, suite, grading.settings)
            end_span = grading.context.copy().run(_begin_span)
            host.send_order(number, order, partial(self._answered, turn, host, end_span))
        except HostLostError:
            # It has not begun, so this does not count as a try.
            self._enter(turn, is_next=True)
            return False
        except Exception as error:  # noqa: BLE001 - a bug of ours; the report says it
            grading.fail(error)
            return False
        grading.handle.attach(_Stop(host, number))
        return True

    def _answered(
        self,
        turn: "_SubmissionTurn",
        host: Host,
        end_span: Callable[[], None],
        message: bytes | None,
    ) -> None:
        """Settle with a host process's report; if it is None, the process ended without one."""
        end_span()
        if message is None and turn.retries > 0:
            turn.retries -= 1
            self._enter(turn, is_next=True)
            return
        # The next order is sent first, so that the host process need not wait for it.
        self._leave(host)
        turn.grading.context.copy().run(turn.grading.finish, lambda: _decode(message))

    # ------------------------------------------------------------ processes

    def _start_host(self) -> None:
        """Start another host process, unless those that are starting suffice."""
        starting = sum(host.slots for host in self._hosts if not host.is_ready)
        if len(self._hosts) == len(self._shares) or starting >= len(self._turns):
            return
        taken = [host.number for host in self._hosts]
        number = next(n for n in range(len(self._shares)) if n not in taken)
        settings = replace(
            self._settings,
            slots=self._shares[number],
            sandbox=self._backend,
            broker=None,
            url=None,
        )
        try:
            host = Host(number, settings, ready=self._ready, ended=self._ended)
            host.start()
        except (OSError, RuntimeError) as error:  # There are no descriptors or threads left.
            self._failed_starts += 1
            _log.warning("a host process cannot be started: %s", error)
        else:
            self._hosts.append(host)
            if self._watch is None:
                self._watch = threading.Thread(
                    target=self._watch_readers, name="host-watch", daemon=True
                )
                self._watch.start()

    def _ready(self, host: Host) -> None:
        with self._lock:
            host.is_ready = True
            self._failed_starts = 0
        self._hand_out()

    def _ended(self, host: Host, reason: str) -> None:
        with self._lock:
            self._hosts.remove(host)
            if not self._closed.is_set():
                self._failed_starts += not host.is_ready
                _log.warning("a host process ended: %s", reason)
        self._hand_out()

    def _watch_readers(self) -> None:
        while not self._closed.wait(_PATIENCE_S):
            with self._lock:
                hosts = list(self._hosts)
            for host in hosts:
                host.relieve_reader()


class _SubmissionTurn:
    """A submission that waits for a slot."""

    def __init__(self, grading: Grading, suite: EncodedSuite | None, retries: int) -> None:
        self.grading = grading
        self.suite = suite
        """None if it cannot be sent to a host process."""
        self.retries = retries
        self.whose: Hashable = caller.get()

    def refuse(self) -> None:
        """Say that the grader is closed."""
        self.grading.refuse()


class _OwnTurn:
    """What waits for the right to use a slot of this process."""

    suite = None
    whose: Hashable = ("programs",)
    """All of these take turns with each caller's submissions."""

    def __init__(self, begun: "Future[None]") -> None:
        self._begun = begun

    def begin(self) -> bool:
        """Tell that there is a slot; return whether it is still wanted."""
        if not self._begun.set_running_or_notify_cancel():
            return False
        self._begun.set_result(None)
        return True

    def refuse(self) -> None:
        """Say that the grader is closed."""
        if self._begun.set_running_or_notify_cancel():
            self._begun.set_exception(ConfigurationError("the grader is closed"))


_Turn = _SubmissionTurn | _OwnTurn


class _Stop:
    """What a `StopHandle` closes to stop a grading in a host process."""

    def __init__(self, host: Host, number: int) -> None:
        self._host = host
        self._number = number

    def close(self) -> None:
        """Stop the grading. Repeats harmlessly."""
        self._host.stop(self._number)


def _decode(message: bytes | None) -> GradeReport:
    if message is None:
        raise HostLostError
    return wire.decode_report(message)


def _begin_span() -> Callable[[], None]:
    with lasting_span("sandbox") as end_span:
        return end_span


def _shares(slots: int) -> list[int]:
    """Distribute slots over host processes as evenly as possible."""
    # Those of this process count here, so that it starts no process for a single further slot.
    processes = -(-(slots - OWN_SLOTS) // SLOTS_PER_PROCESS)
    return [slots // processes + (number < slots % processes) for number in range(processes)]
