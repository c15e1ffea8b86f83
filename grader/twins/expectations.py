"""What an assertion expects, and in which ways that can be turned into something else."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from grader.twins.names import Names
from grader.twins.scopes import call_name, is_assertion
from grader.twins.source import Edit, Source
from grader.twins.values import EXACT, Bound, Tolerance, Values, is_steady
from grader.twins.walk import RAISING, Reached

Place = tuple[Source, ast.expr]
Changes = tuple[tuple[Edit, ...], ...]
_MAX_DEPTH = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """Something that must hold for a test to pass."""

    reached: Reached
    expected: ast.expr | None = None
    """What is compared with, whose literals can be others; None where only `turns` are there."""
    asked: str = ""
    """What is compared, in a form that is the same for the same question."""
    tolerance: Tolerance = EXACT
    exceptions: Bound | None = None
    """The exceptions that must be raised."""
    turns: Changes = ()
    """Changes that make it expect the opposite."""
    telling: bool = False
    """Whether a reader may take the opposite for less likely than the original."""


_OPPOSITE = {
    "assertEqual": ("assertNotEqual",),
    "assertNotEqual": ("assertEqual",),
    "assertTrue": ("assertFalse",),
    "assertFalse": ("assertTrue",),
    "assertIs": ("assertIsNot",),
    "assertIsNot": ("assertIs",),
    "assertIsNone": ("assertIsNotNone",),
    "assertIsNotNone": ("assertIsNone",),
    "assertIn": ("assertNotIn",),
    "assertNotIn": ("assertIn",),
    "assertIsInstance": ("assertNotIsInstance",),
    "assertNotIsInstance": ("assertIsInstance",),
    "assertGreater": ("assertLess", "assertLessEqual"),
    "assertGreaterEqual": ("assertLess",),
    "assertLess": ("assertGreater", "assertGreaterEqual"),
    "assertLessEqual": ("assertGreater",),
    "assertAlmostEqual": ("assertNotAlmostEqual",),
    "assertNotAlmostEqual": ("assertAlmostEqual",),
    "assertRegex": ("assertNotRegex",),
    "assertNotRegex": ("assertRegex",),
}
_EQUALITIES = frozenset(
    "assertEqual assertListEqual assertTupleEqual assertDictEqual assertSetEqual "
    "assertSequenceEqual assertMultiLineEqual assertCountEqual assert_equal assert_array_equal "
    "assert_frame_equal assert_series_equal assert_index_equal".split()
)
_CLOSE = frozenset("assertAlmostEqual assert_allclose assert_almost_equal".split())
_CLOSE |= {"assert_array_almost_equal"}
_OPERATORS: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Eq: (r"==", ("!=",)),
    ast.NotEq: (r"!=", ("==",)),
    ast.Is: (r"\bis\b", ("is not",)),
    ast.IsNot: (r"\bis\s+not\b", ("is",)),
    ast.In: (r"\bin\b", ("not in",)),
    ast.NotIn: (r"\bnot\s+in\b", ("in",)),
    ast.Lt: (r"<", (">", ">=")),
    ast.LtE: (r"<=", (">",)),
    ast.Gt: (r">", ("<", "<=")),
    ast.GtE: (r">=", ("<",)),
}


class Reader:
    """Reads what is asserted at a place that was reached."""

    def __init__(self, names: Names, reached: Reached, own_methods: frozenset[str]) -> None:
        """Set out.

        Args:
            names: What names mean.
            reached: The place.
            own_methods: Names of methods that the suite's classes define themselves.
        """
        self._names = names
        self._reached = reached
        self._source = reached.source
        self._own_methods = own_methods
        self._values = Values(names, reached.env)

    def read(self) -> Iterator[Expectation]:
        """Yield the expectations."""
        node = self._reached.node
        match node:
            case ast.Assert(test=test):
                yield from self._condition(test, holds=True)
            case ast.Call():
                yield from self._call(node)
            case ast.ExceptHandler(type=ast.expr() as kind):
                yield self._made(exceptions=self._bound(kind))
            case _:
                pass

    def _bound(self, node: ast.expr) -> Bound:
        return Bound(node, self._reached.env, self._source)

    def _made(self, **fields: object) -> Expectation:
        return Expectation(reached=self._reached, **fields)  # type: ignore[arg-type]

    # ------------------------------------------------------------ calls

    def _call(self, call: ast.Call) -> Iterator[Expectation]:
        name = call_name(call)
        if name in RAISING and call.args:
            is_own = name in self._own_methods
            if not is_own and (name != "raises" or self._names.library(call.func)):
                yield self._raising(call, name)
            return
        if not is_assertion(call, self._names) or name in self._own_methods:
            return
        if any(isinstance(arg, ast.Starred) for arg in call.args):
            return
        if name in ("assertTrue", "assertFalse") and call.args:
            yield from self._condition(call.args[0], holds=name == "assertTrue", call=call)
            return
        turns = self._renamed(call, _OPPOSITE.get(name, ()))
        if name in _EQUALITIES and len(call.args) >= 2:
            yield from self._equal(*call.args[:2], turns=turns)
        elif name in _CLOSE and len(call.args) >= 2:
            tolerance = self._tolerance_of(name, call)
            if tolerance is not None:
                yield from self._equal(*call.args[:2], tolerance=tolerance, turns=turns)
            else:
                yield from self._turned(call.args, turns, telling=True)
        elif name == "assertIs" and len(call.args) >= 2:
            yield from self._identical(*call.args[:2], turns=turns)
        elif name == "assertIsInstance" and len(call.args) >= 2:
            yield from self._instance(*call.args[:2], turns=turns)
        elif turns:
            yield from self._turned(call.args, turns, telling=name not in _COMMON)

    def _renamed(self, call: ast.Call, names: tuple[str, ...]) -> Changes:
        """Return the edits that call other methods of the same object."""
        if not isinstance(call.func, ast.Attribute):
            return ()
        _, end = self._source.span(call.func)
        start = end - len(call.func.attr.encode())
        return tuple((Edit(start=start, end=end, text=name),) for name in names)

    def _raising(self, call: ast.Call, name: str) -> Expectation:
        turns: Changes = ()
        if name == "assertRaises":
            turns = self._renamed(call, ("assertWarns",))
        elif name == "assertRaisesRegex":
            turns = self._renamed(call, ("assertWarnsRegex",))
        elif isinstance(call.func, ast.Attribute):
            turns = self._renamed(call, ("warns",))
        start, end = self._source.span(call.args[0])
        warned = Edit(start=start, end=end, text="UserWarning")
        return self._made(
            exceptions=self._bound(call.args[0]),
            turns=tuple((*turn, warned) for turn in turns),
            telling=True,
        )

    # ------------------------------------------------------------ conditions

    def _condition(
        self, test: ast.expr, *, holds: bool, call: ast.Call | None = None
    ) -> Iterator[Expectation]:
        """Yield what a condition expects.

        Args:
            test: The condition.
            holds: Whether it must be true, or else false.
            call: The `assertTrue` or `assertFalse` that it is given to, if any.
        """
        renamed: Changes = ()
        if call is not None:
            renamed = self._renamed(call, ("assertFalse" if holds else "assertTrue",))
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                if call is None:
                    yield from self._unnegated(test, operand)
                else:
                    yield from self._turned([operand], renamed)
                yield from self._condition(operand, holds=not holds)
            case ast.BoolOp(op=ast.And(), values=values) if holds:
                for value in values:
                    yield from self._condition(value, holds=True)
            case ast.BoolOp(op=ast.Or(), values=values) if not holds:
                for value in values:
                    yield from self._condition(value, holds=False)
            case ast.Compare(ops=[op], comparators=[right]):
                yield from self._comparison(test, op, right, holds=holds, renamed=renamed)
            case ast.Compare() if holds:
                yield from self._turned([test], renamed or self._negated(test), telling=True)
            case ast.Call() if holds and (pair := self._closeness(test)) is not None:
                yield from self._equal(*pair[:2], tolerance=pair[2], turns=renamed)
            case ast.Call(args=[value, kind]) if (
                holds and self._names.builtin(test.func) == "isinstance"
            ):
                yield from self._instance(value, kind, turns=renamed or self._negated(test))
            case ast.Constant():
                pass
            case _ if holds or renamed:
                wide = isinstance(test, ast.BoolOp | ast.IfExp)
                yield from self._turned([test], renamed or self._negated(test), telling=wide)
            case _:
                pass

    def _comparison(
        self,
        test: ast.Compare,
        op: ast.cmpop,
        right: ast.expr,
        *,
        holds: bool,
        renamed: Changes,
    ) -> Iterator[Expectation]:
        left = test.left
        turns = renamed or self._other_operator(left, op, right)
        if not holds:
            yield from self._turned([left, right], turns)
            return
        match op:
            case ast.Eq():
                yield from self._equal(left, right, turns=turns)
            case ast.Is():
                yield from self._identical(left, right, turns=turns)
            case ast.Lt() | ast.LtE() if (pair := self._distance(left, right)) is not None:
                yield from self._equal(*pair[:2], tolerance=pair[2], turns=turns)
            case ast.Gt() | ast.GtE() if (pair := self._distance(right, left)) is not None:
                yield from self._equal(*pair[:2], tolerance=pair[2], turns=turns)
            case _:
                yield from self._turned([left, right], turns)

    def _other_operator(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Changes:
        start, end = self._source.span(left)[1], self._source.span(right)[0]
        gap = self._source.text(start, end)
        pattern, others = _OPERATORS[type(op)]
        found = re.search(pattern, gap)
        if found is None or "#" in gap or not gap.isascii() or "\n" in found[0]:
            return ()
        return tuple(
            (Edit(start=start + found.start(), end=start + found.end(), text=other),)
            for other in others
        )

    def _negated(self, test: ast.expr) -> Changes:
        start, end = self._source.span(test)
        if isinstance(test, ast.BoolOp | ast.IfExp | ast.Lambda | ast.NamedExpr):
            opening, closing = Edit(start=start, end=start, text="not ("), ")"
            return ((opening, Edit(start=end, end=end, text=closing)),)
        return ((Edit(start=start, end=start, text="not "),),)

    def _unnegated(self, test: ast.UnaryOp, operand: ast.expr) -> Iterator[Expectation]:
        start, _ = self._source.span(test)
        gap = self._source.text(start, self._source.span(operand)[0])
        found = re.match(r"not[ \t]*", gap)
        if found is not None:
            turn = (Edit(start=start, end=start + found.end(), text=""),)
            yield from self._turned([operand], (turn,))

    # ------------------------------------------------------------ kinds of expectations

    def _equal(
        self,
        left: ast.expr,
        right: ast.expr,
        *,
        tolerance: Tolerance = EXACT,
        turns: Changes = (),
    ) -> Iterator[Expectation]:
        """Yield the expectation that two values are equal: each side that can be another."""
        if self._is_constant(left) and self._is_constant(right):
            return
        for asked, expected in ((left, right), (right, left)):
            inner, within = self._approximated(expected, tolerance)
            if within is None or self._is_constant(asked):
                continue
            if next(self.leaves(inner), None) is not None:
                yield self._made(
                    expected=inner,
                    asked=ast.dump(asked),
                    tolerance=within,
                    turns=turns,
                    telling=True,
                )
                return
        yield from self._turned([left, right], turns, telling=True)

    def _identical(
        self, left: ast.expr, right: ast.expr, *, turns: Changes
    ) -> Iterator[Expectation]:
        for asked, expected in ((left, right), (right, left)):
            if isinstance(expected, ast.Constant) and isinstance(expected.value, bool):
                yield self._made(expected=expected, asked=ast.dump(asked), turns=turns)
                return
        yield from self._turned([left, right], turns)

    def _instance(
        self, value: ast.expr, kind: ast.expr, *, turns: Changes
    ) -> Iterator[Expectation]:
        if self._is_constant(value):
            return
        names = kind.elts if isinstance(kind, ast.Tuple) else [kind]
        known = {self._names.builtin(name) for name in names}
        start, end = self._source.span(kind)
        if known <= _LAYOUTS.keys():
            taken = {_LAYOUTS[name] for name in known if name in _LAYOUTS}
            others = [name for name in _USUAL_TYPES if _LAYOUTS[name] not in taken]
            swaps = tuple((Edit(start=start, end=end, text=other),) for other in others)
            yield self._made(turns=swaps, asked=ast.dump(value))
        else:
            yield from self._turned([value], turns, telling=True)

    def _turned(
        self,
        asked: list[ast.expr],
        turns: Changes,
        *,
        telling: bool = False,
    ) -> Iterator[Expectation]:
        if turns and not all(map(self._is_constant, asked)):
            key = ", ".join(map(ast.dump, asked))
            yield self._made(turns=turns, asked=key, telling=telling)

    def _is_constant(self, node: ast.expr) -> bool:
        return self._values.is_known(node)

    # ------------------------------------------------------------ tolerances

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

    def _tolerance_of(self, name: str, call: ast.Call) -> Tolerance | None:
        """Return that of an assertion about almost equal values; None where it cannot be told."""
        named = {k.arg: k.value for k in call.keywords}
        if None in named:
            return None
        rest = dict(enumerate(call.args[2:]))
        if name == "assert_allclose":
            return self._tolerance(
                (named.get("atol", rest.get(1)), 0.0), (named.get("rtol", rest.get(0)), 1e-7)
            )
        if "delta" in named or 2 in rest:
            return self._tolerance((named.get("delta", rest.get(2)), 0.0), (None, 0.0))
        default = 7 if name == "assertAlmostEqual" else 6
        places = named.get("places", named.get("decimal", rest.get(0)))
        if isinstance(places, ast.Constant) and places.value is None:
            places = None
        digits = self._number(places, default)
        return None if digits is None else Tolerance(absolute=1.5 * 10.0**-digits)

    def _approximated(
        self, expected: ast.expr, tolerance: Tolerance
    ) -> tuple[ast.expr, Tolerance | None]:
        """Look into `pytest.approx`."""
        match expected:
            case ast.Call(args=[inner, *rest]) if (
                self._names.library(expected.func) == "pytest.approx"
            ):
                named = {k.arg: k.value for k in expected.keywords}
                more = dict(enumerate(rest))
                relative = named.get("rel", more.get(0))
                absolute = named.get("abs", more.get(1))
                if isinstance(relative, ast.Constant) and relative.value is None:
                    relative = None
                return inner, self._tolerance((absolute, 1e-12), (relative, 1e-6))
            case _:
                return expected, tolerance

    def _closeness(self, call: ast.Call) -> tuple[ast.expr, ast.expr, Tolerance] | None:
        """Return what a call such as `math.isclose` compares, with its tolerance."""
        if len(call.args) < 2 or any(isinstance(arg, ast.Starred) for arg in call.args):
            return None
        named = {k.arg: k.value for k in call.keywords}
        rest = dict(enumerate(call.args[2:]))
        match self._names.library(call.func):
            case "math.isclose":
                found = self._tolerance((named.get("abs_tol"), 0.0), (named.get("rel_tol"), 1e-9))
            case "numpy.isclose" | "numpy.allclose":
                found = self._tolerance(
                    (named.get("atol", rest.get(1)), 1e-8),
                    (named.get("rtol", rest.get(0)), 1e-5),
                )
            case "numpy.array_equal":
                found = EXACT
            case _:
                return None
        return None if found is None else (call.args[0], call.args[1], found)

    def _distance(
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

    # ------------------------------------------------------------ literals

    def leaves(self, expected: ast.expr) -> Iterator[Place]:
        """Yield the literals that an expected value is made of and that can be others."""
        yield from _leaves(self._bound(expected), self._names)

    def exception_place(self, bound: Bound) -> Place | None:
        """Return where the exceptions stand that are expected."""
        return _exception_place(bound)


_LAYOUTS: dict[str | None, str] = {
    "int": "int", "bool": "int", "float": "float", "str": "str", "list": "list", "dict": "dict",
    "tuple": "tuple", "set": "set", "frozenset": "set", "bytes": "bytes", "complex": "complex",
}  # fmt: skip
"""Builtin types by what their instances are in memory: no object is of two kinds."""
_USUAL_TYPES = "int float str list dict tuple set".split()
_COMMON = frozenset(
    "assertIsNone assertIsNotNone assertIn assertNotIn assertIs assertIsNot".split()
)
_COMMON |= {"assertGreater", "assertGreaterEqual", "assertLess", "assertLessEqual"}


def _leaves(bound: Bound, names: Names, path: tuple[object, ...] = ()) -> Iterator[Place]:
    node, env, source = bound.node, bound.env, bound.source
    match node:
        case ast.Name(id=name) if name in env:
            found = env[name]
            if found.scope is not None and is_steady(name, found, path):
                inner = _at(found, path)
                if inner is not None:
                    yield from _leaves(inner, names)
        case ast.Subscript(value=value, slice=ast.Constant(value=key)):
            yield from _leaves(replace(bound, node=value), names, (key, *path))
        case _ if path:
            pass
        case ast.Name():
            if names.builtin(node) in _SWAPPED_TYPES:
                yield source, node
        case ast.Constant():
            if node.value is not Ellipsis:
                yield source, node
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            yield source, node
        case ast.UnaryOp(operand=operand):
            yield from _leaves(replace(bound, node=operand), names)
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            if not items and not isinstance(node, ast.Set):
                yield source, node
            for item in items:
                yield from _leaves(replace(bound, node=item), names)
        case ast.Dict(keys=keys, values=values):
            if not keys:
                yield source, node
            for each in [*values, *keys]:
                if each is not None:
                    yield from _leaves(replace(bound, node=each), names)
        case ast.BinOp(left=left, right=right):
            yield from _leaves(replace(bound, node=left), names)
            yield from _leaves(replace(bound, node=right), names)
        case ast.Call(func=func, args=args, keywords=keywords):
            inner_values = [*args, *(k.value for k in keywords)]
            if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Constant):
                inner_values.append(func.value)
            for each in inner_values:
                yield from _leaves(replace(bound, node=each), names)
        case _:
            pass


_SWAPPED_TYPES = frozenset(
    "int float str list dict tuple set bool ValueError TypeError KeyError IndexError "
    "AttributeError ZeroDivisionError RuntimeError".split()
)


def _at(bound: Bound, path: tuple[object, ...]) -> Bound | None:
    """Return the item of a display at a path of keys and indices."""
    for key in path:
        node = bound.node
        match node:
            case ast.List(elts=items) | ast.Tuple(elts=items):
                plain = not any(isinstance(item, ast.Starred) for item in items)
                if not (plain and isinstance(key, int) and -len(items) <= key < len(items)):
                    return None
                inner = items[key]
            case ast.Dict(keys=keys, values=values):
                found = [
                    value
                    for each, value in zip(keys, values, strict=True)
                    if isinstance(each, ast.Constant) and each.value == key
                ]
                if len(found) != 1 or not all(isinstance(k, ast.Constant) for k in keys):
                    return None
                inner = found[0]
            case _:
                return None
        bound = replace(bound, node=inner)
    return bound


def _exception_place(bound: Bound) -> Place | None:
    for _ in range(_MAX_DEPTH):
        match bound.node:
            case ast.Name(id=name) if name in bound.env:
                found = bound.env[name]
                if not is_steady(name, found):
                    return None
                bound = found
            case _:
                return bound.source, bound.node
    return None
