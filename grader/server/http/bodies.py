"""Reads the bodies of requests, bounded in bytes, in time and in what parsing them costs.

All bodies share a room. While it is full, further bytes stay in their sockets. A body takes room as
its bytes arrive, so a client that announces many bytes and sends none takes no room from others.
"""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self

from starlette.types import Message, Receive

from grader.config.server import ServerSettings
from grader.model import KiB
from grader.text.json_values import ValueCount

_BODY_S = 60.0
"""How long a client may take to send a body."""
_STEP_S = 10.0
"""How long a client may take for `_STEP_BYTES`, or for the rest of the body if that is less."""
_STEP_BYTES = 64 * KiB


class Refusal(Exception):
    """A request is refused."""

    def __init__(self, status: int, reason: str) -> None:
        """Set the status of the response, and the reason in it."""
        super().__init__(reason)
        self.status = status
        self.reason = reason


class BodyRoom:
    """Counts the bytes of all bodies, and serves them in the order of their calls.

    Incomplete bodies could fill the room, so that none of them could ever be completed. So the
    oldest incomplete body does not wait for room, and all bodies together may exceed the size by
    one body.
    """

    def __init__(self, size: int) -> None:
        """Start with `size` bytes."""
        self._left = size
        self._incomplete: dict[Lease, None] = {}
        self._waiting: dict[Lease, tuple[int, asyncio.Future[None]]] = {}

    def lease(self) -> "Lease":
        """Begin a body; it has no bytes yet."""
        lease = Lease(self)
        self._incomplete[lease] = None
        return lease

    async def take(self, lease: "Lease", size: int) -> None:
        """Wait for room for `size` bytes more."""
        if not (self._waiting and self._oldest is not lease) and self._fits(lease, size):
            self._grant(lease, size)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[lease] = size, turn
        try:
            await turn
        finally:
            self._waiting.pop(lease, None)

    def complete(self, lease: "Lease") -> None:
        """Note that a body takes no more room."""
        self._incomplete.pop(lease, None)
        self._admit()

    def give_back(self, lease: "Lease") -> None:
        """Free the room of a body. Repeats harmlessly."""
        self._left += lease.held
        lease.held = 0
        self.complete(lease)

    @property
    def _oldest(self) -> "Lease | None":
        return next(iter(self._incomplete), None)

    def _fits(self, lease: "Lease", size: int) -> bool:
        return size <= self._left or lease is self._oldest

    def _grant(self, lease: "Lease", size: int) -> None:
        self._left -= size
        lease.held += size

    def _admit(self) -> None:
        oldest = self._oldest
        for lease in sorted(self._waiting, key=lambda each: each is not oldest):
            size, turn = self._waiting[lease]
            if not self._fits(lease, size):
                return
            del self._waiting[lease]
            if not turn.done():  # Else the request was cancelled, and is about to leave.
                self._grant(lease, size)
                turn.set_result(None)


class Lease:
    """The room of one body. `with` gives it back."""

    def __init__(self, room: BodyRoom) -> None:
        """Hold nothing yet."""
        self._room = room
        self.held = 0
        """Bytes that it holds."""

    async def grow(self, size: int) -> None:
        """Wait for room for `size` bytes more."""
        await self._room.take(self, size)

    def complete(self) -> None:
        """Need no more room."""
        self._room.complete(self)

    def __enter__(self) -> Self:
        """Return the lease itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give back the room."""
        self._room.give_back(self)


async def read_body(receive: Receive, lease: Lease, settings: ServerSettings) -> bytes | None:
    """Return the whole body; None if the client hung up.

    Args:
        receive: Gives the next part of the request.
        lease: The room of this body.
        settings: Bounds its bytes and its values.

    Raises:
        Refusal: It is too large, too slow, or has too many values.
    """
    chunks: list[bytes] = []
    watch = _Watch(asyncio.get_running_loop().time)
    values = ValueCount()
    size = 0
    while True:
        message = await watch.received(receive)
        if message["type"] == "http.disconnect":
            return None
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > settings.body_bytes:
            reason = f"the body has more than {settings.body_bytes} bytes (server.body_bytes)"
            raise Refusal(413, reason)
        if values.add(chunk) > settings.body_values:
            reason = (
                f"the body has more than {settings.body_values} JSON values (server.body_values);"
                " a label may be sent as text, which is one value"
            )
            raise Refusal(413, reason)
        chunks.append(chunk)
        before = watch.now()
        await lease.grow(len(chunk))
        watch.forgive(watch.now() - before)
        if not message.get("more_body", False):
            lease.complete()
            return b"".join(chunks)


class BufferedReceive:
    """Hands over a body that was read already, then the messages after it."""

    def __init__(self, body: bytes | None, receive: Receive) -> None:
        """Hand over nothing yet.

        Args:
            body: The whole body; None if the client hung up.
            receive: Gives the messages after it.
        """
        self.body = body
        self._receive = receive
        self._is_given = False

    async def __call__(self) -> Message:
        """Return the next message."""
        if self.body is None:
            return {"type": "http.disconnect"}
        if self._is_given:
            return await self._receive()
        self._is_given = True
        return {"type": "http.request", "body": self.body, "more_body": False}


class _Watch:
    """Watches how fast the bytes of a body arrive."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self._end = now() + _BODY_S
        self._step_end = now() + _STEP_S
        self._step_bytes = 0

    async def received(self, receive: Receive) -> Message:
        """Return the next part.

        Raises:
            Refusal: It is late.
        """
        try:
            async with asyncio.timeout_at(min(self._end, self._step_end)):
                message = await receive()
        except TimeoutError:
            reason = (
                f"the body did not come within {_BODY_S:g} s"
                if self._end <= self._step_end
                else f"less than {_STEP_BYTES} bytes of the body came within {_STEP_S:g} s"
            )
            raise Refusal(408, reason) from None
        self._step_bytes += len(message.get("body", b""))
        if self._step_bytes >= _STEP_BYTES:
            self._step_bytes = 0
            self._step_end = self.now() + _STEP_S
        return message

    def forgive(self, time_s: float) -> None:
        """Do not count a time in which the client was made to wait."""
        self._end += time_s
        self._step_end += time_s
