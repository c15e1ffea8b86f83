"""Whether suites are passed by their own reference solutions, found out once per suite.

It is asked only after a submission has failed, so that a broken suite is not the model's fault.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable

from grader.model import Tests, TestSuite

_REMEMBERED = 20_000

_Key = tuple[Tests, str, str | None]


class References:
    """What is known about references, by the suite's content. Safe for many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reasons: OrderedDict[_Key, str | None] = OrderedDict()

    def why_it_fails(self, suite: TestSuite, find: Callable[[], str | None]) -> str | None:
        """Return why a suite's reference does not pass it, or None if it does.

        Args:
            suite: One that has a reference.
            find: Runs the reference; called if nothing is known yet.
        """
        key = (suite.tests, suite.prelude, suite.reference)
        with self._lock:
            if key in self._reasons:
                return self._reasons[key]
        reason = find()
        with self._lock:
            self._reasons[key] = reason
            if len(self._reasons) > _REMEMBERED:
                self._reasons.popitem(last=False)
        return reason
