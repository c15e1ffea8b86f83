"""What each comparator of returned values accepts, and what it must never accept."""

import datetime as dt
import math
import time
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.judging.compare import compare_value
from grader.model import Checker, Comparator, Comparison
from sandbox_images.harness.wire.values import decode, encode

EXACT = Comparison()
FLOATS = Comparison(comparator=Comparator.FLOATS)
UNORDERED = Comparison(comparator=Comparator.UNORDERED)
LISTS = Comparison(tuples_as_lists=True)
LISTS_UNORDERED = Comparison(comparator=Comparator.UNORDERED, tuples_as_lists=True)
NANS = Comparison(nan_equal=True)
NAN_FLOATS = Comparison(comparator=Comparator.FLOATS, nan_equal=True)
NAN_UNORDERED = Comparison(comparator=Comparator.UNORDERED, nan_equal=True)
ALL = [EXACT, FLOATS, UNORDERED, LISTS, LISTS_UNORDERED, NANS, NAN_FLOATS, NAN_UNORDERED]

NAN, INF = math.nan, math.inf
NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
MOST_S = 4.0


@pytest.mark.parametrize(
    ("comparison", "expected", "got", "equal"),
    [
        pytest.param(EXACT, 4, 4, True, id="int"),
        pytest.param(EXACT, 4, "4", False, id="str for int"),
        pytest.param(EXACT, "4", 4, False, id="int for str"),
        pytest.param(EXACT, 1, True, True, id="bool follows =="),
        pytest.param(EXACT, 1, 1.0, True, id="float follows =="),
        pytest.param(EXACT, None, 0, False, id="zero for None"),
        pytest.param(EXACT, None, None, True, id="None"),
        pytest.param(EXACT, [], None, False, id="None for empty"),
        pytest.param(EXACT, [], (), False, id="tuple for list"),
        pytest.param(EXACT, [1, 2], {1, 2}, False, id="set for list"),
        pytest.param(EXACT, [1, 2, 3], [1, 2], False, id="prefix"),
        pytest.param(EXACT, [1, 2], [1, 2, 3], False, id="longer"),
        pytest.param(EXACT, [1, 2], [2, 1], False, id="order"),
        pytest.param(EXACT, [5], 5, False, id="first element"),
        pytest.param(EXACT, {"a": 1, "b": 2}, {"b": 2, "a": 1}, True, id="dict order"),
        pytest.param(EXACT, {"a": 1}, {"a": 1, "b": 2}, False, id="more keys"),
        pytest.param(EXACT, {"a": 1, "b": 2}, {"a": 1}, False, id="fewer keys"),
        pytest.param(EXACT, "ab", b"ab", False, id="bytes for str"),
        pytest.param(EXACT, 0.3, 0.1 + 0.2, False, id="floats are exact"),
        pytest.param(EXACT, NAN, NAN, False, id="NaN, even the same one"),
        pytest.param(EXACT, [NAN], [float("nan")], False, id="NaN inside"),
        pytest.param(EXACT, {1, 2}, frozenset({1, 2}), True, id="frozenset follows =="),
        pytest.param(EXACT, Decimal("1.0"), 1, True, id="Decimal follows =="),
        pytest.param(EXACT, 1, Decimal("sNaN"), False, id="signalling NaN"),
        pytest.param(EXACT, NOON, NOON, True, id="datetime"),
        pytest.param(EXACT, NOON, NOON.replace(tzinfo=None), False, id="naive datetime"),
        pytest.param(LISTS, [1, [2]], (1, (2,)), True, id="tuples as lists, at any depth"),
        pytest.param(LISTS, {"a": [1]}, {"a": (1,)}, True, id="tuples as lists in dicts"),
        pytest.param(LISTS, (1, 2), [1, 2], True, id="lists for tuples"),
        pytest.param(LISTS, [1, 2], {1, 2}, False, id="no set for a list"),
        pytest.param(LISTS, "ab", ["a", "b"], False, id="no list for a str"),
        pytest.param(NANS, [NAN, {"a": NAN}], [NAN, {"a": NAN}], True, id="NaN if allowed"),
        pytest.param(NANS, [NAN], [0.0], False, id="number for NaN"),
        pytest.param(NANS, 0.0, NAN, False, id="NaN for number"),
        pytest.param(NANS, NAN, Decimal("NaN"), True, id="NaN of Decimal"),
        pytest.param(FLOATS, 0.3, 0.1 + 0.2, True, id="float"),
        pytest.param(FLOATS, [{"a": (0.3,)}], [{"a": (0.1 + 0.2,)}], True, id="float inside"),
        pytest.param(FLOATS, 0.3, 0.301, False, id="float beyond"),
        pytest.param(FLOATS, 10**9 + 7, 10**9 + 8, False, id="integers are exact"),
        pytest.param(FLOATS, 3, 3.0000001, True, id="float for an integer"),
        pytest.param(FLOATS, True, 1.0000001, False, id="bools are exact"),
        pytest.param(FLOATS, "0.3", 0.3, False, id="no number for a str"),
        pytest.param(FLOATS, 0.3, NAN, False, id="NaN for a float"),
        pytest.param(FLOATS, NAN, NAN, False, id="NaN for NaN"),
        pytest.param(NAN_FLOATS, [NAN, 0.3], [NAN, 0.1 + 0.2], True, id="NaN allowed"),
        pytest.param(FLOATS, INF, INF, True, id="infinity"),
        pytest.param(FLOATS, 1e300, INF, False, id="infinity for a number"),
        pytest.param(FLOATS, 1.5, 10**400, False, id="huge int for a float"),
        pytest.param(FLOATS, 10**400, 10**400, True, id="huge int"),
        pytest.param(FLOATS, INF, 10**400, False, id="huge int for infinity"),
        pytest.param(FLOATS, INF, Decimal("1e999999"), False, id="huge Decimal for infinity"),
        pytest.param(FLOATS, 1.0, Decimal("1e999999"), False, id="huge Decimal"),
        pytest.param(FLOATS, 1.0, Decimal("sNaN"), False, id="signalling NaN for a float"),
        pytest.param(FLOATS, 0.5, Fraction(1, 2), True, id="Fraction"),
        pytest.param(FLOATS, Decimal("0.5"), 0.50000001, True, id="float for a Decimal"),
        pytest.param(FLOATS, 1 + 2j, 1.00000001 + 2j, True, id="complex"),
        pytest.param(FLOATS, 1 + 2j, 1 + 3j, False, id="other complex"),
        pytest.param(FLOATS, 1 + 2j, 10**400, False, id="huge int for complex"),
        pytest.param(FLOATS, {0.3, 1.0}, {1.0, 0.1 + 0.2}, True, id="set of floats"),
        pytest.param(FLOATS, {0.3}, {0.4}, False, id="other set of floats"),
        pytest.param(FLOATS, {0.3}, {"a"}, False, id="set of something else"),
        pytest.param(UNORDERED, [1, 2, 2], [2, 1, 2], True, id="any order"),
        pytest.param(UNORDERED, [1, 2, 2], [2, 1, 1], False, id="counts"),
        pytest.param(UNORDERED, [1, 2], [1, 2, 2], False, id="one more"),
        pytest.param(UNORDERED, [[1, 2], [3]], [[3], [1, 2]], True, id="items that have no hash"),
        pytest.param(UNORDERED, [[1, 2], [3]], [[3], [2, 1]], False, id="only at the top"),
        pytest.param(UNORDERED, [{"a": [1]}, {}], [{}, {"a": [1]}], True, id="dicts"),
        pytest.param(UNORDERED, [1, "1"], ["1", "1"], False, id="types"),
        pytest.param(UNORDERED, [1], (1,), False, id="unordered tuple for list"),
        pytest.param(UNORDERED, [1, 2], {1, 2}, False, id="unordered set for list"),
        pytest.param(UNORDERED, [(1,)], [[1]], False, id="tuple inside"),
        pytest.param(LISTS_UNORDERED, [[1], [2]], ((2,), (1,)), True, id="tuples as lists too"),
        pytest.param(UNORDERED, [NAN], [NAN], False, id="unordered NaN"),
        pytest.param(NAN_UNORDERED, [NAN, 1], [1, NAN], True, id="unordered NaN allowed"),
        pytest.param(UNORDERED, [{1}, {2}], [{2}, {1}], True, id="sets inside"),
        pytest.param(UNORDERED, [1], [Decimal("sNaN")], False, id="unordered signalling NaN"),
        pytest.param(UNORDERED, "ab", "ba", False, id="a str has an order"),
        pytest.param(UNORDERED, 3, 3, True, id="no collection"),
    ],
)
def test_comparator_accepts(
    comparison: Comparison, expected: Any, got: Any, *, equal: bool
) -> None:
    result = compare_value(comparison, expected=expected, got=got)
    assert result.equal is equal
    assert (result.difference == "") is equal


