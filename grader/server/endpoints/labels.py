"""Read the tests of requests. A label that is sent many times is read once."""

import hashlib
import threading
import time

from grader.model import TestSuite, wire
from grader.offline.finder import ProblemLookup, SuiteFinder
from grader.server.metrics import Metrics
from grader.suites.cache import SuiteCache
from grader.suites.files import check_files


class LabelReader:
    """Reads labels. Safe for many threads."""

    def __init__(self, problems: ProblemLookup | None, metrics: Metrics) -> None:
        """Start with an empty cache.

        Args:
            problems: The problems that requests may name by id.
            metrics: Counts the time that reading takes.
        """
        self._lock = threading.Lock()
        self._finder = SuiteFinder(problems)
        self._decoded: SuiteCache[TestSuite] = SuiteCache()
        self._metrics = metrics

    def decode(self, message: str) -> TestSuite:
        """Return the tests that a client of this package has already read and encoded.

        Raises:
            WireError: The message is malformed, or of another version.
            LabelError: The path of a file leads out of the work area.
        """
        began = time.monotonic()
        body = message.encode("utf-8", "replace")
        digest = hashlib.sha256(body).hexdigest()
        if (suite := self._decoded.get(digest)) is None:
            suite = check_files(wire.decode_submission(body).suite)
            self._decoded.keep(digest, suite, len(body))
        self._metrics.parsed(time.monotonic() - began)
        return suite

    def read(self, label: object, problem_id: str | None, size: int) -> TestSuite:
        """Return the tests of a submission.

        Args:
            label: The label in the request; None if the request names a problem.
            problem_id: The id of a problem in the service's file; it wins over the label.
            size: The size of the request in bytes.

        Raises:
            LabelError: The label is missing or cannot be read.
            SuiteError: The tests are broken.
        """
        began = time.monotonic()
        row = {"label": label} if problem_id is None else {"label": label, "id": problem_id}
        with self._lock:
            suite = self._finder.find(row, size)
        self._metrics.parsed(time.monotonic() - began)
        return suite
