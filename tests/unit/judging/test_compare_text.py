"""What each comparator of printed output accepts, and what it must never accept."""

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.judging.compare import CheckResult, compare_text, needs_checker
from grader.model import Checker, Comparator, Comparison
from grader.suites.cases import TOKENS_OR_NUMBERS

FOR_VALUES = {Comparator.ALLCLOSE, Comparator.SET, Comparator.FOUND, Comparator.CHECKER}
EXACT, LINES, TOKENS, FLOATS, DECIMALS, UNORDERED = (
    Comparison(comparator=comparator) for comparator in Comparator if comparator not in FOR_VALUES
)
ALL = [EXACT, LINES, TOKENS, FLOATS, DECIMALS, UNORDERED]
CONTEST = TOKENS_OR_NUMBERS

MIB = 1024 * 1024
MOST_S = 4.0
"""How long comparing 10 MB may take on a busy machine; a quadratic pass would take hours."""


def compare(comparison: Comparison, expected: str, got: str | bytes) -> CheckResult:
    data = got if isinstance(got, bytes) else got.encode("utf-8", "surrogatepass")
    return compare_text(comparison, expected=expected, got=data)


@pytest.mark.parametrize(
    ("comparison", "expected", "got", "equal"),
    [
        pytest.param(EXACT, "a\n", "a\n", True, id="exact same"),
        pytest.param(EXACT, "a\n", "a", False, id="exact last newline"),
        pytest.param(EXACT, "a", "a ", False, id="exact trailing blank"),
        pytest.param(EXACT, "", "", True, id="exact nothing"),
        pytest.param(EXACT, "", "\n", False, id="exact newline for nothing"),
        pytest.param(
            EXACT, "\ufffd", b"\xff", False, id="exact undecodable differs from replacement"
        ),
        pytest.param(LINES, "1 2\n3\n", "1 2\n3", True, id="lines last newline"),
        pytest.param(LINES, "1 2\n3", "1 2 \t\n3\r\n\n \n", True, id="lines trailing blanks"),
        pytest.param(LINES, "1\r\n2\r\n", "1\n2\n", True, id="lines CRLF"),
        pytest.param(LINES, "", " \n\n", True, id="lines only blanks"),
        pytest.param(LINES, "1 2", " 1 2", False, id="lines leading blank"),
        pytest.param(LINES, "1 2", "1  2", False, id="lines inner blanks"),
        pytest.param(LINES, "a\nb", "a\n\nb", False, id="lines blank line between"),
        pytest.param(LINES, "a", "\na", False, id="lines blank line before"),
        pytest.param(LINES, "a\nb", "a\x0bb", False, id="lines vertical tab differs from newline"),
        pytest.param(LINES, "a\nb", "a\u2028b", False, id="lines unicode separator"),
        pytest.param(LINES, "a", "a\u00a0", False, id="lines no-break space counts"),
        pytest.param(LINES, "Yes", "yes", False, id="lines case"),
        pytest.param(LINES, "a", "a\0", False, id="lines NUL"),
        pytest.param(TOKENS, "1 2\n3", "1\n2   3\n", True, id="tokens any spacing"),
        pytest.param(TOKENS, "1 2", "12", False, id="tokens joined"),
        pytest.param(TOKENS, "1.0", "1", False, id="tokens are text"),
        pytest.param(TOKENS, "a b", "a\u00a0b", False, id="tokens no-break space"),
        pytest.param(FLOATS, "0.5 x", "0.50000001\nx", True, id="floats within"),
        pytest.param(FLOATS, "0.5", "0.5001", False, id="floats beyond"),
        pytest.param(FLOATS, "3", "3.0", True, id="floats integer as float"),
        pytest.param(FLOATS, "1000.0", "1e+3", True, id="floats exponent"),
        pytest.param(FLOATS, "1e-07", "0.0000001", True, id="floats small exponent"),
        pytest.param(FLOATS, "1.5E10", "15000000000", True, id="floats exponent of Java"),
        pytest.param(FLOATS, "12e4", "120000", False, id="floats a hash is text"),
        pytest.param(FLOATS, "0e12", "0e99", False, id="floats two hashes"),
        pytest.param(FLOATS, "1000000007", "1000000008", False, id="floats integers are exact"),
        pytest.param(FLOATS, "1000000007", "1000000008.0", False, id="floats decimal for integer"),
        pytest.param(FLOATS, "1000000007", "1000000007.0", True, id="floats integer in decimals"),
        pytest.param(FLOATS, "123456789", "123456789.00001", True, id="floats rounds to integer"),
        pytest.param(FLOATS, "1" + 30 * "0", "1" + 29 * "0" + "1.0", False, id="floats long"),
        pytest.param(FLOATS, "0011", "11", False, id="floats leading zeros are text"),
        pytest.param(FLOATS, "7", "007", False, id="floats leading zeros for a number"),
        pytest.param(FLOATS, "2024 01 05", "2024 1 5", False, id="floats date"),
        pytest.param(FLOATS, "001\n010", "1\n10", False, id="floats grid"),
        pytest.param(FLOATS, "0", "-0", True, id="floats minus zero"),
        pytest.param(FLOATS, "-7", "7", False, id="floats sign"),
        pytest.param(FLOATS, "1000", "1_000", False, id="floats underscore"),
        pytest.param(FLOATS, "1", "\u0661", False, id="floats other digits"),
        pytest.param(FLOATS, "nan", "nan", True, id="floats NaN"),
        pytest.param(FLOATS, "Nan", "nan", False, id="floats a name"),
        pytest.param(FLOATS, "1.0", "nan", False, id="floats NaN for number"),
        pytest.param(FLOATS, "inf", "inf", True, id="floats infinity"),
        pytest.param(FLOATS, "inf", "-inf", False, id="floats other infinity"),
        pytest.param(FLOATS, "1.0", "inf", False, id="floats infinity for number"),
        pytest.param(
            FLOATS, "inf", "1e+999999999", False, id="floats overflow differs from infinity"
        ),
        pytest.param(FLOATS, "2.0e400", "1.0e400", False, id="floats overflows differ"),
        pytest.param(FLOATS, "1.0e400", "10e+399", True, id="floats same overflow"),
        pytest.param(CONTEST, "0.00000095", "0", False, id="contest nothing for a small number"),
        pytest.param(CONTEST, "9.5e-7", "0", False, id="contest nothing for a small exponent"),
        pytest.param(CONTEST, "2e-12", "1e-12", False, id="contest small numbers that differ"),
        pytest.param(CONTEST, "0.001234567", "0.001235", True, id="contest six decimals"),
        pytest.param(CONTEST, "0.0", "1e-17", True, id="contest nearly nothing for nothing"),
        pytest.param(CONTEST, "89.599998", "89.6", True, id="contest single precision"),
        pytest.param(DECIMALS, "0011", "11", True, id="decimals leading zeros"),
        pytest.param(DECIMALS, "1.0 2", "1 2.00", True, id="decimals values"),
        pytest.param(DECIMALS, "1\n2", " 1 \n2.0\n\n", True, id="decimals blanks"),
        pytest.param(DECIMALS, "1 2", "1\n2", False, id="decimals line breaks"),
        pytest.param(DECIMALS, "case 1", "case 1.0", False, id="decimals a word makes it text"),
        pytest.param(DECIMALS, "0.3", "0.30000001", False, id="decimals no tolerance"),
        pytest.param(DECIMALS, "1" * 40, "1" * 39 + "2", False, id="decimals long"),
        pytest.param(DECIMALS, "1e" + "9" * 30, "2e" + "9" * 30, False, id="decimals no exponent"),
        pytest.param(DECIMALS, "nan", "nan", True, id="decimals NaN"),
        pytest.param(FLOATS, "abc", "abd", False, id="floats words are text"),
        pytest.param(UNORDERED, "a\nb\nb\n", "b\na\nb", True, id="unordered"),
        pytest.param(UNORDERED, "a\nb\nb", "a\na\nb", False, id="unordered counts"),
        pytest.param(UNORDERED, "a\nb", "a\nb\nb", False, id="unordered one more"),
        pytest.param(UNORDERED, "a\nb", "b \na", True, id="unordered trailing blank"),
        pytest.param(UNORDERED, "1 2", "2 1", False, id="unordered only lines"),
    ],
)
def test_comparator_accepts(
    comparison: Comparison, expected: str, got: str | bytes, *, equal: bool
) -> None:
    result = compare(comparison, expected, got)
    assert result.equal is equal
    assert (result.difference == "") is equal