@pytest.mark.parametrize(
    ("comparison", "expected", "got", "difference"),
    [
        pytest.param(EXACT, 4, "4", 'expected 4 (int), got "4" (str)', id="types"),
        pytest.param(EXACT, 4, 5, "expected 4, got 5", id="leaf"),
        pytest.param(
            EXACT,
            [1, {"a": [2, 3]}],
            [1, {"a": [2, 4]}],
            'at [1]["a"][1]: expected 3, got 4',
            id="path",
        ),
        pytest.param(
            EXACT, [1, 2], [1], "expected 2 items, got 1: expected [1, 2], got [1]", id="length"
        ),
        pytest.param(EXACT, {"a": 1}, {"b": 1}, 'unexpected key "b"', id="key"),
        pytest.param(EXACT, [{"a": 1, "b": 2}], [{"a": 1}], 'at [0]: no key "b"', id="no key"),
        pytest.param(
            UNORDERED,
            [1, 2],
            [2, 3],
            "item 1, 3, is not among those still expected",
            id="unordered",
        ),
        pytest.param(EXACT, "a", "\x1b[31m", r'expected "a", got "\x1b[31m"', id="terminal codes"),
        pytest.param(
            EXACT, 1, 1 << 100_000, "expected 1, got an int of 100001 bits", id="huge int"
        ),
        pytest.param(EXACT, (1,), set(), "expected (1,) (tuple), got set() (set)", id="brackets"),
    ],
)
def test_difference_names_the_first_place(
    comparison: Comparison, expected: Any, got: Any, difference: str
) -> None:
    assert compare_value(comparison, expected=expected, got=got).difference == difference


