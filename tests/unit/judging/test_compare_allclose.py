"""EvalPlus's comparison without numpy agrees with EvalPlus's own, with numpy."""

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.judging.compare import compare_value
from grader.model import Comparator, Comparison

NUMBERS = (
    st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, 0.5, 0.5000004, 0.50002, 1.0, -0.0, 1e300, 1 + 2j, float("inf")])
    | st.builds(lambda: float("nan"))
)
LEAVES = NUMBERS | st.none() | st.just("a")
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple),
    max_leaves=8,
)


def is_floats(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(isinstance(item, float) for item in value)
    return isinstance(value, float)


def accepted_by_evalplus(out: Any, exp: Any, atol: float) -> bool:
    if out == exp:
        return True
    if atol == 0 and is_floats(exp):
        atol = 1e-6
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return atol != 0 and bool(np.allclose(out, exp, rtol=1e-07, atol=atol))
    except (TypeError, ValueError):
        return False


def shape(value: Any) -> object:
    return [shape(item) for item in value] if isinstance(value, list | tuple) else None


def accepted(out: Any, exp: Any, atol: float) -> bool:
    comparison = Comparison(comparator=Comparator.ALLCLOSE, abs_tol=atol, rel_tol=1e-7)
    return compare_value(comparison, expected=exp, got=out).equal


@settings(max_examples=500)
@given(VALUES, VALUES, st.sampled_from([0.0, 1e-4]))
def test_value_that_evalplus_refuses_is_never_accepted(out: Any, exp: Any, atol: float) -> None:
    assert accepted(out, exp, atol) <= accepted_by_evalplus(out, exp, atol)


def relabelled(value: Any, leaves: Iterator[Any]) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(relabelled(item, leaves) for item in value)
    return next(leaves)


@settings(max_examples=500)
@given(VALUES, st.lists(LEAVES, min_size=8, max_size=8), st.sampled_from([0.0, 1e-4]))
def test_values_of_equal_shape_are_compared_as_by_numpy(
    exp: Any, leaves: list[Any], atol: float
) -> None:
    out = relabelled(exp, itertools.cycle(leaves))
    if is_rectangular(exp):
        assert accepted(out, exp, atol) == accepted_by_evalplus(out, exp, atol)


def is_rectangular(value: Any) -> bool:
    """Tell whether numpy makes an array of it that is not empty; otherwise numpy raises."""
    if not isinstance(value, list | tuple):
        return True
    shapes = [shape(item) for item in value]
    return (
        bool(shapes) and shapes.count(shapes[0]) == len(shapes) and all(map(is_rectangular, value))
    )


@pytest.mark.parametrize(
    ("out", "exp", "atol", "equal"),
    [
        pytest.param(0.5000001, 0.5, 0.0, True, id="float"),
        pytest.param([0.5000001], (0.5,), 0.0, True, id="list for a tuple of floats"),
        pytest.param([1], (1,), 0.0, False, id="list for a tuple of integers"),
        pytest.param(4.0000001, 4, 0.0, False, id="integers are exact without a tolerance"),
        pytest.param(4.00001, 4, 1e-4, True, id="integer with a tolerance"),
        pytest.param([], 0.5, 0.0, False, id="an empty list is close to nothing, unlike in numpy"),
        pytest.param(0.5, [0.5], 0.0, False, id="a number for a list of one, unlike in numpy"),
        pytest.param([0.5, [0.5]], [0.5, [0.5000001]], 1e-4, False, id="ragged"),
        pytest.param([], [0.5, 0.5], 0.0, False, id="an empty list is not close to two"),
        pytest.param("0.5", 0.5, 0.0, False, id="text"),
        pytest.param({1: 0.5}, {1: 0.5000001}, 1e-4, False, id="dicts by =="),
    ],
)
def test_table(out: Any, exp: Any, atol: float, *, equal: bool) -> None:
    assert accepted(out, exp, atol) is equal
