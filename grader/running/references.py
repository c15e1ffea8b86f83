"""What the reference solutions of suites show about the suites. Found out once per suite.

Whether a suite's own reference passes is asked only after a submission has failed. If it does not,
the suite is broken, and the failure is not the model's fault.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from typing import TypeVar

from grader.model import MiB, Tests, TestSuite
from grader.model.errors import SuiteError
from grader.twins import Site

_REMEMBERED = 20_000
_REPORT_BYTES = 256 * MiB
"""Most bytes of all reports and compiled programs that are remembered."""

_ENTRY_BYTES = 256
"""Added to the size of each of them, so that their number has a limit, too."""

_Key = tuple[Tests, str, str | None]
_Found = TypeVar("_Found")


class References:
    """What is known about references, by the suite's content. Safe for many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reasons: OrderedDict[_Key, str | None] = OrderedDict()
        self._catching: OrderedDict[_Key, bool] = OrderedDict()
        self._lacks: OrderedDict[_Key, str | None] = OrderedDict()
        self._reports: OrderedDict[tuple[str, str | None, bytes], bytes] = OrderedDict()
        self._report_bytes = 0
        self._sites: OrderedDict[_Key, tuple[Site, ...]] = OrderedDict()

    def require_sound(
        self, suite: TestSuite, code: str, why_it_fails: Callable[[str], str | None]
    ) -> None:
        """Make sure that a suite's reference passes it, after a submission has not.

        Args:
            suite: The suite; without a reference, nothing is done.
            code: The submission.
            why_it_fails: Runs the reference and returns why it does not pass, or None if it does;
                called if nothing is known yet.

        Raises:
            SuiteError: The reference does not pass.
        """
        reference = suite.reference
        if reference is None or reference == code:
            return
        reason = self._known(self._reasons, suite, lambda: why_it_fails(reference))
        if reason is not None:
            message = f"the suite's own reference solution does not pass it: {reason}"
            raise SuiteError(message)

    def catches_failures(self, suite: TestSuite, find: Callable[[], bool]) -> bool:
        """Return whether a suite's reference passes it by catching failures of its assertions.

        Args:
            suite: One that has a reference.
            find: Runs the reference; called if nothing is known yet.
        """
        return self._known(self._catching, suite, find)

    def lack(self, suite: TestSuite, find: Callable[[], str | None]) -> str | None:
        """Return what a suite's tests need and the sandbox lacks; None if there is nothing.

        Args:
            suite: One that has no reference.
            find: Runs the tests without a submission; called if nothing is known yet.
        """
        return self._known(self._lacks, suite, find)

    def sites(self, suite: TestSuite, find: Callable[[], tuple[Site, ...]]) -> tuple[Site, ...]:
        """Return changes of a suite that its reference was seen to fail.

        Args:
            suite: One that has a reference.
            find: Runs the reference; called if nothing is known yet.
        """
        return self._known(self._sites, suite, find)

    def report(self, suite: TestSuite, run: bytes, find: Callable[[], bytes]) -> bytes:
        """Return what a run of a suite's reference reported.

        Args:
            suite: One that has a reference.
            run: What the run is given.
            find: Runs the reference; called if nothing is known yet.
        """
        return self._remembered((suite.prelude, suite.reference, sha256(run).digest()), find)

    def _remembered(self, key: tuple[str, str | None, bytes], find: Callable[[], bytes]) -> bytes:
        if (known := self._look_up(key)) is not None:
            return known
        found = find()
        self._remember(key, found)
        return found

    def _look_up(self, key: tuple[str, str | None, bytes]) -> bytes | None:
        with self._lock:
            if key in self._reports:
                self._reports.move_to_end(key)
            return self._reports.get(key)

    def _remember(self, key: tuple[str, str | None, bytes], found: bytes) -> None:
        with self._lock:
            if (before := self._reports.pop(key, None)) is not None:
                self._report_bytes -= len(before) + _ENTRY_BYTES
            self._reports[key] = found
            self._report_bytes += len(found) + _ENTRY_BYTES
            while self._report_bytes > _REPORT_BYTES:
                _, oldest = self._reports.popitem(last=False)
                self._report_bytes -= len(oldest) + _ENTRY_BYTES

    def product(self, key: bytes, find: Callable[[], bytes]) -> bytes:
        """Return what a compiler made of a suite's own program.

        Args:
            key: All that the compiler's result depends on.
            find: Runs the compiler; called if nothing is known yet.
        """
        return self._remembered(("", None, sha256(key).digest()), find)

    def known_product(self, key: bytes) -> bytes | None:
        """Return what a compiler made of a program; None if that is not known."""
        return self._look_up(("", None, sha256(key).digest()))

    def keep_product(self, key: bytes, product: bytes) -> None:
        """Remember what a compiler made of a program; see `product`."""
        self._remember(("", None, sha256(key).digest()), product)

    def _known(
        self, known: "OrderedDict[_Key, _Found]", suite: TestSuite, find: Callable[[], _Found]
    ) -> _Found:
        key = (suite.tests, suite.prelude, suite.reference)
        with self._lock:
            if key in known:
                return known[key]
        found = find()
        with self._lock:
            known[key] = found
            if len(known) > _REMEMBERED:
                known.popitem(last=False)
        return found
