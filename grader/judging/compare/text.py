"""Comparators for what a program prints.

They work on bytes, so that decoding cannot make two different outputs equal. Both sides are first
reduced to a canonical form by operations that run in C. So hostile output of many megabytes takes
linear time, and no Python object per line.
"""

import math
import re
from collections import Counter
from decimal import Context, Decimal, InvalidOperation
from typing import assert_never

from grader.judging.compare.result import EQUAL, CheckResult, different
from grader.model import Comparator, Comparison
from grader.text.inert import EXCERPT_CHARS, quote

_BLANKS = b" \t\r\v\f"
_WHITESPACE = _BLANKS + b"\n"
_TO_SPACE = bytes.maketrans(_WHITESPACE, b" " * len(_WHITESPACE))

# Without the look-behind, a long run of blanks inside a line would be tried from each of its
# bytes, in quadratic time.
_TRAILING_BLANKS = re.compile(rb"(?<![ \t\r\v\f])[ \t\r\v\f]+(?=\n)")

_TOKEN = re.compile(rb"[^ ]+")
_NUMBER = re.compile(
    rb"-?(?:(?P<whole>0|[1-9][0-9]*)"
    rb"|(?:(?:0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?"
    rb"|(?:0|[1-9][0-9]*)[eE][+-][0-9]{1,4})"
)
"""Numbers as programs print them.

`0011` may be a grid, a code or a part of a date, and `12e4` the end of a hash, so these are text.
"""
_DECIMAL = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
"""Numbers in every notation that Python's `Decimal` reads."""
_WITHOUT_TRAPS = Context(traps=[])
_HALF = 0.5
_MAX_NUMBER_BYTES = 1000
"""Longer tokens are text: a double needs fewer digits, and reading more would take time."""

_UNORDERED_SLACK_BYTES = 64 * 1024
"""An output longer than the expected one by more than this is not compared line by line."""


def compare_text(comparison: Comparison, *, expected: str, got: bytes) -> CheckResult:
    """Compare what a program printed with what it should have printed.

    Takes time in proportion to both lengths, and never raises because of `got`.

    Raises:
        ValueError: The comparison needs a checker.
    """
    wanted = expected.encode("utf-8", "surrogatepass")
    match comparison.comparator:
        case Comparator.EXACT | Comparator.ALLCLOSE | Comparator.SET | Comparator.FOUND:
            return EQUAL if wanted == got else _differing_line(wanted, got, exact=True)
        case Comparator.LINES:
            wanted, got = _without_trailing_blanks(wanted), _without_trailing_blanks(got)
            return EQUAL if wanted == got else _differing_line(wanted, got)
        case Comparator.TOKENS:
            wanted, got = _single_spaced(wanted), _single_spaced(got)
            return EQUAL if wanted == got else _differing_token(wanted, got)
        case Comparator.FLOATS:
            return _compare_numbers(comparison, _single_spaced(wanted), _single_spaced(got))
        case Comparator.DECIMALS:
            return _compare_decimals(wanted, got)
        case Comparator.UNORDERED:
            wanted, got = _without_trailing_blanks(wanted), _without_trailing_blanks(got)
            return _compare_unordered(wanted, got)
        case Comparator.CHECKER:
            message = "a checker program decides this comparison"
            raise ValueError(message)
        case _ as unknown:
            assert_never(unknown)


# ---------------------------------------------------------------- canonical forms


def _without_trailing_blanks(text: bytes) -> bytes:
    """Drop blanks at line ends, and blanks and line ends at the end of the text."""
    text = text.rstrip(_WHITESPACE)
    if any(bytes((blank, 0x0A)) in text for blank in _BLANKS):
        text = _TRAILING_BLANKS.sub(b"", text)
    return text


def _single_spaced(text: bytes) -> bytes:
    """Put one space between tokens and none around them, in log2(n) passes that halve runs."""
    text = text.translate(_TO_SPACE).strip(b" ")
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    return text


# ---------------------------------------------------------------- numbers within tolerance


def _compare_numbers(comparison: Comparison, wanted: bytes, got: bytes) -> CheckResult:
    if _count(wanted, b" ") != _count(got, b" "):
        return _differing_token(wanted, got)
    pairs = zip(_TOKEN.finditer(wanted), _TOKEN.finditer(got), strict=True)
    for number, (wanted_match, got_match) in enumerate(pairs, start=1):
        wanted_token, got_token = wanted_match[0], got_match[0]
        if wanted_token == got_token:  # the usual case
            continue
        if not _tokens_match(comparison, wanted_token, got_token):
            shown = f"expected {quote(wanted_token)}, got {quote(got_token)}"
            return different(f"token {number}: {shown}")
    return EQUAL


def _tokens_match(comparison: Comparison, wanted: bytes, got: bytes) -> bool:
    """Return whether two tokens that differ are the same number within the tolerances."""
    if max(len(wanted), len(got)) > _MAX_NUMBER_BYTES:
        return False
    wanted_form, got_form = _NUMBER.fullmatch(wanted), _NUMBER.fullmatch(got)
    if wanted_form is None or got_form is None:
        return False
    number, other = Decimal(wanted.decode()), Decimal(got.decode())
    is_whole = wanted_form["whole"] is not None
    if is_whole and got_form["whole"] is not None:
        # Exact: a relative tolerance would let 1000000007 pass for 1000000008.
        return number == other
    if math.isinf(float(number)):  # too large for a double, so tolerances do not apply
        return number == other
    difference = float(_WITHOUT_TRAPS.subtract(number, other).copy_abs())
    return within(comparison, float(number), difference, is_whole=is_whole)


