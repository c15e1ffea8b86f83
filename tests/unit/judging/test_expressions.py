"""Values that a program shows: the lines that count, and the result of each case."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.judging.ending import Finding
from grader.judging.expressions import is_shown_again, judge_expressions, shown_values
from grader.model import ExpressionCase, Usage, Verdict
from grader.sandbox.contract import RunOutcome

CASES = tuple(ExpressionCase(id=str(n), actual=f"f({n})", expected=str(n)) for n in range(3))
OUTCOME = RunOutcome(
    index=0,
    exit_code=0,
    exit_signal=None,
    stdout=b"",
    stderr=b"",
    dropped_bytes=0,
    report=b"",
    usage=Usage(),
)


@pytest.mark.parametrize(
    ("stdout", "values"),
    [
        pytest.param(b"\nmark 0 a\n\nmark 1 b\n\nmark 2 c\n", ["a", "b", "c"], id="all"),
        pytest.param(b"hello\nmark 0 a\nmore\nmark 1 b\n", ["a", "b"], id="between other output"),
        pytest.param(b"mark 0 a\nmark 2 c\n", ["a", None, "c"], id="one is missing"),
        pytest.param(b"mark 0 a\nmark 0 b\nmark 1 c\n", ["a", "c"], id="the first counts"),
        pytest.param(b"mark 1 b\nmark 0 a\n", [None, "b"], id="in another order"),
        pytest.param(b"x mark 0 a\n", [], id="inside a line"),
        pytest.param(b"mark 0 a\nmark 1 b\nmark 2 c\nmark 3 d\n", ["a", "b", "c"], id="too many"),
        pytest.param(b"mark 0 \xff\n", ["\N{REPLACEMENT CHARACTER}"], id="no text"),
        pytest.param(b"mark 99999999999999999999 a\n", [], id="huge number"),
        pytest.param(b"", [], id="nothing"),
    ],
)
def test_values_are_read_in_order(stdout: bytes, values: list[str | None]) -> None:
    assert shown_values(stdout, "mark", 3) == values


def test_values_of_a_case_that_repeats_are_taken_together() -> None:
    stdout = b"mark 0 a\nmark 1 b\nmark 0 c\nmark 1 d\n"
    assert shown_values(stdout, "mark", 3, {0}) == ["a\nc", "b"]
    assert is_shown_again(stdout, "mark", {0})
    assert not is_shown_again(stdout[:-9], "mark", {0})


@given(st.binary(), st.integers(min_value=0, max_value=5))
def test_any_output_gives_no_more_values_than_expressions(stdout: bytes, count: int) -> None:
    assert len(shown_values(stdout, "mark", count, {0, 1})) <= count


CRASH = Finding(verdict=Verdict.RUNTIME_ERROR, feedback="on purpose")
SLOW = Finding(verdict=Verdict.TIME_LIMIT, feedback="too slow")


@pytest.mark.parametrize(
    ("got", "fault", "verdicts"),
    [
        pytest.param(["0", "1", "2"], None, ["passed"] * 3, id="right"),
        pytest.param(["0", "x", "2"], None, ["passed", "failed", "passed"], id="wrong"),
        pytest.param(["0"], CRASH, ["passed", "runtime_error", "skipped"], id="crash"),
        pytest.param(["0"], None, ["passed", "runtime_error", "skipped"], id="exit code 0"),
        pytest.param(["0", "1", "2"], CRASH, ["passed", "passed", "runtime_error"], id="end"),
        pytest.param(
            [None, "1", "2"], None, ["runtime_error", "passed", "passed"], id="test ended"
        ),
        pytest.param(["0", None, "2"], CRASH, ["passed", "runtime_error", "passed"], id="told"),
        pytest.param([None, "1"], SLOW, ["runtime_error", "passed", "time_limit"], id="then slow"),
        pytest.param([], CRASH, ["runtime_error", "skipped", "skipped"], id="at once"),
    ],
)
def test_each_case_gets_its_verdict(
    got: list[str | None], fault: Finding | None, verdicts: list[str]
) -> None:
    results = judge_expressions(CASES, ["0", "1", "2"], got, replace(OUTCOME), fault)
    assert [str(result.verdict) for result in results] == verdicts
    assert [result.id for result in results] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("relation", "got", "verdict"),
    [
        pytest.param("<", "0.5", "passed", id="less"),
        pytest.param("<", "1.0", "failed", id="equal is not less"),
        pytest.param("<=", '"1.0"', "passed", id="Perl's number"),
        pytest.param(">", "1e3", "passed", id="more"),
        pytest.param(">=", "nan", "failed", id="not a number"),
        pytest.param("!=", "2", "passed", id="other"),
        pytest.param("!=", "1", "failed", id="the same"),
        pytest.param("<", "0\n0", "failed", id="more values"),
    ],
)
def test_value_must_be_related_as_the_case_says(relation: str, got: str, verdict: str) -> None:
    case = ExpressionCase(id="0", actual="f()", expected="1", relation=relation)
    (result,) = judge_expressions([case], ["1"], [got], OUTCOME, None)
    assert str(result.verdict) == verdict


@given(st.text(alphabet="0.5-e []#\0", max_size=8), st.text(alphabet="0.5-e []#\0", max_size=8))
def test_any_text_is_compared_with_a_number_within_a_tolerance(expected: str, got: str) -> None:
    case = replace(CASES[0], within=0.5)
    (same,) = judge_expressions([case], [expected], [expected], OUTCOME, None)
    (other,) = judge_expressions([case], [expected], [got], OUTCOME, None)
    assert same.verdict is Verdict.PASSED
    assert other.verdict in (Verdict.PASSED, Verdict.FAILED)


@pytest.mark.parametrize("got", ["", "0.5-2", "0.5e", "nan", "inf", "1e999"])
def test_text_with_other_numbers_than_expected_has_failed(got: str) -> None:
    case = replace(CASES[0], within=0.25)
    (result,) = judge_expressions([case], ["0.5"], [got], OUTCOME, None)
    assert result.verdict is Verdict.FAILED
