"""Normalising rewards to mean 0 and deviation 1 over a window of recent ones."""

import math
import threading
from collections import deque

_LEAST = 8
"""The fewest rewards from which a deviation is estimated. Until then, rewards stay unchanged."""
_EPSILON = 1e-6
_MOST = 10.0
"""Normalised rewards are clipped to this many deviations."""


class RunningNormaliser:
    """Normalises rewards by the recent ones of this process. Safe for many threads."""

    def __init__(self, window: int) -> None:
        """Start with an empty window.

        Args:
            window: The number of rewards to remember.
        """
        self._lock = threading.Lock()
        self._recent: deque[float] = deque(maxlen=window)

    def normalise(self, rewards: list[float]) -> list[float]:
        """Add rewards to the window and return them normalised; unchanged if too few are known."""
        with self._lock:
            self._recent.extend(rewards)
            known = list(self._recent)
        if len(known) < _LEAST:
            return rewards
        mean = math.fsum(known) / len(known)
        deviation = math.sqrt(math.fsum((each - mean) ** 2 for each in known) / len(known))
        return [
            max(-_MOST, min(_MOST, (reward - mean) / (deviation + _EPSILON))) for reward in rewards
        ]
