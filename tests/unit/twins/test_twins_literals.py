"""Replacements of literals are never equal to them, and have the same style."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.twins.decoys import Pool, decoys, kind_of, parsed
from grader.twins.names import Names
from grader.twins.sites import sites_of
from grader.twins.source import SuiteSource, edited
from grader.twins.values import Tolerance, Values, apart
from tests.unit.twins.running import script, seeded

ATOMS = (
    st.integers(-(10**6), 10**6)
    | st.floats(-1e9, 1e9, allow_nan=False).map(lambda x: round(x, 4))
    | st.text("abcXYZ 019-_.,()é\n\"'\\", max_size=12)
    | st.booleans()
    | st.binary(max_size=4)
)
LITERALS = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.integers(0, 50) | st.text("abc", max_size=3), inner, max_size=3)
        | st.sets(st.integers(-50, 50), min_size=1, max_size=4)
    ),
    max_leaves=8,
)


def changed_values(text: str, seed: int) -> Iterator[tuple[str, Any]]:
    """Yield what a suite that expects a literal may expect instead."""
    source = f"assert f(1) == {text}\nassert f(2) == [7, 'other']"
    for site in sites_of(script(source), seeded(seed)):
        for change in site.changes:
            if not any(edit.text.startswith(("!=", "==", "(lambda")) for edit in change):
                after = edited(source.encode(), change).decode()
                first = ast.parse(after).body[0]
                assert isinstance(first, ast.Assert)
                assert isinstance(first.test, ast.Compare)
                if ast.unparse(first) != ast.unparse(ast.parse(source).body[0]):
                    value = first.test.comparators[0]
                    yield ast.get_source_segment(after, value) or "", ast.literal_eval(value)


@settings(max_examples=150, deadline=None)
@given(value=LITERALS, seed=st.integers(0, 1000))
def test_no_replacement_equals_the_original(value: Any, seed: int) -> None:
    for _, other in changed_values(repr(value), seed):
        assert other != value
        assert value != other
        assert type(other) is type(value) or isinstance(value, bool) is isinstance(other, bool)


@settings(max_examples=100, deadline=None)
@given(value=ATOMS, seed=st.integers(0, 1000))
def test_a_replacement_is_written_as_the_original(value: Any, seed: int) -> None:
    text = repr(value)
    for other_text, other in changed_values(text, seed):
        assert type(other) is type(value)
        assert other_text.count("\n") == text.count("\n")
        if isinstance(value, str | bytes):
            assert other_text[-1] == text[-1]
            assert other_text[0] == text[0]
        if isinstance(value, float) and abs(value) >= 1e-4 and "e" not in text:
            assert len(other_text.partition(".")[2]) == len(text.partition(".")[2]) or value == 0


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("0xFF", r"0x[0-9A-F]{2,}"),
        ("1_000_000", r"\d(_\d{3})+"),
        ("500", r"\d+"),
        ("-12", r"-\d+"),
        ("3.14", r"\d\.\d\d"),
        ("1e-9", r".+e-0?\d+|.*"),
        ("'it'", r"'[^']*'"),
        ('"it"', r'"[^"]*"'),
        ("b'ab'", r"b'[^']*'"),
        ("True", "False"),
    ],
)
def test_a_replacement_keeps_the_notation(text: str, pattern: str) -> None:
    node = parsed(text)
    assert node is not None
    found = [*decoys(node, text, Pool(), seeded(1))]
    assert found
    assert [other for other in found if not re.fullmatch(pattern, other)] == []


def test_round_numbers_stay_round_mostly() -> None:
    node = parsed("3000")
    assert node is not None
    found = [text for n in range(40) for text in decoys(node, "3000", Pool(), seeded(n))]
    assert sum(text.endswith("000") for text in found) > len(found) / 2


def test_values_of_other_cases_are_taken() -> None:
    pool = Pool(texts={"str": ("'Fizz'", "'Buzz'"), "int": ("17",)})
    for text in ("'Buzz'", "3"):
        node = parsed(text)
        assert node is not None
        found = {other for n in range(20) for other in decoys(node, text, pool, seeded(n))}
        assert found & {"'Fizz'", "17"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        (1.0, 1.0000001),
        (1000000, 1000000.4),
        ("A b", "a  B"),
        ([1, 2], (1, 2)),
        ([1, 2], [2, 1]),
        ({1: "a", 2: "b"}, {2: "b", 1: "a"}),
        ([[1], [2]], [[2], [1]]),
        (float("nan"), float("nan")),
        (Counter({"a": 0, "b": 1}), Counter({"b": 1})),
        ([Counter({"a": 0})], [Counter()]),
    ],
)
def test_values_that_some_comparison_calls_equal_are_not_apart(one: Any, other: Any) -> None:
    assert not apart(one, other)
    assert not apart(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 2),
        (True, False),
        (0, None),
        ("a", "b"),
        ([1, 2], [1, 3]),
        ([1], [1, 1]),
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"b": 1}),
        ({1}, {2}),
        (1, "1"),
        (1.5, float("inf")),
    ],
)
def test_values_that_every_comparison_calls_unequal_are_apart(one: Any, other: Any) -> None:
    assert apart(one, other)
    assert apart(other, one)


def test_values_that_are_apart_differ_by_far_more_than_the_tolerance() -> None:
    tolerance = Tolerance(absolute=1.0)
    assert not apart(10.0, 13.0, tolerance)
    assert apart(10.0, 15.0, tolerance)


@pytest.mark.parametrize(
    "source", ["9**9**9", "'a' * 10**9", "[0] * 10**9", "'%1000000000d' % 1", "range(10**12)"]
)
def test_huge_values_are_not_computed(source: str) -> None:
    read = SuiteSource("", source.encode())
    node = read.tree.body[0]
    assert isinstance(node, ast.Expr)
    assert not Values(Names([read])).is_known(node.value)


def test_kinds_are_those_of_python() -> None:
    texts = {"1": "int", "-1.5": "float", "True": "bool", "'a'": "str", "[1]": "list", "x()": None}
    for text, kind in texts.items():
        node = parsed(text)
        assert node is not None
        assert kind_of(node) == kind


def test_replacement_of_an_empty_list_has_no_name_of_another_place() -> None:
    source = "for n in (3, 4):\n    assert f(n) == [(n, 'a')]\nassert f(0) == []"
    for seed in range(20):
        for site in sites_of(script(source), seeded(seed), joint=seed % 2 == 0):
            texts = [edit.text for change in site.changes for edit in change]
            assert not any("(n, " in text for text in texts)
