"""A slot at the end of a stream of frames. A `Transport` carries the bytes.

The supervisor's side, with the list of frames, is sandbox_images/harness/slot/supervisor.py.
"""

import contextlib
import select
import socket
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from grader.model import Limits, SuiteFile
from grader.model.errors import InputError, SandboxUnavailableError, SessionLostError
from grader.sandbox.batch_frames import decode_end, decode_outcome, encode_batch, limits_to_json
from grader.sandbox.contract import (
    RunBatch,
    RunOutcome,
    SlotSession,
    StepOutcome,
)
from grader.sandbox.payload import text_bytes
from sandbox_images.harness.wire.frames import READ_BYTES, FrameError, FrameReader, Header, encode

_OWN_WORK_S = 120.0
"""How long a slot may take for its own work, such as to start, to import modules, to copy the files
of a session or to end a run, even on a busy machine. After that it is replaced, since its kernel
may hang."""
_MOST_WAITING = 10
"""A slot ends a run after this many times its wall time limit, however long it waited for a CPU."""
_LONGEST_WAIT_S = 20 * 86_400.0
"""`poll` takes no more than 24 days."""
_HANG_UP = getattr(select, "POLLRDHUP", 0)
"""Polled for besides POLLHUP and POLLERR, which are always reported. macOS lacks it."""


class Transport(Protocol):
    """The two directions of bytes between this process and a slot's supervisor."""

    def send(self, data: bytes, deadline: float) -> None:
        """Send all of `data`.

        Args:
            data: The bytes.
            deadline: On the monotonic clock.

        Raises:
            SandboxUnavailableError: The slot is gone, or has not taken `data` by the deadline.
        """

    def receive(self, size: int, deadline: float) -> bytes:
        """Wait for bytes and return up to `size` of them; b"" at the end of the stream.

        Args:
            size: At least 1.
            deadline: On the monotonic clock.

        Raises:
            SandboxUnavailableError: The slot is gone, or has sent nothing by the deadline.
        """

    def is_alive(self) -> bool:
        """Tell whether the other end of the stream is still there."""

    def hang_up(self) -> None:
        """Begin to kill the slot, and return at once. Repeats harmlessly."""

    def kill(self) -> None:
        """Kill the slot and free its resources; wakes a waiting `receive`. Repeats harmlessly."""

    def log_tail(self) -> str:
        """Return the last of what the supervisor wrote to its standard error."""


