"""A connection whose client has to get to the end of a request's head: soon, and with few bytes.

Whoever sends heads without end needs no token for it, since no application has seen anything of
the request yet; and uvicorn waits for ever, and keeps all of it.
"""

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class Connection(HttpToolsProtocol):
    """What uvicorn serves a client by."""

    head_s: ClassVar[float] = 30.0
    head_bytes: ClassVar[int] = 64 * 1024

    _alarm: asyncio.TimerHandle | None = None
    _received: int = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first head."""
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Take what came, and hang up where it is too much of a head."""
        if self._alarm is not None:
            self._received += len(data)
        super().data_received(data)
        if self._alarm is not None and self._received > self.head_bytes:
            self._forget_head()
            self.send_400_response("The head of the request is too long.")

    def on_message_begin(self) -> None:
        """Begin to wait for the head of the next request."""
        super().on_message_begin()
        if self._alarm is None:
            self._await_head()

    def on_headers_complete(self) -> None:
        """Stop waiting for the head."""
        self._forget_head()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting for anything."""
        self._forget_head()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._received = 0
        self._alarm = asyncio.get_running_loop().call_later(self.head_s, self.transport.abort)

    def _forget_head(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
