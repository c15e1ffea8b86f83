"""A connection that bounds the head of a request: its time and its size.

uvicorn waits for a head without a time limit and buffers all of it. An attacker needs no token
for that, since the token is checked only after the head.
"""

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class Connection(HttpToolsProtocol):
    """uvicorn's protocol for one connection, with limits on the head."""

    head_s: ClassVar[float] = 30.0
    head_bytes: ClassVar[int] = 64 * 1024

    _alarm: asyncio.TimerHandle | None = None
    _received: int = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer of the first head."""
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Receive bytes; answer 400 if a head is too long."""
        if self._alarm is not None:
            self._received += len(data)
        super().data_received(data)
        if self._alarm is not None and self._received > self.head_bytes:
            self._forget_head()
            self.send_400_response("The head of the request is too long.")

    def on_message_begin(self) -> None:
        """Start the timer of the next head."""
        super().on_message_begin()
        if self._alarm is None:
            self._await_head()

    def on_headers_complete(self) -> None:
        """Stop the timer: the head is complete."""
        self._forget_head()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer: the connection is closed."""
        self._forget_head()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._received = 0
        self._alarm = asyncio.get_running_loop().call_later(self.head_s, self.transport.abort)

    def _forget_head(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
