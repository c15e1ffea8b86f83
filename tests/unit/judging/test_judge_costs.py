"""Any report of a submission costs the grader's own process little time and memory."""

import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.judging.calls import judge_call, read_calls
from grader.judging.compare import count_values
from grader.judging.report import read_report
from grader.model import CallCase, CaseResult, Comparison, Limits
from grader.model.verdict import Verdict
from sandbox_images.harness.wire.values import encode
from tests.outcomes import make_outcome

REPORT_BYTES = 16 * 1024 * 1024
CPU_TIME_S = 0.6
"""For a report of 16 MiB: some 0.1 s, and a machine may be slow. Reading it all takes 1 to 11 s."""


def call(report: bytes, expected: Any = (1, 2)) -> CaseResult:
    case = CallCase(id="c", expected=expected)
    run = read_calls([case], make_outcome(report=report))
    return judge_call(case, Comparison(), run, Limits())


def report_of(value: bytes) -> bytes:
    return b'{"e": "result", "value": ' + value + b'}\n{"e": "done"}\n'


def filled(unit: bytes, before: bytes = b"[", after: bytes = b"0]") -> bytes:
    """Return `unit` repeated as often as it fits into one report."""
    return before + unit * ((REPORT_BYTES - 100) // len(unit)) + after


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: report_of(filled(b"[],")), id="empty lists"),
        pytest.param(lambda: report_of(filled(b"1,")), id="integers"),
        pytest.param(lambda: report_of(filled(b"1e5,")), id="floats"),
        pytest.param(lambda: report_of(filled(b'"",')), id="texts"),
        pytest.param(lambda: report_of(filled(b'",[",')), id="texts of brackets"),
        pytest.param(lambda: report_of(filled(b'"\\",[\\\\",')), id="texts of escapes"),
        pytest.param(lambda: report_of(filled(b'{"t": []},')), id="tuples"),
        pytest.param(lambda: report_of(filled(b"[1, 2],", b'{"d": [', b"[1, 2]]}")), id="a dict"),
        pytest.param(lambda: report_of(filled(b'{"T": ["date", "2020-01-01"]},')), id="dates"),
        pytest.param(lambda: report_of(filled(b'{"D": "1"},')), id="decimals"),
        pytest.param(lambda: report_of(filled(b"9" * 4299 + b",")), id="long integers"),
        pytest.param(lambda: report_of(filled(b"9", b"", b"")), id="one long integer"),
        pytest.param(lambda: report_of(filled(b"9", b"1.", b"")), id="one long float"),
        pytest.param(lambda: report_of(filled(b"[", b"", b"")), id="nested"),
        pytest.param(lambda: report_of(filled(b'{"t": [', b"", b"")), id="nested tuples"),
        pytest.param(lambda: report_of(filled(b",[", b'"', b'"')), id="one text of brackets"),
        pytest.param(lambda: report_of(filled(b'\\"', b'"', b'"')), id="one text of quotes"),
        pytest.param(
            lambda: filled(b'{"e": "result", "value": [[],[],[]]}\n', b"", b""), id="results"
        ),
        pytest.param(lambda: filled(b'{"e": "case", "i": 0, "a": [[]]}\n', b"", b""), id="cases"),
        pytest.param(lambda: filled(b"[],", b'{"e": "x", "y": [', b"[]]}"), id="another event"),
        pytest.param(
            lambda: filled(b'"a",', b'{"e": "collected", "ids": [', b'""]}'), id="collected"
        ),
        pytest.param(lambda: filled(b"[", b"", b""), id="no event"),
    ],
)
def test_large_report_costs_little_and_does_not_pass(make: Callable[[], bytes]) -> None:
    report = make()
    started_s = time.process_time()
    result = call(report)
    assert time.process_time() - started_s < CPU_TIME_S
    assert result.verdict in (Verdict.FAILED, Verdict.RUNTIME_ERROR)


def test_feedback_says_that_there_are_too_many_values() -> None:
    result = call(report_of(b"[" + b"0," * 50_000 + b"0]"), expected=[0] * 5000)
    assert result.verdict is Verdict.FAILED
    assert "far more values than the expected answer has" in result.feedback


LARGE = 100_000


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: list(range(LARGE)), id="integers"),
        pytest.param(lambda: [(n, str(n)) for n in range(LARGE)], id="pairs"),
        pytest.param(lambda: {n: [n] for n in range(LARGE)}, id="a dict"),
        pytest.param(lambda: ["[,{" * 5] * LARGE, id="texts of brackets"),
        pytest.param(lambda: "[" * 5_000_000, id="one text of brackets"),
        pytest.param(lambda: 10**300_000, id="one integer"),
        pytest.param(lambda: "1" * 5000, id="a text of digits"),
        pytest.param(lambda: [2.5 * n for n in range(LARGE)], id="floats"),
        pytest.param(lambda: set(range(LARGE)), id="a set"),
    ],
)
def test_large_right_value_passes(make: Callable[[], Any]) -> None:
    value = make()
    report = report_of(json.dumps(encode(value)).encode())
    assert call(report, expected=value).verdict is Verdict.PASSED


def test_large_right_alternative_passes() -> None:
    value = list(range(LARGE))
    case = CallCase(id="c", expected=None, alternatives=(1, value))
    outcome = make_outcome(report=report_of(json.dumps(value).encode()))
    run = read_calls([case], outcome)
    assert judge_call(case, Comparison(), run, Limits()).verdict is Verdict.PASSED


leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(',[{"\\')
hashable = st.integers() | st.text(max_size=3)
plain = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(hashable, inner)
        | st.frozensets(hashable)
    ),
)


@settings(max_examples=20)
@given(plain)
def test_right_value_of_any_form_and_size_is_read(value: Any) -> None:
    many = [value] * (6_000 // count_values(value) + 1)
    report = report_of(json.dumps(encode(many)).encode())
    assert not read_report(report, max_nodes=4 * count_values(many)).oversized
    assert call(report, expected=many).verdict is Verdict.PASSED


SHAPES = [[10**9, 0], [10**15, 0], [0, 10**9], [1000, 1000, 1000, 0], [1] * 100, [2] * 10**5, "x"]


@pytest.mark.parametrize("with_numpy", [False, True], ids=["without numpy", "with numpy"])
def test_array_has_at_most_the_size_of_the_expected_value(with_numpy: bool) -> None:
    if with_numpy and importlib.util.find_spec("numpy") is None:
        pytest.skip("numpy is not installed")
    reports = [report_of(json.dumps({"n": ["<i4", shape, ""]}).encode()) for shape in SHAPES]
    reports += [
        report_of(json.dumps({"n": [dtype, [0, 5], ""]}).encode())
        for dtype in ("999999999i4", "<U0", "(9999,9999)i4", "i4,i4", "O", "<V8", "")
    ]
    source = f"""
import resource, sys
{"import numpy" if with_numpy else ""}
from tests.unit.judging.test_judge_costs import call
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for report in {reports!r}:
    print(call(report).verdict)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024)
"""
    done = subprocess.run(
        [sys.executable, "-"], input=source, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["failed"] * len(reports) + ["True"]
