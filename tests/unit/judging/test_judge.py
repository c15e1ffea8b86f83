"""Verdicts of programs, calls and scripts, from every way that a run can end."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.judging.calls import judge_call, judge_calls, read_calls
from grader.judging.cases import find_failure, judge_stdin, not_run
from grader.judging.compare import CheckResult
from grader.judging.report import read_run
from grader.judging.script_run import judge_script
from grader.judging.summary import summarise
from grader.model import (
    CallCase,
    CaseResult,
    Checker,
    Comparator,
    Comparison,
    Evidence,
    MiB,
    ScriptCase,
    ScriptTests,
    StdinCase,
    Usage,
)
from grader.model.verdict import LimitKind, Verdict
from grader.sandbox.contract import RunOutcome
from sandbox_images.harness.wire.values import encode
from tests.outcomes import LIMITS, events, make_outcome

P, F, R, S = Verdict.PASSED, Verdict.FAILED, Verdict.RUNTIME_ERROR, Verdict.SKIPPED
CE, T, M = Verdict.COMPILE_ERROR, Verdict.TIME_LIMIT, Verdict.MEMORY_LIMIT
OUT = Verdict.OUTPUT_LIMIT

LINES = Comparison(comparator=Comparator.LINES)
EQUALITY = Comparison()
ZERO_DIVISION = {
    "type": "ZeroDivisionError",
    "message": "division by zero",
    "traceback": "line 9, in <module>: main()\nline 4, in main: return a / b",
}
NO_MEMORY = {"type": "MemoryError", "message": "", "traceback": ""}
SYNTAX = {"e": "compile_error", "type": "SyntaxError", "message": "invalid syntax", "line": 3}
LOADED, DONE = {"e": "loaded"}, {"e": "done"}


def raised(where: str, trouble: dict[str, str] = ZERO_DIVISION) -> dict[str, Any]:
    return {"e": "exception", "where": where, **trouble}


# ---------------------------------------------------------------- stdin


def stdin(outcome: RunOutcome, expected: str = "3\n", given: str = "1 2\n") -> CaseResult:
    return judge_stdin(StdinCase(id="c", stdin=given, expected=expected), LINES, outcome, LIMITS)


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        pytest.param(make_outcome("3\n"), P, id="right"),
        pytest.param(make_outcome("4\n"), F, id="wrong"),
        pytest.param(make_outcome(""), F, id="silent"),
        pytest.param(make_outcome("3\n", exit_code=1), R, id="right, then exit 1"),
        pytest.param(make_outcome("3\n", exit_signal=11), R, id="right, then segfault"),
        pytest.param(make_outcome("3\n", exit_signal=9), R, id="killed itself"),
        pytest.param(make_outcome("3\n", exit_code=137), R, id="exits like a killed program"),
        pytest.param(make_outcome("3\n", exit_code=None), R, id="no exit status at all"),
        pytest.param(make_outcome("3\n", events(raised("load"))), R, id="exception, exit 0"),
        pytest.param(make_outcome("3", events(raised("load")), exit_code=1), R, id="exception"),
        pytest.param(
            make_outcome("3", events(raised("load", NO_MEMORY)), exit_code=1), M, id="MemoryError"
        ),
        pytest.param(make_outcome(report=events(SYNTAX), exit_code=1), CE, id="does not compile"),
        pytest.param(make_outcome("3", limit_hit=LimitKind.CPU_TIME), T, id="right, then CPU"),
        pytest.param(make_outcome("3", limit_hit=LimitKind.WALL_TIME), T, id="right, then hangs"),
        pytest.param(make_outcome("3", limit_hit=LimitKind.MEMORY), M, id="memory"),
        pytest.param(make_outcome("3", oom_killed=True, exit_signal=9), M, id="OOM killed"),
        pytest.param(make_outcome("3", limit_hit=LimitKind.OUTPUT), OUT, id="output"),
        pytest.param(make_outcome("3", dropped_bytes=1), OUT, id="output was cut"),
        pytest.param(make_outcome("3", limit_hit=LimitKind.PROCESSES), R, id="processes"),
        pytest.param(
            make_outcome("3", events(SYNTAX), limit_hit=LimitKind.CPU_TIME), T, id="limit first"
        ),
        pytest.param(make_outcome("3", b"\xff\0 no JSON\n"), P, id="noise in the report"),
        pytest.param(make_outcome("3", events({"e": "case", "i": 0})), P, id="foreign event"),
    ],
)
def test_program_gets_verdict(outcome: RunOutcome, verdict: Verdict) -> None:
    result = stdin(outcome)
    assert result.verdict is verdict
    assert (result.feedback == "") is (verdict is P)
    assert result.usage == outcome.usage


def test_crash_without_output_fails_if_no_output_is_expected() -> None:
    assert stdin(make_outcome("", exit_code=1), expected="").verdict is R
    assert stdin(make_outcome(""), expected="").verdict is P


@pytest.mark.parametrize(
    ("outcome", "feedback"),
    [
        pytest.param(
            make_outcome("4\n"), r'line 1: expected "3", got "4"; input: "1 2\n"', id="wrong"
        ),
        pytest.param(
            make_outcome(report=events(SYNTAX), exit_code=1),
            "the code does not compile on line 3: SyntaxError: invalid syntax",
            id="compile error",
        ),
        pytest.param(
            make_outcome(report=events(raised("load")), exit_code=1),
            "ZeroDivisionError: division by zero (at line 4, in main: return a / b); "
            r'input: "1 2\n"',
            id="exception",
        ),
        pytest.param(
            make_outcome(exit_code=3, stderr=b"warming up\ncannot go on\n"),
            "the program ended with exit code 3; its last words on standard error: "
            r'"cannot go on"; input: "1 2\n"',
            id="exit code",
        ),
        pytest.param(
            make_outcome(exit_signal=11),
            r'the program was ended by signal SIGSEGV; input: "1 2\n"',
            id="signal",
        ),
        pytest.param(
            make_outcome(limit_hit=LimitKind.CPU_TIME, usage=Usage(cpu_time_s=10.034)),
            r'CPU time limit of 10 s hit (used 10.03 s); input: "1 2\n"',
            id="CPU time",
        ),
        pytest.param(
            make_outcome(
                limit_hit=LimitKind.WALL_TIME, usage=Usage(cpu_time_s=0.02, wall_time_s=20.1)
            ),
            "wall time limit of 20 s hit (used 20.10 s) with 0.02 s of CPU time: "
            r'does it wait for something?; input: "1 2\n"',
            id="wall time",
        ),
        pytest.param(
            make_outcome(limit_hit=LimitKind.MEMORY, usage=Usage(peak_memory_bytes=500 * MiB)),
            r'memory limit of 512 MiB hit (largest process: 500 MiB); input: "1 2\n"',
            id="memory",
        ),
        pytest.param(
            make_outcome(b"x" * 10, limit_hit=LimitKind.OUTPUT, dropped_bytes=2_000_000),
            r'output limit of 1 MiB hit (2000010 bytes printed); input: "1 2\n"',
            id="output",
        ),
        pytest.param(
            make_outcome(limit_hit=LimitKind.PROCESSES),
            r'limit of 64 processes and threads hit; input: "1 2\n"',
            id="processes",
        ),
    ],
)
def test_program_feedback_says_what_and_where(outcome: RunOutcome, feedback: str) -> None:
    assert stdin(outcome).feedback == feedback


def test_checker_decides_if_the_suite_has_one() -> None:
    case = StdinCase(id="c", stdin="", expected="any")
    comparison = Comparison(comparator=Comparator.CHECKER, checker=Checker(source="x"))
    outcome = make_outcome("whatever")
    assert find_failure(case, outcome, LIMITS) is None

    def judge(checked: CheckResult) -> CaseResult:
        return judge_stdin(case, comparison, outcome, LIMITS, checked=checked)

    assert judge(CheckResult(equal=True)).verdict is P
    refused = judge(CheckResult(equal=False, difference="no path"))
    assert (refused.verdict, refused.feedback) == (F, "no path; no input")
    assert judge(CheckResult(equal=False)).feedback.startswith("refused by the suite's checker")
    crashed = make_outcome("whatever", exit_code=1)
    assert find_failure(case, crashed, LIMITS) is not None
    with pytest.raises(ValueError, match="checker"):
        judge_stdin(case, comparison, outcome, LIMITS)


# ---------------------------------------------------------------- call


def call(*lines: Any, expected: Any = (1, 2), **ending: Any) -> CaseResult:
    case = CallCase(id="c", args=(3, "x"), kwargs={"key": [1]}, expected=expected)
    run = read_calls([case], make_outcome(report=events(*lines), **ending))
    return judge_call(case, EQUALITY, run, LIMITS)


def returned(value: Any) -> dict[str, Any]:
    return {"e": "result", "value": encode(value)}


@pytest.mark.parametrize(
    ("lines", "ending", "verdict"),
    [
        pytest.param([returned((1, 2)), DONE], {}, P, id="right"),
        pytest.param([returned((2, 1)), DONE], {}, F, id="wrong"),
        pytest.param([returned([1, 2]), DONE], {}, F, id="other type"),
        pytest.param([returned(None), DONE], {}, F, id="None"),
        pytest.param([], {}, R, id="no report"),
        pytest.param([DONE], {}, R, id="no result"),
        pytest.param([raised("load")], {}, R, id="exception while loading"),
        pytest.param([raised("call")], {}, R, id="exception in the call"),
        pytest.param([raised("call", NO_MEMORY)], {}, M, id="MemoryError"),
        pytest.param([SYNTAX], {}, CE, id="does not compile"),
        pytest.param(
            [{"e": "unencodable", "type": "X", "reason": "an object of type X"}], {}, F, id="object"
        ),
        pytest.param([{"e": "result"}], {}, R, id="result without a value"),
        pytest.param([{"e": "result", "value": {"?": 1}}], {}, F, id="forged value"),
        pytest.param([{"e": "result", "value": {"i": []}}], {}, F, id="malformed value"),
        pytest.param([returned((1, 2)), returned((1, 2))], {}, F, id="two results"),
        pytest.param([returned([0]), returned((1, 2))], {}, F, id="a guess and the answer"),
        pytest.param([returned((1, 2))], {"exit_code": 1}, R, id="right, then exit 1"),
        pytest.param([returned((1, 2))], {"exit_signal": 11}, R, id="right, then segfault"),
        pytest.param([returned((1, 2))], {"limit_hit": LimitKind.WALL_TIME}, T, id="right, hangs"),
        pytest.param([returned((1, 2))], {"oom_killed": True}, M, id="right, OOM"),
        pytest.param([returned((1, 2))], {"dropped_bytes": 5}, OUT, id="right, prints too much"),
        pytest.param([b'{"e":"result","value":' + b"[" * 99_999], {}, F, id="nesting bomb"),
        pytest.param([b'{"e":"result","value":' + b"9" * 9_999 + b"}"], {}, F, id="digit bomb"),
    ],
)
def test_call_gets_verdict(lines: list[Any], ending: dict[str, Any], verdict: Verdict) -> None:
    result = call(*lines, **ending)
    assert result.verdict is verdict
    assert (result.feedback == "") is (verdict is P)


def calls(*lines: Any, count: int = 3, **ending: Any) -> list[CaseResult]:
    """Judge one run of calls that must return 0, 1, 2, ..."""
    cases = [CallCase(id=str(number), args=(number,), expected=number) for number in range(count)]
    run = read_calls(cases, make_outcome(report=events(*lines), **ending))
    return judge_calls(cases, EQUALITY, run, LIMITS)


FORGED = {"e": "result", "value": {"?": 1}}
ARRAY = {"e": "result", "value": [{"n": ["<i8", [1], "AAAAAAAAAAA="]}]}


@pytest.mark.parametrize(
    ("lines", "ending", "verdicts"),
    [
        pytest.param([*map(returned, range(3)), DONE], {}, [P, P, P], id="right"),
        pytest.param([*map(returned, (0, 2, 2)), DONE], {}, [P, F, P], id="one wrong"),
        pytest.param([returned(0), raised("call")], {}, [P, R, S], id="exception"),
        pytest.param([returned(0)], {}, [P, R, S], id="early exit"),
        pytest.param(
            [returned(0), {"e": "unencodable", "type": "X", "reason": "x"}],
            {},
            [P, F, S],
            id="object",
        ),
        pytest.param([raised("load")], {}, [R, S, S], id="exception while loading"),
        pytest.param([SYNTAX], {}, [CE, S, S], id="does not compile"),
        pytest.param(
            [returned(0)], {"limit_hit": LimitKind.CPU_TIME}, [P, T, S], id="second is too slow"
        ),
        pytest.param(
            [*map(returned, range(3))], {"exit_code": 1}, [P, P, R], id="exit 1 at the end"
        ),
        pytest.param([*map(returned, range(4)), DONE], {}, [P, P, F], id="more results than calls"),
        pytest.param([returned(0), FORGED, returned(2), DONE], {}, [P, F, P], id="forged value"),
        pytest.param([returned(0), ARRAY, returned(2), DONE], {}, [P, F, P], id="array"),
        pytest.param([], {}, [R, S, S], id="no report"),
    ],
)
def test_calls_of_one_run_get_verdicts(
    lines: list[Any], ending: dict[str, Any], verdicts: list[Verdict]
) -> None:
    results = calls(*lines, **ending)
    assert [result.verdict for result in results] == verdicts
    assert [result.id for result in results] == ["0", "1", "2"]
    assert all(result.usage is None for result in results)


@pytest.mark.parametrize(
    ("message", "limit"),
    [
        pytest.param("[Errno 28] No space left on device: 'f4096'", "work_files", id="files"),
        pytest.param("[Errno 28] No space left on device", "work_bytes", id="bytes"),
    ],
)
def test_full_work_area_names_the_limit(message: str, limit: str) -> None:
    trouble = {"type": "OSError", "message": message, "traceback": ""}
    assert f"limit {limit}" in call(raised("call", trouble)).feedback
    other = {**trouble, "type": "ValueError"}
    assert "limit" not in call(raised("call", other)).feedback


@pytest.mark.parametrize(
    ("traceback", "needed_by"),
    [
        pytest.param("line 1, in <module>", "the code needs", id="code"),
        pytest.param("", "the tests need", id="tests"),
    ],
)
def test_missing_library_is_named_as_such(traceback: str, needed_by: str) -> None:
    message = "No module named 'bs4'"
    trouble = {"type": "ModuleNotFoundError", "message": message, "traceback": traceback}
    feedback = call(raised("call", trouble)).feedback
    assert f"'bs4': {needed_by} a library that the sandbox does not have" in feedback


def test_missing_report_fails_if_none_is_expected() -> None:
    assert call(DONE, expected=None).verdict is R
    assert call(returned(None), expected=None).verdict is P


@pytest.mark.parametrize(
    ("lines", "feedback"),
    [
        pytest.param(
            [returned((1, 3))],
            'at [1]: expected 2, got 3; arguments: (3, "x", key=[1])',
            id="wrong",
        ),
        pytest.param(
            [raised("call")],
            "ZeroDivisionError: division by zero (at line 4, in main: return a / b); "
            'arguments: (3, "x", key=[1])',
            id="exception",
        ),
        pytest.param(
            [],
            "the program ended with exit code 0 before the call returned; "
            'arguments: (3, "x", key=[1])',
            id="early exit",
        ),
        pytest.param(
            [{"e": "unencodable", "type": "X", "reason": "an object of type X"}],
            "returned something that is not plain data: an object of type X; "
            'arguments: (3, "x", key=[1])',
            id="object",
        ),
    ],
)
def test_call_feedback_says_what_and_where(lines: list[Any], feedback: str) -> None:
    assert call(*lines).feedback == feedback


# ---------------------------------------------------------------- script

SCRIPT = ScriptTests(
    cases=tuple(ScriptCase(id=f"case-{n}", source="assert f()", points=n + 1) for n in range(3))
)


def case_event(i: Any, outcome: str = "passed", **trouble: str) -> dict[str, Any]:
    return {"e": "case", "i": i, "outcome": outcome, **trouble}


ASSERTION = {"type": "AssertionError", "message": "assert f() == 1"}
PASSES = [case_event(n) for n in range(3)]


def script(*lines: Any, stop_early: bool = False, **ending: Any) -> list[Verdict]:
    outcome = make_outcome(report=events(*lines), **ending)
    results = judge_script(SCRIPT, read_run(outcome), LIMITS, stop_early=stop_early)
    assert [r.id for r in results] == ["case-0", "case-1", "case-2"]
    assert [r.points for r in results] == [1, 2, 3]
    assert all(len(r.feedback) <= 500 and (r.feedback == "") is (r.verdict is P) for r in results)
    return [r.verdict for r in results]


@pytest.mark.parametrize(
    ("lines", "ending", "verdicts"),
    [
        pytest.param([LOADED, *PASSES, DONE], {}, [P, P, P], id="all passed"),
        pytest.param(
            [LOADED, PASSES[0], case_event(1, "failed", **ASSERTION), PASSES[2], DONE],
            {},
            [P, F, P],
            id="assertion",
        ),
        pytest.param(
            [LOADED, PASSES[0], case_event(1, "error", **ZERO_DIVISION), PASSES[2], DONE],
            {},
            [P, R, P],
            id="exception",
        ),
        pytest.param(
            [LOADED, PASSES[0], case_event(1, "error", **NO_MEMORY), PASSES[2], DONE],
            {},
            [P, M, P],
            id="MemoryError",
        ),
        pytest.param([SYNTAX], {}, [CE, CE, CE], id="does not compile"),
        pytest.param([raised("load")], {}, [R, R, R], id="exception while loading"),
        pytest.param([LOADED, raised("setup")], {}, [R, R, R], id="exception in the setup"),
        pytest.param([raised("load", NO_MEMORY)], {}, [M, S, S], id="memory while loading"),
        pytest.param([], {}, [R, R, R], id="exit while loading"),
        pytest.param([LOADED, *PASSES[:1]], {}, [P, R, R], id="exit in a case"),
        pytest.param([LOADED, *PASSES], {}, [P, P, R], id="exit after the last case"),
        pytest.param([LOADED, *PASSES, DONE], {"exit_code": 1}, [P, P, R], id="exit code"),
        pytest.param([LOADED, *PASSES, DONE], {"exit_signal": 6}, [P, P, R], id="abort at the end"),
        pytest.param([], {"exit_signal": 11}, [R, R, R], id="segfault while loading"),
        pytest.param(
            [LOADED, *PASSES[:1]], {"limit_hit": LimitKind.CPU_TIME}, [P, T, S], id="time limit"
        ),
        pytest.param([], {"limit_hit": LimitKind.WALL_TIME}, [T, S, S], id="hang while loading"),
        pytest.param([LOADED, *PASSES[:2]], {"oom_killed": True}, [P, P, M], id="OOM"),
        pytest.param(
            [LOADED, *PASSES, DONE], {"limit_hit": LimitKind.WALL_TIME}, [P, P, T], id="late hang"
        ),
        pytest.param([LOADED, *PASSES[:2], DONE], {}, [P, P, F], id="a case is missing"),
        pytest.param([LOADED, DONE], {}, [F, F, F], id="no case"),
        pytest.param([LOADED, *PASSES, PASSES[1], DONE], {}, [P, F, P], id="reported twice"),
        pytest.param(
            [LOADED, *PASSES, case_event(1, "failed"), DONE], {}, [P, F, P], id="contradicted"
        ),
        pytest.param([LOADED, *PASSES, case_event(3), DONE], {}, [F, F, F], id="unknown case"),
        pytest.param([LOADED, *PASSES, case_event("x"), DONE], {}, [F, F, F], id="named case"),
        pytest.param(
            [LOADED, case_event(True), PASSES[0], PASSES[2], DONE], {}, [F, F, F], id="bool"
        ),
        pytest.param([*PASSES, DONE, raised("load")], {}, [R, R, R], id="exception and passes"),
        pytest.param([SYNTAX, *PASSES, DONE], {}, [CE, CE, CE], id="compile error and passes"),
        pytest.param(
            [LOADED, case_event(0, "skipped"), *PASSES[1:], DONE], {}, [S, P, P], id="skip"
        ),
        pytest.param(
            [LOADED, case_event(0, "xfailed"), *PASSES[1:], DONE], {}, [F, P, P], id="xfail"
        ),
        pytest.param([LOADED, case_event(0, "ok"), *PASSES[1:], DONE], {}, [F, P, P], id="unknown"),
        pytest.param(
            [LOADED, {"e": "case", "i": 0}, *PASSES[1:], DONE], {}, [F, P, P], id="no outcome"
        ),
        pytest.param(
            [b"PASSED", b"\x00\xff", b"[]", b"{}", b"1" * 9999], {}, [R, R, R], id="noise"
        ),
    ],
)
def test_script_gets_verdicts(
    lines: list[Any], ending: dict[str, Any], verdicts: list[Verdict]
) -> None:
    assert script(*lines, **ending) == verdicts


def test_script_that_stops_early_skips_the_rest() -> None:
    failed = case_event(1, "failed", **ASSERTION)
    assert script(LOADED, PASSES[0], failed, stop_early=True) == [P, F, S]
    assert script(LOADED, PASSES[0], failed, stop_early=False) == [P, F, R]
    assert script(LOADED, *PASSES[:2], case_event(2, "failed"), stop_early=True) == [P, P, F]


def test_early_exit_is_not_an_early_stop() -> None:
    assert script(LOADED, *PASSES[:1], stop_early=True) == [P, R, R]
    assert script(LOADED, *PASSES, stop_early=True) == [P, P, R]


def test_script_feedback_goes_to_the_case_that_was_running() -> None:
    outcome = make_outcome(report=events(LOADED, PASSES[0]), exit_signal=11)
    assert [r.feedback for r in judge_script(SCRIPT, read_run(outcome), LIMITS)] == [
        "",
        "the program was ended by signal SIGSEGV",
        "the run had ended before this case",
    ]


def test_failed_assertion_is_quoted_on_one_line() -> None:
    failed = case_event(0, "failed", type="AssertionError", message="assert 3 == 4\n +  where 3")
    outcome = make_outcome(report=events(LOADED, failed, *PASSES[1:], DONE))
    assert judge_script(SCRIPT, read_run(outcome), LIMITS)[0].feedback == (
        "AssertionError: assert 3 == 4 + where 3"
    )


# ---------------------------------------------------------------- the submission


def test_summary_takes_the_worst_verdict_and_the_first_case_with_it() -> None:
    cases = [
        CaseResult(id="a", verdict=P),
        CaseResult(id="b", verdict=F, feedback="wrong"),
        CaseResult(id="c", verdict=R, feedback="first crash"),
        CaseResult(id="d", verdict=R, feedback="second crash"),
    ]
    judgement = summarise(cases, [make_outcome(), make_outcome(exit_code=1)])
    assert judgement.verdict is R
    assert judgement.feedback == "1 of 4 cases passed. c: first crash"
    assert judgement.limit_hit is None
    assert judgement.usage == Usage(cpu_time_s=1.0, wall_time_s=1.5, peak_memory_bytes=9 * MiB)


def test_summary_of_passes_says_how_many() -> None:
    judgement = summarise([CaseResult(id="a", verdict=P)] * 2, [make_outcome()])
    assert (judgement.verdict, judgement.feedback) == (P, "2 of 2 cases passed")


def test_summary_of_a_skip_is_a_failure_that_names_it() -> None:
    case = StdinCase(id="b", stdin="", expected="", points=2.0, group="g")
    judgement = summarise(
        [CaseResult(id="a", verdict=P), *not_run([case], LIMITS, out_of_time=False)],
        [make_outcome()],
    )
    assert (judgement.verdict, judgement.feedback) == (F, "1 of 2 cases passed. b: not run")


@pytest.mark.parametrize(
    ("verdict", "ending", "limit"),
    [
        pytest.param(T, {"limit_hit": LimitKind.WALL_TIME}, LimitKind.WALL_TIME, id="wall"),
        pytest.param(T, {"limit_hit": LimitKind.CPU_TIME}, LimitKind.CPU_TIME, id="cpu"),
        pytest.param(M, {"oom_killed": True}, LimitKind.MEMORY, id="OOM"),
        pytest.param(M, {}, LimitKind.MEMORY, id="MemoryError"),
        pytest.param(OUT, {"dropped_bytes": 1}, LimitKind.OUTPUT, id="output"),
        pytest.param(R, {"limit_hit": LimitKind.PROCESSES}, LimitKind.PROCESSES, id="processes"),
        pytest.param(F, {}, None, id="none"),
    ],
)
def test_summary_says_which_limit(
    verdict: Verdict, ending: dict[str, Any], limit: LimitKind | None
) -> None:
    case = CaseResult(id="a", verdict=verdict, feedback="x")
    assert summarise([case], [make_outcome(**ending)]).limit_hit is limit


def test_summary_of_no_case_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        summarise([], [])


def test_summary_of_nothing_measured_has_no_usage() -> None:
    judgement = summarise([CaseResult(id="a", verdict=CE)], [make_outcome(usage=Usage())])
    assert judgement.usage == Usage()


# ---------------------------------------------------------------- hostile reports

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(list("itsSdDFTnfcbB")) | st.text(max_size=2), inner)
    ),
    max_leaves=8,
)
EVENTS = st.dictionaries(
    st.sampled_from(["i", "id", "ids", "value", "outcome", "where", "message", "exit", "line"]),
    JSON,
).flatmap(
    lambda fields: st.sampled_from(
        ["case", "result", "done", "exception", "collected", "collect_error", "compile_error", "?"]
    ).map(lambda name: {"e": name, **fields})
)


@given(st.lists(EVENTS | st.binary(max_size=20), max_size=8))
def test_forged_report_never_raises_and_never_passes_alone(lines: list[Any]) -> None:
    call(*lines, expected="this is not what it holds")
    stdin(make_outcome("3", events(*lines)))
    verdicts = [v is P for v in script(*lines)]
    reported = [line.get("i") for line in lines if isinstance(line, dict)]
    assert all(n in reported for n, passed in enumerate(verdicts) if passed)


@given(st.binary(max_size=300))
def test_any_bytes_as_a_report_prove_nothing(report: bytes) -> None:
    results = judge_script(SCRIPT, read_run(make_outcome(report=report)), LIMITS)
    assert all(r.verdict is R for r in results)


@given(st.text(), st.text(), st.text())
def test_feedback_is_short_and_inert_whatever_was_raised(kind: str, text: str, tb: str) -> None:
    raised_it = {"e": "exception", "where": "call", "type": kind, "message": text, "traceback": tb}
    result = call(raised_it)
    assert result.feedback.isprintable()
    assert len(result.feedback) <= 500


def test_endless_report_is_read_in_bounded_time() -> None:
    flood = events(PASSES[0]) * 200_000 + b"[" * 30_000_000
    start = time.process_time()
    results = judge_script(SCRIPT, read_run(make_outcome(report=flood)), LIMITS)
    assert time.process_time() - start < 4.0
    assert P not in {r.verdict for r in results}


# ---------------------------------------------------------------- evidence


def test_wrong_output_is_shown_beside_its_input_and_what_was_expected() -> None:
    found = stdin(make_outcome("4\n", stderr="debug\n")).evidence
    assert found == Evidence(input="1 2\n", expected="3\n", got="4\n", stderr="debug\n")


def test_right_output_is_not_shown_again() -> None:
    assert stdin(make_outcome("3\n")).evidence == Evidence(input="1 2\n", expected="3\n")


def test_wrong_result_is_shown_as_python_writes_it() -> None:
    result = {"e": "result", "value": encode([1, 2])}
    found = call(LOADED, result, DONE).evidence
    assert found is not None
    assert (found.expected, found.got) == ("(1, 2)", "[1, 2]")


def test_evidence_of_a_flood_is_short() -> None:
    found = stdin(make_outcome("x" * 1_000_000)).evidence
    assert found is not None
    assert found.got is not None
    assert len(found.got) < 2_100
    assert found.cut == ("got",)


def test_script_case_shows_its_statements() -> None:
    tests = ScriptTests(cases=(ScriptCase(id="0", source="assert f() == 1"),))
    failed = {"e": "case", "i": 0, "outcome": "error", **ZERO_DIVISION}
    run = read_run(make_outcome(report=events(LOADED, failed, DONE)))
    (result,) = judge_script(tests, run, LIMITS)
    assert result.evidence is not None
    assert result.evidence.input == "assert f() == 1"
    assert result.evidence.traceback == ZERO_DIVISION["traceback"]
