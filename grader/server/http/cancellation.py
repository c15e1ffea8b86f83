"""Wait for work on behalf of a client that may hang up, in a service that may stop."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

from starlette.requests import Request

from grader.server.http.request_context import RequestContext, current_request

_Result = TypeVar("_Result")


class ClientGoneError(Exception):
    """The client hung up before the work was done."""


class StoppingError(Exception):
    """The service is stopping and cancelled the work."""


class OpenRequests:
    """The requests whose work is being awaited. For the event loop's thread."""

    def __init__(self) -> None:
        """Start without any request."""
        self._ends: dict[asyncio.Future[None], RequestContext | None] = {}
        """Each is reached when its work is done, its client is gone or the service stops."""
        self._is_draining = False
        self._when_draining: list[Callable[[], None]] = []

    @property
    def is_stopping(self) -> bool:
        """Whether `drain` was called."""
        return self._is_draining

    def on_drain(self, call: Callable[[], None]) -> None:
        """Register a call that `drain` makes, to end what would otherwise never end."""
        self._when_draining.append(call)

    def drain(self) -> None:
        """Cancel every request whose work has not begun, now and from now on."""
        self._is_draining = True
        for call in self._when_draining:
            call()
        for end, context in self._ends.items():
            if context is None or not context.is_under_way:
                _reach(end)

    def cancel_all(self) -> None:
        """Cancel every request, now and from now on."""
        self._is_draining = True
        for end in self._ends:
            _reach(end)

    async def wait(self, request: Request, work: Awaitable[_Result]) -> _Result:
        """Return the result of the work.

        If the client hangs up or the service stops first, the work and the call of the request's
        context are cancelled.

        Raises:
            ClientGoneError: The client hung up.
            StoppingError: The service is stopping.
        """
        context = current_request()
        task = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(_until_gone(request))
        # Cheaper than `asyncio.wait`, which makes a future and callbacks of its own for each call.
        end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ends[end] = context
        if self._is_draining:
            end.set_result(None)
        for each in (task, gone):
            each.add_done_callback(lambda _: _reach(end))
        try:
            await end
            if task.done():
                return task.result()
            raise ClientGoneError if gone.done() else StoppingError
        finally:
            del self._ends[end]
            gone.cancel()
            if not task.done():
                await _cancel(task, context)


def _reach(end: asyncio.Future[None]) -> None:
    if not end.done():
        end.set_result(None)


async def _cancel(task: "asyncio.Future[_Result]", context: RequestContext | None) -> None:
    if context is not None:
        # In a thread: this kills slots, which would block the event loop for too long.
        await asyncio.shield(asyncio.to_thread(context.call.cancel))
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError, Exception):
        await task


async def _until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
