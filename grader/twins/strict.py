"""Makes each comparison for equality in a suite strict, wherever it is."""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from random import Random

from grader.model import PytestTests, ScriptTests
from grader.source.names import module_name
from grader.source.syntax import UNPARSABLE, parse
from grader.twins.computed import other_value
from grader.twins.values import Tolerance


def with_strict_equality(
    tests: ScriptTests | PytestTests, rng: Random, *, containers: bool
) -> tuple[ScriptTests | PytestTests, str]:
    """Return a suite in which values must not equal others than what they are compared with.

    For values that equal only what is right, each comparison comes out as before, whatever the
    tests make of it. If a comparison holds for an object that equals or contains everything, it
    raises an AssertionError.

    Args:
        tests: The suite.
        rng: Chooses the other values, and when a value is compared with them.
        containers: Whether `in` is strict, too.

    Returns:
        The suite, and a secret that the message of each such error has. A test that fails without
        it was disturbed by the further comparisons, which may for example use up an iterator.
    """
    if isinstance(tests, ScriptTests):
        strict = _Strict(rng, None, containers=containers)
        cases = tuple(replace(case, source=strict.source(case.source)) for case in tests.cases)
        return replace(tests, cases=cases, setup=strict.source(tests.setup)), strict.secret
    solution = module_name(tests.solution_path).rpartition(".")[2]
    strict = _Strict(rng, solution, containers=containers)
    files = (
        replace(file, content=strict.source(file.content.decode("utf-8", "replace")).encode())
        if file.path.endswith(".py") and file.path != tests.solution_path
        else file
        for file in tests.files
    )
    return replace(tests, files=tuple(files)), strict.secret


_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.In: "in", ast.NotIn: "not in"
}  # fmt: skip
_ASSERTIONS = {
    "assertEqual": "==", "assertListEqual": "==", "assertTupleEqual": "==", "assertSetEqual": "==",
    "assertDictEqual": "==", "assertSequenceEqual": "==", "assertCountEqual": "==",
    "assertMultiLineEqual": "==", "assertIn": "in",
}  # fmt: skip
_FAR = Tolerance(absolute=1.0, relative=0.125)
_DECOYS = 4
"""Other values that each value is compared with, before or after the comparison itself."""
_PLACES = 97
_MOST = 2000
"""Comparisons that are strict; those of a long loop would take too long."""

_HELPER = """
def {name}(a, b, kind, is_value, pair=False, count=[]):
    def compare():
        return a == b if kind == '==' else a != b if kind == '!=' else a in b if kind == 'in' \
            else a not in b
    if len(count) > {most}:
        return (a, b) if pair else compare()
    count.append(0)
    def is_loose(v):
        kind_of, module = v.__class__, v.__class__.__module__
        if module in {loose}:
            place = __import__('sys').modules.get(module)
            return getattr(place, kind_of.__name__, None) is kind_of
        return module[:8] == '_pytest.' or ({apart} and module == __name__) or (
            v.__class__ in ([].__class__, ().__class__) and any(map(is_loose, v))) or (
            v.__class__ is {{}}.__class__ and any(map(is_loose, v.values())))
    others = [{others}]
    if 'in' in kind and not [c for c in b.__class__.__mro__ if '__contains__' in c.__dict__]:
        others = []  # the comparison itself uses up an iterator
    elif [v for v in (a, b) if v.__class__ in ([].__class__, ().__class__) and not v]:
        others = []  # a value without items may honestly equal one with some
    elif 'in' in kind or is_loose(a) or is_loose(b):
        others = [lambda v: lambda: 0] * {decoys}
    place = {places}[len(count) % {count}]
    met = [0, 0]
    def meet(other):
        for n in (0, 1):
            if is_loose((a, b)[n]):
                continue  # the tests may compare with what equals many values
            try:
                if 'in' in kind:
                    same = a == other(b) if n else other(a) in b
                else:
                    same = other(a) == b if n else a == other(b)
                if same and (not is_value or same.__class__ is (not 0).__class__):
                    met[n] += 1
            except Exception:
                pass
            except BaseException:
                met[n] += 1  # it skips or exits
    for other in others[:place]:
        meet(other)
        # What equals a new function may equal just that from now on.
        assert other is not others[0] or met == [0, 0], '{secret}'
    try:
        result = compare()
        holds = True if result else False
    except Exception:
        return (a, b) if pair else compare()
    if is_value and result.__class__ is not (not 0).__class__:
        return result
    for other in others[place:]:
        meet(other)
    if holds != (kind in ('!=', 'not in')):
        assert met[0] < {decoys} - 1 and met[1] < {decoys} - 1, '{secret}'
    return (a, b) if pair else result
"""


