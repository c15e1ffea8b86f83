"""Computes expected values from their source, and tells which of them are certainly unequal.

Nothing of a suite is run. Displays, constants, operators and a few constructors of the standard
library are computed here, within bounds. Any other expression is `Opaque`.
"""

import ast
import math
import operator
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any

from grader.twins.names import Names
from grader.twins.scopes import Scope
from grader.twins.source import SuiteSource

_MAX_ITEMS = 100_000
_MAX_BITS = 4096
_MAX_DEPTH = 60


class NotComputable(Exception):
    """The value of an expression cannot be computed."""


@dataclass(frozen=True, slots=True)
class Opaque:
    """An unknown value. Two of them are equal if they are of the same node."""

    node: ast.AST


@dataclass(frozen=True, slots=True)
class Made:
    """The result of a constructor that is not called here. Two are equal if their arguments are."""

    name: str
    parts: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Bound:
    """The expression that a name stands for, and those that the names in it stand for."""

    node: ast.expr
    env: "Mapping[str, Bound]"
    source: SuiteSource
    """The source of the expression."""
    scope: Scope | None = None
    """The scope that binds the name."""
    tables: "tuple[tuple[Scope, str], ...]" = ()
    """The tables that it was taken from, by scope and name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How far apart two numbers may be for a comparison to hold."""

    absolute: float = 0.0
    relative: float = 0.0


EXACT = Tolerance()

_BUILTINS: dict[str, Callable[..., Any]] = {
    "abs": abs, "bool": bool, "bytes": bytes, "chr": chr, "complex": complex, "dict": dict,
    "float": float, "frozenset": frozenset, "int": int, "len": len, "list": list, "max": max,
    "min": min, "range": range, "round": round, "set": set, "sorted": sorted, "str": str,
    "sum": sum, "tuple": tuple,
}  # fmt: skip
_LIBRARY: dict[str, Callable[..., Any]] = {
    "collections.Counter": Counter,
    "collections.OrderedDict": OrderedDict,
    "collections.defaultdict": defaultdict,
    "collections.deque": deque,
    "datetime.date": date,
    "datetime.datetime": datetime,
    "datetime.time": time,
    "datetime.timedelta": timedelta,
    "decimal.Decimal": Decimal,
    "fractions.Fraction": Fraction,
    "pathlib.Path": PurePosixPath,
    "pathlib.PurePath": PurePosixPath,
    "pathlib.PurePosixPath": PurePosixPath,
}
_STRUCTURED = frozenset(
    "numpy.array numpy.asarray pandas.DataFrame pandas.Index pandas.Series "
    "unittest.mock.call".split()
)
_METHODS = frozenset("lower upper strip split join encode title format replace splitlines".split())
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Pow: operator.pow, ast.BitOr: operator.or_, ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
}  # fmt: skip
_FAULTS = (
    ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError,
    ValueError,
)  # fmt: skip


