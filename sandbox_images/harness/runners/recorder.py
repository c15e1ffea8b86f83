"""The pytest plugin that reports what was collected and what became of each test."""

from collections.abc import Callable, Generator
from typing import Any

import pytest

Details = dict[str, Any]


class Recorder:
    """Reports the events that docs/how-it-works.md lists."""

    def __init__(self) -> None:
        """Report nothing until `begin` is called."""
        self.begin(lambda _event, **_fields: None, lambda _error: {})

    def begin(
        self,
        emit: Callable[..., None],
        describe: Callable[[BaseException], Details],
        settle: Callable[[Details], Details] = lambda outcome: outcome,
    ) -> None:
        """Report the suite that comes now.

        Args:
            emit: Takes the name of an event, and its fields as keywords.
            describe: Returns an exception as data.
            settle: Has the last word on a test's outcome and details.
        """
        self._emit = emit
        self._describe = describe
        self._settle = settle
        self._outcome = ""
        self._details: Details = {}

    def pytest_configure(self, config: pytest.Config) -> None:
        """Have pytest describe failures in as few words as it can: `describe` does it for us.

        With the source of each frame, a failure costs as much as the rest of a run, since pytest
        looks through all modules for it.
        """
        config.option.tbstyle = "no"

    def pytest_exception_interact(
        self, node: pytest.Item | pytest.Collector, call: pytest.CallInfo[Any]
    ) -> None:
        """Report a module that cannot be collected."""
        if isinstance(node, pytest.Collector) and call.excinfo is not None:
            error = call.excinfo.value
            details = self._describe(error.__cause__ or error)
            self._emit("collect_error", path=node.nodeid, **details)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Report the ids of all tests, before the first runs."""
        self._emit("collected", ids=[item.nodeid for item in session.items])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Forget the last test. The event also tells which test a limit interrupted."""
        self._outcome, self._details = "passed", {}
        self._emit("start", id=nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Remember the exception, which the report itself holds only as text."""
        report = yield
        if not report.passed and call.excinfo is not None and not self._details:
            self._details = self._describe(call.excinfo.value)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Merge the phases of a test, subtests included; anything but a pass stays."""
        expected_failure = hasattr(report, "wasxfail")
        if report.failed:
            if not self._details and isinstance(report.longrepr, str):
                # It passed, but must fail.
                self._details = {"type": "Failed", "message": report.longrepr}
            assertion = self._details.get("type") in ("AssertionError", "Failed")
            self._outcome = "failed" if assertion and report.when == "call" else "error"
        elif report.skipped and self._outcome == "passed":
            self._outcome = "xfailed" if expected_failure else "skipped"
        elif expected_failure and self._outcome == "passed":
            self._outcome = "xpassed"

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Report the test."""
        found = self._settle({"outcome": self._outcome, **self._details})
        self._emit("case", id=nodeid, **found)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Report the end."""
        self._emit("done", exit=int(exitstatus))
