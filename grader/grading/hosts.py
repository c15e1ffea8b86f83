"""Host processes, so that extraction, judging and the like run on more than one core.

An interpreter runs Python on one core at a time, and a submission takes about a millisecond of it.
A grader with more than a few slots therefore starts further processes, each a grader with a share
of the slots (`grader/grading/host.py`), and hands whole submissions to them. The grader has one
more slot itself, so that a single call never waits for a process to start: nothing is started until
more submissions are open.
"""

import contextlib
import json
import logging
import os
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from grader.config.settings import SandboxChoice, Settings
from grader.grading.host_messages import (
    Order,
    differ_in_rules_alone,
    encode_settings,
    make_order,
)
from grader.model import GradeReport, Submission, wire
from grader.model.errors import ConfigurationError, SandboxUnavailableError, WireError
from grader.process.exits import Closeable, keep_from_forks
from grader.process.tracing import span
from grader.sandbox.pool import SlotCounts
from grader.suites.cache import ENCODED_BYTES, EncodedSuite, EncodedSuites, SuiteCache
from sandbox_images.harness.wire.frames import READ_BYTES, FrameReader, Header, encode

_log = logging.getLogger(__name__)

SLOTS_PER_PROCESS = 4
OWN_SLOTS = 1
"""How many slots a grader with host processes has besides theirs. It uses them only while host
processes start: later it is busy with handing out submissions."""
_FAILED_STARTS = 3
"""After so many failed starts in a row, no further host process is started."""
_END_TIMEOUT_S = 10.0

_ENTER = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from grader.grading.host import main; main(int(sys.argv[2]))"
)
"""The code of a host process. It imports from the same path as this process."""


class HostLostError(SandboxUnavailableError):
    """A host process ended before it reported."""


class Hosts:
    """Gives each submission a slot, here or in a host process. Safe for many threads."""

    def __init__(self, settings: Settings, backend: SandboxChoice) -> None:
        """Start nothing yet.

        Args:
            settings: The grader's.
            backend: The backend that the grader has chosen.
        """
        self._settings = settings
        self._backend = backend
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._waiting = 0
        self._busy_here = 0
        self._shares = _shares(settings.slots)
        self._hosts: list[Host] = []
        self._failed_starts = 0
        self._closed = False
        self._suites = EncodedSuites()

    def grade(
        self,
        submission: Submission,
        settings: Settings,
        *,
        here: Callable[[Submission], GradeReport],
        held: Callable[[Closeable], AbstractContextManager[object]],
    ) -> GradeReport:
        """Grade a submission in the process that has a free slot; waits for one.

        Args:
            submission: What to grade.
            settings: The settings of this call.
            here: Grades it in this process.
            held: Makes the context in which a host process grades it. Gets an object that stops
                the grading when it is closed.

        Raises:
            ConfigurationError: The grader is closed.
            HostLostError: More host processes died meanwhile than the settings allow retries.
            GraderError: Whatever `held` raises.
        """
        order = self._order(submission, settings)
        left = settings.retries
        while True:
            with self._place(order) as host:
                if host is None or order is None:
                    return here(submission)
                try:
                    with span("sandbox"):
                        message = host.grade(order, held)
                except HostLostError:
                    if left == 0:
                        raise
                    left -= 1
                    continue
            return wire.decode_report(message)

    @contextmanager
    def here(self) -> Iterator[None]:
        """Wait for the right to use a slot of this process.

        Raises:
            ConfigurationError: The grader is closed.
        """
        with self._place(None):
            yield

    def counts(self, own: SlotCounts) -> SlotCounts:
        """Return how many of all slots are in which state; `own` are those of this process."""
        with self._changed:
            busy = self._busy()
            opened = own.busy + own.idle + sum(host.open_slots for host in self._hosts)
        idle = max(0, min(opened, self._settings.slots) - busy)
        unopened = max(0, self._settings.slots - busy - idle)
        return SlotCounts(busy=busy, idle=idle, unopened=unopened)

    def close(self) -> None:
        """End all host processes. Repeats harmlessly."""
        if os.getpid() != self._pid:
            return  # This is a forked process, which has none of them.
        with self._changed:
            self._closed = True
            hosts = list(self._hosts)
            self._changed.notify_all()
        for host in hosts:
            host.hang_up()
        for host in hosts:
            host.join()

    # ------------------------------------------------------------ places

    @contextmanager
    def _place(self, order: Order | None) -> "Iterator[Host | None]":
        """Wait for a free slot, and return its host process; None if the slot is in this process.

        An order of None waits for a slot of this process.
        """
        with self._changed:
            self._waiting += 1
            try:
                while not self._may_start(order):
                    self._changed.wait()
            finally:
                self._waiting -= 1
            host = None if order is None else self._free_host(order)
            self._count(host, 1)
        try:
            yield host
        finally:
            with self._changed:
                self._count(host, -1)
                self._changed.notify()

    def _may_start(self, order: Order | None) -> bool:
        if self._closed:
            message = "the grader is closed"
            raise ConfigurationError(message)
        if self._busy() >= self._settings.slots:
            return False
        if order is None or self._free_host(order) is not None:
            return True
        if self._busy_here < OWN_SLOTS or self._failed_starts >= _FAILED_STARTS:
            return True
        self._start_host()
        return False

    def _free_host(self, order: Order) -> "Host | None":
        """Return the best host process for an order, if any has a free slot."""
        return max(
            (host for host in self._hosts if host.is_ready and host.busy < host.slots),
            key=lambda host: (host.knows(order.suite), -host.busy),
            default=None,
        )

    def _busy(self) -> int:
        return self._busy_here + sum(host.busy for host in self._hosts)

    def _count(self, host: "Host | None", change: int) -> None:
        if host is None:
            self._busy_here += change
        else:
            host.busy += change

    # ------------------------------------------------------------ processes

    def _start_host(self) -> None:
        """Start another host process, unless those that are starting suffice."""
        starting = sum(host.slots for host in self._hosts if not host.is_ready)
        if len(self._hosts) == len(self._shares) or starting >= self._waiting:
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

    def _ready(self, host: "Host") -> None:
        with self._changed:
            host.is_ready = True
            self._failed_starts = 0
            self._changed.notify_all()

    def _ended(self, host: "Host", reason: str) -> None:
        with self._changed:
            self._hosts.remove(host)
            if not self._closed:
                self._failed_starts += not host.is_ready
                _log.warning("a host process ended: %s", reason)
            self._changed.notify_all()

    # ------------------------------------------------------------ orders

    def _order(self, submission: Submission, settings: Settings) -> Order | None:
        """Return the submission as it travels; None if it or its settings cannot be sent."""
        if not differ_in_rules_alone(self._settings, settings):
            return None
        try:
            suite = self._suites.get(submission.suite, lambda: wire.encode_suite(submission.suite))
        except WireError:
            return None
        return make_order(submission, suite, settings)