@pytest.mark.parametrize("comparison", ALL, ids=lambda c: c.comparator)
@pytest.mark.parametrize(
    ("expected", "got"),
    [
        pytest.param("1\n2\n3\n", "1\n2\n", id="prefix"),
        pytest.param("1\n2\n", "1\n2\n3\n", id="longer"),
        pytest.param("1\n2\n", "", id="nothing"),
        pytest.param("1 2 3", "1", id="first element"),
        pytest.param("42", "the answer is 42", id="substring"),
        pytest.param("42", "41\n42\n43", id="every answer"),
        pytest.param("1\n1\n2", "1\n2\n2", id="same set"),
        pytest.param("", "anything", id="nothing expected"),
        pytest.param("True", "1", id="truthiness"),
        pytest.param("4", '"4"', id="quoted"),
        pytest.param("a", "A", id="case"),
    ],
)
def test_no_comparator_is_lax(comparison: Comparison, expected: str, got: str) -> None:
    assert not compare(comparison, expected, got).equal


@pytest.mark.parametrize(
    ("comparison", "expected", "got", "difference"),
    [
        pytest.param(LINES, "1\n2\n", "1\n3\n", 'line 2: expected "2", got "3"', id="line"),
        pytest.param(
            LINES, "1\n2", "1", 'line 2: expected "2", got the end of the output', id="short"
        ),
        pytest.param(
            LINES, "1", "1\n\n2", 'line 2: expected the end of the output, got ""', id="long"
        ),
        pytest.param(LINES, "1", "", 'line 1: expected "1", got no output', id="nothing"),
        pytest.param(LINES, "", "x", 'line 1: expected no output, got "x"', id="not nothing"),
        pytest.param(LINES, "ab\nc", "abc\nc", 'line 1: expected "ab", got "abc"', id="prefix"),
        pytest.param(EXACT, "a\n", "a", r'line 1: expected "a\n", got "a"', id="newline"),
        pytest.param(
            EXACT, "a\nb", "a\n", 'line 2: expected "b", got the end of the output', id="e"
        ),
        pytest.param(TOKENS, "a b c", "a x c", 'token 2: expected "b", got "x"', id="token"),
        pytest.param(
            TOKENS, "a b", "a b c", 'token 3: expected the end of the output, got "c"', id="more"
        ),
        pytest.param(TOKENS, "ab c", "a c", 'token 1: expected "ab", got "a"', id="token prefix"),
        pytest.param(FLOATS, "1 2.5", "1 2.6", 'token 2: expected "2.5", got "2.6"', id="number"),
        pytest.param(
            UNORDERED, "a\nb", "b\nc", 'line 2: "c" is not among the lines still expected', id="un"
        ),
        pytest.param(
            UNORDERED, "a\nb", "b", "expected 2 lines in any order, got 1", id="unordered short"
        ),
        pytest.param(
            LINES,
            "ok",
            "\x1b[2J\u202eok\x07",
            r'line 1: expected "ok", got "\x1b[2J\u202eok\x07"',
            id="terminal codes",
        ),
        pytest.param(
            LINES, "ok", b"\xff\xfe", r'line 1: expected "ok", got "\\xff\\xfe"', id="raw"
        ),
    ],
)
def test_difference_names_the_first_place(
    comparison: Comparison, expected: str, got: str | bytes, difference: str
) -> None:
    assert compare(comparison, expected, got).difference == difference


