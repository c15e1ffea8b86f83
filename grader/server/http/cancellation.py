"""Waiting for work on behalf of a client who may leave, in a service that may stop."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

from starlette.requests import Request

from grader.server.http.request_context import Visit, current_visit

_Result = TypeVar("_Result")


class ClientGoneError(Exception):
    """The client hung up before there was an answer."""


class StoppingError(Exception):
    """The service stops, and will not do what was asked for."""


class Attendance:
    """Everybody who waits in one service. For the event loop's thread."""

    def __init__(self) -> None:
        """Nobody waits yet."""
        self._waiting: dict[asyncio.Future[None], Visit | None] = {}
        self._finishing = False
        self._ended = False
        self._when_finishing: list[Callable[[], None]] = []

    @property
    def is_stopping(self) -> bool:
        """Whether `finish` was called."""
        return self._finishing

    def when_finishing(self, call: Callable[[], None]) -> None:
        """Have something called by `finish`: what would go on for ever otherwise."""
        self._when_finishing.append(call)

    def finish(self) -> None:
        """Send away all whose work has not begun, now and from now on."""
        self._finishing = True
        for call in self._when_finishing:
            call()
        for told, visit in self._waiting.items():
            if not (told.done() or (visit is not None and visit.is_under_way)):
                told.set_result(None)

    def end(self) -> None:
        """Send away everybody, now and from now on."""
        self._finishing = self._ended = True
        for told in self._waiting:
            if not told.done():
                told.set_result(None)

    async def wait(self, request: Request, work: Awaitable[_Result]) -> _Result:
        """Return what the work comes to, unless its client or this service does not wait.

        Whatever cuts the waiting short cancels the work and all that its visit holds.

        Raises:
            ClientGoneError: The client hung up.
            StoppingError: The service stops.
        """
        visit = current_visit()
        task = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(_until_gone(request))
        told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[told] = visit
        if self._ended or (self._finishing and not task.done()):
            told.set_result(None)
        try:
            await asyncio.wait((task, gone, told), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise StoppingError if told.done() else ClientGoneError
        finally:
            del self._waiting[told]
            gone.cancel()
            if not task.done():
                await _call_off(task, visit)


async def _call_off(task: "asyncio.Future[_Result]", visit: Visit | None) -> None:
    if visit is not None:
        # Cancelling what runs kills its slot, which takes longer than this thread has.
        await asyncio.shield(asyncio.to_thread(visit.give_up))
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError, Exception):
        await task


async def _until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
