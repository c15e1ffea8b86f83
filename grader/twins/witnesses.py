"""Finds changes of literals that make a condition other than an equality false.

A condition such as `8 < f(3) < 10` or `"ab" in f(1)` asks the submission for one value. Many values
are tried in its place. A change counts if some of them satisfy the original condition, and none of
these satisfies the changed one. Conditions are not run: `Values` computes them, with the operators
and methods below.
"""

import ast
import cmath
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from random import Random
from typing import Any

from grader.source.constants import COMPARISONS
from grader.twins.names import Names, makes_object
from grader.twins.source import Edit, SuiteSource
from grader.twins.values import Bound, Opaque, Values

_FUNCTIONS = frozenset("abs bool float int len list max min round set sorted str sum tuple".split())
_METHODS = frozenset(
    "difference endswith intersection isdisjoint issubset issuperset lower lstrip removeprefix "
    "removesuffix rstrip startswith strip symmetric_difference union upper".split()
)
"""Methods of texts and sets."""
_MOST_CHANGES = 3
_MOST_TRIES = 40
_MOST_CHARS = 10_000
_MOST_PARTS = 16
"""The most numbers, and the most texts, in the literals of a condition."""
_FAR = 10**30
_FAULTS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, OverflowError)


class _Unknown(Exception):
    """A condition cannot be computed."""