class _Strict(ast.NodeTransformer):
    """Replaces comparisons of two values by calls of a function that compares strictly."""

    def __init__(self, rng: Random, solution: str | None, *, containers: bool) -> None:
        """Make the function's name.

        Args:
            rng: Chooses the other values.
            solution: The submission's module; None if the tests share its namespace.
            containers: Whether `in` is strict, too.
        """
        self._operators = {
            kind: text for kind, text in _OPERATORS.items() if containers or "in" not in text
        }
        self._rng = rng
        self._solution = solution
        self.secret = f"{rng.getrandbits(64):x}"
        self._name = f"_compared_{rng.getrandbits(48):x}"
        self._conditions: set[ast.expr] = set()

    def source(self, source: str) -> str:
        """Return a source with strict comparisons; as it is if it does not parse."""
        try:
            tree = parse(source)
            self._conditions = {each for node in ast.walk(tree) for each in _conditions(node)}
            tree = self.visit(tree)
        except UNPARSABLE:
            return source
        first = sum(
            isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body
        )
        if ast.get_docstring(tree, clean=False) is not None:
            first += 1
        tree.body[first:first] = ast.parse(self._helper(source, tree)).body
        return ast.unparse(tree)

    def _helper(self, source: str, tree: ast.Module) -> str:
        others = ["lambda v: lambda: 0"]
        for number in range(1, _DECOYS):
            before, after = other_value(self._rng, *[_FAR][: number % 2])
            others.append(f"lambda v: {before}v{after}")
        return _HELPER.format(
            name=self._name,
            # Objects of these modules may equal many values, since the tests mean them to.
            loose=sorted(self._libraries(source, tree)),
            apart=self._solution is not None and "def __eq__" in source,
            secret=self.secret,
            others=", ".join(others),
            decoys=_DECOYS,
            most=_MOST,
            count=_PLACES,
            places=[self._rng.randint(0, _DECOYS) for _ in range(_PLACES)],
        )

    def _libraries(self, source: str, tree: ast.Module) -> Iterator[str]:
        """Yield the modules that a source imports, but for the submission's."""
        for node in ast.walk(tree):
            match node:
                case ast.Import(names=names):
                    found = [alias.name for alias in names]
                case ast.ImportFrom(module=str(module)):
                    found = [module]
                case _:
                    continue
            for name in found:
                is_matcher = name != "unittest.mock" or re.search(r"\bANY\b", source)
                if name.rpartition(".")[2] != self._solution and is_matcher:
                    yield name

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Replace a comparison by `==`, `!=`, `in` or `not in`."""
        self.generic_visit(node)
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if (
                type(op) in self._operators
            ):
                # Elsewhere, the result may be an object, such as the condition of a query.
                is_value = node not in self._conditions
                return self._call(left, right, self._operators[type(op)], is_value=is_value)
            case _:
                return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace the first two arguments of one of unittest's assertions."""
        self.generic_visit(node)
        match node:
            case ast.Call(
                func=ast.Attribute(attr=name), args=[ast.expr() as left, ast.expr() as right, *rest]
            ) if _ASSERTIONS.get(name) in self._operators.values() and not isinstance(
                left, ast.Starred
            ):
                pair = self._call(left, right, _ASSERTIONS[name], is_value=False, pair=True)
                node.args = [ast.Starred(value=pair, ctx=ast.Load()), *rest]
            case _:
                pass
        return node

    def _call(
        self, left: ast.expr, right: ast.expr, kind: str, *, is_value: bool, pair: bool = False
    ) -> ast.expr:
        return ast.Call(
            func=ast.Name(id=self._name, ctx=ast.Load()),
            args=[
                left,
                right,
                *(ast.Constant(value=each) for each in (kind, is_value, pair)),
            ],
            keywords=[],
        )


def _conditions(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the parts of a node whose truth is asked for, or returned."""
    match node:
        case ast.Assert(test=test) | ast.If(test=test) | ast.While(test=test):
            yield test
        case ast.IfExp(test=test) | ast.UnaryOp(op=ast.Not(), operand=test):
            yield test
        case ast.BoolOp(values=values) | ast.comprehension(ifs=values):
            yield from values
        case ast.GeneratorExp(elt=elt) | ast.ListComp(elt=elt):
            yield elt
        case ast.Return(value=ast.expr() as value) | ast.Lambda(body=value):
            yield value
        case _:
            pass
