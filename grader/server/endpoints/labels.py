"""The tests that requests ask for, each read once however often it is sent."""

import hashlib
import threading
import time

from grader.model import TestSuite, wire
from grader.offline.finder import Problems, SuiteFinder
from grader.server.metrics import Metrics
from grader.suites.cache import SuiteCache
from grader.suites.files import check_files


class LabelReader:
    """Reads labels. Safe for many threads."""

    def __init__(self, problems: Problems | None, metrics: Metrics) -> None:
        """Remember nothing yet.

        Args:
            problems: Those that may be named by id.
            metrics: Where the time is counted that it takes.
        """
        self._lock = threading.Lock()
        self._finder = SuiteFinder(problems)
        self._decoded = SuiteCache()
        self._metrics = metrics

    def decode(self, message: str) -> TestSuite:
        """Return the tests that a client of this package has read itself.

        Raises:
            WireError: It is of another version, or no such message.
            LabelError: Its files lead out of their folder.
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
            label: As a request holds it; None where the problem is named.
            problem_id: The id of a problem in the file that is set; it wins over the label.
            size: Of the request, in bytes.

        Raises:
            LabelError: There is no label, or none that can be read.
            SuiteError: The tests are broken.
        """
        began = time.monotonic()
        row = {"label": label} if problem_id is None else {"label": label, "id": problem_id}
        with self._lock:
            suite = self._finder.find(row, size)
        self._metrics.parsed(time.monotonic() - began)
        return suite
