"""Modules of pytest and unittest tests: the functions and the parameters of each case."""

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from grader.source.names import Function, bound_names, last_name, name_bound_by
from grader.source.pytest_tests import ExpectedTests
from grader.twins.cases import CaseKey
from grader.twins.expectations import Expectation, ExpectationReader
from grader.twins.fixtures import HandedOut, handed_out, made_before
from grader.twins.found import Found, Shared
from grader.twins.helpers import Helpers
from grader.twins.leaving import is_generator, is_oracle
from grader.twins.mentions import function_around
from grader.twins.names import Names, call_name
from grader.twins.source import SuiteSource
from grader.twins.tables import bindings, table_rows
from grader.twins.values import Bound
from grader.twins.walk import Frame, Walk

_AROUND_TESTS = frozenset(
    "asyncSetUp asyncTearDown setUp setUpClass setup_method tearDown tearDownClass "
    "teardown_method".split()
)
_PLAIN_DECORATORS = ("pytest.mark.", "unittest.mock.", "unittest.skip", "mock.", "hypothesis.")
"""Decorators that do not change a test's failure."""


@dataclass(frozen=True, slots=True)
class _Definition:
    """A test function, with its class if it is a method."""

    function: Function
    owner: ast.ClassDef | None
    methods: Mapping[str, Function]


