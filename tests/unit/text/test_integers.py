"""Integers are read up to the longest that a label may have."""

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.suites.literals import read_literal
from grader.text import integers

LENGTHS = st.integers(1, 20_000)


def digits_of(number: int) -> str:
    """Return an integer in decimal, piece by piece."""
    sign, number, pieces = "-" * (number < 0), abs(number), []
    while number:
        number, piece = divmod(number, 10**4000)
        pieces.append(f"{piece:0>4000}")
    return sign + ("".join(reversed(pieces)).lstrip("0") or "0")


numbers = st.builds(
    lambda length, low, sign: sign * (7 * 10 ** (length - 1) + low),
    LENGTHS,
    st.integers(0, 10**9),
    st.sampled_from([1, -1]),
)


@given(numbers)
def test_integer_of_any_length_is_read(number: int) -> None:
    text = digits_of(number)
    assert integers.read(text) == number
    assert integers.load_json(f'{{"a": [{text}, 1.5]}}') == {"a": [number, 1.5]}
    assert read_literal(f"({text}, 'x')") == (number, "x")


@pytest.mark.parametrize(
    "text", ["", "-", "1e5", "0x10", "1_000_" * 1000, "1.5" * 2000, "९" * 5000]
)
def test_text_that_is_not_an_integer_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        integers.read(text.ljust(5000) if "_" not in text else text)


def test_more_digits_than_allowed_are_refused_with_both_counts() -> None:
    with pytest.raises(ValueError, match="315001 digits; at most 315000"):
        integers.load_json("1" * (integers.MAX_DIGITS + 1))


def test_broken_json_is_refused_as_by_json() -> None:
    with pytest.raises(json.JSONDecodeError):
        integers.load_json("[1, ")


def test_limit_of_the_process_stays() -> None:
    before = sys.get_int_max_str_digits()
    integers.load_json("9" * 10_000)
    assert sys.get_int_max_str_digits() == before


def test_one_thing_is_counted_without_a_plural() -> None:
    assert integers.counted(1, "sample") == "1 sample"
    assert [integers.counted(n, "row") for n in (0, 2000)] == ["0 rows", "2,000 rows"]
