"""Those who look at the page: each gets every message, or is sent away to begin anew."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

MOST = 200
"""So many may look at once."""
_BEHIND = 8
"""Messages that somebody may lag behind."""


class Seat:
    """Where messages wait for one who looks. For the event loop's thread."""

    def __init__(self) -> None:
        """Nothing waits yet."""
        self._messages: asyncio.Queue[bytes | None] = asyncio.Queue(_BEHIND)

    async def next(self) -> bytes | None:
        """Wait for a message; None: there will be none."""
        return await self._messages.get()

    def put(self, message: bytes) -> bool:
        """Have a message wait; False where too many do."""
        if self._messages.full():
            return False
        self._messages.put_nowait(message)
        return True

    def end(self) -> None:
        """Drop what waits, and let `next` return None."""
        while not self._messages.empty():
            self._messages.get_nowait()
        self._messages.put_nowait(None)


class Audience:
    """Everybody who looks. For the event loop's thread."""

    def __init__(self) -> None:
        """Nobody looks yet."""
        self._seats: set[Seat] = set()
        self._is_over = False

    def __len__(self) -> int:
        """Return how many look."""
        return len(self._seats)

    @property
    def is_full(self) -> bool:
        """Whether nobody else should take a seat."""
        return self._is_over or len(self._seats) >= MOST

    @contextmanager
    def seat(self) -> Iterator[Seat]:
        """Look, until the block ends."""
        seat = Seat()
        if self._is_over:
            seat.end()
        else:
            self._seats.add(seat)
        try:
            yield seat
        finally:
            self._seats.discard(seat)

    def tell(self, message: bytes) -> None:
        """Send everybody a message; who lags far behind is sent away, and gets all anew."""
        for seat in list(self._seats):
            if not seat.put(message):
                self._seats.discard(seat)
                seat.end()

    def end(self) -> None:
        """Send everybody away, now and from now on. Repeats harmlessly."""
        self._is_over = True
        for seat in self._seats:
            seat.end()
        self._seats.clear()