class TestModule:
    """One module of tests."""

    def __init__(
        self,
        source: SuiteSource,
        expected: ExpectedTests,
        *,
        noted: bool,
        everything: bool,
        own_modules: Collection[str] = (),
    ) -> None:
        self._expected = expected
        self._noted = noted
        self._everything = everything
        self._source = source
        self._names = Names([source], own_modules=own_modules)
        self._view = Helpers(self._names, [source])
        self._classes = {n.name: n for n in source.tree.body if isinstance(n, ast.ClassDef)}
        self._own_methods = frozenset(
            node.name for cls in source.nodes if isinstance(cls, ast.ClassDef) for node in cls.body
            if isinstance(node, Function)
        )  # fmt: skip

    def read(self) -> Iterator[Found]:
        """Yield the expectations of the tests."""
        if any(map(_bends_failures, ast.walk(self._source.tree))):
            return
        by_function: dict[Function, list[tuple[str, _Definition]]] = {}
        for id, definition in self._definitions(self._source.tree.body, self._source.name, None):
            by_function.setdefault(definition.function, []).append((id, definition))
        tests = {
            function: found
            for function, found in by_function.items()
            if not is_generator(function)
            and all(self._is_run(each) for _, each in found)
            # Else classes that are made at run time may inherit it, under ids that are unknown.
            and any(self._expected.may_have(id) for id, _ in found)
        }
        shared = tuple(
            self._shared({each: [id for id, _ in found] for each, found in tests.items()})
        )
        for found in tests.values():
            definition = _in_common([definition for _, definition in found])
            for each in self._of_test(definition, [id for id, _ in found]):
                yield replace(each, shared=shared)

    def _definitions(
        self, body: list[ast.stmt], prefix: str, owner: ast.ClassDef | None
    ) -> Iterator[tuple[str, _Definition]]:
        """Yield the functions that may be tests, with their ids; pytest may not collect all."""
        methods = _functions(body) if owner is None else self._methods(owner)
        for name, function in methods.items():
            if name.startswith("test"):
                known = {} if owner is None else methods
                yield f"{prefix}::{name}", _Definition(function, owner, known)
        for node in {n.name: n for n in body if isinstance(n, ast.ClassDef)}.values():
            yield from self._definitions(node.body, f"{prefix}::{node.name}", node)

    def _methods(self, owner: ast.ClassDef) -> dict[str, Function]:
        found: dict[str, Function] = {}
        for each in reversed(self._resolution_order(owner, 0)):
            found = _functions(each.body, found)
        return found

    def _resolution_order(self, owner: ast.ClassDef, depth: int) -> list[ast.ClassDef]:
        """Return a class and its known bases, in the order in which methods are looked for."""
        order = [owner]
        for base in owner.bases:
            known = self._class_meant(base)
            if known is not None and known is not owner and depth < 8:
                order += self._resolution_order(known, depth + 1)
        # A base that several of them share comes after all of these.
        return [each for place, each in enumerate(order, 1) if each not in order[place:]]

    def _class_meant(self, base: ast.expr) -> ast.ClassDef | None:
        """Return the class of the module that an expression means, also one in another class."""
        match base:
            case ast.Name(id=name):
                return self._classes.get(name)
            case ast.Subscript(value=generic):
                return self._class_meant(generic)
            case ast.Attribute(value=value, attr=name):
                outer = self._class_meant(value)
                inner = outer.body if outer is not None else []
                found = {node.name: node for node in inner if isinstance(node, ast.ClassDef)}
                return found.get(name)
            case _:
                return None

    def _is_run(self, definition: _Definition) -> bool:
        """Tell whether a test runs without changes by decorators, and its failure counts."""
        decorators = [*definition.function.decorator_list]
        if definition.owner is not None:
            decorators += definition.owner.decorator_list
        return all(map(self._is_plain, decorators))

    def _is_plain(self, decorator: ast.expr) -> bool:
        name = call_name(decorator)
        library = self._names.library(
            decorator.func if isinstance(decorator, ast.Call) else decorator
        )
        if name == "staticmethod":
            return True
        if library is None or name in ("xfail", "expectedFailure"):
            return False
        return library.startswith(_PLAIN_DECORATORS)

    # ------------------------------------------------------------ one test

    def _of_test(self, definition: _Definition, ids: list[str]) -> Iterator[Found]:
        function = definition.function
        span = self._span_of(function)
        all_cases = tuple(map(CaseKey, ids))
        defined = _functions(self._source.tree.body).values()
        fixtures = list(handed_out(function, defined, self._source, self._names))
        made = made_before(function, defined, definition.methods, self._names)
        same = {f.fixture.name: self._bound(f.value) for f in fixtures if not f.is_list}
        columns = self._parameters(definition, [f for f in fixtures if f.is_list])
        spans = [span, *(self._span_of(each.fixture) for each in fixtures)]
        if self._is_called_elsewhere(function):
            spans = []  # another test depends on it, too
        own = (
            *((self._source.name, *each) for each in spans),
            *(each for around in spans for each in self._constants_of(around)),
        )
        if columns is None:
            for expectation, reader in self._walk(definition, same, made):
                yield Found(
                    cases=all_cases, expectation=expectation, names=self._names, reader=reader,
                    own=own,
                )  # fmt: skip
            return
        for number, (cells, row_span) in enumerate(columns):
            cases = tuple(CaseKey(id, number, len(columns)) for id in ids)
            for expectation, reader in self._walk(definition, {**same, **cells}, made):
                yield Found(
                    cases=cases, expectation=expectation, names=self._names, reader=reader,
                    own=own, row_span=row_span, all_rows=all_cases,
                )  # fmt: skip

    def _is_called_elsewhere(self, test: Function) -> bool:
        """Tell whether another function names a test, such as a test that calls it."""
        return any(
            isinstance(node, ast.Name | ast.Attribute)
            and last_name(node) == test.name
            and function_around(self._source, node) not in (None, test)
            for node in self._source.nodes
        )

    def _walk(
        self,
        definition: _Definition,
        cells: Mapping[str, Bound],
        made: Mapping[str, ast.expr],
    ) -> Iterator[tuple[Expectation, ExpectationReader]]:
        function = definition.function
        scope = self._view.scope_of(function, self._source, definition.owner, definition.methods)
        helper_of = self._view.helper_of(definition.owner, definition.methods, self._source)
        walk = Walk(
            self._names,
            helper_of,
            noted=self._noted,
            everywhere=self._everything,
            made_before=made,
        )
        # Not of its decorators, which hold the rows of parameters.
        local = set(bound_names([function.args, *function.body]))
        env = {name: bound for name, bound in self._module_env().items() if name not in local}
        env.update({name: replace(bound, scope=scope) for name, bound in cells.items()})
        frame = Frame(source=self._source, scope=scope, env=env)
        walk.block(function.body, frame)
        for name, method in definition.methods.items():
            if name in _AROUND_TESTS:
                walk.note_missed(method.body, frame)
        for reached in walk.found:
            reader = ExpectationReader(
                self._names, reached, self._own_methods, everything=self._everything
            )
            for expectation in reader.read():
                yield expectation, reader

    def _span_of(self, function: Function) -> tuple[int, int]:
        start, end = self._source.span(function)
        first = min([start, *(self._source.span(d)[0] for d in function.decorator_list)])
        return first, self._source.line_end(end)

    @lru_cache(maxsize=1)  # noqa: B019 - the object is gone as soon as its module is read
    def _module_env(self) -> Mapping[str, Bound]:
        """Return the constants of the module."""
        scope = self._view.scope(self._source)
        env: dict[str, Bound] = {}
        for node in self._source.tree.body:
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=value)
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                ):
                    env[name] = Bound(value, {}, self._source, scope)
                case _:
                    pass
        return env

    def _constants_of(self, span: tuple[int, int]) -> Iterator[tuple[str, int, int]]:
        """Yield the spans of the module's constants that only one test mentions."""
        scope = self._view.scope(self._source)
        for name, bound in self._module_env().items():
            places = [self._source.span(load)[0] for load in scope.loads(name)]
            if places and all(span[0] <= place < span[1] for place in places):
                yield (self._source.name, *self._source.span(bound.node))

    def _shared(self, tests: Mapping[Function, Sequence[str]]) -> Iterator[Shared]:
        """Yield the constants that several tests mention, and the functions that only tests do."""
        scope = self._view.scope(self._source)
        spans = [
            (tuple(map(CaseKey, ids)), self._span_of(test))
            for test, ids in tests.items()
            if not self._is_called_elsewhere(test)
        ]

        def uses(name: str) -> dict[tuple[CaseKey, ...], list[ast.Name]]:
            loads = [(load, self._source.span(load)[0]) for load in scope.loads(name)]
            found = {
                cases: [load for load, place in loads if start <= place < end]
                for cases, (start, end) in spans
            }
            if sum(map(len, found.values())) != len(loads):
                return {}  # others than tests read it, too
            return {cases: inside for cases, inside in found.items() if inside}

        for name, bound in self._module_env().items():
            used = uses(name)
            if len(used) > 1:
                yield Shared(bound.node, used)
        for name, function in _functions(self._source.tree.body).items():
            used = uses(name)
            if used and function not in tests and is_oracle(function):
                yield Shared(function, used)

    def _parameters(
        self, definition: _Definition, fixtures: list[HandedOut]
    ) -> list[tuple[dict[str, Bound], tuple[int, int]]] | None:
        """Return the parameters of a test, or of its only fixture with parameters, row by row.

        None if it has none, or if it is not clear which case has which row.
        """
        decorators = [*definition.function.decorator_list]
        if definition.owner is not None:
            decorators += definition.owner.decorator_list
        found = [d for d in decorators if call_name(d) == "parametrize"]
        if not found and len(fixtures) == 1:
            return self._columns(self._bound(fixtures[0].value), [fixtures[0].fixture.name])
        if len(found) != 1 or found[0] not in definition.function.decorator_list:
            return None
        call = found[0]
        if not isinstance(call, ast.Call) or len(call.args) != 2 or _is_indirect(call):
            return None
        names = _argument_names(call.args[0])
        return None if names is None else self._columns(self._bound(call.args[1]), names)

    def _bound(self, expression: ast.expr) -> Bound:
        return Bound(expression, self._module_env(), self._source)

    def _columns(
        self, table: Bound, names: list[str]
    ) -> list[tuple[dict[str, Bound], tuple[int, int]]] | None:
        rows = table_rows(table)
        if rows is None:
            return None
        columns = []
        for row in rows:
            if not isinstance(row, Bound):
                return None
            cells, span = self._cells(row, names)
            columns.append((cells, span))
        return columns

    def _cells(self, row: Bound, names: list[str]) -> tuple[dict[str, Bound], tuple[int, int]]:
        span = self._source.span(row.node)
        match row.node:
            case ast.Call(func=func, args=args) if self._names.library(func) == "pytest.param":
                marked = any(keyword.arg != "id" for keyword in row.node.keywords)
                starred = any(isinstance(arg, ast.Starred) for arg in args)
                if marked or starred or len(args) != len(names):
                    return {}, span
                cells = [replace(row, node=arg) for arg in args]
                return dict(zip(names, cells, strict=True)), span
            case _ if len(names) == 1:
                return {names[0]: row}, span
            case _:
                target = ast.Tuple(
                    elts=[ast.Name(id=name, ctx=ast.Store()) for name in names], ctx=ast.Store()
                )
                found = bindings(target, row)
                return {name: bound for name, bound in found if bound is not None}, span


