"""The expectations of an assertion, and the ways to change them."""

import ast
import re
import sys
import unittest
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import SystemRandom

from grader.source.allowed import EXPECT_ERRORS
from grader.twins.closeness import OF_PANDAS, Closeness
from grader.twins.computed import other_value
from grader.twins.decoys import USUAL_TYPES
from grader.twins.equality import says_what_is_missing
from grader.twins.hidden import HiddenComparisons
from grader.twins.literals import Place, leaves
from grader.twins.names import Names, call_name, makes_object
from grader.twins.origins import Origins
from grader.twins.scopes import is_assertion
from grader.twins.source import Edit
from grader.twins.values import EXACT, Bound, Tolerance, Values
from grader.twins.walk import Reached
from grader.twins.witnesses import Witnesses

Changes = tuple[tuple[Edit, ...], ...]

_OTHER_VALUES = 3
"""Other values for each side of a comparison that the tests compute."""

_random = SystemRandom()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """A condition that must hold for a test to pass."""

    reached: Reached
    expected: ast.expr | None = None
    """The expected value, whose literals can be changed; None if there are only `turns`."""
    asked: ast.expr | None = None
    """The submission's side of the comparison."""
    tolerance: Tolerance = EXACT
    exceptions: Bound | None = None
    """The exceptions that must be raised."""
    turns: Changes = ()
    """Changes that make it expect the opposite."""
    opposite: bool = False
    """Whether the `turns` expect the opposite of an equality, or of `in`. An object that equals
    everything fails that, like a right program. Other comparisons hold for many values anyway."""
    blind: bool = False
    """Whether an object that equals everything may fail each change, like a right program, since
    the submission's side rests on comparisons."""
    telling: bool = False
    """Whether a reader may find the opposite less likely than the original."""
    computed: bool = False
    """Whether the `turns` replace what the tests certainly compute by another value."""
    replaceable: bool = False
    """Whether they are computed by functions or modules that a submission could replace."""
    denial: Changes = ()
    """The opposite of what it expects to be in an object, if the suite also says what is missing in
    something. A class may honestly contain whatever the `turns` ask for."""
    oracle: ast.Name | None = None
    """The suite's own function whose result is expected, if its result is used for nothing else."""

    @property
    def is_blind(self) -> bool:
        """Whether an object that equals everything meets it, and no change exposes the object."""
        has_values = self.expected is not None or self.exceptions is not None
        return self.blind or (self.opposite and not has_values)


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
    "assert_called": ("assert_not_called",),
    "assert_called_once": ("assert_not_called",),
    "assert_not_called": ("assert_called",),
}
_EQUALITIES = frozenset(
    "assertEqual assertListEqual assertTupleEqual assertDictEqual assertSetEqual "
    "assertSequenceEqual assertMultiLineEqual assertCountEqual assert_equal "
    "assert_array_equal".split()
)
_CLOSE = frozenset("assertAlmostEqual assert_allclose assert_almost_equal".split())
_CLOSE |= {"assert_array_almost_equal", *OF_PANDAS}
_LAST_CALLS = frozenset({"assert_called_with", "assert_called_once_with"})
"""What a mock was last called with. The other assertions of mocks look at any of its calls."""
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


