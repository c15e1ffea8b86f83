"""The submissions and programs that wait for a slot, and for how long."""

import threading
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class WaitEntry:
    """One submission or program that waits or waited."""

    since: float
    """By `time.monotonic`."""


class WaitQueue:
    """Holds entries in the order of their arrival. Safe for many threads."""

    def __init__(self) -> None:
        """Start empty."""
        self._lock = threading.Lock()
        self._waiting: dict[WaitEntry, None] = {}

    def enter(self) -> WaitEntry:
        """Begin to wait."""
        entry = WaitEntry(time.monotonic())
        with self._lock:
            self._waiting[entry] = None
        return entry

    def leave(self, entry: WaitEntry) -> None:
        """Stop waiting, with a slot or without. Repeats harmlessly."""
        with self._lock:
            self._waiting.pop(entry, None)

    @property
    def depth(self) -> int:
        """How many wait."""
        return len(self._waiting)

    @property
    def oldest_s(self) -> float:
        """How long the first entry has waited; 0 if none waits."""
        with self._lock:
            first = next(iter(self._waiting), None)
        return 0.0 if first is None else time.monotonic() - first.since
