"""What a log says once while it goes on, and not twice a second."""

import threading
import time

_KEPT = 64


class Repeats:
    """Tells which of the messages that come over and over are due. Safe for many threads."""

    def __init__(self, *, every_s: float = 30.0) -> None:
        """Know no message yet.

        Args:
            every_s: How long a message that was due is not due again.
        """
        self._every_s = every_s
        self._lock = threading.Lock()
        self._silent_until: dict[str, float] = {}

    def is_due(self, message: str) -> bool:
        """Tell whether a message is new, or was last due long enough ago."""
        now = time.monotonic()
        with self._lock:
            if now < self._silent_until.get(message, now):
                return False
            if len(self._silent_until) >= _KEPT:
                self._silent_until.clear()
            self._silent_until[message] = now + self._every_s
            return True