class Host:
    """One host process, from the side of the grader that started it."""

    def __init__(
        self,
        number: int,
        settings: Settings,
        *,
        ready: "Callable[[Host], None]",
        ended: "Callable[[Host, str], None]",
    ) -> None:
        """Start nothing yet.

        Args:
            number: Which share of the slots it has.
            settings: For its grader.
            ready: Called when it takes submissions.
            ended: Called when it has ended, with the reason.
        """
        self.number = number
        self.slots = settings.slots
        self.busy = 0
        """How many orders it has. `Hosts` counts them, and sets `is_ready`."""
        self.is_ready = False
        self.open_slots = 0
        self._settings = settings
        self._tell_ready = ready
        self._tell_ended = ended
        self._sending = threading.Lock()
        self._suites: SuiteCache[bool] = SuiteCache(ENCODED_BYTES)
        self._orders: dict[int, queue.SimpleQueue[bytes | None]] = {}
        self._last_id = 0
        self._has_ended = False
        self._stream, self._theirs = socket.socketpair()
        keep_from_forks(self._stream)
        for end in (self._stream, self._theirs):
            end.settimeout(None)  # Not the process's default, which Celery changes.
        self._thread = threading.Thread(target=self._run, name=f"host-{number}", daemon=True)

    def start(self) -> None:
        """Begin to start the process."""
        self._thread.start()

    def knows(self, suite: EncodedSuite) -> bool:
        """Tell whether the process has a suite already."""
        return suite.digest in self._suites

    def grade(
        self, order: Order, held: Callable[[Closeable], AbstractContextManager[object]]
    ) -> bytes:
        """Have a submission graded; return the encoded report.

        Raises:
            HostLostError: The process ended first.
            GraderError: Whatever `held` raises.
        """
        answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        number = self._send_order(order, answers)
        try:
            with held(_Stop(self, number)):
                message = answers.get()
                if message is None:
                    raise HostLostError(_LOST)
                return message
        finally:
            self._orders.pop(number, None)

    def stop(self, number: int) -> None:
        """Stop one grading; its report still comes. Never raises."""
        with contextlib.suppress(HostLostError), self._sending:
            self._send(encode({"op": "stop", "id": number}))

    def hang_up(self) -> None:
        """Make the process end. Repeats harmlessly."""
        with contextlib.suppress(OSError):
            self._stream.shutdown(socket.SHUT_RDWR)

    def join(self) -> None:
        """Wait until the process has ended."""
        self._thread.join()

    def _send_order(self, order: Order, answers: "queue.SimpleQueue[bytes | None]") -> int:
        with self._sending:
            if self._has_ended:
                raise HostLostError(_LOST)
            self._last_id += 1
            frames = [encode({**order.header, "id": self._last_id}, *order.texts)]
            if not self._suites.get(order.suite.digest):
                message = order.suite.message
                self._suites.keep(order.suite.digest, True, len(message))
                frames.insert(0, encode({"op": "suite", "digest": order.suite.digest}, message))
            self._orders[self._last_id] = answers
            self._send(b"".join(frames))
            return self._last_id

    def _send(self, data: bytes) -> None:
        try:
            self._stream.sendall(data)
        except OSError as error:
            raise HostLostError(_LOST) from error

    # ------------------------------------------------------------ in a thread of its own

    def _run(self) -> None:
        """Start the process, read its messages, and wait for its end."""
        process, reason = None, "it hung up"
        try:
            process = self._start()
            self._configure()
            reader = FrameReader()
            while data := self._stream.recv(READ_BYTES):
                for header, blobs in reader.feed(data):
                    if header["op"] == "unusable":
                        reason = header["reason"]
                    else:
                        self._take(header, blobs)
        except HostLostError:
            pass
        except (OSError, ValueError) as error:
            reason = f"{type(error).__name__}: {error}"
        except Exception as error:  # noqa: BLE001 - a bug of ours; callers still wait
            _log.exception("the thread of a host process failed because of a bug")
            reason = f"{type(error).__name__}: {error}"
        finally:
            self.hang_up()
            if process is not None:
                if not self.is_ready:
                    process.kill()  # It has no slot yet, and may not read for a while.
                _end(process)
            with self._sending:
                self._has_ended = True
                waiting = list(self._orders.values())
            self._stream.close()
            self._tell_ended(self, reason)
            for answers in waiting:
                answers.put(None)

    def _start(self) -> "subprocess.Popen[bytes]":
        with self._theirs as theirs:
            return subprocess.Popen(
                # Isolated until it has the path of this process.
                [sys.executable, "-I", "-c", _ENTER, json.dumps(sys.path), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                # The grader acts on signals from the terminal.
                start_new_session=True,
            )

    def _configure(self) -> None:
        level = logging.getLogger("grader").getEffectiveLevel()
        with self._sending:
            self._send(encode({"op": "settings", "level": level}, encode_settings(self._settings)))

    def _take(self, header: Header, blobs: list[bytes]) -> None:
        match header["op"]:
            case "report":
                self.open_slots = header["open_slots"]
                answers = self._orders.get(header["id"])
                if answers is not None:
                    answers.put(blobs[0])
            case "log":
                log = logging.getLogger(header["logger"])
                log.log(header["level"], "%s", blobs[0].decode(errors="replace"))
            case "ready":
                self._tell_ready(self)
            case unknown:
                message = f"a host process sent {unknown!r}"
                raise ValueError(message)


class _Stop:
    """What a `StopHandle` closes to stop a grading in a host process."""

    def __init__(self, host: Host, number: int) -> None:
        self._host = host
        self._number = number

    def close(self) -> None:
        """Stop the grading. Repeats harmlessly."""
        self._host.stop(self._number)


_LOST = "a host process of the grader ended before it reported"


def _shares(slots: int) -> list[int]:
    """Distribute slots over host processes as evenly as possible."""
    # Those of this process count here, so that it starts no process for a single further slot.
    processes = -(-(slots - OWN_SLOTS) // SLOTS_PER_PROCESS)
    return [slots // processes + (number < slots % processes) for number in range(processes)]


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Wait for a process whose socket was closed, and kill it if it does not end."""
    try:
        process.wait(_END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        _log.warning("the host process %d did not end; killing it", process.pid)
        process.kill()
        process.wait()
