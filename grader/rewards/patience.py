"""How long calls wait for a grader that may be gone.

A trainer has few calls under way at once. Where each of them waited its whole deadline for a
broker that is dead, a step would take hours: an outage has to cost a deadline once, not every call.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

_SHARE = 0.1
_LEAST_S, _MOST_S = 1.0, 5.0
"""How long a call waits while nothing has been heard: a share of its time, within these."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Turn:
    """A call that waits."""

    began: float
    """Of the clock."""
    deadline: float
    """Until when it should wait, of the clock."""
    is_probe: bool
    """Whether it waits as long as it may while others do not."""


class Patience:
    """Knows whether answers come. Safe for many threads.

    Once a call has waited its whole deadline, and nothing was answered to any other meanwhile,
    calls wait a few seconds only, but for one at a time: its answer ends that for all.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Believe that answers will come.

        Args:
            clock: That deadlines are given in.
        """
        self._clock = clock
        self._lock = threading.Lock()
        self._heard = float("-inf")
        self._is_out = False
        self._probe: Turn | None = None

    def begin(self, deadline: float) -> Turn:
        """Return how long a call waits that may wait until `deadline`."""
        with self._lock:
            now = self._clock()
            is_probe = self._is_out and self._probe is None
            if self._is_out and not is_probe:
                wait_s = max(_LEAST_S, min(_MOST_S, _SHARE * (deadline - now)))
                deadline = min(deadline, now + wait_s)
            turn = Turn(began=now, deadline=deadline, is_probe=is_probe)
            if is_probe:
                self._probe = turn
            return turn

    def end(self, turn: Turn, *, answered: bool) -> None:
        """Learn from a call that waits no more.

        Args:
            turn: Its turn.
            answered: Whether anything came for it in time, be it that it failed.
        """
        with self._lock:
            if self._probe is turn:
                self._probe = None
            if answered:
                self._heard, self._is_out = self._clock(), False
            elif self._heard < turn.began:
                self._is_out = True
