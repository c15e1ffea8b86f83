"""Verdicts of pytest runs: what counts as evidence, and the verdicts without it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.judging.pytest_run import judge_pytest
from grader.judging.report import read_run
from grader.model import CaseResult, PytestTests, SuiteFile
from grader.model.verdict import LimitKind, Verdict
from grader.source.pytest_sources import source_of
from grader.source.pytest_tests import find_tests
from tests.outcomes import LIMITS, events, make_outcome

P, F, R, S = Verdict.PASSED, Verdict.FAILED, Verdict.RUNTIME_ERROR, Verdict.SKIPPED
CE, T, M = Verdict.COMPILE_ERROR, Verdict.TIME_LIMIT, Verdict.MEMORY_LIMIT

SOURCE = b"""
import pytest
from solution import *

@pytest.mark.parametrize("n", [1, 2])
def test_a(n):
    if n >= 2:
        pytest.skip("too slow")

def test_b(): ...

@pytest.mark.skip
def test_c(): ...
"""
SUITE = PytestTests(files=(SuiteFile(path="test_x.py", content=SOURCE),), test_paths=("test_x.py",))
A1, A2, B, C = (
    "test_x.py::test_a[1]",
    "test_x.py::test_a[2]",
    "test_x.py::test_b",
    "test_x.py::test_c",
)
A3 = "test_x.py::test_a[3]"
BASE_A = "test_x.py::test_a"

DONE = {"e": "done", "exit": 0}
FAILED_DONE = {"e": "done", "exit": 1}


def collected(*ids: str) -> dict[str, Any]:
    return {"e": "collected", "ids": list(ids)}


def case(id: str, outcome: str = "passed", **trouble: str) -> dict[str, Any]:
    return {"e": "case", "id": id, "outcome": outcome, **trouble}


def started(id: str) -> dict[str, Any]:
    return {"e": "start", "id": id}


def collect_error(path: str = "test_x.py", **trouble: str) -> dict[str, Any]:
    return {"e": "collect_error", "path": path, **trouble}


ALL = collected(A1, A2, B, C)
PASSES = [case(A1), case(A2), case(B), case(C, "skipped", message="unconditional skip")]


def judge(
    *lines: Any, suite: PytestTests = SUITE, stop_early: bool = False, **ending: Any
) -> tuple[CaseResult, ...]:
    outcome = make_outcome(report=events(*lines), **ending)
    results = judge_pytest(
        suite, read_run(outcome), LIMITS, find_tests(suite), stop_early=stop_early
    )
    assert all(len(r.feedback) <= 500 and (r.feedback == "") is (r.verdict is P) for r in results)
    return results


def verdicts(*lines: Any, **arguments: Any) -> dict[str, Verdict]:
    return {r.id: r.verdict for r in judge(*lines, **arguments)}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param([ALL, *PASSES, DONE], {A1: P, A2: P, B: P}, id="all passed"),
        pytest.param(
            [
                ALL,
                case(A1),
                case(A2, "failed", type="AssertionError", message="no"),
                case(B),
                FAILED_DONE,
            ],
            {A1: P, A2: F, B: P},
            id="assertion",
        ),
        pytest.param(
            [
                ALL,
                case(A1),
                case(A2),
                case(B, "error", type="KeyError", message="'k'"),
                FAILED_DONE,
            ],
            {A1: P, A2: P, B: R},
            id="exception",
        ),
        pytest.param(
            [ALL, case(A1), case(A2), case(B, "error", type="MemoryError"), FAILED_DONE],
            {A1: P, A2: P, B: M},
            id="MemoryError",
        ),
        pytest.param([ALL, *PASSES[:3], DONE], {A1: P, A2: P, B: P}, id="waived one is silent"),
        pytest.param(
            [ALL, case(A1), case(A2, "skipped", message="Skipped: too slow"), case(B), DONE],
            {A1: P, B: P},
            id="the suite's own skip",
        ),
        pytest.param(
            [
                collected(A1, A2, A3, B),
                case(A1),
                case(A2, "skipped", message="Skipped: too slow"),
                case(A3, "skipped", message="Skipped: too slow"),
                case(B),
                DONE,
            ],
            {A1: P, A2: S, A3: S, B: P},
            id="more skips than the suite's own",
        ),
        pytest.param(
            [ALL, case(A1), case(A2, "skipped", message="Skipped: made up"), case(B), DONE],
            {A1: P, A2: S, B: P},
            id="another skip",
        ),
        pytest.param(
            [
                ALL,
                case(A1, "skipped", message="too slow"),
                case(A2, "skipped", message="too slow"),
                case(B),
                DONE,
            ],
            {A1: S, A2: S, B: P},
            id="nothing but skips",
        ),
        pytest.param(
            [ALL, case(A1), case(A2), case(B, "skipped", message="too slow"), DONE],
            {A1: P, A2: P, B: S},
            id="a skip that the test does not have",
        ),
        pytest.param(
            [ALL, case(A1, "xfailed"), case(A2, "xpassed"), case(B), DONE],
            {A1: F, A2: F, B: P},
            id="xfail",
        ),
        pytest.param(
            [collected(A1, B), case(A1), case(B), DONE],
            {A1: P, B: P, f"{BASE_A}[1 of 2]": F},
            id="fewer parameters",
        ),
        pytest.param(
            [collected(BASE_A, B), case(BASE_A), case(B), DONE],
            {BASE_A: P, B: P, f"{BASE_A}[1 of 2]": F},
            id="no parameters",
        ),
        pytest.param(
            [collected(B), case(B), DONE], {B: P, BASE_A: F}, id="a test was not collected"
        ),
        pytest.param([collected(), DONE], {BASE_A: F, B: F}, id="nothing was collected"),
        pytest.param([DONE], {BASE_A: F, B: F}, id="nothing but an end"),
        pytest.param([], {BASE_A: R, B: R}, id="nothing at all"),
        pytest.param(
            [{"e": "done", "exit": 3}], {BASE_A: R, B: R}, id="SystemExit while collecting"
        ),
        pytest.param(
            [ALL, case(A1), {"e": "done", "exit": 2}], {A1: P, A2: R, B: R}, id="interrupted"
        ),
        pytest.param([ALL, *PASSES], {A1: P, A2: P, B: R}, id="no end"),
        pytest.param(
            [ALL, *PASSES[:3], FAILED_DONE], {A1: P, A2: P, B: R}, id="a status of something failed"
        ),
        pytest.param([ALL, case(A1), case(A2), DONE], {A1: P, A2: P, B: F}, id="one did not run"),
        pytest.param([ALL, *PASSES, case(B), DONE], {A1: P, A2: P, B: F}, id="reported twice"),
        pytest.param([*PASSES[:3], DONE], {BASE_A: F, B: F}, id="passes without a collection"),
        pytest.param(
            [case(BASE_A), case(B), DONE], {BASE_A: F, B: F}, id="expected ids, never collected"
        ),
        pytest.param(
            [ALL, *PASSES, case("test_x.py::test_z"), DONE], {A1: F, A2: F, B: F}, id="uncollected"
        ),
        pytest.param(
            [collected(A1, A2, B, "conftest.py::test_y"), *PASSES, DONE],
            {A1: F, A2: F, B: F},
            id="collected elsewhere",
        ),
        pytest.param(
            [
                collected(A1, A2, B, "test_x.py::test_own"),
                *PASSES[:3],
                case("test_x.py::test_own", "failed"),
                FAILED_DONE,
            ],
            {A1: P, A2: P, B: P},
            id="the submission's own test does not count",
        ),
        pytest.param(
            [{"e": "compile_error", "type": "SyntaxError", "message": "x", "line": 1}],
            {BASE_A: CE, B: CE},
            id="does not compile",
        ),
        pytest.param(
            [{"e": "compile_error"}, ALL, *PASSES, DONE],
            {A1: CE, A2: CE, B: CE},
            id="does not compile, yet passes",
        ),
        pytest.param(
            [
                collect_error(type="ValueError", message="bad"),
                collected(),
                {"e": "done", "exit": 2},
            ],
            {BASE_A: R, B: R},
            id="import raised",
        ),
        pytest.param(
            [collect_error(type="MemoryError"), {"e": "done", "exit": 2}],
            {BASE_A: M, B: M},
            id="import ran out of memory",
        ),
        pytest.param(
            [
                collect_error("test_x.py::TestQ", type="ValueError"),
                collected(A1, A2, B),
                {"e": "done", "exit": 2},
            ],
            {A1: R, A2: R, B: R},
            id="a class of the submission's was not collected",
        ),
    ],
)
def test_run_gets_verdicts(lines: list[Any], expected: dict[str, Verdict]) -> None:
    assert verdicts(*lines) == expected


@pytest.mark.parametrize(
    ("lines", "ending", "expected"),
    [
        pytest.param(
            [ALL, started(A1), case(A1), started(A2)],
            {"limit_hit": LimitKind.CPU_TIME},
            {A1: P, A2: T, B: S},
            id="time limit",
        ),
        pytest.param(
            [ALL, started(B)],
            {"limit_hit": LimitKind.WALL_TIME},
            {A1: S, A2: S, B: T},
            id="the one that started",
        ),
        pytest.param(
            [ALL, started("test_x.py::forged")],
            {"limit_hit": LimitKind.WALL_TIME},
            {A1: T, A2: S, B: S},
            id="one that does not exist started",
        ),
        pytest.param([], {"limit_hit": LimitKind.CPU_TIME}, {BASE_A: T, B: S}, id="import hangs"),
        pytest.param(
            [ALL, case(A1)], {"exit_signal": 9, "oom_killed": True}, {A1: P, A2: M, B: S}, id="OOM"
        ),
        pytest.param(
            [ALL, started(A1), case(A1), started(A2)],
            {"exit_signal": 11},
            {A1: P, A2: R, B: R},
            id="segfault",
        ),
        pytest.param([ALL, *PASSES, DONE], {"exit_code": 1}, {A1: P, A2: P, B: R}, id="exit code"),
    ],
)
def test_run_that_was_cut_off_gets_verdicts(
    lines: list[Any], ending: dict[str, Any], expected: dict[str, Verdict]
) -> None:
    assert verdicts(*lines, **ending) == expected


def test_run_that_stops_early_skips_the_rest() -> None:
    lines = [ALL, case(A1, "failed"), FAILED_DONE]
    assert verdicts(*lines, stop_early=True) == {A1: F, A2: S, B: S}
    assert verdicts(*lines, stop_early=False) == {A1: F, A2: F, B: F}


def test_missing_name_is_explained() -> None:
    results = judge(
        collect_error(
            type="ImportError",
            message="cannot import name 'add' from 'solution' (/w/solution.py)",
        ),
        {"e": "done", "exit": 2},
    )
    assert results[0].feedback == (
        'the tests need "add", which the code does not define (ImportError: '
        "cannot import name 'add' from 'solution' (/w/solution.py))"
    )


def test_module_that_cannot_be_collected_keeps_the_others_from_running() -> None:
    suite = PytestTests(
        files=(
            SuiteFile(path="test_x.py", content=b"def test_x(): ..."),
            SuiteFile(path="sub/test_y.py", content=b"def test_y(): ..."),
        ),
        test_paths=("test_x.py", "sub/test_y.py"),
    )
    lines = [
        collect_error("test_x.py", type="NameError", message="name 'q' is not defined"),
        collected("sub/test_y.py::test_y"),
        {"e": "done", "exit": 2},
    ]
    assert verdicts(*lines, suite=suite) == {"sub/test_y.py::test_y": S, "test_x.py::test_x": R}


MADE = PytestTests(
    files=(SuiteFile(path="test_m.py", content=b"from helpers import *"),),
    test_paths=("test_m.py",),
)


def test_tests_made_at_run_time_count_as_collected() -> None:
    one, two = "test_m.py::test_1", "test_m.py::test_2"
    lines = [collected(one, two), case(one), case(two, "failed"), FAILED_DONE]
    assert verdicts(*lines, suite=MADE) == {one: P, two: F}


def test_tests_that_a_class_is_given_at_run_time_count_as_collected() -> None:
    suite = PytestTests(
        files=(SuiteFile(path="test_m.py", content=b"class TestA:\n    def test_1(self): ..."),),
        test_paths=("test_m.py",),
    )
    shown, given = "test_m.py::TestA::test_1", "test_m.py::TestA::test_2"
    other = "test_m.py::test_of_the_submission"
    lines = [collected(shown, given, other), case(shown), case(given, "failed"), case(other)]
    assert verdicts(*lines, FAILED_DONE, suite=suite) == {shown: P, given: F}


def test_suite_without_the_tests_that_it_makes_at_run_time_does_not_pass() -> None:
    assert verdicts(collected(), {"e": "done", "exit": 5}, suite=MADE) == {"test_m.py": F}
    assert verdicts(suite=MADE) == {"test_m.py": R}


def test_collect_error_of_an_unexpected_module_is_reported() -> None:
    error = collect_error("test_x.py::TestQ", type="ValueError", message="bad")
    results = judge(error, ALL, {"e": "done", "exit": 2})
    assert results[0].feedback == "ValueError: bad"


def test_hostile_ids_are_shown_inert_and_short() -> None:
    wild = f"test_x.py::test_a[\x1b[2J\u202e{'x' * 1000}]"
    ids = [r.id for r in judge(collected(wild, B), case(wild), case(B), DONE)]
    assert all(id.isprintable() and len(id) <= 300 for id in ids)
    assert ids[0].startswith(r"test_x.py::test_a[\x1b[2J\u202exxx")


LINES = st.one_of(
    st.builds(
        case,
        st.sampled_from([A1, A2, B, C, BASE_A, "z"]),
        st.sampled_from(["passed", "failed", "skipped", "?"]),
    ),
    st.builds(collected, st.sampled_from([A1, A2, B, "z"]), st.sampled_from([A1, B, C])),
    st.builds(collect_error),
    st.sampled_from([DONE, FAILED_DONE, {"e": "collected", "ids": [1, None, B]}, b"\xff"]),
)


@given(st.lists(LINES, max_size=8))
def test_pass_needs_collection_one_report_and_an_end(lines: list[Any]) -> None:
    results = judge(*lines)
    ids = {r.id.partition("[")[0] for r in results}
    # C is expected to fail. It counts only if pytest fails it, since it passed.
    assert ids - {C} == {BASE_A, B}
    assert C not in ids or all(r.verdict is not P for r in results if r.id == C)
    if all(r.verdict is P for r in results):
        reports = [line["id"] for line in lines if isinstance(line, dict) and line["e"] == "case"]
        listed = [id for line in lines if isinstance(line, dict) for id in line.get("ids", ())]
        assert DONE in lines or FAILED_DONE in lines
        assert all(reports.count(r.id) == 1 and r.id in listed for r in results)


def test_failed_test_shows_its_source_and_traceback() -> None:
    lines = [
        collected(A1, A2, B),
        case(A1, "failed", type="AssertionError", traceback="line 3, in f"),
        case(A2),
        case(B, "failed", type="AssertionError"),
        FAILED_DONE,
    ]
    first, second, third = judge(*lines)
    assert first.evidence is not None
    assert first.evidence.input == (
        '@pytest.mark.parametrize("n", [1, 2])\ndef test_a(n):\n    if n >= 2:\n'
        '        pytest.skip("too slow")\n'
    )
    assert first.evidence.traceback == "line 3, in f"
    assert second.evidence is None
    assert third.evidence is not None
    assert third.evidence.input == "def test_b(): ...\n"


def test_source_of_a_method_is_found_by_its_class() -> None:
    content = b"class TestA:\n    def test_m(self):\n        assert 1\n"
    suite = PytestTests(files=(SuiteFile(path="t.py", content=content),), test_paths=("t.py",))
    assert source_of(suite, "t.py::TestA::test_m[x::y]") == (
        "    def test_m(self):\n        assert 1\n"
    )
    assert source_of(suite, "t.py::TestA::test_other") == ""
    assert source_of(suite, "u.py::test_m") == ""
