"""Makes each comparison for equality in a suite strict, wherever it is."""

import ast
import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from random import Random

from grader.model import PytestTests, ScriptTests, SuiteFile
from grader.source.names import module_name
from grader.source.syntax import UNPARSABLE, parse
from grader.source.trees import module_tree
from grader.twins.comparison import strict_comparison
from grader.twins.computed import EQUAL_TO_NOTHING, other_value
from grader.twins.equality import tests_equality
from grader.twins.values import Tolerance


def with_strict_comparisons(
    tests: ScriptTests | PytestTests, rng: Random, *, containers: bool
) -> tuple[ScriptTests | PytestTests, str]:
    """Return a suite in which values must not equal others than what they are compared with.

    For values that equal only what is right, each comparison comes out as before, whatever the
    tests make of it. If a comparison holds for an object that equals or contains everything, it
    raises an AssertionError.

    Args:
        tests: The suite.
        rng: Chooses the other values, and when a value is compared with them.
        containers: Whether a value must not contain others either, if it is no list or tuple.

    Returns:
        The suite, and a secret that the message of each such error has. A test that fails without
        it was disturbed by the further comparisons, which may for example use up an iterator.
    """
    secret, name = f"{rng.getrandbits(64):x}", f"_compared_{rng.getrandbits(48):x}"
    changed = [other_value(rng), other_value(rng, _FAR), other_value(rng, _FAR, "-")]
    others = [f"lambda v: {EQUAL_TO_NOTHING}", *(f"lambda v: {a}v{b}" for a, b in changed)]
    turns = [byte % (len(others) + 1) for byte in rng.randbytes(_TURNS)]
    made = (
        f"{_NAME}({secret!r}, [{', '.join(others)}], {turns}, {_MOST}, {_MOST_ITEMS}, "
        f"{containers}, *{_loose(tests)!r})"
    )
    definition = f"{_function()}\n{_NAME} = {made}"

    def filled(source: str) -> str:
        strict = _prepared(source).strict
        return strict.replace(_DEFINITION, definition).replace(_NAME, name)

    return _with_sources(tests, filled), secret


_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_ASSERTIONS = {
    "assertEqual": "==", "assertListEqual": "==", "assertTupleEqual": "==", "assertSetEqual": "==",
    "assertDictEqual": "==", "assertSequenceEqual": "==", "assertCountEqual": "==",
    "assertMultiLineEqual": "==", "assertAlmostEqual": "==", "assertIn": "in",
}  # fmt: skip
_ON_PURPOSE = {"unittest.mock": "ANY", "_pytest": "approx"}
"""Modules with objects that equal many values, and how a suite that wants these names them."""
_FAR = Tolerance(absolute=1.0, relative=0.125)
_TURNS = 97
_MOST = 300
"""How often each comparison is strict; those of a long loop would take too long."""
_MOST_ITEMS = 2000
"""How many items of a value are looked at."""
_DEFINITION, _NAME = "_strict_comparison_goes_here_", "_name_of_strict_comparison_"
"""Stand in a prepared suite for what is chosen at random for each submission."""


@cache
def _function() -> str:
    """Return the source of `strict_comparison` as it is written into suites: shorter."""
    tree = parse(inspect.getsource(strict_comparison))
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name):
                node.returns = None
                node.name = _NAME if name == strict_comparison.__name__ else name
            case ast.arg():
                node.annotation = None
            case _:
                pass
    return ast.unparse(tree)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A source with strict comparisons by a function that is not yet defined."""

    strict: str
    imported: frozenset[str]
    """The modules that it imports, and the names that it imports from them."""


# Suites of large packages have many files in common.
@lru_cache(maxsize=1024)
def _prepared(source: str) -> _Prepared:
    tree = module_tree(source)
    imported = frozenset(_imported(tree) if tree is not None else ())
    return _Prepared(_Strict().source(source), imported)


@lru_cache(maxsize=64)
def _loose(tests: ScriptTests | PytestTests) -> tuple[list[str], list[str], list[str]]:
    """Return what defines objects that may equal many values, since a suite has or uses them.

    That is the modules of libraries, the suite's own, and the classes in the namespace that it
    shares with the submission.
    """
    if isinstance(tests, ScriptTests):
        own = [tests.setup, *(case.source for case in tests.cases)]
        return sorted(_libraries(own)), [], sorted(_classes_with_equality(own))
    solution = module_name(tests.solution_path).rpartition(".")[2]
    sources = {file.path: file.content.decode("utf-8", "replace") for file in _files(tests)}
    return sorted(_libraries(sources.values(), solution)), sorted(_own_modules(sources)), []


def _with_sources(
    tests: ScriptTests | PytestTests, change: Callable[[str], str]
) -> ScriptTests | PytestTests:
    """Return a suite with changed sources."""
    if isinstance(tests, ScriptTests):
        cases = (replace(case, source=change(case.source)) for case in tests.cases)
        return replace(tests, cases=tuple(cases), setup=change(tests.setup))
    changed = {
        file.path: change(file.content.decode("utf-8", "replace")).encode()
        for file in _files(tests)
    }
    files = (replace(file, content=changed.get(file.path, file.content)) for file in tests.files)
    return replace(tests, files=tuple(files))


def _files(tests: PytestTests) -> Iterator[SuiteFile]:
    """Yield the files with the suite's own code."""
    for file in tests.files:
        if file.path.endswith(".py") and file.path != tests.solution_path:
            yield file


