"""pytest inside this very process; for `grader.sandbox.fake` only."""

import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest


def run_pytest(
    root: Path,
    *,
    args: list[str],
    stop_early: bool,
    emit: Callable[..., None],
    describe: Callable[[BaseException], dict[str, str]],
) -> None:
    """Collect and run tests below `root`, and report as the harness in a sandbox does."""
    options = [f"--rootdir={root}", f"-c{os.devnull}", "--capture=no"]
    options += [f"-pno:{name}" for name in ("cacheprovider", "faulthandler", "terminal")]
    if stop_early:
        options.append("--maxfail=1")
    autoload = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"
    os.environ[autoload] = "1"
    pytest.main([*options, *args], plugins=[_Recorder(emit, describe)])


class _Recorder:
    """Reports what was collected and what became of each test."""

    def __init__(
        self, emit: Callable[..., None], describe: Callable[[BaseException], dict[str, str]]
    ) -> None:
        self._emit = emit
        self._describe = describe
        self._outcome = ""
        self._details: dict[str, str] = {}

    def pytest_exception_interact(
        self, node: pytest.Item | pytest.Collector, call: pytest.CallInfo[Any]
    ) -> None:
        if isinstance(node, pytest.Collector) and call.excinfo is not None:
            error = call.excinfo.value
            details = self._describe(error.__cause__ or error)
            self._emit("collect_error", path=node.nodeid, **details)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._emit("collected", ids=[item.nodeid for item in session.items])

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._outcome, self._details = "passed", {}
        self._emit("start", id=nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.failed and call.excinfo is not None and not self._details:
            self._details = self._describe(call.excinfo.value)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        expected_failure = hasattr(report, "wasxfail")
        if report.failed:
            is_assertion = self._details.get("type") in ("AssertionError", "Failed")
            self._outcome = "failed" if is_assertion and report.when == "call" else "error"
        elif report.skipped and self._outcome == "passed":
            self._outcome = "xfailed" if expected_failure else "skipped"
        elif expected_failure and self._outcome == "passed":
            self._outcome = "xpassed"

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._emit("case", id=nodeid, outcome=self._outcome, **self._details)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        self._emit("done", exit=int(exitstatus))