class ExpectationReader:
    """Reads the expectations of one statement that a test reaches."""

    def __init__(
        self,
        names: Names,
        reached: Reached,
        own_methods: frozenset[str],
        *,
        everything: bool = False,
    ) -> None:
        """Make a reader.

        Args:
            names: The meanings of names.
            reached: The statement.
            own_methods: Names of methods that the suite's classes define themselves.
            everything: Whether to read also what is not certain: arguments of classes whose
                equality may ignore them, and tolerances that are unknown.
        """
        self._everything = everything
        self._names = names
        self._reached = reached
        self._source = reached.source
        self._own_methods = own_methods
        self._values = Values(names, reached.env)
        self._closeness = Closeness(names, self._values)
        self._origins = Origins(names, self._source)
        self._hidden = HiddenComparisons(self._origins, own_methods)

    def read(self) -> Iterator[Expectation]:
        """Yield the expectations; if an assertion has none that is known, a blind one."""
        found = [] if self._reached.passed_over else [*self._read()]
        yield from found
        if not found and (self._reached.passed_over or self._may_assert(self._reached.node)):
            yield Expectation(reached=self._reached, blind=True)

    def _may_assert(self, node: ast.AST) -> bool:
        """Tell whether a statement may compare values with others than known ones."""
        match node:
            case ast.Assert(test=test) | ast.If(test=test):
                return not self._is_constant(test)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)) if (
                name not in self._own_methods
            ):
                return not hasattr(unittest.TestCase, name) or name.startswith("assert")
            case ast.Call():
                return is_assertion(node, self._names) or self._hidden.are_in(
                    node, self._reached.env
                )
            case _:
                return False

    def _read(self) -> Iterator[Expectation]:
        node = self._reached.node
        match node:
            case ast.Assert(test=test):
                yield from self._condition(test, holds=True)
            case ast.Call():
                yield from self._call(node)
            case ast.If(test=test):
                yield from self._condition(test, holds=False)
            case ast.ExceptHandler(type=ast.expr() as kind):
                yield self._made(exceptions=self._bound(kind))
            case _:
                pass

    def _bound(self, node: ast.expr) -> Bound:
        return Bound(node, self._reached.env, self._source)

    def _made(self, *asked: ast.expr, **fields: object) -> Expectation:
        """Make an expectation.

        Args:
            *asked: The submission's side.
            **fields: What else is known of it.
        """
        return Expectation(
            reached=self._reached,
            asked=asked[0] if asked else None,
            blind=any(self._hidden.are_in(each, self._reached.env) for each in asked),
            **fields,  # type: ignore[arg-type]
        )

    # ------------------------------------------------------------ calls

    def _call(self, call: ast.Call) -> Iterator[Expectation]:
        name = call_name(call)
        if name in EXPECT_ERRORS and call.args:
            is_own = name in self._own_methods
            if not is_own and (name != "raises" or self._names.library(call.func)):
                yield replace(
                    self._made(exceptions=self._bound(call.args[0])),
                    blind=_is_of_assertions(call.args[0]),
                )
            return
        if not is_assertion(call, self._names) or name in self._own_methods:
            return
        if any(isinstance(arg, ast.Starred) for arg in call.args):
            return
        if name in _LAST_CALLS:
            for argument in [*call.args, *(keyword.value for keyword in call.keywords)]:
                yield self._made(call.func, expected=argument)
            return
        if name in ("assertTrue", "assertFalse") and call.args:
            yield from self._condition(call.args[0], holds=name == "assertTrue", call=call)
            return
        turns = self._renamed(call, _OPPOSITE.get(name, ()))
        if name in _EQUALITIES and len(call.args) >= 2:
            yield from self._equal(*call.args[:2], turns=turns)
        elif name in _CLOSE and len(call.args) >= 2:
            tolerance = self._closeness.of_assertion(name, call)
            if tolerance is None and self._everything:
                tolerance = _WIDE
            if tolerance is not None:
                yield from self._equal(*call.args[:2], tolerance=tolerance, turns=turns)
            else:
                yield from self._turned(call.args, turns, telling=True, opposite=True)
        elif (
            name in _CONDITIONS
            and len(call.args) >= 2
            and (
                falsified := self._falsified(
                    ast.Compare(
                        left=call.args[0], ops=[_CONDITIONS[name]], comparators=[call.args[1]]
                    )
                )
            )
            is not None
        ):
            may_deny = name == "assertIn" and says_what_is_missing(self._source.tree)
            yield replace(falsified, denial=turns if may_deny else ())
        elif name == "assertIs" and len(call.args) >= 2:
            yield from self._identical(*call.args[:2], turns=turns)
        elif name == "assertIsInstance" and len(call.args) >= 2:
            yield from self._instance(*call.args[:2], turns=turns)
        elif turns:
            yield from self._turned(
                call.args or [call.func],
                turns,
                telling=name not in _COMMON,
                opposite=name == "assertIn" or name in _EQUALITIES,
            )

    def _renamed(self, call: ast.Call, names: tuple[str, ...]) -> Changes:
        """Return the edits that replace the called method by others of the same object."""
        if not isinstance(call.func, ast.Attribute):
            return ()
        _, end = self._source.span(call.func)
        start = end - len(call.func.attr.encode())
        return tuple((Edit(start=start, end=end, text=name),) for name in names)

    # ------------------------------------------------------------ conditions

    def _condition(
        self, test: ast.expr, *, holds: bool, call: ast.Call | None = None
    ) -> Iterator[Expectation]:
        """Yield the expectations of a condition.

        Args:
            test: The condition.
            holds: Whether it must be true; else it must be false.
            call: The `assertTrue` or `assertFalse` around it, if any.
        """
        if holds and (falsified := self._falsified(test)) is not None:
            yield falsified
            if not _is_equality(test):
                return  # a reader may still believe the opposite condition
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
                yield from self._turned([test], renamed)
                for value in values:
                    yield from self._condition(value, holds=False)
            case ast.Compare(ops=[op], comparators=[right]):
                yield from self._comparison(test, op, right, holds=holds, renamed=renamed)
            case ast.Compare(left=left, ops=ops, comparators=rest) if holds:
                for first, op, second in zip([left, *rest], ops, rest, strict=False):
                    if isinstance(op, ast.Eq):
                        yield from self._equal(first, second)
                yield from self._turned([test], renamed or self._negated(test), telling=True)
            case ast.Call() if holds and (pair := self._closeness.of_call(test)) is not None:
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

    def _falsified(self, test: ast.expr) -> Expectation | None:
        """Return the expectation with changes that make a condition false, if there are any."""
        if isinstance(test, ast.BoolOp | ast.Constant | ast.Name):
            return None
        witnesses = Witnesses(self._names, self._reached.env, self._source)
        changes = witnesses.changes(test, _random)
        if not changes:
            return None
        made = self._made(*witnesses.asked(test), turns=changes)
        if any(isinstance(node, ast.In | ast.NotIn) for node in ast.walk(test)):
            # An endless iterator may have the other item, too, and is then further on.
            made = replace(made, reached=replace(made.reached, goes_on=True))
            match test:
                case ast.Compare(left=item, ops=[ast.In() as op], comparators=[container]) if (
                    says_what_is_missing(self._source.tree)
                ):
                    made = replace(made, denial=self._other_operator(item, op, container))
                case _:
                    pass
        return made

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
        if not holds and not isinstance(op, ast.NotEq):
            # Another operator may leave the condition false: neither 3 < 3 nor 3 > 3 holds.
            yield from self._turned([left, right], renamed, opposite=True)
            return
        match op:
            case ast.NotEq() if not holds:
                yield from self._equal(left, right, turns=turns)
            case ast.Eq():
                yield from self._equal(left, right, turns=turns)
            case ast.Is():
                yield from self._identical(left, right, turns=turns)
            case ast.Lt() | ast.LtE() if (
                pair := self._closeness.of_distance(left, right)
            ) is not None:
                yield from self._equal(*pair[:2], tolerance=pair[2], turns=turns)
            case ast.Gt() | ast.GtE() if (
                pair := self._closeness.of_distance(right, left)
            ) is not None:
                yield from self._equal(*pair[:2], tolerance=pair[2], turns=turns)
            case _:
                yield from self._turned(
                    [left, right],
                    turns,
                    opposite=isinstance(op, ast.Eq | ast.In),
                )

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
        """Yield the expectation that two values are equal, with changes of one of them."""
        if self._is_constant(left) and self._is_constant(right):
            return
        oracle = self._oracle(right, tolerance) or self._oracle(left, tolerance)
        turned = partial(self._turned, [left, right], telling=True)
        left, right, within = self._closeness.of_sides(left, right, tolerance, self._reached.env)
        if within is None:
            yield from turned(turns, opposite=True)
            return
        own = [side for side in (right, left) if self._origins.is_own(side, self._reached.env)]
        others = self._with_another(left, right, own, within) if turns else ()
        is_sure = bool(own and others)
        replaceable = not any(self._origins.is_fixed(side, self._reached.env) for side in own)
        for asked, expected in ((left, right), (right, left)):
            if self._is_constant(asked):
                continue
            if next(self.leaves(expected), None) is not None:
                other = self._as_data(expected)
                changes = (other,) if other is not None else others
                yield self._made(
                    asked,
                    expected=expected,
                    tolerance=within,
                    turns=changes or turns,
                    opposite=not changes,
                    telling=True,
                    computed=other is None and is_sure,
                    replaceable=replaceable,
                    oracle=oracle,
                )
                return
        for expected in (right, left):
            other = self._as_data(expected)
            if other is not None:
                yield self._made(left, right, turns=(other,), telling=True)
                return
        for each in turned(others or turns, opposite=not others):
            yield replace(each, oracle=oracle, computed=is_sure, replaceable=replaceable)

    def _oracle(self, side: ast.expr, tolerance: Tolerance) -> ast.Name | None:
        """Return the suite's own function whose bare result is one side of a comparison."""
        if isinstance(side, ast.Name) and side.id in self._reached.env:
            bound = self._reached.env[side.id]
            if bound.scope is None or len(bound.scope.loads(side.id)) != 1 or bound.tables:
                return None
            side = bound.node
        match side:
            case ast.Call(func=ast.Name() as function) if (
                tolerance == EXACT and self._origins.is_own(side, self._reached.env)
            ):
                return function
            case _:
                return None

    def _with_another(
        self, left: ast.expr, right: ast.expr, own: Sequence[ast.expr], tolerance: Tolerance
    ) -> Changes:
        """Return edits that each replace one side of a comparison by another value.

        An object that equals everything passes this if it is the other side, but not a comparison
        for inequality. So what is replaced is what the tests compute, or either side if neither
        certainly is that. A fixture of another file may give an object that equals everything:
        then nothing else can be replaced.

        Args:
            left: One side.
            right: The other.
            own: Those that the tests certainly compute.
            tolerance: By how much values that are unequal differ.
        """
        if len(own) == 2:
            return ()
        found = []
        fixtures = [side for side in (right, left) if self._has_unknown_fixture(side)]
        unknown = [
            side
            for side, other in ((right, left), (left, right))
            if not self._names.is_imported(other)
        ]
        for side in own or fixtures or unknown:
            if self._source.holds(side):
                start, end = self._source.span(side)
                for _ in range(_OTHER_VALUES):
                    before, after = other_value(_random, tolerance)
                    opening = Edit(start=start, end=start, text=before)
                    found.append((opening, Edit(start=end, end=end, text=after)))
        return tuple(found)

    def _has_unknown_fixture(self, side: ast.expr) -> bool:
        return any(
            isinstance(node, ast.Name)
            and node.id not in self._reached.env
            and self._reached.scope.has_parameter(node.id)
            for node in ast.walk(side)
        )

    def _as_data(self, expected: ast.expr) -> tuple[Edit, ...] | None:
        """Return edits that replace an instance of the submission's class by a tuple.

        The tuple has one item more than the class gets arguments, and the others are at other
        places. So the instance cannot equal it, even if it compares only as many as it has.
        """
        match expected:
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if (
                makes_object(expected)
                and not self._names.builtin(expected.func)
                and (self._names.library(expected.func) or name).partition(".")[0]
                not in sys.stdlib_module_names
                and not any(isinstance(arg, ast.Starred) for arg in args)
            ):
                parts = [self._source.text_of(arg) for arg in args]
                start, end = self._source.span(expected)
                first = "0" if parts[:1] == ["None"] else "None"
                text = f"({', '.join([first, *parts])})" if parts else "(0,)"
                return None if "\n" in text else (Edit(start=start, end=end, text=text),)
            case _:
                return None

    def _identical(
        self, left: ast.expr, right: ast.expr, *, turns: Changes
    ) -> Iterator[Expectation]:
        for asked, expected in ((left, right), (right, left)):
            if isinstance(expected, ast.Constant) and isinstance(expected.value, bool):
                yield self._made(asked, expected=expected, turns=turns)
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
            others = [name for name in USUAL_TYPES if _LAYOUTS[name] not in taken]
            swaps = tuple((Edit(start=start, end=end, text=other),) for other in others)
            yield self._made(value, turns=swaps)
        else:
            yield from self._turned([value], turns, telling=True)

    def _turned(
        self,
        asked: list[ast.expr],
        turns: Changes,
        *,
        telling: bool = False,
        opposite: bool = False,
    ) -> Iterator[Expectation]:
        if turns and not all(map(self._is_constant, asked)):
            yield self._made(*asked, turns=turns, telling=telling, opposite=opposite)

    def _is_constant(self, node: ast.expr) -> bool:
        return self._values.is_known(node)

    # ------------------------------------------------------------ literals

    def leaves(self, expected: ast.expr) -> Iterator[Place]:
        """Yield the literals of an expected value that can be changed."""
        yield from leaves(self._bound(expected), self._names, everything=self._everything)