def _in_common(definitions: list[_Definition]) -> _Definition:
    """Return a test with only the methods that all classes which have the test share."""
    first, *others = definitions
    methods = {
        name: method
        for name, method in first.methods.items()
        if all(other.methods.get(name) is method for other in others)
    }
    return replace(first, methods=methods)


def _bends_failures(node: ast.AST) -> bool:
    """Tell whether a node changes what failures of all tests, or comparisons, mean."""
    match node:
        case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
            marks = (n for n in ast.walk(value) if isinstance(n, ast.expr))
            return any(call_name(mark) == "xfail" for mark in marks)
        case ast.Attribute(attr="addTypeEqualityFunc"):
            return True
        case _:
            return False


def _functions(
    body: list[ast.stmt], inherited: Mapping[str, Function] | None = None
) -> dict[str, Function]:
    """Return the functions that a body certainly defines, by name."""
    found = dict(inherited or {})
    for statement in body:
        if isinstance(statement, Function):
            found[statement.name] = statement
            continue
        is_class = isinstance(statement, ast.ClassDef)  # what its body binds is its own
        bound = {name_bound_by(statement)} if is_class else {*bound_names([statement])}
        found = {name: each for name, each in found.items() if not {name, "*"} & bound}
    return found


def _is_indirect(call: ast.Call) -> bool:
    return any(k.arg in ("indirect", None, "argvalues", "argnames") for k in call.keywords)


def _argument_names(node: ast.expr) -> list[str] | None:
    match node:
        case ast.Constant(value=str(text)):
            return [name.strip() for name in text.split(",") if name.strip()]
        case ast.List(elts=items) | ast.Tuple(elts=items):
            names = [i.value for i in items if isinstance(i, ast.Constant)]
            return [str(n) for n in names] if len(names) == len(items) else None
        case _:
            return None
