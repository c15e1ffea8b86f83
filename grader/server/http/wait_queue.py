"""What waits for its turn, and for how long."""

import threading
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Ticket:
    """One thing that waits or waited."""

    since: float
    """Of `time.monotonic`."""


class Lobby:
    """Holds tickets in the order of their arrival. Safe for many threads."""

    def __init__(self) -> None:
        """Start empty."""
        self._lock = threading.Lock()
        self._waiting: dict[Ticket, None] = {}

    def enter(self) -> Ticket:
        """Begin to wait."""
        ticket = Ticket(time.monotonic())
        with self._lock:
            self._waiting[ticket] = None
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """Have one's turn, or give up. Repeats harmlessly."""
        with self._lock:
            self._waiting.pop(ticket, None)

    @property
    def depth(self) -> int:
        """How many wait."""
        return len(self._waiting)

    @property
    def oldest_s(self) -> float:
        """How long the first of them has waited; 0 where none does."""
        with self._lock:
            first = next(iter(self._waiting), None)
        return 0.0 if first is None else time.monotonic() - first.since
