"""Sessions in the slots of workers: a client asks, the worker that has the session answers.

A request goes to a list in Redis: to open a session, to one that all workers with room read, else
to that of the worker that has the session. The answer comes in a list for this request alone.
Requests and answers are JSON. If a worker dies, its sessions are lost, and its clients notice when
its lease ends.
"""

import contextlib
import json
import random
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import Any

from grader.config.settings import Settings
from grader.model import SuiteFile
from grader.model.errors import (
    GraderError,
    InputError,
    QueueUnavailableError,
    SandboxUnavailableError,
    SessionLostError,
    SessionsFullError,
    WireError,
)
from grader.model.limits import Limits
from grader.queueing.broker import connect, each_broker, execute
from grader.queueing.names import Key, SessionKey
from grader.queueing.programs import (
    ProgramResult,
    bytes_of,
    decode_result,
    encode_result,
    text_of,
)
from grader.sandbox.contract import SlotSession, StepOutcome

_TICK_S = 1.0
"""How long one wait in Redis lasts before the other side is checked."""
_ANSWER_TTL_S = 60
_REQUEST_TTL_S = 600
_OPENING_S = 10.0
"""How long a worker with room may take to be found."""
_SLOWNESS = 10.0
_BACKSTOP_S = 120.0
"""A step is given up after `_SLOWNESS` times its limits plus `_BACKSTOP_S` seconds."""

_ERRORS: Mapping[str, type[GraderError]] = {
    "input": InputError,
    "lost": SessionLostError,
    "slot": SandboxUnavailableError,
}


class SessionLists:
    """The lists in Redis. Safe for many threads. Each method raises QueueUnavailableError."""

    def __init__(self, settings: Settings) -> None:
        """Connect to nothing yet.

        Raises:
            ConfigurationError: As `grader.queueing.broker.connect`.
        """
        self._redis = connect(settings)
        self._execute: Callable[..., Any] = partial(execute, self._redis)

    def ask(self, key: str, request: Mapping[str, Any]) -> bytes:
        """Add a request to a list, and return it as it is stored."""
        body = json.dumps(request).encode()
        self._execute("RPUSH", key, body)
        self._execute("EXPIRE", key, _REQUEST_TTL_S)
        return body

    def withdraw(self, key: str, body: bytes) -> bool:
        """Take a request back; False if a worker has it."""
        return bool(self._execute("LREM", key, 1, body))

    def take(self, keys: Sequence[str]) -> bytes | None:
        """Wait a moment for the next element of any of these lists."""
        found = self._execute("BLPOP", *keys, _TICK_S)
        return None if found is None else bytes(found[1])

    def answer(self, id: str, answer: Mapping[str, Any]) -> None:
        """Answer a request."""
        key = SessionKey.ANSWER + id
        self._execute("RPUSH", key, json.dumps(answer))
        self._execute("EXPIRE", key, _ANSWER_TTL_S)

    def has_worker(self, worker: str) -> bool:
        """Return whether a worker's lease runs."""
        return bool(self._execute("EXISTS", Key.WORKER + worker))

    def forget(self, worker: str) -> None:
        """Drop the requests to a worker that ends."""
        self._execute("DEL", SessionKey.WORKER + worker)

    def close(self) -> None:
        """Close the connections. Repeats harmlessly."""
        self._redis.close()


# ---------------------------------------------------------------- the client's side


class QueueSlots:
    """Lends slots of workers to sessions; a `grader.sessions.local.SlotSource`."""

    def __init__(self, settings: Settings) -> None:
        """Connect to nothing yet.

        Raises:
            ConfigurationError: There is no usable broker.
        """
        self._lists = [SessionLists(each) for each in each_broker(settings)]
        self._closed = threading.Event()

    @contextmanager
    def borrow(self, *, image: str, memory_bytes: int) -> Iterator["QueueSlot"]:
        """Lend a slot of any worker of an image. It is taken when its session is opened."""
        del memory_bytes  # the limits of the session say so
        yield QueueSlot(self._lists, image, self._closed)

    def close(self) -> None:
        """End all waits for workers. Repeats harmlessly."""
        self._closed.set()
        for each in self._lists:
            each.close()


class QueueSlot:
    """A slot of some worker. Opening a session finds it."""

    def __init__(self, lists: Sequence[SessionLists], image: str, closed: threading.Event) -> None:
        self._lists = lists
        self._image = image
        self._closed = closed

    def open_session(
        self, limits: Limits, *, states: int, preload: Sequence[str] = ()
    ) -> SlotSession:
        """Begin a session on a worker that has room; see `grader.sandbox.contract.Slot`.

        Raises:
            SessionsFullError: There is no such worker.
            SandboxUnavailableError: Redis or the worker does not answer. Retryable.
        """
        *others, last = random.sample(self._lists, len(self._lists))
        for lists in others:
            with contextlib.suppress(SessionsFullError, SandboxUnavailableError):
                return self._open(lists, limits, states, preload)
        return self._open(last, limits, states, preload)

    def _open(
        self, lists: SessionLists, limits: Limits, states: int, preload: Sequence[str]
    ) -> SlotSession:
        """Begin it on a worker of one Redis; see `open_session`."""
        id = secrets.token_hex(16)
        key = SessionKey.OPEN + self._image
        request = {
            "id": id,
            "op": "open",
            "image": self._image,
            "limits": asdict(limits),
            "states": states,
            "preload": list(preload),
        }
        deadline = time.monotonic() + _OPENING_S / len(self._lists)
        with _reaching():
            body = lists.ask(key, request)
            while (told := lists.take([SessionKey.ANSWER + id])) is None:
                if time.monotonic() > deadline or self._closed.is_set():
                    if lists.withdraw(key, body):
                        message = f"no worker for {self._image} has room for a session"
                        raise SessionsFullError(message)
                    deadline += _BACKSTOP_S
        answer = _read(told)
        return _QueueSession(
            lists, self._closed, worker=answer["worker"], session=answer["session"]
        )


