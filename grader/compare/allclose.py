"""`numpy.allclose` on plain data, as EvalPlus's suites use it, without numpy and without raising.

Where numpy raises, for words, ragged lists or shapes that do not go together, a suite's assertion
fails: the values are not close. Where it broadcasts, an empty list is close to any number, as in
the suites of record.
"""

import math
from itertools import zip_longest
from typing import Any

from grader.model import Comparison

_FLOATS_ABS_TOL = 1e-6
_MAX_DIMENSIONS = 64
_MAX_ITEMS = 1_000_000
"""Of what two shapes make together; beyond, they are not alike in any case."""
_MIN_INT, _MAX_INT = -(1 << 63), (1 << 64) - 1
"""Numpy makes objects of integers past these, to which nothing is close."""

_Shape = tuple[int, ...]


def is_close(comparison: Comparison, *, expected: Any, got: Any) -> bool:
    """Return whether a suite of EvalPlus accepts a value that does not equal the expected one.

    It does within a tolerance, if its task has one or floats are expected.
    """
    abs_tol = comparison.abs_tol or (_FLOATS_ABS_TOL if _is_floats(expected) else 0.0)
    if not abs_tol:
        return False
    if type(expected) is int:
        expected = _double(expected)  # what numpy makes of a bare number, but not of one in a list
    wanted_shape, got_shape = _shape(expected), _shape(got)
    if wanted_shape is None or got_shape is None or not _are_numbers(expected):
        return False
    pairs = [*zip_longest(reversed(wanted_shape), reversed(got_shape), fillvalue=1)]
    if any(one != other and 1 not in (one, other) for one, other in pairs):
        return False
    if math.prod(max(pair) if all(pair) else 0 for pair in pairs) > _MAX_ITEMS:
        return False
    tolerances = abs_tol, comparison.rel_tol
    return _all_close(expected, wanted_shape, got, got_shape, tolerances)


def _double(number: int) -> float | int:
    try:
        return float(number)
    except OverflowError:
        return number


def _is_floats(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(isinstance(item, float) for item in value)
    return isinstance(value, float)


def _shape(value: Any, depth: int = 0) -> _Shape | None:
    """Return the shape of a value as an array; None if it makes none that can be subtracted."""
    if not isinstance(value, list | tuple):
        return None if isinstance(value, str | bytes) else ()
    if depth == _MAX_DIMENSIONS:
        return None
    shapes = {_shape(item, depth + 1) for item in value}
    if not shapes:
        return (0,)
    inner = shapes.pop()
    return None if inner is None or shapes else (len(value), *inner)


def _are_numbers(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_are_numbers, value))
    if isinstance(value, int):
        return _MIN_INT <= value <= _MAX_INT
    return isinstance(value, float | complex)


def _all_close(
    wanted: Any, wanted_shape: _Shape, got: Any, got_shape: _Shape, tolerances: tuple[float, float]
) -> bool:
    if not wanted_shape and not got_shape:
        return _near(wanted, got, *tolerances)
    dimensions = max(len(wanted_shape), len(got_shape))
    sides = []
    for value, shape in ((wanted, wanted_shape), (got, got_shape)):
        here = len(shape) == dimensions
        items = value if here else [value]
        sides.append((items, shape[1:] if here else shape))
    (left, left_shape), (right, right_shape) = sides
    count = max(len(left), len(right)) if len(left) and len(right) else 0
    return all(
        _all_close(
            left[index if len(left) > 1 else 0],
            left_shape,
            right[index if len(right) > 1 else 0],
            right_shape,
            tolerances,
        )
        for index in range(count)
    )


def _near(wanted: Any, got: Any, abs_tol: float, rel_tol: float) -> bool:
    try:
        size, difference = abs(wanted), abs(got - wanted)
    except (OverflowError, TypeError):
        return False
    if got == wanted:
        return True
    return math.isfinite(size) and difference <= abs_tol + rel_tol * size
