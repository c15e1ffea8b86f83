"""Comparators for values that a function of the submission returned.

Both sides are plain data of exact builtin types, so `==` is Python's own. The walk has its own
stack, so that nested values do not raise a RecursionError. It looks up keys only in the suite's
dicts: the submission's may have many keys with equal hashes, which would take quadratic time.
"""

import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from numbers import Number
from typing import Any

from grader.judging.compare.allclose import is_close
from grader.judging.compare.result import EQUAL, CheckResult, different
from grader.judging.compare.text import numbers_match
from grader.model import Comparator, Comparison
from grader.text.inert import show

_SEQUENCES = (list, tuple)
_SETS = (set, frozenset)
_SAFE_INT = 1 << 53
_MAX_KEY_DEPTH = 200
_MAX_PATH_STEPS = 8

_SIMPLE = (int, str, bool, type(None))
"""Types whose values are compared with their own type by `==` in every comparison."""

_ROOT = object()

_Pair = tuple[Any, Any, Any]
"""The index or key of two items, and the items: expected, got."""


def compare_value(comparison: Comparison, *, expected: Any, got: Any) -> CheckResult:
    """Compare a returned value with the expected one.

    `EXACT`, and comparators that are for text only, use `==`, so 1 equals 1.0 and True.
    `Comparison.tuples_as_lists` and `nan_equal` apply at any depth, but not in sets and dict keys.
    Takes linear time, and never raises because of `got`.

    Raises:
        ValueError: The comparison needs a checker.
    """
    if comparison.comparator is Comparator.CHECKER:
        message = "a checker program decides this comparison"
        raise ValueError(message)
    if comparison.comparator is Comparator.SET:
        return EQUAL if _same_set(expected, got) else different(_both(expected, got))
    if comparison.comparator is Comparator.FOUND:
        return EQUAL if _found(expected) is _found(got) else different(_both(expected, got))
    walk = _Walk(comparison)
    if comparison.comparator is Comparator.UNORDERED:
        expected, got = _plain(expected), _plain(got)
        if walk.same_kind(expected, got) and isinstance(expected, _SEQUENCES):
            return _compare_unordered(comparison, expected, got)
    if walk.is_plain_equality and _equal(expected, got):
        return EQUAL
    found = walk.compare(expected, got)
    if comparison.comparator is Comparator.ALLCLOSE and not found.equal:
        return EQUAL if is_close(comparison, expected=expected, got=got) else found
    return found


def count_values(value: Any) -> int:
    """Return how many values there are in plain data, containers included."""
    count = 0
    left = [value]
    while left:
        item = _plain(left.pop())
        count += 1
        if isinstance(item, dict):
            left += item.keys()
            left += item.values()
        elif isinstance(item, list | tuple | set | frozenset):
            left += item
    return count


class _Walk:
    """Compares two values item by item."""

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison
        self._floats = comparison.comparator is Comparator.FLOATS
        self.is_plain_equality = not (
            self._floats
            or comparison.nan_equal
            or comparison.tuples_as_lists
            or "numpy" in sys.modules  # an array compares item by item, with broadcasting
        )

    def compare(self, expected: Any, got: Any) -> CheckResult:
        """Return the first difference, in the order of the expected value."""
        levels: list[Iterator[_Pair]] = [iter([(_ROOT, expected, got)])]
        path: list[Any] = []
        while levels:
            for key, wanted, found in levels[-1]:
                kind = type(wanted)
                if kind is type(found) and kind in _SIMPLE and wanted == found:
                    continue
                items = self._items(_plain(wanted), _plain(found))
                if not isinstance(items, CheckResult):
                    levels.append(iter(items))
                    path.append(key)
                    break
                if not items.equal:
                    return different(_place([*path, key]) + items.difference)
            else:
                levels.pop()
                if path:
                    path.pop()
        return EQUAL

    def same_kind(self, wanted: Any, found: Any) -> bool:
        """Return whether two values have the same type, or are both sequences if that is enough."""
        if self._comparison.tuples_as_lists and isinstance(wanted, _SEQUENCES):
            return isinstance(found, _SEQUENCES)
        return type(wanted) is type(found)

    def _items(self, wanted: Any, found: Any) -> CheckResult | Iterable[_Pair]:
        """Return the result for two values, or the pairs of items that decide it."""
        if isinstance(wanted, _SEQUENCES) and self.same_kind(wanted, found):
            if len(wanted) != len(found):
                counts = f"expected {len(wanted)} items, got {len(found)}"
                return different(f"{counts}: {_both(wanted, found)}")
            return zip(range(len(wanted)), wanted, found, strict=True)
        if type(wanted) is dict and type(found) is dict:
            for key in found:
                if key not in wanted:
                    return different(f"unexpected key {show(key)}")
            if len(wanted) != len(found):
                missing = next(key for key in wanted if key not in found)
                return different(f"no key {show(missing)}")
            return ((key, item, found[key]) for key, item in wanted.items())
        if self._leaves_match(wanted, found):
            return EQUAL
        return different(_both(wanted, found))

    def _leaves_match(self, wanted: Any, found: Any) -> bool:
        if self._comparison.nan_equal and _is_nan(wanted) and _is_nan(found):
            return True
        if not self._floats:
            return _equal(wanted, found)
        if isinstance(wanted, _SETS) and isinstance(found, _SETS):
            return _equal(wanted, found) or self._sets_of_numbers_match(wanted, found)
        return self._numbers_match(wanted, found)

    def _sets_of_numbers_match(self, wanted: Any, found: Any) -> bool:
        if len(wanted) != len(found):
            return False
        if not all(type(item) in (int, float) for side in (wanted, found) for item in side):
            return False
        pairs = zip(sorted(wanted), sorted(found), strict=True)
        return all(self._numbers_match(item, other) for item, other in pairs)

    def _numbers_match(self, wanted: Any, found: Any) -> bool:
        """Return whether two leaves match; integers and bools match only if they are equal."""
        kinds = {type(wanted), type(found)}
        if bool in kinds or kinds == {int} or not _are_numbers(wanted, found):
            return _equal(wanted, found)
        if complex in kinds:
            return _equal(wanted, found) or self._complex_match(wanted, found)
        try:
            doubles = float(wanted), float(found)
        except (OverflowError, ValueError):  # a huge int or Fraction, a signalling NaN
            return _equal(wanted, found)
        if any(map(math.isinf, doubles)):  # may be a Decimal that is too large for a double
            return _equal(wanted, found)
        is_whole = type(wanted) is int
        if is_whole and abs(wanted) > _SAFE_INT:  # a double would round it
            return _equal(wanted, found)
        return numbers_match(self._comparison, *doubles, is_whole=is_whole)

    def _complex_match(self, wanted: Any, found: Any) -> bool:
        try:
            doubles = complex(wanted), complex(found)
        except (OverflowError, ValueError):
            return False
        return all(
            numbers_match(self._comparison, getattr(doubles[0], part), getattr(doubles[1], part))
            for part in ("real", "imag")
        )


