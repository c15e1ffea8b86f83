"""A pytest plugin that tells what became of each test."""

import json
import os

import pytest

_TOLD = os.environ.pop("AGREEMENT_TOLD")
_open = open  # as it is before tests patch it


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Tell of a module that cannot be collected."""
    if report.failed:
        _tell({"id": report.nodeid, "passed": False, "detail": report.longreprtext[-300:]})


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Tell a phase of a test, but for those of a passing test that are not its call."""
    if report.passed and report.when != "call":
        return
    if hasattr(report, "wasxfail"):
        return  # what is expected to fail shows nothing, whatever it does
    detail = "" if report.passed else _last_line(report)
    _tell({"id": report.nodeid, "passed": report.passed, "detail": detail})


def _tell(event: dict[str, object]) -> None:
    with _open(_TOLD, "a", encoding="utf-8") as told:
        told.write(json.dumps(event) + "\n")


def _last_line(report: pytest.TestReport) -> str:
    if report.skipped and isinstance(report.longrepr, tuple):
        return f"skipped: {report.longrepr[2]}"
    lines = [line for line in report.longreprtext.splitlines() if line.startswith("E")]
    return (lines[0] if lines else report.longreprtext)[:300]
