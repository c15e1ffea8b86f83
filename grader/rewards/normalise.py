"""Rewards on the scale of those before them: mean 0, deviation 1 over a window."""

import math
import threading
from collections import deque

_LEAST = 8
"""Rewards that must be known before any is changed: two say nothing about a spread."""
_EPSILON = 1e-6
_MOST = 10.0
"""No reward is further from the mean than so many deviations."""


class RunningNormaliser:
    """Normalises rewards by the last ones of this process. Safe for many threads."""

    def __init__(self, window: int) -> None:
        """Know nothing yet.

        Args:
            window: How many rewards are remembered.
        """
        self._lock = threading.Lock()
        self._recent: deque[float] = deque(maxlen=window)

    def normalise(self, rewards: list[float]) -> list[float]:
        """Take rewards in, and return them normalised; as they are while too few are known."""
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