class Values:
    """Computes the values of expressions."""

    def __init__(
        self,
        names: Names,
        env: Mapping[str, Bound] | None = None,
        changed: Mapping[ast.AST, ast.expr] | None = None,
    ) -> None:
        """Remember the names of the expressions.

        Args:
            names: The meanings of names in the source.
            env: The expressions that names stand for.
            changed: Nodes, each with an expression to compute in its place.
        """
        self._names = names
        self._env = env or {}
        self._changed = changed or {}

    def of(self, node: ast.expr, depth: int = 0, path: tuple[object, ...] = ()) -> Any:
        """Return the value of an expression; `Opaque` if it cannot be computed.

        Args:
            node: The expression.
            depth: How deep it is in another.
            path: Keys and indices of the part that is wanted; the rest may be wrong.
        """
        if depth > _MAX_DEPTH:
            return Opaque(node)
        try:
            return self._of(self._changed.get(node, node), depth + 1, path)
        except (NotComputable, *_FAULTS):
            return Opaque(node)

    def is_known(self, node: ast.expr) -> bool:
        """Tell whether a value is known in all its parts."""
        return _is_known(self.of(node))

    def _of(self, node: ast.expr, depth: int, path: tuple[object, ...]) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self._of_name(node, name, depth, path)
            case ast.Attribute():
                return self._of_type(node)
            case ast.List(elts=items):
                return self._items(items, depth)
            case ast.Tuple(elts=items):
                return tuple(self._items(items, depth))
            case ast.Set(elts=items):
                return set(self._items(items, depth))
            case ast.Dict(keys=keys, values=values):
                if any(key is None for key in keys):
                    raise NotComputable
                pairs = zip(keys, values, strict=True)
                return {self.of(k, depth): self.of(v, depth) for k, v in pairs if k is not None}
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._known(operand, depth)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return +self._known(operand, depth)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self._known(operand, depth)
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(op, self._known(left, depth), self._known(right, depth))
            case ast.Call():
                return self._call(node, depth)
            case ast.Subscript(value=inner, slice=ast.Constant(value=key)):
                return self.of(inner, depth, (key, *path))[key]
            case ast.Subscript(value=inner, slice=index):
                return self._known(inner, depth)[self._known(index, depth)]
            case _:
                raise NotComputable

    def _of_name(self, node: ast.expr, name: str, depth: int, path: tuple[object, ...]) -> Any:
        if name in self._env:
            bound = self._env[name]
            if not is_steady(name, bound, path):
                raise NotComputable
            return Values(self._names, bound.env, self._changed).of(bound.node, depth, path)
        return self._of_type(node)

    def _of_type(self, node: ast.expr) -> Any:
        found = self._names.builtin(node)
        if found in _TYPES:
            return _TYPES[found]
        raise NotComputable

    def _items(self, items: list[ast.expr], depth: int) -> list[Any]:
        found: list[Any] = []
        for item in items:
            if isinstance(item, ast.Starred):
                found += self._known(item.value, depth)
            else:
                found.append(self.of(item, depth))
        return found

    def _known(self, node: ast.expr, depth: int) -> Any:
        value = self.of(node, depth)
        if not _is_known(value):
            raise NotComputable
        return value

    @staticmethod
    def _binary(op: ast.operator, left: Any, right: Any) -> Any:
        function = _BINARY.get(type(op))
        if function is None:
            raise NotComputable
        if isinstance(op, ast.Pow) and not (abs(right) <= _MAX_BITS and abs(left) <= 2**64):
            raise NotComputable
        if isinstance(op, ast.Pow) and isinstance(left, int) and right * left.bit_length() > 2**14:
            raise NotComputable
        if isinstance(op, ast.Mult):
            for sized, count in ((left, right), (right, left)):
                if isinstance(sized, str | bytes | list | tuple) and (
                    not isinstance(count, int) or len(sized) * count > _MAX_ITEMS
                ):
                    raise NotComputable
        if isinstance(op, ast.Mod) and isinstance(left, str | bytes):
            raise NotComputable  # a width in the format can make a text of any length
        return function(left, right)

    def _call(self, node: ast.Call, depth: int) -> Any:
        if any(isinstance(arg, ast.Starred) for arg in node.args):
            raise NotComputable
        if any(keyword.arg is None for keyword in node.keywords):
            raise NotComputable
        library = self._names.library(node.func)
        if library in _STRUCTURED:
            keywords = [self.of(keyword.value, depth) for keyword in node.keywords]
            parts = (*(self.of(arg, depth) for arg in node.args), *keywords)
            return Made(library, parts)
        args = [self._known(arg, depth) for arg in node.args]
        named = {str(keyword.arg): self._known(keyword.value, depth) for keyword in node.keywords}
        if library in _LIBRARY:
            return _LIBRARY[library](*args, **named)
        builtin = self._names.builtin(node.func)
        if builtin in _BUILTINS:
            return self._builtin(builtin, args, named)
        match node.func:
            case ast.Attribute(value=inner, attr=method) if method in _METHODS and not named:
                value = self._known(inner, depth)
                if isinstance(value, str) and (method != "format" or "{:" not in value):
                    return getattr(value, method)(*args)
            case _:
                pass
        raise NotComputable

    @staticmethod
    def _builtin(name: str, args: list[Any], named: dict[str, Any]) -> Any:
        if name == "bytes" and args and isinstance(args[0], int) and args[0] > _MAX_ITEMS:
            raise NotComputable
        value = _BUILTINS[name](*args, **named)
        if isinstance(value, range) and len(value) > _MAX_ITEMS:
            raise NotComputable
        return value


def is_steady(name: str, bound: Bound, path: tuple[object, ...] = ()) -> bool:
    """Tell whether a name's value is only compared, and its tables are only iterated once."""
    if bound.scope is None or not bound.scope.is_only_compared(name, path):
        return False
    return all(scope.is_table(table) for scope, table in bound.tables)


_TYPES: dict[str | None, type] = {
    name: kind
    for name, kind in vars(__import__("builtins")).items()
    if isinstance(kind, type) and name not in ("object", "type")
}


def _is_known(value: Any) -> bool:
    match value:
        case Opaque():
            return False
        case Made(parts=parts):
            return all(map(_is_known, parts))
        case dict():
            return all(_is_known(k) and _is_known(v) for k, v in value.items())
        case list() | tuple() | set() | frozenset() | deque():
            return all(map(_is_known, value))
        case _:
            return True