class Witnesses:
    """Finds changes of conditions."""

    def __init__(self, names: Names, env: Mapping[str, Bound], source: SuiteSource) -> None:
        """Remember the meanings and values of names, and the source of the conditions."""
        self._names = names
        self._env = env
        self._source = source
        self._known = Values(names, env)

    def changes(self, test: ast.expr, rng: Random) -> tuple[tuple[Edit, ...], ...]:
        """Return changes of a condition that a right program fails."""
        asked = [] if _compares_results(test) else self.asked(test)
        if not asked or len({ast.dump(node) for node in asked}) != 1:
            return ()
        literals = [node for node in self._literals(test) if self._source.holds(node)]
        if isinstance(test, ast.Compare) and all(isinstance(op, ast.Eq) for op in test.ops):
            # Both sides of an equality are changed elsewhere, with more care.
            literals = [n for n in literals if n not in (test.left, *test.comparators)]
        values = [self._known.of(node) for node in literals]
        if not values or not all(map(_is_plain, values)):
            return ()
        candidates = _values_like(values)
        satisfying = [value for value in candidates if self._holds(test, asked, value, {})]
        if not satisfying:
            return ()
        is_odd = any(map(self._may_hold_more, ast.walk(test)))
        found: list[tuple[Edit, ...]] = []
        is_range = isinstance(test, ast.Compare) and len(test.ops) > 1
        tries = _others(values, rng, is_odd=is_odd, is_range=is_range)
        for others in islice(tries, _MOST_TRIES):
            changed: dict[ast.AST, ast.expr] = dict(
                zip(literals, map(_expression, others), strict=True)
            )
            if not any(self._holds(test, asked, value, changed) for value in satisfying):
                found.append(
                    tuple(
                        self._edit(node, other)
                        for node, value, other in zip(literals, values, others, strict=True)
                        if other is not value
                    )
                )
                if len(found) == _MOST_CHANGES:
                    break
        return tuple(found)

    def asked(self, test: ast.expr) -> list[ast.expr]:
        """Return the parts of a condition that are unknown; none if it cannot be computed."""
        try:
            return [*self._asked(test)]
        except _Unknown:
            return []

    def _edit(self, node: ast.expr, other: Any) -> Edit:
        start, end = self._source.span(node)
        return Edit(start=start, end=end, text=repr(other))

    def _asked(self, node: ast.expr) -> Iterator[ast.expr]:
        """Yield the parts of a condition that are unknown."""
        if self._known.is_known(node):
            return
        parts = self._parts(node)
        if parts is None:
            yield node
        else:
            for part in parts:
                yield from self._asked(part)

    def _parts(self, node: ast.expr) -> list[ast.expr] | None:
        """Return the operands of a node; None if it cannot be computed."""
        match node:
            case ast.Compare(left=left, ops=ops, comparators=rest):
                if any(isinstance(op, ast.Is | ast.IsNot) for op in ops):
                    raise _Unknown
                return [left, *rest]
            case ast.BoolOp(values=values):
                return values
            case ast.UnaryOp(operand=operand):
                return [operand]
            case ast.BinOp(left=left, right=right):
                if makes_object(left) or makes_object(right):
                    raise _Unknown  # its class has operators of its own
                return [left, right]
            case ast.Call(args=args, keywords=[]) if self._names.builtin(node.func) in _FUNCTIONS:
                return args
            case ast.Call(func=ast.Attribute(value=base, attr=attr), args=args, keywords=[]) if (
                attr in _METHODS
            ):
                return [base, *args]
            case _:
                return None

    def _literals(self, node: ast.expr) -> Iterator[ast.expr]:
        """Yield the literals of a condition, outermost first."""
        if self._known.is_known(node):
            if not isinstance(node, ast.Name | ast.Attribute | ast.Call):
                yield node
            return
        for part in self._parts(node) or ():
            yield from self._literals(part)

    def _may_hold_more(self, node: ast.AST) -> bool:
        """Tell whether a node asks if something has an item; then it may have others, too."""
        match node:
            case ast.Compare(ops=ops, comparators=rest):
                return any(
                    isinstance(op, ast.In | ast.NotIn) and not self._known.is_known(items)
                    for op, items in zip(ops, rest, strict=True)
                )
            case ast.Attribute(attr="isdisjoint" | "issuperset"):
                return True
            case _:
                return False

    # ------------------------------------------------------------ computing

    def _holds(
        self,
        test: ast.expr,
        asked: list[ast.expr],
        value: Any,
        changed: Mapping[ast.AST, ast.expr],
    ) -> bool:
        stand_in = _expression(value)
        values = Values(self._names, self._env, {**changed, **dict.fromkeys(asked, stand_in)})
        try:
            return bool(self._compute(test, values, {*asked, *changed}))
        except (_Unknown, *_FAULTS):
            return False

    def _compute(self, node: ast.expr, values: Values, leaves: set[ast.AST]) -> Any:
        if node not in leaves and not self._known.is_known(node):
            match node:
                case ast.Compare(left=left, ops=ops, comparators=rest):
                    operands = [self._compute(each, values, leaves) for each in (left, *rest)]
                    pairs = zip(operands, ops, operands[1:], strict=False)
                    return all(COMPARISONS[type(op)](a, b) for a, op, b in pairs)
                case ast.BoolOp(op=op, values=parts):
                    found = [self._compute(part, values, leaves) for part in parts]
                    return all(found) if isinstance(op, ast.And) else any(found)
                case ast.UnaryOp(op=ast.Not(), operand=operand):
                    return not self._compute(operand, values, leaves)
                case ast.Call(func=ast.Attribute(value=base, attr=attr), args=args) if (
                    attr in _METHODS
                ):
                    subject = self._compute(base, values, leaves)
                    if type(subject) not in (str, set, frozenset):
                        raise _Unknown
                    given = [self._compute(arg, values, leaves) for arg in args]
                    return getattr(subject, attr)(*given)
                case _:
                    pass
        value = values.of(node)
        if isinstance(value, Opaque):
            raise _Unknown
        return value


def _compares_results(test: ast.expr) -> bool:
    """Tell whether a condition goes on with what a comparison gives: an object, it seems."""
    parts = [test]
    while parts:
        match parts.pop():
            case ast.BoolOp(values=values):
                parts += values
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                parts.append(operand)
            case ast.Compare(left=left, comparators=others):
                sides = (left, *others)
                if any(isinstance(n, ast.Compare) for side in sides for n in ast.walk(side)):
                    return True
            case _:
                pass
    return False


def _expression(value: Any) -> ast.expr:
    """Return the tree of a value's literal."""
    return ast.parse(repr(value) if value != set() else "set()", mode="eval").body


# ---------------------------------------------------------------- values