def nested(depth: int, leaf: Any, wrap: Callable[[Any], Any]) -> Any:
    for _ in range(depth):
        leaf = wrap(leaf)
    return leaf


COLLIDING = [n * (2**61 - 1) for n in range(20_000)]
"""Integers that all have the hash 0."""

HOSTILE: dict[str, Callable[[], Any]] = {
    "deep list": lambda: nested(100_000, 1, lambda inner: [inner]),
    "deep dict": lambda: nested(100_000, 1, lambda inner: {"a": inner}),
    "deep tuple": lambda: nested(100_000, 1, lambda inner: (inner,)),
    "wide list": lambda: [0] * 1_000_000,
    "long text": lambda: "\x1b" * 10_000_000,
    "huge int": lambda: 1 << 8_000_000,
    "huge Decimal": lambda: Decimal("1e999999999"),
    "huge Fraction": lambda: Fraction(1 << 200_000, 3),
    "wide dict": lambda: dict.fromkeys(range(300_000)),
    "colliding list": lambda: COLLIDING,
}


@pytest.fixture(scope="module", params=HOSTILE.values(), ids=list(HOSTILE))
def hostile(request: pytest.FixtureRequest) -> Any:
    """One of them at a time."""
    return request.param()


@pytest.mark.parametrize("comparison", ALL, ids=lambda c: str(ALL.index(c)))
def test_hostile_value_takes_linear_time_and_a_short_difference(
    comparison: Comparison, hostile: Any
) -> None:
    start = time.process_time()
    for expected in (1, 1.5, [1, [1]], {"a": 1}, (2,)):
        result = compare_value(comparison, expected=expected, got=hostile)
        assert not result.equal
        assert len(result.difference) < 500
    assert time.process_time() - start < MOST_S


