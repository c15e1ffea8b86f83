"""The subscribers of the live page: each gets every message, or is disconnected."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

MOST = 200
"""The most subscribers at once."""
_BEHIND = 8
"""The most messages that a subscriber may lag behind."""


class Subscriber:
    """The messages of one open page. For the event loop's thread."""

    def __init__(self) -> None:
        """Start without messages."""
        self._messages: asyncio.Queue[bytes | None] = asyncio.Queue(_BEHIND)

    async def next(self) -> bytes | None:
        """Wait for the next message; None: there will be no more."""
        return await self._messages.get()

    def put(self, message: bytes) -> bool:
        """Queue a message; return False if the queue is full."""
        if self._messages.full():
            return False
        self._messages.put_nowait(message)
        return True

    def close(self) -> None:
        """Drop the queued messages, and let `next` return None."""
        while not self._messages.empty():
            self._messages.get_nowait()
        self._messages.put_nowait(None)


class Subscribers:
    """All subscribers. For the event loop's thread."""

    def __init__(self) -> None:
        """Start without subscribers."""
        self._open: set[Subscriber] = set()
        self._is_over = False

    def __len__(self) -> int:
        """Return the number of subscribers."""
        return len(self._open)

    @property
    def is_full(self) -> bool:
        """Whether further subscribers should be refused."""
        return self._is_over or len(self._open) >= MOST

    @contextmanager
    def subscribe(self) -> Iterator[Subscriber]:
        """Subscribe until the block ends."""
        subscriber = Subscriber()
        if self._is_over:
            subscriber.close()
        else:
            self._open.add(subscriber)
        try:
            yield subscriber
        finally:
            self._open.discard(subscriber)

    def publish(self, message: bytes) -> None:
        """Send a message to all.

        A subscriber that lags too far behind is disconnected: its page connects again and gets
        a new snapshot.
        """
        for subscriber in list(self._open):
            if not subscriber.put(message):
                self._open.discard(subscriber)
                subscriber.close()

    def close(self) -> None:
        """Disconnect all subscribers, now and from now on. Repeats harmlessly."""
        self._is_over = True
        for subscriber in self._open:
            subscriber.close()
        self._open.clear()
