"""One host process, from the side of the grader that started it."""

import contextlib
import json
import logging
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable

from grader.config.settings import Settings
from grader.grading.host_messages import Order, encode_settings
from grader.model.errors import SandboxUnavailableError
from grader.process.exits import keep_from_forks
from grader.suites.cache import ENCODED_BYTES, EncodedSuite, SuiteCache
from sandbox_images.harness.wire.frames import READ_BYTES, FrameReader, Header, encode

_log = logging.getLogger(__name__)

_END_TIMEOUT_S = 10.0
_ENTER = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from grader.grading.host import main; main(int(sys.argv[2]))"
)
"""The code of a host process. It imports from the same path as this process."""

Answered = Callable[[bytes | None], None]


class HostLostError(SandboxUnavailableError):
    """A host process ended before it reported."""

    def __init__(self) -> None:
        """Say so."""
        super().__init__("a host process of the grader ended before it reported")


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
        self._suites: SuiteCache[bool] = SuiteCache(ENCODED_BYTES)
        self._orders: dict[int, Answered] = {}
        self._sending = threading.Condition()
        self._unsent: deque[bytes] = deque()
        self._has_hung_up = False
        self._reason = "it hung up"
        self._reading = threading.Lock()
        self._reader = FrameReader()
        self._frames: deque[tuple[Header, list[bytes]]] = deque()
        self._taken: Header | None = None
        """The message that was taken last, until that is done."""
        self._taken_before: Header | None = None
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

    @property
    def takes_orders(self) -> bool:
        """Whether it has started, and has not ended."""
        return self.is_ready and not self._has_hung_up

    def send_order(self, number: int, order: Order, answered: Answered) -> None:
        """Send an order, and never wait.

        Args:
            number: Names it; no other has it.
            order: The order.
            answered: Called once with the encoded report, or with None if the process ends first.

        Raises:
            HostLostError: The process has ended, or is about to.
        """
        frame = encode({**order.header, "id": number}, *order.texts)
        with self._sending:
            if not self._suites.get(order.suite.digest):
                message = order.suite.message
                self._suites.keep(order.suite.digest, True, len(message))
                frame = encode({"op": "suite", "digest": order.suite.digest}, message) + frame
            self._send(frame)
            self._orders[number] = answered

    def stop(self, number: int) -> None:
        """Stop one grading, unless it has ended; its report still comes. Never raises or waits."""
        with contextlib.suppress(HostLostError), self._sending:
            if number in self._orders:
                self._send(encode({"op": "stop", "id": number}))

    def relieve_reader(self) -> None:
        """Let another thread read if a message has kept the present one since the last call.

        Settling a future calls whatever waits for it, and that may wait for another report.
        """
        taken, before = self._taken, self._taken_before
        self._taken_before = taken
        if taken is not None and taken is before:
            with contextlib.suppress(RuntimeError):  # There is no thread left. Next time, perhaps.
                self._start_reader()

    def hang_up(self) -> None:
        """Make the process end. Repeats harmlessly."""
        with contextlib.suppress(OSError):
            self._stream.shutdown(socket.SHUT_RDWR)

    def join(self) -> None:
        """Wait until the process has ended."""
        self._thread.join()

    def _send(self, data: bytes) -> None:
        """Send what the stream takes at once, and leave the rest to the thread that writes."""
        if self._has_hung_up:
            raise HostLostError
        if not self._unsent:
            try:
                data = data[self._stream.send(data, socket.MSG_DONTWAIT) :]
            except BlockingIOError:
                pass
            except OSError as error:
                self._has_hung_up = True
                self._sending.notify_all()
                raise HostLostError from error
        if data:
            self._unsent.append(data)
            self._sending.notify_all()

    # ------------------------------------------------------------ in a thread of its own

    def _run(self) -> None:
        """Start the process, write what is not sent at once, and wait for its end."""
        process = None
        try:
            process = self._start()
            self._configure()
            self._start_reader()
            self._write()
        except HostLostError:
            pass
        except (OSError, RuntimeError) as error:
            self._reason = f"{type(error).__name__}: {error}"
        finally:
            self.hang_up()
            if process is not None:
                if not self.is_ready:
                    process.kill()  # It has no slot yet, and may not read for a while.
                _end(process)
            with self._sending:
                self._has_hung_up = True
                waiting = list(self._orders.values())
                self._orders.clear()
            with self._reading:
                self._stream.close()
            self._tell_ended(self, self._reason)
            for answered in waiting:
                answered(None)

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

    def _write(self) -> None:
        """Write what `_send` has left, until the process hangs up."""
        while True:
            with self._sending:
                self._sending.wait_for(lambda: self._unsent or self._has_hung_up)
                if self._has_hung_up:
                    return
                data = self._unsent[0]
            self._stream.sendall(data)
            with self._sending:
                self._unsent.popleft()

    def _start_reader(self) -> None:
        threading.Thread(target=self._read, name=f"host-{self.number}-reader", daemon=True).start()

    def _read(self) -> None:
        """Take messages until the process hangs up, or another thread reads instead."""
        me = self._present_reader = threading.current_thread()
        try:
            while self._present_reader is me and (frame := self._next_frame()) is not None:
                self._taken = frame[0]
                self._take(*frame)
                if self._present_reader is me:
                    self._taken = None
            if self._present_reader is not me:
                return
        except (OSError, ValueError) as error:
            self._reason = f"{type(error).__name__}: {error}"
        except Exception as error:  # noqa: BLE001 - a bug of ours; callers still wait
            _log.exception("the thread of a host process failed because of a bug")
            self._reason = f"{type(error).__name__}: {error}"
        with self._sending:
            self._has_hung_up = True
            self._sending.notify_all()

    def _next_frame(self) -> "tuple[Header, list[bytes]] | None":
        with self._reading:
            while not self._frames:
                if not (data := self._stream.recv(READ_BYTES)):
                    return None
                self._frames.extend(self._reader.feed(data))
            return self._frames.popleft()

    def _take(self, header: Header, blobs: list[bytes]) -> None:
        match header["op"]:
            case "report":
                self.open_slots = header["open_slots"]
                with self._sending:
                    answered = self._orders.pop(header["id"], None)
                if answered is not None:
                    answered(blobs[0])
            case "unusable":
                self._reason = header["reason"]
            case "log":
                log = logging.getLogger(header["logger"])
                log.log(header["level"], "%s", blobs[0].decode(errors="replace"))
            case "ready":
                self._tell_ready(self)
            case unknown:
                message = f"a host process sent {unknown!r}"
                raise ValueError(message)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Wait for a process whose socket was closed, and kill it if it does not end."""
    try:
        process.wait(_END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        _log.warning("the host process %d did not end; killing it", process.pid)
        process.kill()
        process.wait()
