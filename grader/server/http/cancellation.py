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
        self._cancellations: dict[asyncio.Future[None], RequestContext | None] = {}
        self._is_draining = False
        self._is_over = False
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
        for cancellation, context in self._cancellations.items():
            if not (cancellation.done() or (context is not None and context.is_under_way)):
                cancellation.set_result(None)

    def cancel_all(self) -> None:
        """Cancel every request, now and from now on."""
        self._is_draining = self._is_over = True
        for cancellation in self._cancellations:
            if not cancellation.done():
                cancellation.set_result(None)

    async def wait(self, request: Request, work: Awaitable[_Result]) -> _Result:
        """Return the result of the work.

        If the client hangs up or the service stops first, the work and every future that the
        request's context tracks are cancelled.

        Raises:
            ClientGoneError: The client hung up.
            StoppingError: The service is stopping.
        """
        context = current_request()
        task = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(_until_gone(request))
        cancellation: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._cancellations[cancellation] = context
        if self._is_over or (self._is_draining and not task.done()):
            cancellation.set_result(None)
        try:
            await asyncio.wait((task, gone, cancellation), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise StoppingError if cancellation.done() else ClientGoneError
        finally:
            del self._cancellations[cancellation]
            gone.cancel()
            if not task.done():
                await _cancel(task, context)


async def _cancel(task: "asyncio.Future[_Result]", context: RequestContext | None) -> None:
    if context is not None:
        # In a thread: this kills slots, which would block the event loop for too long.
        await asyncio.shield(asyncio.to_thread(context.cancel))
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError, Exception):
        await task


async def _until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