def test_difference_far_into_a_line_shows_that_part() -> None:
    result = compare(LINES, "x" * 5000 + "END", "x" * 5000 + "FIN")
    assert result.difference.startswith("line 1, from byte 4951: expected ")
    assert "END" in result.difference
    assert "FIN" in result.difference


@pytest.mark.parametrize(
    ("abs_tol", "rel_tol", "got", "equal"),
    [
        pytest.param(0.5, 0.0, "100.5", True, id="at the absolute tolerance"),
        pytest.param(0.5, 0.0, "100.51", False, id="past the absolute tolerance"),
        pytest.param(0.0, 0.25, "125.0", True, id="at the relative tolerance"),
        pytest.param(0.0, 0.25, "126.0", False, id="relative to the expected number only"),
        pytest.param(0.0, 0.0, "100.00", True, id="no tolerance"),
        pytest.param(float("nan"), float("nan"), "101.0", False, id="senseless tolerance"),
    ],
)
def test_tolerances(abs_tol: float, rel_tol: float, got: str, *, equal: bool) -> None:
    comparison = Comparison(comparator=Comparator.FLOATS, abs_tol=abs_tol, rel_tol=rel_tol)
    assert compare(comparison, "100.0", got).equal is equal


HUGE: dict[str, Callable[[], bytes]] = {
    "blanks inside a line": lambda: b"a" + b" " * (10 * MIB) + b"b",
    "blanks and newlines": lambda: b" \n" * (5 * MIB),
    "tabs before a newline": lambda: b"\t" * (10 * MIB) + b"\nx",
    "one long line": lambda: b"7" * (10 * MIB),
    "many short lines": lambda: b"1\n" * (5 * MIB),
    "NULs": lambda: b"\0" * (10 * MIB),
    "undecodable": lambda: b"\xff" * (10 * MIB),
    "one long number": lambda: b"0." + b"3" * (10 * MIB),
}


