"""A host process: a grader with a share of the slots of another; see `grader/grading/hosts.py`."""

import contextlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from functools import partial

from grader.config.settings import Settings
from grader.grading.engine import GradingEngine
from grader.grading.host_messages import decode_settings, read_order
from grader.grading.pipeline import not_graded
from grader.grading.stopping import StopHandle
from grader.model import GradeReport, Submission, TestSuite, wire
from grader.model.errors import GraderError
from grader.process import tracing
from grader.process.threads import Threads
from grader.suites.cache import ENCODED_BYTES, SuiteCache
from sandbox_images.harness.wire.frames import READ_BYTES, FrameReader, Header, encode

_log = logging.getLogger(__name__)


def main(descriptor: int) -> None:
    """Grade the submissions that come over a socket until the other end hangs up.

    Args:
        descriptor: The socket.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # The grader acts on signals to the whole process group, and hangs up when it is done. Not
        # SIG_IGN, which the slots would inherit.
        signal.signal(number, lambda *_: None)
    # The grader makes the spans: this process ends without sending any.
    tracing.turn_off()
    with socket.socket(fileno=descriptor) as stream:
        other = _OtherEnd(stream)
        frames = other.frames()
        first = next(frames, None)
        if first is None:
            return
        logging.basicConfig(level=first[0]["level"], handlers=[_Forwarder(other)])
        settings = decode_settings(first[1][0])
        try:
            engine = GradingEngine(settings, in_host=True)
        except GraderError as error:
            other.send({"op": "unusable", "reason": f"{type(error).__name__}: {error}"})
            return
        with contextlib.ExitStack() as held:
            held.callback(engine.stop)
            wire.prepare()
            other.send({"op": "ready"})
            host = _HostProcess(other, settings, engine)
            for header, blobs in frames:
                host.take(header, blobs)
    # Not by returning: the interpreter would wait for the threads.
    os._exit(0)


class _OtherEnd:
    """The process that started this one."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self._sending = threading.Lock()

    def frames(self) -> Iterator[tuple[Header, list[bytes]]]:
        """Yield frames until the other end hangs up."""
        reader = FrameReader()
        with contextlib.suppress(OSError):
            while data := self._stream.recv(READ_BYTES):
                yield from reader.feed(data)

    def send(self, header: Header, *blobs: bytes) -> None:
        """Send a frame. If the other end has hung up, it is dropped."""
        frame = encode(header, *blobs)
        with contextlib.suppress(OSError), self._sending:
            self._stream.sendall(frame)


class _HostProcess:
    """What this process does for the other one."""

    def __init__(self, other: _OtherEnd, settings: Settings, engine: GradingEngine) -> None:
        self._other = other
        self._settings = settings
        self._engine = engine
        self._suites: SuiteCache[TestSuite] = SuiteCache(ENCODED_BYTES)
        self._handles: dict[int, StopHandle] = {}
        # Killing a slot takes too long for the thread that reads.
        self._stopping = Threads(settings.slots, "host-stop")

    def take(self, header: Header, blobs: list[bytes]) -> None:
        """Carry out a frame; returns at once."""
        match header["op"]:
            case "suite":
                suite = wire.decode_suite(blobs[0])
                self._suites.keep(header["digest"], suite, len(blobs[0]))
            case "grade":
                self._start(header, blobs)
            case "stop":
                handle = self._handles.get(header["id"])
                if handle is not None:
                    self._stopping.submit(handle.stop)
            case unknown:
                message = f"the grader sent {unknown!r}"
                raise ValueError(message)

    def _start(self, header: Header, texts: list[bytes]) -> None:
        suite = self._suites.get(header["suite"])
        if suite is None:
            message = "the grader sent a submission to a suite that it has not sent"
            raise ValueError(message)
        submission, settings = read_order(header, texts, suite, self._settings)
        number = header["id"]
        handle = self._handles[number] = StopHandle()
        report = partial(self._report, number, submission, settings)
        self._engine.submit(submission, report, handle=handle, settings=settings)

    def _report(
        self, number: int, submission: Submission, settings: Settings, report: GradeReport
    ) -> None:
        try:
            message = wire.encode_report(report)
        except Exception as error:  # noqa: BLE001 - the other end waits for an answer
            _log.exception("a bug in a host process: submission %s was not graded", submission.id)
            report = not_graded(f"{type(error).__name__}: {error}", settings)
            message = wire.encode_report(report)
        del self._handles[number]
        counts = self._engine.slot_counts()
        header = {"op": "report", "id": number, "open_slots": counts.busy + counts.idle}
        self._other.send(header, message)


class _Forwarder(logging.Handler):
    """Sends log records to the other end, which logs them."""

    def __init__(self, other: _OtherEnd) -> None:
        super().__init__()
        self._other = other

    def emit(self, record: logging.LogRecord) -> None:
        header = {"op": "log", "logger": record.name, "level": record.levelno}
        self._other.send(header, self.format(record).encode(errors="replace"))
