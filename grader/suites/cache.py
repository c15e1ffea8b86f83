"""Suites that were read lately: reading one costs more than all else about its row."""

import threading
from collections import OrderedDict

from grader.model import MiB, TestSuite

CACHED_BYTES = 8 * MiB
"""Of the rows whose suites are kept; a suite may be a megabyte, or a hundred bytes."""


class SuiteCache:
    """The suites used last, by any text. Safe to share between threads."""

    def __init__(self) -> None:
        self._suites: OrderedDict[str, tuple[TestSuite, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: str) -> TestSuite | None:
        """Return a suite that was kept."""
        with self._lock:
            if (kept := self._suites.get(key)) is None:
                return None
            self._suites.move_to_end(key)
            return kept[0]

    def keep(self, key: str, suite: TestSuite, size: int) -> None:
        """Keep a suite that `size` bytes of a row made; those used longest ago make room."""
        with self._lock:
            if key in self._suites:
                return  # two threads read the same row
            self._suites[key] = suite, size
            self._bytes += size
            # The last one stays, whatever its size: the next row is likely to have it too.
            while self._bytes > CACHED_BYTES and len(self._suites) > 1:
                self._bytes -= self._suites.popitem(last=False)[1][1]