def _same_set(expected: Any, got: Any) -> bool:
    """Return `set(got) == set(expected)`; False if one of them cannot be made a set."""
    try:
        missing = set(expected)
        met = set()
        for item in got:
            if item not in missing:
                return False
            met.add(item)
    except (TypeError, ArithmeticError):  # not iterable, or an item without a hash
        return False
    return len(met) == len(missing)


def _found(value: Any) -> bool:
    return value if isinstance(value, bool) else value is not None


def _compare_unordered(comparison: Comparison, expected: Any, got: Any) -> CheckResult:
    """Match the items of two sequences one to one, by `_key`."""
    if len(expected) != len(got):
        return different(f"expected {len(expected)} items in any order, got {len(got)}")
    try:
        missing = Counter(_key(comparison, item, 0) for item in expected)
        for number, item in enumerate(got):
            key = _key(comparison, item, 0)
            if not missing[key]:
                return different(f"item {number}, {show(item)}, is not among those still expected")
            missing[key] -= 1
    except (RecursionError, TypeError):  # too deep, or a signalling NaN, which has no hash
        return different(f"cannot be matched: {_both(expected, got)}")
    return EQUAL


def _key(comparison: Comparison, value: Any, depth: int) -> Any:
    """Return a hashable key; two values have equal keys if and only if they match."""
    if depth > _MAX_KEY_DEPTH:
        raise RecursionError
    value = _plain(value)
    match value:
        case list() | tuple():
            is_tuple = isinstance(value, tuple) and not comparison.tuples_as_lists
            items = tuple(_key(comparison, item, depth + 1) for item in value)
            return (tuple if is_tuple else list, items)
        case dict():
            pairs = ((key, _key(comparison, item, depth + 1)) for key, item in value.items())
            return (dict, frozenset(pairs))
        case set():
            return frozenset(value)
        case bytearray():
            return bytes(value)
        case _ if _is_nan(value):
            return (float, "nan") if comparison.nan_equal else object()
        case _:
            return value


def _plain(value: Any) -> Any:
    """Return the builtin values of a numpy array or scalar; other values as they are."""
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return value.tolist()
    return value


def _equal(wanted: Any, found: Any) -> bool:
    """Return `wanted == found` for plain data; values that cannot be compared are not equal."""
    try:
        return bool(wanted == found)
    except (RecursionError, ArithmeticError, ValueError, TypeError):
        return False


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(value, Number | Decimal | Fraction) for value in values)


def _is_nan(value: Any) -> bool:
    if type(value) is complex:
        return math.isnan(value.real) or math.isnan(value.imag)
    if type(value) is Decimal:
        return value.is_nan()
    return type(value) is float and math.isnan(value)


def _place(path: list[Any]) -> str:
    keys = [key for key in path if key is not _ROOT]
    if not keys:
        return ""
    shown = "".join(f"[{show(key, 40)}]" for key in keys[:_MAX_PATH_STEPS])
    return f"at {shown}{'…' * (len(keys) > _MAX_PATH_STEPS)}: "


def _both(wanted: Any, found: Any) -> str:
    """Return both values as text, with their types if these differ or the texts are equal."""
    shown = show(wanted), show(found)
    if shown[0] == shown[1] or type(wanted) is not type(found):
        kinds = f" ({type(wanted).__name__})", f" ({type(found).__name__})"
    else:
        kinds = "", ""
    return f"expected {shown[0]}{kinds[0]}, got {shown[1]}{kinds[1]}"