def within(
    comparison: Comparison, wanted: float, difference: float, *, is_whole: bool = False
) -> bool:
    """Return whether a number is near enough to the expected one.

    The relative tolerance is of the expected number, which the submission does not choose.

    Args:
        comparison: Has the tolerances.
        wanted: The expected number.
        difference: The distance of the other number; NaN is too far.
        is_whole: Whether the expected number is written as an integer. The other one must then
            round to it, whatever the tolerances: 1000000008.0 is not 1000000007.
    """
    most, size = comparison.abs_tol, abs(wanted)
    if comparison.abs_tol_share is not None and wanted:
        most = min(most, comparison.abs_tol_share * size)
    return difference <= max(most, comparison.rel_tol * size) and not (
        is_whole and difference >= _HALF
    )


def numbers_match(
    comparison: Comparison, wanted: float, got: float, *, is_whole: bool = False
) -> bool:
    """Return whether `got` is near enough to `wanted`; see `within`.

    Infinity equals only itself; NaN equals nothing, or NaN if the comparison says so.
    """
    if math.isnan(wanted) or math.isnan(got):
        return comparison.nan_equal and math.isnan(wanted) and math.isnan(got)
    if math.isinf(wanted) or math.isinf(got):
        return wanted == got
    return within(comparison, wanted, abs(got - wanted), is_whole=is_whole)


# ---------------------------------------------------------------- lines of decimal numbers


def _compare_decimals(wanted: bytes, got: bytes) -> CheckResult:
    wanted, got = wanted.strip(_WHITESPACE), got.strip(_WHITESPACE)
    if _count(wanted, b"\n") != _count(got, b"\n"):
        return _differing_line(wanted, got)
    lines = zip(wanted.split(b"\n"), got.split(b"\n"), strict=True)
    for number, (line, other) in enumerate(lines, start=1):
        if not _lines_match(line.strip(_WHITESPACE), other.strip(_WHITESPACE)):
            return different(f"line {number}: expected {quote(line)}, got {quote(other)}")
    return EQUAL


def _lines_match(wanted: bytes, got: bytes) -> bool:
    if wanted == got:
        return True
    wanted, got = _single_spaced(wanted), _single_spaced(got)
    return _count(wanted, b" ") == _count(got, b" ") and all(
        _are_one_decimal(*tokens)
        for tokens in zip(wanted.split(b" "), got.split(b" "), strict=True)
    )


def _are_one_decimal(*tokens: bytes) -> bool:
    if not all(len(token) <= _MAX_NUMBER_BYTES and _DECIMAL.fullmatch(token) for token in tokens):
        return False
    try:
        number, other = (Decimal(token.decode()) for token in tokens)
    except InvalidOperation:  # an exponent that is too large for Decimal
        return False
    return number == other


# ---------------------------------------------------------------- lines in any order


def _compare_unordered(wanted: bytes, got: bytes) -> CheckResult:
    wanted_count, got_count = _count(wanted, b"\n"), _count(got, b"\n")
    if wanted_count != got_count:
        return different(f"expected {wanted_count} lines in any order, got {got_count}")
    if len(got) > len(wanted) + _UNORDERED_SLACK_BYTES:
        return different("the lines are too long to be the expected ones in any order")
    missing = Counter(wanted.split(b"\n"))
    for number, line in enumerate(got.split(b"\n"), start=1):
        if not missing[line]:
            return different(f"line {number}: {quote(line)} is not among the lines still expected")
        missing[line] -= 1
    return EQUAL


# ---------------------------------------------------------------- where two outputs differ


def _differing_line(wanted: bytes, got: bytes, *, exact: bool = False) -> CheckResult:
    at = _first_difference(wanted, got)
    start = wanted.rfind(b"\n", 0, at) + 1
    number = wanted.count(b"\n", 0, at) + 1
    if not exact and _piece(wanted, start, b"\n") == _piece(got, start, b"\n"):
        # One output ends with this line, and the other goes on.
        number, start = number + 1, wanted.find(b"\n", start) + 1 or got.find(b"\n", start) + 1
    skip = max(0, at - start - EXCERPT_CHARS // 2)
    place = f"line {number}, from byte {skip + 1}" if skip else f"line {number}"
    shown = (_shown_piece(text, start, b"\n", skip, keep_end=exact) for text in (wanted, got))
    return different("{}: expected {}, got {}".format(place, *shown))


def _differing_token(wanted: bytes, got: bytes) -> CheckResult:
    at = _first_difference(wanted, got)
    start = wanted.rfind(b" ", 0, at) + 1
    number = wanted.count(b" ", 0, at) + 1
    if _piece(wanted, start, b" ") == _piece(got, start, b" "):
        number, start = number + 1, wanted.find(b" ", start) + 1 or got.find(b" ", start) + 1
    shown = (_shown_piece(text, start, b" ") for text in (wanted, got))
    return different("token {}: expected {}, got {}".format(number, *shown))


def _shown_piece(
    text: bytes, start: int, separator: bytes, skip: int = 0, *, keep_end: bool = False
) -> str:
    if start >= len(text):
        return "the end of the output" if text else "no output"
    return quote(_piece(text, start, separator, keep_end=keep_end)[skip:])


def _piece(text: bytes, start: int, separator: bytes, *, keep_end: bool = False) -> bytes:
    """Return the line or token of `text` that starts at `start`."""
    end = text.find(separator, start)
    return text[start:] if end < 0 else text[start : end + keep_end]


def _first_difference(left: bytes, right: bytes) -> int:
    """Return the length of the common prefix, by bisection, so that comparing runs in C."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _count(text: bytes, separator: bytes) -> int:
    return text.count(separator) + 1 if text else 0
