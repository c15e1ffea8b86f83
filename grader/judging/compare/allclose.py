"""EvalPlus's comparison on plain data: `numpy.allclose`, without numpy and without raising.

If numpy raises, as for texts, None or ragged lists, the suite's assertion fails, so the values are
not close. In one respect this is stricter: numpy broadcasts shapes, so an empty list is close to
any number, and a submission that returns one would pass. Here shapes must be equal.
"""

import math
from typing import Any

from grader.model import Comparison

_FLOATS_ABS_TOL = 1e-6


def is_close(comparison: Comparison, *, expected: Any, got: Any) -> bool:
    """Return whether EvalPlus accepts a value that does not equal the expected one.

    It accepts a value within the tolerance, if its task has one or floats are expected.
    """
    abs_tol = comparison.abs_tol or (_FLOATS_ABS_TOL if _is_floats(expected) else 0.0)
    if not abs_tol:
        return False
    shape = _shape(expected)
    return (
        shape is not None
        and shape == _shape(got)
        and _are_close(expected, got, abs_tol, comparison.rel_tol)
    )


def _is_floats(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(isinstance(item, float) for item in value)
    return isinstance(value, float)


def _shape(value: Any) -> tuple[int, ...] | None:
    """Return the shape of a value as an array; None if its rows have different shapes."""
    if not isinstance(value, list | tuple):
        return ()
    shapes = {_shape(item) for item in value}
    if not shapes:
        return (0,)
    inner = shapes.pop()
    return None if shapes or inner is None else (len(value), *inner)


def _are_close(wanted: Any, got: Any, abs_tol: float, rel_tol: float) -> bool:
    if isinstance(wanted, list | tuple):
        return all(
            _are_close(item, other, abs_tol, rel_tol)
            for item, other in zip(wanted, got, strict=True)
        )
    if not isinstance(wanted, int | float | complex) or not isinstance(got, int | float | complex):
        return False
    try:
        size, difference = abs(wanted), abs(got - wanted)
    except OverflowError:  # an integer past the range of a double
        return False
    return got == wanted or (math.isfinite(size) and difference <= abs_tol + rel_tol * size)