@pytest.fixture(scope="module", params=HUGE.values(), ids=list(HUGE))
def huge(request: pytest.FixtureRequest) -> bytes:
    """One of them at a time."""
    made: bytes = request.param()
    return made


@pytest.mark.parametrize("comparison", ALL, ids=lambda c: c.comparator)
def test_ten_megabytes_take_linear_time_and_a_short_difference(
    comparison: Comparison, huge: bytes
) -> None:
    start = time.process_time()
    result = compare_text(comparison, expected="7\n", got=huge)
    assert time.process_time() - start < MOST_S
    assert not result.equal
    assert len(result.difference) < 500


@pytest.mark.parametrize("comparison", ALL, ids=lambda c: c.comparator)
def test_ten_megabytes_that_differ_at_the_end_take_linear_time(comparison: Comparison) -> None:
    expected = "12345 \n" * (MIB // 2)
    start = time.process_time()
    result = compare_text(comparison, expected=expected + "8\n", got=(expected + "9\n").encode())
    assert time.process_time() - start < MOST_S
    assert not result.equal


def test_checker_comparison_is_decided_elsewhere() -> None:
    comparison = Comparison(comparator=Comparator.CHECKER, checker=Checker(source=""))
    assert needs_checker(comparison)
    assert not any(map(needs_checker, ALL))
    with pytest.raises(ValueError, match="checker"):
        compare(comparison, "", "")


# ---------------------------------------------------------------- properties

TEXT = st.text(st.sampled_from("ab1.- \t\r\n\0é\u2028"), max_size=40)


@given(TEXT, st.sampled_from(ALL))
def test_every_text_equals_itself(text: str, comparison: Comparison) -> None:
    assert compare(comparison, text, text).equal


@given(TEXT, TEXT, st.sampled_from(ALL))
def test_comparing_is_symmetric(left: str, right: str, comparison: Comparison) -> None:
    assert compare(comparison, left, right).equal == compare(comparison, right, left).equal


@given(TEXT, TEXT)
def test_comparators_grow_laxer_from_exact_to_tokens(left: str, right: str) -> None:
    verdicts = [compare(c, left, right).equal for c in (EXACT, LINES, TOKENS)]
    assert verdicts == sorted(verdicts)


@given(TEXT, TEXT)
def test_lines_agree_with_the_plain_definition(left: str, right: str) -> None:
    def plain(text: str) -> list[str]:
        lines = [line.rstrip(" \t\r\v\f") for line in text.split("\n")]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    assert compare(LINES, left, right).equal == (plain(left) == plain(right))
    assert compare(UNORDERED, left, right).equal == (sorted(plain(left)) == sorted(plain(right)))


@given(TEXT, TEXT)
def test_tokens_agree_with_the_plain_definition(left: str, right: str) -> None:
    plain = left.encode().split() == right.encode().split()
    assert compare(TOKENS, left, right).equal == plain


@given(st.text(), st.binary(max_size=200), st.sampled_from(ALL))
def test_difference_is_short_and_inert(expected: str, got: bytes, comparison: Comparison) -> None:
    result = compare_text(comparison, expected=expected, got=got)
    assert len(result.difference) < 500
    assert result.difference.replace("…", "").isprintable()
    assert bool(result.difference) is not result.equal


INTEGERS = st.integers(-(10**40), 10**40)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(INTEGERS, INTEGERS)
def test_integers_are_equal_only_to_themselves_however_they_are_written(a: int, b: int) -> None:
    for got in (str(b), f"{b}.0", f"{b}.000"):
        assert compare(CONTEST, str(a), got).equal is (a == b)
        assert compare(DECIMALS, str(a), got).equal is (a == b)


@given(NUMBERS.filter(lambda number: not 0 < abs(number) < 1e-30))
def test_a_number_equals_itself_in_any_notation(number: float) -> None:
    for got in (repr(number), f"{number:.17e}", f"{number:.40f}"):
        assert compare(CONTEST, f"{number:.17e}", got).equal


@given(NUMBERS.filter(bool))
def test_empty_output_never_equals_other_output(number: float) -> None:
    for nothing in ("0", "0.0", "-0.0", "0.000000"):
        assert not compare(CONTEST, f"{number:.17e}", nothing).equal


@given(st.text("0123456789", min_size=2, max_size=8).map("0".__add__), st.text("0123456789e."))
def test_digits_that_start_with_a_zero_are_text(expected: str, got: str) -> None:
    assert compare(CONTEST, expected, got).equal is (expected == got.strip())
