"""Suites that were read lately: reading one costs more than all else about its row."""

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

from grader.model import MiB

CACHED_BYTES = 8 * MiB
"""Of the rows whose suites are kept; a suite may be a megabyte, or a hundred bytes."""

_Suite = TypeVar("_Suite")


class SuiteCache(Generic[_Suite]):
    """The suites used last, in any form, by any text. Safe to share between threads.

    Two caches of one size that see the same calls hold the same suites.
    """

    def __init__(self, most_bytes: int = CACHED_BYTES) -> None:
        """Hold nothing yet.

        Args:
            most_bytes: What was said of the size of all suites together.
        """
        self._most_bytes = most_bytes
        self._suites: OrderedDict[str, tuple[_Suite, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def __contains__(self, key: str) -> bool:
        """Tell whether a suite was kept, without using it."""
        return key in self._suites

    def get(self, key: str) -> _Suite | None:
        """Return a suite that was kept."""
        with self._lock:
            if (kept := self._suites.get(key)) is None:
                return None
            self._suites.move_to_end(key)
            return kept[0]

    def keep(self, key: str, suite: _Suite, size: int) -> None:
        """Keep a suite that `size` bytes of a row made; those used longest ago make room."""
        with self._lock:
            if key in self._suites:
                return  # two threads read the same row
            self._suites[key] = suite, size
            self._bytes += size
            # The last one stays, whatever its size: the next row is likely to have it too.
            while self._bytes > self._most_bytes and len(self._suites) > 1:
                self._bytes -= self._suites.popitem(last=False)[1][1]
