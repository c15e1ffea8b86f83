"""Read the tests of requests. A label that is sent many times is read once."""

import asyncio
import hashlib
import re
import time

from grader.model import MiB, TestSuite, wire
from grader.model.errors import LabelError
from grader.offline.finder import SuiteFinder, key_of
from grader.process.threads import Threads
from grader.server.metrics import Metrics
from grader.suites.cache import SuiteCache
from grader.suites.files import check_foreign
from grader.suites.problems import ProblemIndex
from grader.text.json_values import count_values

_QUICK_CHARS = 4096
"""Labels up to this length are read within milliseconds. Longer ones are read in a thread, so that
the event loop goes on."""
_MAY_BE_PACKED = re.compile(r"e[AFJN][A-Za-z0-9+/]{8}|\\")
"""Packed tests, or an escape, which could hide their first characters."""
_QUICK_REQUEST_BYTES = MiB
"""In a larger request, the event loop looks up no label that is not text: that would encode it."""
_MOST_VALUES = 2_000_000
"""The most values of a suite. To receive so many from the process that read them stops the event
loop for about a second."""
_THREADS = 256
"""A label that is not read at once takes one of these; if none is free, it waits."""


class LabelReader:
    """Reads labels. For the event loop's thread."""

    def __init__(self, problems: ProblemIndex | None, metrics: Metrics) -> None:
        """Start with an empty cache.

        Args:
            problems: The problems that requests may name by id.
            metrics: Counts the time that reading takes.
        """
        self._problems = problems
        self._finder = SuiteFinder(problems, most_values=_MOST_VALUES)
        self._decoded: SuiteCache[TestSuite] = SuiteCache()
        self._metrics = metrics
        self._threads = Threads(_THREADS, "labels")

    async def decode(self, message: str) -> TestSuite:
        """Return the tests that a client of this package has already read and encoded.

        Raises:
            WireError: The message is malformed, or of another version.
            LabelError: The path of a file leads out of the work area, or there are too many values.
        """
        began = time.monotonic()
        if len(message) <= _QUICK_CHARS:
            suite = self._decode(message)
        else:
            suite = await asyncio.wrap_future(self._threads.submit(self._decode, message))
        self._metrics.parsed(time.monotonic() - began)
        return suite

    async def read(self, label: object, problem_id: str | None, size: int) -> TestSuite:
        """Return the tests of a submission.

        Args:
            label: The label in the request; None if the request names a problem.
            problem_id: The id of a problem in the service's file; it wins over the label.
            size: The size of the request in bytes.

        Raises:
            LabelError: The label is missing or cannot be read.
            SuiteError: The tests are broken.
            ReaderLostError: The process that read the label was killed.
        """
        if label is None and (problem_id is None or self._problems is None):
            reason = "no label and no problem_id: expected one of them"
            if problem_id is not None:
                reason = f"no problem {problem_id!r:.80}: the service has no file of problems"
            raise LabelError(reason)
        began = time.monotonic()
        suite = self._known(label, problem_id, size)
        if suite is None:
            row = {"label": label} if problem_id is None else {"label": label, "id": problem_id}
            if self._is_quick(label, size):
                suite = self._finder.find(row, size)
            else:
                reading = self._threads.submit(self._finder.find, row, size)
                suite = await asyncio.wrap_future(reading)
        self._metrics.parsed(time.monotonic() - began)
        return suite

    def close(self) -> None:
        """Read no more labels. Repeats harmlessly."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _known(self, label: object, problem_id: str | None, size: int) -> TestSuite | None:
        if problem_id is not None and self._problems is not None:
            return self._problems.kept(problem_id)
        if label is None or not (isinstance(label, str) or size <= _QUICK_REQUEST_BYTES):
            return None
        return self._finder.seen(key_of(label))

    def _is_quick(self, label: object, size: int) -> bool:
        if self._problems is not None:
            return False  # The label may name a problem with large tests.
        if not isinstance(label, str) and size > _QUICK_REQUEST_BYTES:
            return False
        text = key_of(label)
        return len(text) <= _QUICK_CHARS and _MAY_BE_PACKED.search(text) is None

    def _decode(self, message: str) -> TestSuite:
        body = message.encode("utf-8", "replace")
        digest = hashlib.sha256(body).hexdigest()
        if (suite := self._decoded.get(digest)) is None:
            if count_values(body) > _MOST_VALUES:
                reason = f"the suite holds more than {_MOST_VALUES} values"
                raise LabelError(reason)
            suite = check_foreign(wire.decode_submission(body).suite)
            self._decoded.keep(digest, suite, len(body))
        return suite
