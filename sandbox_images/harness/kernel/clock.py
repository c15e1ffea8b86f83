"""A clock for the time limits of runs. It stands still while the slot is suspended.

All processes of a slot stop if its container is paused, its machine is, or somebody sends SIGSTOP.
What a run missed meanwhile is not its fault.
"""

import time
from collections.abc import Callable

_SUSPENDED_S = 0.5
"""While a run lasts, the supervisor asks for the time every 25 ms. If it did not for longer than
this, it was suspended, or so short of CPU time that the run probably was, too."""


class AwakeClock:
    """Counts the time in which this process was awake. Only differences have a meaning."""

    def __init__(self, source: Callable[[], float] = time.monotonic) -> None:
        """Begin with the time of `source`."""
        self._source = source
        self._asked_at = source()
        self._missed_s = 0.0

    def now(self) -> float:
        """Return the time in seconds. Between two runs, it stands still as well."""
        now = self._source()
        if now - self._asked_at > _SUSPENDED_S:
            self._missed_s += now - self._asked_at
        self._asked_at = now
        return now - self._missed_s


now = AwakeClock().now
"""The clock of this process."""
