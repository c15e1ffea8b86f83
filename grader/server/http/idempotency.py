"""Answers by idempotency key: a request that is sent again is not graded again."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from grader.config.server import ServerSettings
from grader.server.http.request_context import Visit, begin_visit


class KeyReusedError(Exception):
    """A key came with another request than before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The body of an answer."""

    body: bytes
    lasts: bool
    """Whether a later request of the same key may have it too."""
    is_replay: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class _Open:
    """Work that somebody waits for."""

    digest: bytes
    visit: Visit
    """On whose behalf the work is done: it outlives the client who came first."""
    task: "asyncio.Task[Answer]"
    clients: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """An answer that was given."""

    digest: bytes
    answer: Answer
    expires: float
    """Of `time.monotonic`."""


class Replays:
    """Remembers answers, within a time and a size. For the event loop's thread."""

    def __init__(self, settings: ServerSettings) -> None:
        """Remember nothing yet."""
        self._settings = settings
        self._open: dict[str, _Open] = {}
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._kept_bytes = 0

    async def answer(
        self, key: str, digest: bytes, visit: Visit, work: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        """Return the answer that a key has, or is about to have, else that of `work`.

        The last client of a key who stops waiting calls its work off.

        Args:
            key: What the client chose.
            digest: Of its request.
            visit: Its request.
            work: Finds the answer.

        Raises:
            KeyReusedError: The key is known with another digest.
            Exception: What `work` raises, for everybody who waits for it.
        """
        self._expire()
        known: _Kept | _Open | None = self._kept.get(key) or self._open.get(key)
        if known is not None and known.digest != digest:
            raise KeyReusedError
        if isinstance(known, _Kept):
            return replace(known.answer, is_replay=True)
        current = known or self._begin(key, digest, visit, work)
        visit.leader = current.visit
        current.clients += 1
        try:
            answer = await asyncio.shield(current.task)
        finally:
            current.clients -= 1
            if not current.clients and not current.task.done():
                self._close(key, current)
                # Cancelling what runs kills its slot, which takes longer than this thread has.
                _ = asyncio.get_running_loop().run_in_executor(None, current.visit.give_up)
                current.task.cancel()
        return replace(answer, is_replay=known is not None)

    def _begin(
        self, key: str, digest: bytes, visit: Visit, work: Callable[[], Awaitable[Answer]]
    ) -> _Open:
        own = Visit(id=visit.id, endpoint=visit.endpoint, arrived=visit.arrived)
        end_visit = begin_visit(own)
        # The task takes the visit along in its context.
        task = asyncio.ensure_future(_run(work))
        end_visit()
        current = self._open[key] = _Open(digest=digest, visit=own, task=task)
        task.add_done_callback(lambda _: self._settle(key, current))
        return current

    def _settle(self, key: str, current: _Open) -> None:
        self._close(key, current)
        task = current.task
        if task.cancelled() or task.exception() is not None or not task.result().lasts:
            return
        self._kept[key] = _Kept(
            digest=current.digest,
            answer=task.result(),
            expires=time.monotonic() + self._settings.idempotency_s,
        )
        self._kept_bytes += len(task.result().body)
        while self._kept_bytes > self._settings.idempotency_bytes:
            self._drop_oldest()

    def _close(self, key: str, current: _Open) -> None:
        if self._open.get(key) is current:
            del self._open[key]

    def _expire(self) -> None:
        now = time.monotonic()
        while self._kept and next(iter(self._kept.values())).expires <= now:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        _, oldest = self._kept.popitem(last=False)
        self._kept_bytes -= len(oldest.answer.body)


async def _run(work: Callable[[], Awaitable[Answer]]) -> Answer:
    return await work()
