"""Hostile text and values become short and inert."""

import time
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.text.inert import inert, quote, shorten, show


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("plain é 漢", "plain é 漢", id="plain"),
        pytest.param("a\nb\tc\0", r"a\nb\tc\x00", id="control characters"),
        pytest.param("\x1b[31mred", r"\x1b[31mred", id="terminal codes"),
        pytest.param("\u202eevil\u2066", r"\u202eevil\u2066", id="bidirectional marks"),
        pytest.param("\u2028\u200b\ufeff", r"\u2028\u200b\ufeff", id="invisible"),
        pytest.param("\ud800", r"\ud800", id="lone surrogate"),
        pytest.param(b"ok\xff", r"ok\xff", id="undecodable"),
    ],
)
def test_inert_escapes_unprintable_characters(text: str | bytes, shown: str) -> None:
    assert inert(text) == shown


def test_inert_cuts_at_the_limit() -> None:
    assert inert("x" * 10, 10) == "x" * 10
    assert inert("x" * 11, 10) == "x" * 9 + "…"
    assert inert("\0" * 5, 10) == r"\x00\x00\…"


def test_shorten_keeps_short_text() -> None:
    assert shorten("abc", 3) == "abc"
    assert shorten("abcd", 3) == "ab…"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param('say "hi" \\n', r'"say \"hi\" \\n"', id="quotes and backslashes"),
        pytest.param("1\n2", r'"1\n2"', id="newline"),
        pytest.param("", '""', id="empty"),
        pytest.param("x" * 21, '"xxxxxxxxxxxxxxxxxxxx"… (21 characters)', id="long text"),
        pytest.param(b"x" * 21, '"xxxxxxxxxxxxxxxxxxxx"… (21 bytes)', id="long bytes"),
    ],
)
def test_quote_is_unambiguous(text: str | bytes, shown: str) -> None:
    assert quote(text, 20) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param(None, "None", id="None"),
        pytest.param([1, (2,), {3}, {"a": 4.5}], '[1, (2,), {3}, {"a": 4.5}]', id="nested"),
        pytest.param({"b", "a", "c"}, '{"a", "b", "c"}', id="set in a fixed order"),
        pytest.param(set(), "set()", id="empty set"),
        pytest.param({}, "{}", id="empty dict"),
        pytest.param(frozenset({1}), "frozenset({1})", id="frozenset"),
        pytest.param((), "()", id="empty tuple"),
        pytest.param(b"\x00a", r"b'\x00a'", id="bytes"),
        pytest.param(1 << 2000, "an int of 2001 bits", id="huge int"),
        pytest.param(Fraction(1, 3), "Fraction(1, 3)", id="Fraction"),
        pytest.param(Fraction(1 << 99_999, 3), "Fraction(an int of 100000 bits, 3)", id="huge F"),
        pytest.param(Decimal("1.50"), "Decimal('1.50')", id="Decimal"),
        pytest.param(Decimal("1e999999999"), "Decimal('1E+999999999')", id="huge Decimal"),
        pytest.param([[[[[[[1]]]]]]], "[[[[[[[…]]]]]]]", id="deep"),
        pytest.param("x\x1b", r'"x\x1b"', id="terminal codes"),
    ],
)
def test_show_writes_plain_data(value: Any, shown: str) -> None:
    assert show(value) == shown


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: list(range(3_000_000)), id="wide list"),
        pytest.param(lambda: dict.fromkeys(range(1_000_000)), id="wide dict"),
        pytest.param(lambda: set(range(1_000_000)), id="wide set"),
        pytest.param(lambda: "\x1b" * 10_000_000, id="long text"),
        pytest.param(lambda: b"\xff" * 10_000_000, id="long bytes"),
        pytest.param(lambda: 1 << 80_000_000, id="huge int"),
    ],
)
def test_show_looks_at_no_more_than_it_shows(make: Callable[[], Any]) -> None:
    value = make()
    start = time.process_time()
    assert len(show(value, 50)) <= 50
    assert time.process_time() - start < 0.5


@given(st.text() | st.binary(), st.integers(1, 50))
def test_inert_keeps_its_promise(text: str | bytes, limit: int) -> None:
    shown = inert(text, limit)
    assert shown.isprintable()
    assert len(shown) <= limit
