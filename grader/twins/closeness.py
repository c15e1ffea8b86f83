"""The tolerances of comparisons that are not for equality."""

import ast
from collections.abc import Mapping
from typing import Any

from grader.twins.names import Names
from grader.twins.values import EXACT, Bound, Made, Tolerance, Values

OF_PANDAS = frozenset("assert_frame_equal assert_series_equal assert_index_equal".split())
"""Assertions of pandas.testing. Unless told otherwise, they allow a small difference."""

_MAX_DEPTH = 6


class Closeness:
    """Reads comparisons within a tolerance."""

    def __init__(self, names: Names, values: Values) -> None:
        """Make a reader, with the meanings and the values of names."""
        self._names = names
        self._values = values

    def _number(self, node: ast.expr | None, default: float) -> float | None:
        if node is None:
            return default
        value = self._values.of(node)
        usable = isinstance(value, int | float) and 0 <= value < float("inf")
        return float(value) if usable else None

    def _tolerance(
        self, absolute: tuple[ast.expr | None, float], relative: tuple[ast.expr | None, float]
    ) -> Tolerance | None:
        first, second = self._number(*absolute), self._number(*relative)
        if first is None or second is None or second > 0.1:
            return None
        return Tolerance(absolute=first, relative=second)

    def of_assertion(self, name: str, call: ast.Call) -> Tolerance | None:
        """Return the tolerance of an assertion about almost equal values; None if it is unknown."""
        named = {k.arg: k.value for k in call.keywords}
        if None in named:
            return None
        rest = dict(enumerate(call.args[2:]))
        if name == "assert_allclose":
            return self._tolerance(
                (named.get("atol", rest.get(1)), 0.0), (named.get("rtol", rest.get(0)), 1e-7)
            )
        if name in OF_PANDAS:
            if rest or not named.keys() <= {"rtol", "atol", "obj"}:
                return None  # the other parameters say what else is not compared
            return self._tolerance((named.get("atol"), 1e-8), (named.get("rtol"), 1e-5))
        if "delta" in named or 2 in rest:
            return self._tolerance((named.get("delta", rest.get(2)), 0.0), (None, 0.0))
        default = 7 if name == "assertAlmostEqual" else 6
        places = named.get("places", named.get("decimal", rest.get(0)))
        if isinstance(places, ast.Constant) and places.value is None:
            places = None
        digits = self._number(places, default)
        return None if digits is None else Tolerance(absolute=1.5 * 10.0**-digits)

    def of_sides(
        self, left: ast.expr, right: ast.expr, tolerance: Tolerance, env: Mapping[str, Bound]
    ) -> tuple[ast.expr, ast.expr, Tolerance | None]:
        """Return what a comparison for equality compares, and its tolerance; None if unknown.

        Either side may be in `pytest.approx`.

        Args:
            left: One side.
            right: The other side.
            tolerance: The tolerance of the comparison itself.
            env: The expressions that names stand for.
        """
        inner, within = [], tolerance
        for side in (left, right):
            match side:
                case ast.Call(args=[value, *rest]) if self._is_approx(side):
                    found = self._of_approx(rest, side.keywords)
                    if found is None:
                        return left, right, None
                    within = found
                    side = value
                case _:
                    pass
            if self._has_approx(side, env):
                return left, right, None
            inner.append(side)
        return inner[0], inner[1], within

    def _of_approx(self, rest: list[ast.expr], keywords: list[ast.keyword]) -> Tolerance | None:
        named = {k.arg: k.value for k in keywords}
        more = dict(enumerate(rest))
        relative = named.get("rel", more.get(0))
        absolute = named.get("abs", more.get(1))
        if isinstance(relative, ast.Constant) and relative.value is None:
            relative = None
        return self._tolerance((absolute, 1e-12), (relative, 1e-6))

    def _has_approx(self, side: ast.expr, env: Mapping[str, Bound], depth: int = 0) -> bool:
        """Tell whether `pytest.approx` makes a part of one side."""
        for node in ast.walk(side):
            if isinstance(node, ast.Call) and self._is_approx(node):
                return True
            if isinstance(node, ast.Name) and node.id in env and depth < _MAX_DEPTH:
                bound = env[node.id]
                if self._has_approx(bound.node, bound.env, depth + 1):
                    return True
        return False

    def _is_approx(self, call: ast.Call) -> bool:
        return self._names.library(call.func) == "pytest.approx"

    def of_call(self, call: ast.Call) -> tuple[ast.expr, ast.expr, Tolerance] | None:
        """Return what a call such as `math.isclose` compares, with its tolerance."""
        if len(call.args) < 2 or any(isinstance(arg, ast.Starred) for arg in call.args):
            return None
        named = {k.arg: k.value for k in call.keywords}
        rest = dict(enumerate(call.args[2:]))
        match self._names.library(call.func):
            case "math.isclose":
                found = self._tolerance((named.get("abs_tol"), 0.0), (named.get("rel_tol"), 1e-9))
            case "numpy.isclose" | "numpy.allclose":
                if any(_has_empty(self._values.of(arg)) for arg in call.args[:2]):
                    return None  # numpy broadcasts, so an empty array is close to anything
                found = self._tolerance(
                    (named.get("atol", rest.get(1)), 1e-8),
                    (named.get("rtol", rest.get(0)), 1e-5),
                )
            case "numpy.array_equal":
                found = EXACT
            case _:
                return None
        return None if found is None else (call.args[0], call.args[1], found)

    def of_distance(
        self, distance: ast.expr, bound: ast.expr
    ) -> tuple[ast.expr, ast.expr, Tolerance] | None:
        """Return what `abs(x - y) < bound` compares."""
        match distance:
            case ast.Call(args=[ast.BinOp(left=left, op=ast.Sub(), right=right)]) if (
                self._names.builtin(distance.func) == "abs"
                or self._names.library(distance.func) in ("math.fabs", "numpy.abs")
            ):
                within = self._number(bound, 0.0)
                return None if within is None else (left, right, Tolerance(absolute=within))
            case _:
                return None


def _has_empty(value: Any) -> bool:
    match value:
        case list() | tuple():
            return not value or any(map(_has_empty, value))
        case Made(parts=parts):
            return any(map(_has_empty, parts))
        case _:
            return False
