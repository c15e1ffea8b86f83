"""The sessions of a worker: it opens them while it has room, and carries out what clients ask."""

import contextlib
import json
import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.config.settings import Settings
from grader.model.errors import GraderError, QueueUnavailableError, SandboxUnavailableError
from grader.model.limits import Limits
from grader.process.repeats import Repeats
from grader.process.threads import Threads
from grader.queueing.names import SessionKey
from grader.queueing.sessions import SessionLists, perform
from grader.sandbox.contract import Sandbox, SlotSession
from grader.sandbox.pool import SlotPool

_log = logging.getLogger(__name__)

_PAUSE_S = 1.0
_IDLE_FACTOR = 2.0
"""Clients close their idle sessions themselves. What is idle for longer lost its client."""


@dataclass(slots=True, kw_only=True, eq=False)
class _Held:
    """A session of this worker, with its slot."""

    session: SlotSession
    slot: contextlib.ExitStack
    used_at: float
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held by the request that is carried out."""


class SessionHost:
    """Reads requests about sessions from `start` to `close`."""

    def __init__(self, worker: str, settings: Settings, *, sandbox: Callable[[], Sandbox]) -> None:
        """Start nothing yet.

        Args:
            worker: The id of the worker in the ledger.
            settings: The worker's.
            sandbox: Returns the backend, which the caller closes.
        """
        self._worker = worker
        self._settings = settings
        self._sandbox = sandbox
        self._lists = SessionLists(settings)
        self._threads = Threads(2 * settings.sessions.most + 1, "session")
        self._lock = threading.Lock()
        self._held: dict[str, _Held] = {}
        self._opening = 0
        self._pools: dict[str, SlotPool] = {}
        self._closed = threading.Event()
        self._is_stopping = False
        self.is_paused = False
        """Whether no session is opened for now."""
        self._repeats = Repeats()
        self._thread = threading.Thread(target=self._read_on, name="sessions", daemon=True)

    def start(self) -> None:
        """Begin to read requests."""
        self._thread.start()

    def stop(self) -> None:
        """Open no more sessions."""
        self._is_stopping = True

    def close(self) -> None:
        """End every session and close their slots."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()
        with self._lock:
            pools, self._pools = list(self._pools.values()), {}
            held, self._held = list(self._held.values()), {}
        for each in held:
            is_idle = each.lock.acquire(blocking=False)
            # A step that is under way ends with its slot.
            self._end(each, None if is_idle else SandboxUnavailableError("the worker ends"))
        for pool in pools:
            pool.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
        with contextlib.suppress(QueueUnavailableError):
            self._lists.forget(self._worker)
        self._lists.close()

    def _read_on(self) -> None:
        while not self._closed.is_set():
            try:
                self._expire()
                body = self._lists.take(self._keys())
                if body is not None:
                    self._dispatch(json.loads(body))
            except QueueUnavailableError as error:
                if self._repeats.is_due(str(error)):
                    _log.warning("no requests about sessions: %s", error)
                self._closed.wait(_PAUSE_S)
            except Exception:  # noqa: BLE001 - logged; the others still need this thread
                _log.exception("a request about a session was dropped because of a bug")

    def _keys(self) -> list[str]:
        """Return the lists to read: those of new sessions only while there is room for one."""
        keys = [SessionKey.WORKER + self._worker]
        with self._lock:
            has_room = len(self._held) + self._opening < self._settings.sessions.most
        if has_room and not (self._is_stopping or self.is_paused):
            keys += [SessionKey.OPEN + image for image in self._settings.queue.images.split(",")]
        return keys

    def _dispatch(self, request: Mapping[str, Any]) -> None:
        if request["op"] == "open":
            with self._lock:
                self._opening += 1
            self._threads.submit(self._answer, request, self._open)
        else:
            self._threads.submit(self._answer, request, self._perform)

    def _answer(
        self, request: Mapping[str, Any], do: Callable[[Mapping[str, Any]], dict[str, Any]]
    ) -> None:
        try:
            answer = do(request)
        except GraderError as error:
            answer = {"error": "slot", "message": f"{type(error).__name__}: {error}"}
        except Exception as error:  # noqa: BLE001 - logged; the client waits
            _log.exception("a request about a session failed because of a bug in the worker")
            answer = {"error": "slot", "message": type(error).__name__}
        if request["op"] == "close":
            return  # no client waits for that
        try:
            self._lists.answer(request["id"], answer)
        except QueueUnavailableError as error:
            _log.warning("a client was not answered: %s", error)

    def _open(self, request: Mapping[str, Any]) -> dict[str, Any]:
        try:
            limits = Limits(**request["limits"])
            image = request["image"]
            with contextlib.ExitStack() as slot:
                borrowed = slot.enter_context(
                    self._pool(image).borrow(image=image, memory_bytes=limits.memory_bytes)
                )
                session = borrowed.open_session(
                    limits, states=request["states"], preload=request["preload"]
                )
                held = _Held(session=session, slot=slot.pop_all(), used_at=time.monotonic())
            id = secrets.token_hex(16)
            with self._lock:
                self._held[id] = held
            return {"worker": self._worker, "session": id}
        finally:
            with self._lock:
                self._opening -= 1

    def _perform(self, request: Mapping[str, Any]) -> dict[str, Any]:
        id = request["session"]
        with self._lock:
            held = self._held.get(id)
        if held is None:
            return {"error": "slot", "message": "the worker does not have the session any more"}
        with held.lock:
            try:
                if request["op"] == "close":
                    self._drop(id)
                    return {}
                return perform(held.session, request)
            except SandboxUnavailableError as error:
                self._drop(id, error)
                raise
            finally:
                held.used_at = time.monotonic()

    def _pool(self, image: str) -> SlotPool:
        with self._lock:
            if image not in self._pools:
                self._pools[image] = SlotPool(
                    self._sandbox(),
                    size=self._settings.sessions.most,
                    memory_bytes=self._settings.limits.memory_bytes,
                    outage_s=self._settings.outage_s,
                )
            return self._pools[image]

    def _expire(self) -> None:
        """End the sessions whose clients are gone."""
        oldest = time.monotonic() - _IDLE_FACTOR * self._settings.sessions.idle_s
        with self._lock:
            idle = [id for id, each in self._held.items() if each.used_at < oldest]
        for id in idle:
            self._threads.submit(self._drop, id)

    def _drop(self, id: str, error: Exception | None = None) -> None:
        with self._lock:
            held = self._held.pop(id, None)
        if held is not None:
            self._end(held, error)

    def _end(self, held: _Held, error: Exception | None = None) -> None:
        """Give a session's slot back, or up after an error."""
        with contextlib.suppress(GraderError), held.slot:
            if error is not None:
                raise error
            held.session.close()