def _is_plain(value: Any) -> bool:
    """Tell whether a value has a literal."""
    match value:
        case dict():
            return all(_is_plain(k) and _is_plain(v) for k, v in value.items())
        case list() | tuple() | set():
            return all(map(_is_plain, value))
        case float() | complex():
            return cmath.isfinite(value)
        case _:
            return type(value) in (bool, int, str, bytes, type(None))


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list | tuple | set | frozenset | dict):
            yield from _flat(value)
        else:
            yield value


def _values_like(literals: list[Any]) -> list[Any]:
    """Return values that may occur in a comparison with these literals; none if that are many."""
    leaves = dict.fromkeys((type(leaf), leaf) for leaf in _flat(literals))
    numbers = [n for kind, n in leaves if kind in (int, float) and abs(n) < 1e15]
    texts = [t for kind, t in leaves if kind is str and len(t) < 1000]
    if max(len(numbers), len(texts)) > _MOST_PARTS:
        return []
    found: list[Any] = [None, True, False, 0, 1, -1, 2, 0.5, 10, 100, "", "a", [], (), {}, set()]
    for n in numbers:
        found += [n, n + 1, n - 1, n + 0.5, n - 0.5, n + 1e-9, n - 1e-9, -n, 2 * n, n / 2, n * n]
        found += [m + n for m in numbers] + [(m + n) / 2 for m in numbers]
        found += [m * n for m in numbers] + [m / n for m in numbers if n]
    for t in texts:
        found += [t, t + "x", "x" + t, f"x{t}x", t.upper(), t.lower(), t + t, t.strip()]
        found += [s + t for s in texts] + [f"{s} {t}" for s in texts]
    items = [*numbers, *texts]
    for item in items:
        found += [[item], (item,), {item}, {item: 1}, [item, item], [item, *items], {item, *items}]
    found += [value for value in literals if isinstance(value, list | tuple | set | dict)]
    # A value that is bounded on one side only may be arbitrarily far on the other.
    extremes = [_FAR, -_FAR, float(_FAR), float(-_FAR), chr(sys.maxunicode)]
    sizes = [abs(n) for n in numbers if abs(n) < _MOST_CHARS]
    extremes.append("x" * round(2 * max(sizes, default=0) + 100))
    return found + [each for item in extremes for each in (item, [item], (item,))]


def _others(values: list[Any], rng: Random, *, is_odd: bool, is_range: bool) -> Iterator[list[Any]]:
    """Yield the values with one of them changed, or with both ends of a range moved."""
    numbers = [n for n in values if type(n) in (int, float)]
    places = [*range(len(values))]
    for _ in range(_MOST_TRIES):
        rng.shuffle(places)
        for place in places:
            other = _other(values[place], rng, is_odd=is_odd)
            if other is not values[place]:
                yield [*values[:place], other, *values[place + 1 :]]
        if is_range and len(numbers) > 1:
            span = max(numbers) - min(numbers)
            step = round((span + rng.randint(1, 9)) * rng.choice((1, -1))) or 1
            yield [v + step if type(v) in (int, float) else v for v in values]


def _other(value: Any, rng: Random, *, is_odd: bool) -> Any:
    """Return another value of the same type; the value itself if there is none."""
    match value:
        case bool() | None:
            return value
        case int():
            return rng.randint(10**6, 10**7) if is_odd else value + _step(rng)
        case float():
            return round(value * rng.choice((0.4, 0.6, 1.5, 2.2)) + rng.choice((0, 3)), 6)
        case str():
            if is_odd or not value:
                return "".join(rng.choice("bcdfghjkqxz") for _ in range(7))
            place = rng.randrange(len(value))
            letter = rng.choice([c for c in "bdgkmprt" if c != value[place].lower()])
            return value[:place] + letter + value[place + 1 :]
        case list() | tuple() | set() if value:
            return type(value)(_other(item, rng, is_odd=is_odd) for item in value)
        case dict() if value:
            return {_other(key, rng, is_odd=is_odd): item for key, item in value.items()}
        case _:
            return value


def _step(rng: Random) -> int:
    return rng.randint(1, 9) * rng.choice((1, -1))
