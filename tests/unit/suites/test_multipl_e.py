"""Rows of MultiPL-E become cases of expressions; a row that cannot be read is refused."""

import pytest

from grader.model import ExpressionCase, ExpressionTests
from grader.model.errors import LabelError, SuiteError
from grader.suites import parse_label
from tests.language_rows import ROWS


def cases_of(tests: object) -> tuple[ExpressionCase, ...]:
    assert isinstance(tests, ExpressionTests)
    return tests.cases


@pytest.mark.parametrize("language", ROWS)
def test_each_comparison_becomes_a_case(language: str) -> None:
    suite = parse_label(ROWS[language].label)
    assert (suite.language, suite.format) == (language, "multipl_e")
    first, second = cases_of(suite.tests)
    assert (first.id, second.id) == ("0", "1")
    assert "2" in first.actual
    assert "4" in first.expected
    assert "4" not in first.actual


@pytest.mark.parametrize(
    ("language", "line", "actual", "expected"),
    [
        pytest.param(
            "javascript",
            'assert.deepEqual(candidate("a),(b", \'"\'),[")", "x),y"]);',
            'candidate("a),(b", \'"\')',
            '[")", "x),y"]',
            id="brackets in texts",
        ),
        pytest.param(
            "cpp",
            'assert(candidate(("a == (b")) == ("c == (d"));',
            'candidate(("a == (b"))',
            '("c == (d")',
            id="operators in texts",
        ),
        pytest.param(
            "ruby",
            'assert_equal("a, b", candidate.call("c, d"))',
            'candidate.call("c, d")',
            '"a, b"',
            id="commas in texts",
        ),
        pytest.param(
            "ruby",
            'assert_equal("a\nb", candidate.call("c\n  d"))',
            'candidate.call("c\n  d")',
            '"a\nb"',
            id="line breaks in texts",
        ),
        pytest.param(
            "perl",
            'if(eq_deeply($candidate->("a\nb"),"c\n\nd")) {',
            '$candidate->("a\nb")',
            '"c\n\nd"',
            id="line breaks on both sides",
        ),
        pytest.param(
            "rust",
            'assert_eq!(candidate(String::from("a\nb")), String::from("c\nd"));',
            'candidate(String::from("a\nb"))',
            'crate::like_for_tests(|| candidate(String::from("a\nb")), String::from("c\nd"))',
            id="line breaks in Rust",
        ),
        pytest.param(
            "php",
            'if (candidate("\\")") !== "x") { throw new Exception("Test failed!"); }',
            'candidate("\\")")',
            '"x"',
            id="escapes",
        ),
    ],
)
def test_line_is_split_where_the_call_ends(
    language: str, line: str, actual: str, expected: str
) -> None:
    label = ROWS[language].label
    head = label["tests"].partition(line[: line.index("(") + 1])[0]
    (case,) = cases_of(parse_label({**label, "tests": f"{head}{line}\n"}).tests)
    assert (case.actual, case.expected) == (actual, expected)


@pytest.mark.parametrize(
    "line",
    [
        "assert.deepEqual(candidate(1);",
        "assert.deepEqual(other(1),2);",
        "assert.deepEqual(candidate(1), 2) || true;",
        'assert.deepEqual(candidate("a',
    ],
)
def test_line_of_another_form_is_a_suite_error(line: str) -> None:
    label = ROWS["javascript"].label
    tests = label["tests"].replace("assert.deepEqual(candidate([]),[]);", line)
    with pytest.raises(SuiteError, match="a line of the tests cannot be read"):
        parse_label({**label, "tests": tests})


@pytest.mark.parametrize("language", ["rkt", "swift", "python", "ml"])
def test_language_without_a_reader_is_refused(language: str) -> None:
    with pytest.raises(LabelError, match="language"):
        parse_label({**ROWS["javascript"].label, "language": language})
