"""Caches of suites: reading or encoding one takes most of the time that its row takes."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from grader.model import MiB, TestSuite

CACHED_BYTES = 8 * MiB
"""The total size of the rows whose suites are kept. One row may have 100 bytes or a megabyte."""
ENCODED_BYTES = 64 * MiB
"""The total size of the messages that one process keeps of suites that it sends or receives."""

_Suite = TypeVar("_Suite")


class SuiteCache(Generic[_Suite]):
    """Keeps the suites that were used last. Safe to share between threads.

    Two caches of the same size that get the same calls hold the same suites.
    """

    def __init__(self, most_bytes: int = CACHED_BYTES) -> None:
        """Make an empty cache.

        Args:
            most_bytes: Limit for the total of the sizes that `keep` is told.
        """
        self._most_bytes = most_bytes
        self._suites: OrderedDict[str, tuple[_Suite, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def __contains__(self, key: str) -> bool:
        """Return whether a suite is kept; this does not count as a use."""
        return key in self._suites

    def get(self, key: str) -> _Suite | None:
        """Return the suite that is kept under `key`, or None."""
        with self._lock:
            if (kept := self._suites.get(key)) is None:
                return None
            self._suites.move_to_end(key)
            return kept[0]

    def keep(self, key: str, suite: _Suite, size: int) -> None:
        """Keep a suite, and drop those used longest ago if there is no room.

        Args:
            key: What `get` will be asked for.
            suite: The suite.
            size: Bytes of the row that it was read from.
        """
        with self._lock:
            if key in self._suites:
                return  # two threads read the same row
            self._suites[key] = suite, size
            self._bytes += size
            # The newest suite stays even if it is too large: the next row is likely to use it.
            while self._bytes > self._most_bytes and len(self._suites) > 1:
                self._bytes -= self._suites.popitem(last=False)[1][1]


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedSuite:
    """A suite as it travels to another process: once, however many submissions it judges."""

    digest: str
    """Of the message; names the suite."""
    message: bytes


class EncodedSuites:
    """Remembers the encodings of suites that were used last. Safe for many threads."""

    def __init__(self) -> None:
        """Start empty."""
        self._encoded: SuiteCache[tuple[TestSuite, EncodedSuite]] = SuiteCache(ENCODED_BYTES)

    def knows(self, suite: TestSuite) -> bool:
        """Return whether the encoding of a suite in Python is remembered."""
        return _key(suite) in self._encoded

    def get(
        self, suite: TestSuite, encode: Callable[[], bytes], *, language: str = ""
    ) -> EncodedSuite:
        """Return the encoding of a suite.

        Args:
            suite: The suite.
            encode: Makes its message, if that is not remembered.
            language: Tells the encodings of one suite apart.
        """
        key = _key(suite, language)
        if (known := self._encoded.get(key)) is not None:
            return known[1]
        message = encode()
        encoded = EncodedSuite(digest=hashlib.sha256(message).hexdigest(), message=message)
        self._encoded.keep(key, (suite, encoded), len(message))
        return encoded


def _key(suite: TestSuite, language: str = "") -> str:
    # The entry keeps the suite alive, so that no other object gets its id.
    return f"{id(suite)} {language}"
