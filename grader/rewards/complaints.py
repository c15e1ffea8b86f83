"""Logs why samples were not graded."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable

from grader.rewards.sample import Rating
from grader.text.inert import inert

_log = logging.getLogger(__name__)

_EVERY_S = 1.0
_REASONS_KEPT = 1000
_CHARS = 600


class Complaints:
    """Logs each new reason, and counts known ones. Safe for many threads.

    If a broker is gone, thousands of samples a minute have the same reason. But a data set may have
    hundreds of labels that are wrong in different ways, and each of these is logged.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said: OrderedDict[str, None] = OrderedDict()
        self._again = 0
        self._silent_until = 0.0

    def add(self, ratings: Iterable[Rating]) -> None:
        """Log a line for each new reason, and at most one per second for known ones."""
        for rating in ratings:
            if not rating.graded and (line := self._line(inert(rating.note, _CHARS))):
                _log.error("%s", line)

    def _line(self, note: str) -> str:
        with self._lock:
            now = time.monotonic()
            is_new = note not in self._said
            self._said[note] = None
            self._said.move_to_end(note)
            if len(self._said) > _REASONS_KEPT:
                self._said.popitem(last=False)
            if not is_new and now < self._silent_until:
                self._again += 1
                return ""
            again, self._again = self._again, 0
            self._silent_until = now + _EVERY_S
        more = f" (and {again} more for reasons logged before)" if again else ""
        return f"a sample was {note}{more}"


complaints = Complaints()
"""The instance of this process."""