class _QueueSession:
    """A `grader.sandbox.contract.SlotSession` on a worker."""

    def __init__(
        self, lists: SessionLists, closed: threading.Event, *, worker: str, session: str
    ) -> None:
        self._lists = lists
        self._closed = closed
        self._worker = worker
        self._session = session
        self._has_ended = False

    def step(
        self, state: int, cell: str, *, limits: Limits, files: Sequence[SuiteFile] = ()
    ) -> StepOutcome:
        """Execute a cell; see `SlotSession.step`."""
        answer = self._ask(
            "step",
            _SLOWNESS * (limits.wall_time_s + limits.cpu_time_s) + _BACKSTOP_S,
            state=state,
            cell=cell,
            limits=asdict(limits),
            files=[[file.path, text_of(file.content)] for file in files],
        )
        told = answer["run"]
        run = None if told is None else decode_result(told.encode()).outcome
        return StepOutcome(
            state=answer["state"], problem=answer["problem"], run=run, is_gone=answer["is_gone"]
        )

    def read_files(self, state: int, paths: Sequence[str]) -> Mapping[str, bytes]:
        """Return files; see `SlotSession.read_files`."""
        found = self._ask("read", _BACKSTOP_S, state=state, paths=list(paths))["files"]
        return {path: bytes_of(content) for path, content in found.items()}

    def list_files(self, state: int) -> Mapping[str, int]:
        """Return sizes; see `SlotSession.list_files`."""
        sizes: dict[str, int] = self._ask("list", _BACKSTOP_S, state=state)["sizes"]
        return sizes

    def drop(self, states: Sequence[int]) -> None:
        """Free states; see `SlotSession.drop`."""
        if not self._has_ended:
            self._ask("drop", _BACKSTOP_S, states=list(states))

    def close(self) -> None:
        """Ask the worker to end the session, and return at once; see `SlotSession.close`."""
        if not self._has_ended:
            self._has_ended = True
            # If this fails, the worker ends it when it has expired.
            with contextlib.suppress(QueueUnavailableError):
                self._send("close")

    def _ask(self, op: str, patience_s: float, **fields: Any) -> dict[str, Any]:
        if self._has_ended:
            message = "the session has ended"
            raise SessionLostError(message)
        deadline = time.monotonic() + patience_s
        with _reaching():
            id = self._send(op, **fields)
            while (told := self._lists.take([SessionKey.ANSWER + id])) is None:
                if self._closed.is_set():
                    message = "the client was closed while it waited for an answer"
                    raise SandboxUnavailableError(message)
                if not self._lists.has_worker(self._worker) or time.monotonic() > deadline:
                    self._has_ended = True
                    message = f"the worker {self._worker}, which had the session, does not answer"
                    raise SandboxUnavailableError(message)
        return _read(told)

    def _send(self, op: str, **fields: Any) -> str:
        id = secrets.token_hex(16)
        request = {"id": id, "op": op, "session": self._session, **fields}
        self._lists.ask(SessionKey.WORKER + self._worker, request)
        return id


@contextmanager
def _reaching() -> Iterator[None]:
    """Report a failure of Redis as one of the slot, which is reached through it."""
    try:
        yield
    except QueueUnavailableError as error:
        raise SandboxUnavailableError(str(error)) from error


def _read(told: bytes) -> dict[str, Any]:
    """Return an answer, or raise the error in it."""
    try:
        answer = json.loads(told)
        if (kind := answer.get("error")) is not None:
            raise _ERRORS.get(kind, SandboxUnavailableError)(str(answer.get("message")))
    except (ValueError, AttributeError) as error:
        message = f"not an answer about a session: {type(error).__name__}"
        raise WireError(message) from error
    return dict(answer)


# ---------------------------------------------------------------- the worker's side


def perform(session: SlotSession, request: Mapping[str, Any]) -> dict[str, Any]:
    """Carry out a request to a session, and return the answer.

    Raises:
        SandboxUnavailableError: The slot broke.
    """
    try:
        match request["op"]:
            case "step":
                return _step(session, request)
            case "read":
                found = session.read_files(request["state"], request["paths"])
                return {"files": {path: text_of(content) for path, content in found.items()}}
            case "list":
                return {"sizes": dict(session.list_files(request["state"]))}
            case "drop":
                session.drop(request["states"])
                return {}
            case op:
                return {"error": "input", "message": f"there is no operation {str(op)[:80]!r}"}
    except InputError as error:
        return {"error": "input", "message": str(error)}
    except SessionLostError as error:
        return {"error": "lost", "message": str(error)}
    except (LookupError, TypeError, ValueError) as error:
        return {"error": "input", "message": f"not a request: {type(error).__name__}: {error}"}


def _step(session: SlotSession, request: Mapping[str, Any]) -> dict[str, Any]:
    outcome = session.step(
        int(request["state"]),
        str(request["cell"]),
        limits=Limits(**request["limits"]),
        files=[
            SuiteFile(path=str(path), content=bytes_of(content))
            for path, content in request["files"]
        ],
    )
    run = outcome.run
    return {
        "state": outcome.state,
        "problem": outcome.problem,
        "is_gone": outcome.is_gone,
        "run": None if run is None else encode_result(ProgramResult(outcome=run)).decode(),
    }