def _is_of_assertions(kind: ast.expr) -> bool:
    """Tell whether an expected exception is that of a failed assertion inside."""
    return any(
        isinstance(each, ast.Name | ast.Attribute)
        and getattr(each, "id", getattr(each, "attr", "")) in ("AssertionError", "failureException")
        for each in ast.walk(kind)
    )


def _is_equality(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and any(isinstance(op, ast.Eq | ast.Is) for op in test.ops)


_CONDITIONS: dict[str, ast.cmpop] = {
    "assertIn": ast.In(),
    "assertLess": ast.Lt(),
    "assertLessEqual": ast.LtE(),
    "assertGreater": ast.Gt(),
    "assertGreaterEqual": ast.GtE(),
}
_WIDE = Tolerance(absolute=0.1, relative=0.1)
_LAYOUTS: dict[str | None, str] = {
    "int": "int", "bool": "int", "float": "float", "str": "str", "list": "list", "dict": "dict",
    "tuple": "tuple", "set": "set", "frozenset": "set", "bytes": "bytes", "complex": "complex",
}  # fmt: skip
"""Builtin types by the memory layout of their instances: no object has two layouts."""

_COMMON = frozenset(
    "assertIsNone assertIsNotNone assertIn assertNotIn assertIs assertIsNot".split()
)
_COMMON |= {"assertGreater", "assertGreaterEqual", "assertLess", "assertLessEqual"}