# ---------------------------------------------------------------- certainly unequal


def apart(one: Any, other: Any, tolerance: Tolerance = EXACT) -> bool:
    """Tell whether two values are unequal in every reasonable comparison.

    Such a comparison may ignore case, blanks, the order of items or the type of a sequence, may
    round, or may allow a tolerance. Numbers that are apart differ by several times the tolerance.
    """
    return _apart(one, other, tolerance) and _loosely(one) != _loosely(other)


def _apart(one: Any, other: Any, tolerance: Tolerance) -> bool:
    if isinstance(one, type) or isinstance(other, type):
        return one is not other
    if _is_number(one) and _is_number(other):
        return _numbers_apart(one, other, tolerance)
    match one, other:
        case (str(), str()) | (bytes(), bytes()):
            return bool(_folded(one) != _folded(other))
        case (list() | tuple() | deque() | range(), list() | tuple() | deque() | range()):
            pairs = zip(one, other, strict=False)
            return len(one) != len(other) or any(_apart(a, b, tolerance) for a, b in pairs)
        case (set() | frozenset(), set() | frozenset()):
            return _holds_other(one, other, tolerance) or _holds_other(other, one, tolerance)
        case (Counter(), Counter()):
            return _apart(_nonzero(one), _nonzero(other), tolerance)
        case (dict(), dict()):
            shared = one.keys() & other.keys()
            return (
                _holds_other(set(one) - shared, set(other), tolerance)
                or _holds_other(set(other) - shared, set(one), tolerance)
                or any(_apart(one[key], other[key], tolerance) for key in shared)
            )
        case (Made(), Made()):
            return one.name != other.name or _apart(one.parts, other.parts, tolerance)
        case (Opaque(), _) | (_, Opaque()):
            return False
        case _:
            return type(one) is not type(other) or bool(one != other)


def _nonzero(counter: Counter[Any]) -> dict[Any, Any]:
    """Return the counts that decide a counter's equality, which takes a missing one for zero."""
    return {key: count for key, count in counter.items() if count != 0}


def _holds_other(one: Any, other: Any, tolerance: Tolerance) -> bool:
    """Tell whether a set has an item that is apart from all items of another."""
    return any(all(_apart(item, each, tolerance) for each in other) for item in one)


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float | complex | Decimal | Fraction)


def _numbers_apart(one: Any, other: Any, tolerance: Tolerance) -> bool:
    if isinstance(one, bool | int) and isinstance(other, bool | int) and tolerance == EXACT:
        return bool(one != other)
    if isinstance(one, complex) or isinstance(other, complex):
        gap, size = abs(complex(one) - complex(other)), max(abs(one), abs(other))
    else:
        try:
            first, second = Fraction(one), Fraction(other)
        except (ValueError, OverflowError):  # infinite, or not a number
            return bool(math.isfinite(one) != math.isfinite(other))
        # Sizes are capped, since they may be too large for a float.
        gap = float(min(abs(first - second), Fraction(_LARGEST)))
        size = float(min(max(abs(first), abs(second)), Fraction(_LARGEST)))
    needed = 4 * (tolerance.absolute + tolerance.relative * size)
    return bool(gap > max(needed, _LEAST_SHARE * size, _LEAST))


_LARGEST = 10**300
_LEAST_SHARE = 0.005
"""Share of a number's size that is more than any rounding in an expectation."""
_LEAST = 1e-5


def _folded(text: str | bytes) -> str | bytes:
    if isinstance(text, bytes):
        return b"".join(text.lower().split())
    return "".join(text.casefold().split())


def _loosely(value: Any) -> Hashable:
    """Return a key that is the same for values that some comparison may call equal."""
    match value:
        case bool() | int():
            return ("number", value)
        case float() | Decimal() | Fraction():
            try:
                return ("number", int(value)) if value == int(value) else ("number", float(value))
            except (ValueError, OverflowError):
                return ("number", str(value))
        case str() | bytes():
            return _folded(value)
        case Counter():
            return _loosely(_nonzero(value))
        case dict():
            items = Counter((_loosely(k), _loosely(v)) for k, v in value.items())
            return ("dict", frozenset(items.items()))
        case list() | tuple() | deque() | set() | frozenset() | range():
            return ("items", frozenset(Counter(map(_loosely, value)).items()))
        case Made(parts=parts):
            return ("made", tuple(map(_loosely, parts)))
        case Opaque(node=node):
            return ("opaque", id(node))
        case _:
            return ("other", repr(value))
