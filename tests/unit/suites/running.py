"""Runs a suite in plain Python, without a sandbox: only for sources in these tests."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from grader.judging.compare import compare_text, compare_value
from grader.model import (
    CallTests,
    ExpressionTests,
    InteractiveTests,
    PytestTests,
    ScriptTests,
    StdinTests,
    TestSuite,
)
from sandbox_images.harness.wire import values

_SCRIPT = """
import json, sys
job = json.load(sys.stdin)
names = {"__name__": "solution"}
passed = []
exec(compile(job["code"], "solution", "exec"), names)
exec(compile(job["setup"], "setup", "exec"), names)
for source in job["cases"]:
    try:
        exec(compile(source, "case", "exec"), names)
    except Exception:
        passed.append(False)
    else:
        passed.append(True)
print(json.dumps(passed))
"""

_CALLS = """
import json, sys
job = json.load(sys.stdin)
sys.path[:] = job["path"]
from sandbox_images.harness.wire import values
names = {"__name__": "solution"}
exec(compile(job["code"], "solution", "exec"), names)
owner, _, method = job["entry_point"].rpartition(".")
found = []
for args in map(values.decode, job["cases"]):
    function = getattr(names[owner](), method) if owner else names[method]
    found.append(values.encode(function(*args)))
print(json.dumps(found))
"""


def run_suite(suite: TestSuite, code: str, work_dir: Path) -> list[bool]:
    """Return whether `code` passes each case; one value for a whole pytest suite."""
    code = suite.prelude + code
    match suite.tests:
        case ScriptTests() as tests:
            job = {
                "code": code,
                "setup": tests.setup,
                "cases": [case.source for case in tests.cases],
            }
            passed: list[bool] = json.loads(_python("-c", _SCRIPT, stdin=json.dumps(job)))
            return passed
        case CallTests() as tests:
            expected = [case.expected for case in tests.cases]
            if tests.asks_reference:
                expected = _returned(tests, suite.prelude + (suite.reference or ""))
            return [
                compare_value(tests.comparison, expected=right, got=value).equal
                for right, value in zip(expected, _returned(tests, code), strict=True)
            ]
        case StdinTests() as tests:
            return [
                compare_text(
                    tests.comparison,
                    expected=case.expected,
                    got=_python("-c", code, stdin=case.stdin).encode(),
                ).equal
                for case in tests.cases
            ]
        case PytestTests() as tests:
            return [_passes_pytest(tests, code, work_dir)]
        case InteractiveTests() | ExpressionTests():
            raise TypeError(suite.tests)  # these need a sandbox: two programs at once, or compilers


def _returned(tests: CallTests, code: str) -> list[Any]:
    calls = [values.encode(list(case.args)) for case in tests.cases]
    job = {"code": code, "entry_point": tests.entry_point, "cases": calls, "path": sys.path}
    found = json.loads(_python("-c", _CALLS, stdin=json.dumps(job)))
    return [values.decode(value) for value in found]


def _python(*arguments: str, stdin: str) -> str:
    done = subprocess.run(
        [sys.executable, "-I", "-S", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def _passes_pytest(tests: PytestTests, code: str, work_dir: Path) -> bool:
    files = {file.path: file.content for file in tests.files}
    for path, content in {**files, tests.solution_path: code.encode()}.items():
        (work_dir / path).parent.mkdir(parents=True, exist_ok=True)
        (work_dir / path).write_bytes(content)
    done = subprocess.run(
        [
            # Without compiled files, which might be of an earlier program of the same size.
            *(sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *("-c", "/dev/null", f"--rootdir={work_dir}"),
            *tests.pytest_args,
            *tests.test_paths,
        ],
        cwd=work_dir,
        # With the plugins of this project's tests, pytest would take three times as long to start.
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.returncode == 0
