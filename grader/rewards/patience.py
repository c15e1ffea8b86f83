"""How long calls wait for a grader that may be gone.

A trainer has only a few calls in flight at once. If each of them waited until its deadline for a
dead broker, a step would take hours. So only the first call of an outage waits that long.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

_SHARE = 0.1
_LEAST_S, _MOST_S = 1.0, 5.0
"""During an outage a call waits for this share of its time, but at least and at most so long."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wait:
    """The wait of one call."""

    began: float
    deadline: float
    """When to stop waiting."""
    is_probe: bool
    """Whether it waits until its own deadline during an outage."""


class Patience:
    """Detects outages of the grader. Safe for many threads.

    An outage begins when a call waits until its deadline and no other call is answered meanwhile.
    Then calls wait only a few seconds, except for one at a time, the probe. Any answer ends the
    outage.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start without an outage.

        Args:
            clock: The clock of the deadlines.
        """
        self._clock = clock
        self._lock = threading.Lock()
        self._heard = float("-inf")
        self._is_outage = False
        self._probe: Wait | None = None

    def begin(self, deadline: float) -> Wait:
        """Return the wait of a call that may wait until `deadline`."""
        with self._lock:
            now = self._clock()
            is_probe = self._is_outage and self._probe is None
            if self._is_outage and not is_probe:
                wait_s = max(_LEAST_S, min(_MOST_S, _SHARE * (deadline - now)))
                deadline = min(deadline, now + wait_s)
            wait = Wait(began=now, deadline=deadline, is_probe=is_probe)
            if is_probe:
                self._probe = wait
            return wait

    def end(self, wait: Wait, *, answered: bool) -> None:
        """Record the end of a wait.

        Args:
            wait: The wait.
            answered: Whether there was an answer in time; an error counts as an answer.
        """
        with self._lock:
            if self._probe is wait:
                self._probe = None
            if answered:
                self._heard, self._is_outage = self._clock(), False
            elif self._heard < wait.began:
                self._is_outage = True