def kill_all(transports: Iterable[Transport]) -> None:
    """Kill slots at the same time, because each takes a while, and wait until all are gone."""
    transports = list(transports)
    for transport in transports:
        transport.hang_up()
    threads = []
    for transport in transports:
        thread = threading.Thread(target=transport.kill, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # The interpreter is ending, or the system has no thread left.
            transport.kill()
        else:
            threads.append(thread)
    for thread in threads:
        thread.join()


def has_hung_up(stream: socket.socket) -> bool:
    """Tell whether the other end of a stream was closed; does not wait."""
    poll = select.poll()
    poll.register(stream, _HANG_UP)
    return bool(poll.poll(0))


class PowerlessSlotError(SandboxUnavailableError):
    """The slot's kernel refuses what a run needs, because the slot lacks capabilities."""

    def __init__(self, message: str, kernel: str) -> None:
        """`kernel` is the release of the slot's kernel, by which it can be told from the host's."""
        super().__init__(message)
        self.kernel = kernel


class SlotConnection:
    """A `grader.sandbox.contract.Slot` at the end of a `Transport`."""

    def __init__(self, name: str, transport: Transport) -> None:
        """Wait until the supervisor says that it is ready.

        Raises:
            PowerlessSlotError: It lacks capabilities that its kernel demands.
            SandboxUnavailableError: It ended instead. The message has the end of its log.
        """
        self._name = name
        self._transport = transport
        self._reader = FrameReader()
        self._frames: list[tuple[Header, list[bytes]]] = []
        self._seq = 0
        self._is_spent = False
        try:
            self.facts = self._expect("ready")[0]
        except BaseException:
            self.close()
            raise
        """What the supervisor said about itself, for `grader doctor`."""

    @property
    def name(self) -> str:
        """The backend and the number, for logs."""
        return self._name

    def run(self, batch: RunBatch) -> Generator[RunOutcome, None, None]:
        """Run a batch; see `Slot.run`."""
        self._seq += 1
        seq = self._seq
        self._send(encode_batch(batch, seq))
        patience_s = _patience_s(*_limits_of(batch))
        ended = False
        try:
            while True:
                header, blobs = self._next_frame(patience_s)
                if header.get("op") == "end" and header.get("seq") == seq:
                    ended = True
                    return
                yield decode_outcome(header, blobs, seq, self._name)
        except GeneratorExit:
            if not ended:
                self._stop(seq)
            raise

    def open_session(
        self, limits: Limits, *, states: int, preload: Sequence[str] = ()
    ) -> SlotSession:
        """Begin a session; see `Slot.open_session`."""
        self._seq += 1
        header = {
            "op": "session",
            "seq": self._seq,
            "limits": limits_to_json(limits),
            "states": states,
            "preload": list(preload),
        }
        self._send(encode(header))
        self._expect("opened")
        return _Session(self, self._seq)

    def is_alive(self) -> bool:
        """Tell whether the slot can take a batch; see `Slot.is_alive`."""
        return not self._is_spent and self._transport.is_alive()

    def close(self) -> None:
        """Kill the slot; see `Slot.close`."""
        self._transport.kill()

    def _stop(self, seq: int) -> None:
        """Tell the supervisor to stop a batch or session, and wait until it has ended."""
        self._send(encode({"op": "stop", "seq": seq}))
        while True:
            header, _blobs = self._next_frame()
            if header.get("op") == "end" and header.get("seq") == seq:
                return

    def _expect(self, op: str) -> tuple[Header, list[bytes]]:
        frame = self._next_frame()
        if frame[0].get("op") != op:
            message = f"expected {op!r}, got {frame[0].get('op')!r}"
            raise self._unavailable(message)
        return frame

    def _send(self, data: bytes) -> None:
        self._transport.send(data, time.monotonic() + _OWN_WORK_S)

    def _next_frame(self, patience_s: float = _OWN_WORK_S) -> tuple[Header, list[bytes]]:
        """Wait for a frame.

        Args:
            patience_s: How many seconds the slot may be silent.

        Raises:
            SandboxUnavailableError: The slot is gone or broken, or was silent for longer.
        """
        while not self._frames:
            data = self._transport.receive(READ_BYTES, time.monotonic() + patience_s)
            if not data:
                message = "the slot ended"
                raise self._unavailable(message)
            try:
                self._frames.extend(self._reader.feed(data))
            except FrameError as error:
                message = f"the slot sent an invalid frame: {error}"
                raise self._unavailable(message) from error
        frame = self._frames.pop(0)
        self._is_spent |= frame[0].get("spent") is True
        if frame[0].get("op") == "fault":
            raise self._unavailable(str(frame[0].get("message")))
        if frame[0].get("op") == "powerless":
            kernel, said = frame[0].get("kernel"), frame[0].get("message")
            message = f"{self._name}: no mount namespaces for submissions: {said}"
            raise PowerlessSlotError(message, str(kernel))
        return frame

    def _unavailable(self, reason: str) -> SandboxUnavailableError:
        log = ""
        with contextlib.suppress(SandboxUnavailableError):
            log = self._transport.log_tail().strip()
        return SandboxUnavailableError(
            f"{self._name}: {reason}" + (f"; its log ends: {log}" if log else "")
        )


class _Session:
    """A `grader.sandbox.contract.SlotSession` in the slot of a connection."""

    def __init__(self, slot: SlotConnection, seq: int) -> None:
        self._slot = slot
        self._seq = seq
        self._has_ended = False

    def step(
        self, state: int, cell: str, *, limits: Limits, files: Sequence[SuiteFile] = ()
    ) -> StepOutcome:
        """Execute a cell; see `SlotSession.step`."""
        header, blobs = self._ask(
            {
                "op": "step",
                "state": state,
                "limits": limits_to_json(limits),
                "paths": [file.path for file in files],
            },
            text_bytes(cell),
            *(file.content for file in files),
            patience_s=_patience_s(limits),
        )
        run = decode_end(header, blobs, 0) if header["began"] else None
        return StepOutcome(
            state=header["state"], problem=header["problem"], run=run, is_gone=header["gone"]
        )

    def read_files(self, state: int, paths: Sequence[str]) -> Mapping[str, bytes]:
        """Return files; see `SlotSession.read_files`."""
        header, blobs = self._read(state, paths, listing=False)
        return dict(zip(header["paths"], blobs, strict=True))

    def list_files(self, state: int) -> Mapping[str, int]:
        """Return sizes; see `SlotSession.list_files`."""
        header, _blobs = self._read(state, (), listing=True)
        sizes: dict[str, int] = header["sizes"]
        return sizes

    def drop(self, states: Sequence[int]) -> None:
        """Free states; see `SlotSession.drop`."""
        if not self._has_ended:
            self._send({"op": "drop", "states": list(states)})

    def close(self) -> None:
        """End the session; see `SlotSession.close`."""
        if not self._has_ended:
            self._has_ended = True
            self._slot._stop(self._seq)

    def _read(
        self, state: int, paths: Sequence[str], *, listing: bool
    ) -> tuple[Header, list[bytes]]:
        request = {"op": "read", "state": state, "paths": list(paths), "listing": listing}
        header, (frame,) = self._ask(request)
        if header["problem"] is not None:
            raise InputError(header["problem"])
        found = list(FrameReader().feed(frame))
        if len(found) != 1:
            message = "a session's keeper sent something other than one frame"
            raise self._slot._unavailable(message)
        return found[0]

    def _ask(
        self, request: Header, *blobs: bytes, patience_s: float = _OWN_WORK_S
    ) -> tuple[Header, list[bytes]]:
        if self._has_ended:
            message = "the session has ended"
            raise SessionLostError(message)
        self._send(request, *blobs)
        header, answer = self._slot._next_frame(patience_s)
        if header.get("op") == "end":
            self._has_ended = True
            raise SessionLostError(str(header.get("lost")))
        return header, answer

    def _send(self, request: Header, *blobs: bytes) -> None:
        self._slot._send(encode({**request, "seq": self._seq}, *blobs))


def _patience_s(*limits: Limits) -> float:
    """Return how many seconds a slot may be silent while it runs programs with these limits."""
    running_s = _MOST_WAITING * sum(each.wall_time_s for each in limits)
    return min(_OWN_WORK_S + running_s, _LONGEST_WAIT_S)


def _limits_of(batch: RunBatch) -> Iterator[Limits]:
    """Yield the limits of all programs that may run before the slot reports an outcome."""
    yield batch.limits
    if batch.interactor is not None:
        yield batch.interactor.limits
    if batch.commands is not None:
        yield batch.commands.compile_limits
