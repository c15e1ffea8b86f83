"""The idempotency store: a request that is sent again gets its first response again."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from grader.config.server import ServerSettings
from grader.server.http.request_context import RequestContext, enter_request


class KeyReusedError(Exception):
    """The key was used before, for a different request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedResponse:
    """The body of a response to a request with an idempotency key."""

    body: bytes
    may_be_stored: bool
    """Whether later requests with the same key get it, too."""
    is_replay: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class _Open:
    """Work for which at least one client waits."""

    digest: bytes
    context: RequestContext
    """A context of the work's own: the work may outlive the request that started it."""
    task: "asyncio.Task[KeyedResponse]"
    clients: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored:
    """A response that is given again."""

    digest: bytes
    response: KeyedResponse
    expires: float
    """By `time.monotonic`."""


class IdempotencyStore:
    """Keeps responses, bounded by time and size. For the event loop's thread."""

    def __init__(self, settings: ServerSettings) -> None:
        """Start empty."""
        self._settings = settings
        self._open: dict[str, _Open] = {}
        self._stored: OrderedDict[str, _Stored] = OrderedDict()
        self._stored_bytes = 0

    async def respond(
        self,
        key: str,
        digest: bytes,
        context: RequestContext,
        work: Callable[[], Awaitable[KeyedResponse]],
    ) -> KeyedResponse:
        """Return the response of a key: stored, from work that is under way, or from new work.

        The work is cancelled as soon as the last of its clients stops waiting.

        Args:
            key: The idempotency key that the client chose.
            digest: The digest of the request.
            context: The context of the request.
            work: Makes the response.

        Raises:
            KeyReusedError: The key is known with another digest.
            Exception: Any exception of `work`, for every client that waits for it.
        """
        self._expire()
        known: _Stored | _Open | None = self._stored.get(key) or self._open.get(key)
        if known is not None and known.digest != digest:
            raise KeyReusedError
        if isinstance(known, _Stored):
            return replace(known.response, is_replay=True)
        current = known or self._begin(key, digest, context, work)
        context.leader = current.context
        current.clients += 1
        try:
            response = await asyncio.shield(current.task)
        finally:
            current.clients -= 1
            if not current.clients and not current.task.done():
                self._close(key, current)
                # In a thread: this kills slots, which would block the event loop for too long.
                _ = asyncio.get_running_loop().run_in_executor(None, current.context.call.cancel)
                current.task.cancel()
        return replace(response, is_replay=known is not None)

    def _begin(
        self,
        key: str,
        digest: bytes,
        context: RequestContext,
        work: Callable[[], Awaitable[KeyedResponse]],
    ) -> _Open:
        own = RequestContext(
            id=context.id,
            endpoint=context.endpoint,
            caller=context.caller,
            arrived=context.arrived,
        )
        leave_request = enter_request(own)
        # The task copies the context variables, and with them this context.
        task = asyncio.ensure_future(_run(work))
        leave_request()
        current = self._open[key] = _Open(digest=digest, context=own, task=task)
        task.add_done_callback(lambda _: self._settle(key, current))
        return current

    def _settle(self, key: str, current: _Open) -> None:
        self._close(key, current)
        task = current.task
        if task.cancelled() or task.exception() is not None or not task.result().may_be_stored:
            return
        self._stored[key] = _Stored(
            digest=current.digest,
            response=task.result(),
            expires=time.monotonic() + self._settings.idempotency_s,
        )
        self._stored_bytes += len(task.result().body)
        while self._stored_bytes > self._settings.idempotency_bytes:
            self._drop_oldest()

    def _close(self, key: str, current: _Open) -> None:
        if self._open.get(key) is current:
            del self._open[key]

    def _expire(self) -> None:
        now = time.monotonic()
        while self._stored and next(iter(self._stored.values())).expires <= now:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        _, oldest = self._stored.popitem(last=False)
        self._stored_bytes -= len(oldest.response.body)


async def _run(work: Callable[[], Awaitable[KeyedResponse]]) -> KeyedResponse:
    return await work()
