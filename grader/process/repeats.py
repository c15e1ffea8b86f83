"""Limit how often a repeated log message is logged."""

import threading
import time

_KEPT = 64


class Repeats:
    """Decides which repeated messages are due. Safe for many threads."""

    def __init__(self, *, every_s: float = 30.0) -> None:
        """Start without messages.

        Args:
            every_s: Seconds after which a message is due again.
        """
        self._every_s = every_s
        self._lock = threading.Lock()
        self._silent_until: dict[str, float] = {}

    def is_due(self, message: str) -> bool:
        """Return whether a message is new, or was last due at least `every_s` ago."""
        now = time.monotonic()
        with self._lock:
            if now < self._silent_until.get(message, now):
                return False
            if len(self._silent_until) >= _KEPT:
                self._silent_until.clear()
            self._silent_until[message] = now + self._every_s
            return True