@pytest.mark.parametrize("comparison", ALL, ids=lambda c: str(ALL.index(c)))
@pytest.mark.parametrize("kind", [list, tuple])
def test_deep_value_equals_itself_or_is_refused_but_never_raises(
    comparison: Comparison, kind: type
) -> None:
    left, right = (nested(50_000, 1, lambda inner: kind([inner])) for _ in range(2))
    result = compare_value(comparison, expected=left, got=right)
    assert result.equal is (comparison.comparator is not Comparator.UNORDERED)


@pytest.mark.parametrize("comparison", ALL, ids=lambda c: str(ALL.index(c)))
def test_colliding_items_cost_linear_time(comparison: Comparison) -> None:
    start = time.process_time()
    assert not compare_value(comparison, expected=list(range(len(COLLIDING))), got=COLLIDING).equal
    assert time.process_time() - start < MOST_S


def test_checker_comparison_is_decided_elsewhere() -> None:
    comparison = Comparison(comparator=Comparator.CHECKER, checker=Checker(source=""))
    with pytest.raises(ValueError, match="checker"):
        compare_value(comparison, expected=1, got=1)


# ---------------------------------------------------------------- properties

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.binary(max_size=5)
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.complex_numbers(allow_nan=False)
)
KEYS = st.integers() | st.text(max_size=3) | st.tuples(st.integers())
PLAIN = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=3)
        | st.sets(KEYS, max_size=3)
    ),
    max_leaves=12,
)


@given(PLAIN, st.sampled_from(ALL))
def test_every_value_equals_itself_across_the_wire(value: Any, comparison: Comparison) -> None:
    assert compare_value(comparison, expected=value, got=decode(encode(value))).equal


@given(PLAIN, PLAIN)
def test_exact_is_python_equality(left: Any, right: Any) -> None:
    assert compare_value(EXACT, expected=left, got=right).equal == (left == right)


@given(PLAIN, PLAIN)
def test_walk_agrees_with_python_equality(left: Any, right: Any) -> None:
    # There are no NaNs here, so the results are the same, but the shortcut cannot be used.
    assert compare_value(NANS, expected=left, got=right).equal == (left == right)


@given(st.lists(PLAIN, max_size=5), st.randoms(use_true_random=False))
def test_unordered_accepts_every_order(items: list[Any], random: Any) -> None:
    shuffled = random.sample(items, len(items))
    assert compare_value(UNORDERED, expected=items, got=shuffled).equal


@given(st.lists(PLAIN, max_size=4), st.lists(PLAIN, max_size=4))
def test_unordered_agrees_with_matching_one_by_one(left: list[Any], right: list[Any]) -> None:
    rest = list(right)
    for item in left:
        if item in rest:
            rest.remove(item)
    matches = len(left) == len(right) and not rest
    assert compare_value(UNORDERED, expected=left, got=right).equal == matches


@given(PLAIN, PLAIN, st.sampled_from(ALL))
def test_difference_is_short_and_inert(left: Any, right: Any, comparison: Comparison) -> None:
    result = compare_value(comparison, expected=left, got=right)
    assert len(result.difference) < 500
    assert result.difference.isprintable()
    assert bool(result.difference) is not result.equal
