"""How many submissions a worker has graded, in total and in the last minute."""

import threading
import time
from collections import deque

_WINDOW_S = 60.0
_MOST = 10_000
"""More than a worker can grade in a minute."""


class Throughput:
    """Counts submissions. Safe for many threads."""

    def __init__(self) -> None:
        """Start counting."""
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._total = 0
        self._recent: deque[float] = deque(maxlen=_MOST)

    def count(self) -> None:
        """Count one submission."""
        with self._lock:
            self._total += 1
            self._recent.append(time.monotonic())

    @property
    def total(self) -> int:
        """Submissions since the start."""
        return self._total

    @property
    def per_s(self) -> float:
        """Submissions per second over the last minute, or since the start if that is shorter."""
        now = time.monotonic()
        with self._lock:
            while self._recent and now - self._recent[0] >= _WINDOW_S:
                self._recent.popleft()
            recent = len(self._recent)
        return recent / max(1.0, min(_WINDOW_S, now - self._began))
