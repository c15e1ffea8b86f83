"""Turns the tests of a problem package into a row of a file of problems, for `grader grade`."""

import base64
from typing import Any

from grader import languages
from grader.model import Checker, InteractiveTests, Interactor, StdinTests
from grader.offline.package_parts import ProblemPackage


def row_of(package: ProblemPackage) -> dict[str, Any]:
    """Return the row. Its label is read like any other, and needs the package no more.

    Submissions may be in any language, which the fences of their code blocks tell.

    Raises:
        ValueError: The tests are of another kind than those of a package that was read.
    """
    tests = package.suite.tests
    if not isinstance(tests, StdinTests | InteractiveTests):
        raise ValueError(tests)
    row: dict[str, Any] = {
        "id": package.name,
        "language": languages.ANY,
        "test_cases": [
            {
                "input": case.stdin,
                "output": case.expected,
                "points": case.points,
                "group": case.group,
            }
            for case in tests.cases
        ],
    }
    limits = package.suite.limits
    if limits.cpu_time_s is not None:
        row["time_limit_s"] = limits.cpu_time_s
    if limits.memory_bytes is not None:
        row["memory_limit_bytes"] = limits.memory_bytes
    decider = languages.decider(tests)
    if decider is not None:
        name = "interactor" if isinstance(decider, Interactor) else "checker"
        row[name] = _program(decider)
    return row


def _program(decider: Checker) -> dict[str, Any]:
    return {
        "source": decider.source,
        "kind": decider.kind,
        "language": decider.language,
        "arguments": list(decider.arguments),
        "files": {
            file.path: {"base64": base64.b64encode(file.content).decode()} for file in decider.files
        },
    }