class _Strict(ast.NodeTransformer):
    """Replaces comparisons of two values by calls of a function that compares strictly."""

    def __init__(self) -> None:
        """Start a suite."""
        self._conditions: set[ast.expr] = set()
        self._left_as_they_are: set[ast.AST] = set()
        self._calls = 0

    def source(self, source: str) -> str:
        """Return a source with strict comparisons; as it is if it has none or does not parse."""
        try:
            tree = parse(source)
            self._conditions = {each for node in ast.walk(tree) for each in _conditions(node)}
            self._left_as_they_are = {
                node
                for node in ast.walk(tree)
                if (sides := _equal_sides(node)) and tests_equality(*sides, tree)
            }
            before = self._calls
            tree = self.visit(tree)
            if self._calls == before:
                return source
            first = sum(
                isinstance(node, ast.ImportFrom) and node.module == "__future__"
                for node in tree.body
            )
            first += ast.get_docstring(tree, clean=False) is not None
            tree.body.insert(first, ast.Expr(ast.Name(_DEFINITION, ast.Load())))
            strict = ast.unparse(tree)
            parse(strict)  # to be sure, since a file that cannot be imported fails all cases
        except UNPARSABLE:
            return source
        return strict

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Replace a comparison, or each of a chain."""
        self.generic_visit(node)
        operands = [node.left, *node.comparators]
        # A chain evaluates what is in its middle only once.
        simple = all(isinstance(each, ast.Name | ast.Constant) for each in operands[1:-1])
        if not simple or node in self._left_as_they_are:
            return node
        # Elsewhere, the result may be an object, such as the condition of a query.
        is_value = node not in self._conditions
        links = [
            self._call(left, right, operator, is_value=is_value)
            if (operator := _OPERATORS.get(type(op)))
            else ast.Compare(left=left, ops=[op], comparators=[right])
            for left, op, right in zip(operands, node.ops, operands[1:], strict=False)
        ]
        return links[0] if len(links) == 1 else ast.BoolOp(op=ast.And(), values=links)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace the two values that one of unittest's assertions compares."""
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Attribute(attr=name)) if (
                name in _ASSERTIONS and node not in self._left_as_they_are
            ):
                named = {k.arg: k for k in node.keywords if k.arg in ("first", "second")}
                values = [*node.args, *(k.value for k in named.values())][:2]
                if len(values) == 2 and not any(isinstance(v, ast.Starred) for v in values):
                    left, right = values
                    pair = self._call(left, right, _ASSERTIONS[name], is_value=False, pair=True)
                    node.args = [ast.Starred(value=pair, ctx=ast.Load()), *node.args[2:]]
                    node.keywords = [k for k in node.keywords if k not in named.values()]
            case _:
                pass
        return node

    def _call(
        self, left: ast.expr, right: ast.expr, kind: str, *, is_value: bool, pair: bool = False
    ) -> ast.expr:
        self._calls += 1
        told = (kind, self._calls, is_value, pair)
        return ast.Call(
            func=ast.Name(id=_NAME, ctx=ast.Load()),
            args=[left, right, *(ast.Constant(value=each) for each in told)],
            keywords=[],
        )


def _libraries(sources: Collection[str], solution: str | None = None) -> set[str]:
    """Return the modules of libraries whose objects may equal many values, since tests use them.

    Args:
        sources: The suite's sources.
        solution: The submission's module; None if the tests share its namespace.
    """
    found = {name for source in sources for name in _prepared(source).imported}
    found -= _ON_PURPOSE.keys()
    for module, word in _ON_PURPOSE.items():
        if any(re.search(rf"\b{word}\b", source) for source in sources):
            found.add(module)
    return {module for module in found if solution not in module.split(".")}


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield module
                yield from (f"{module}.{alias.name}" for alias in names)
            case _:
                pass


def _own_modules(sources: Mapping[str, str]) -> set[str]:
    """Return the names under which those of a suite's files are imported that define equality."""
    found: set[str] = set()
    for path, source in sources.items():
        if "__eq__" in source:
            parts = module_name(path).split(".")
            found.update(".".join(parts[start:]) for start in range(len(parts)))
    return found


def _classes_with_equality(sources: Iterable[str]) -> Iterator[str]:
    for source in sources:
        tree = module_tree(source) if "def __eq__" in source else None
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.ClassDef):
                yield node.name


def _equal_sides(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Return the two sides if a node says that they are equal."""
    match node:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            return left, right
        case ast.Call(func=ast.Attribute(attr="assertEqual"), args=[left, right, *_]):
            return left, right
        case _:
            return None


def _conditions(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the parts of a node whose truth is asked for."""
    match node:
        case (
            ast.Assert(test=test)
            | ast.If(test=test)
            | ast.While(test=test)
            | ast.IfExp(test=test)
            | ast.UnaryOp(op=ast.Not(), operand=test)
        ):
            yield test
            while isinstance(test, ast.BoolOp):
                test = test.values[-1]
                yield test
        case ast.BoolOp(values=[*values, _]) | ast.comprehension(ifs=values):
            yield from values  # the last of `a or b` is what it gives
        case ast.Call(func=ast.Name(id="all" | "any" | "sum"), args=[ast.expr() as items]):
            if isinstance(items, ast.GeneratorExp | ast.ListComp):
                yield items.elt
        case _:
            pass
