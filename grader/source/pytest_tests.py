"""Finds the tests of a pytest suite by reading it, before any of it runs.

The submission runs in the process in which pytest collects, so the collected tests cannot be
trusted to be all. The suite's own files can: this module finds test functions, `Test*` classes and
unittest cases with the methods that they inherit in the module. It cannot find tests that are made
at run time; a module with signs of such tests may have more.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from grader.model import PytestTests
from grader.model.errors import SuiteError
from grader.source.names import Function, name_bound_by
from grader.source.pytest_rows import Rows
from grader.source.pytest_skips import RowSkips, is_waiver
from grader.source.syntax import UNPARSABLE, parse

_HARMLESS_BASES = frozenset({"object", "ABC", "Generic", "Protocol"})
_COMPOUND = (ast.If, ast.Try, ast.TryStar, ast.With, ast.For, ast.While, ast.Match)
_LITERALS = (ast.Constant, ast.Dict, ast.JoinedStr, ast.List, ast.Set)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedTests:
    """The tests that a suite has, by `base_id`."""

    required: tuple[str, ...]
    """In the order of the files."""
    waived: frozenset[str] = frozenset()
    """Tests that the suite marks as skipped or expected to fail, without a condition."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """For tests with parameters: how many sets of them the source shows."""
    row_skips: Mapping[str, RowSkips] = field(default_factory=dict)
    """For tests of which some rows are skipped or expected to fail."""
    dynamic_paths: frozenset[str] = frozenset()
    """Modules that may have more tests than their source shows."""
    classes: frozenset[str] = frozenset()
    """Classes of the suite that it does not skip; each may be given more tests at run time."""
    open_classes: frozenset[str] = frozenset()
    """Classes with bases that the source does not show, so that they may be tests or not."""

    def may_have(self, id: str) -> bool:
        """Tell whether a function of a module or class, by its `base_id`, may be a test.

        Those of a class that is only a base of others never are.
        """
        return (
            id in self.required
            or id in self.waived
            or any(id.startswith(f"{name}::") for name in self.open_classes)
        )


def base_id(id: str) -> str:
    """Return a pytest node id without its parameters, which may hold any text."""
    path, separator, name = id.partition("::")
    return f"{path}{separator}{name.partition('[')[0]}"


def find_tests(tests: PytestTests) -> ExpectedTests:
    """Return the tests of a suite. Call it once per suite, since it parses all modules.

    Raises:
        SuiteError: A module is missing or does not parse, or there is no test to pass.
    """
    sources = {file.path: file.content for file in tests.files}
    solution = PurePosixPath(tests.solution_path).stem
    found: dict[str, _Test] = {}
    dynamic_paths = set()
    classes: set[str] = set()
    open_classes: set[str] = set()
    for path in tests.test_paths:
        if path not in sources:
            message = f"the test module {path!r} is not among the suite's files"
            raise SuiteError(message)
        tree = _parse(path, sources[path])
        module = _Module(solution, Rows(tree))
        module.read(tree)
        found.update((f"{path}::{name}", test) for name, test in module.tests())
        classes.update(f"{path}::{name}" for name in module.classes())
        open_classes.update(f"{path}::{name}" for name in module.open_classes())
        if module.dynamic:
            dynamic_paths.add(path)
    required = tuple(base for base, test in found.items() if not test.waived)
    if not required and not dynamic_paths:
        waived = f", and {len(found)} that are marked as skipped" if found else ""
        message = f"no test in {', '.join(tests.test_paths) or 'a suite without modules'}{waived}"
        raise SuiteError(message)
    return ExpectedTests(
        required=required,
        waived=frozenset(base for base, test in found.items() if test.waived),
        rows={base: test.rows for base, test in found.items() if test.rows > 1},
        row_skips={base: test.skips for base, test in found.items() if test.skips},
        dynamic_paths=frozenset(dynamic_paths),
        classes=frozenset(classes),
        open_classes=frozenset(open_classes),
    )


def _parse(path: str, source: bytes) -> ast.Module:
    try:
        return parse(source, path)
    except UNPARSABLE as error:
        message = f"the test module {path!r} does not parse: {error}"
        raise SuiteError(message) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class _Test:
    """A function or method that pytest collects."""

    waived: bool = False
    rows: int = 1
    skips: RowSkips = field(default_factory=RowSkips)


@dataclass(slots=True, kw_only=True)
class _Class:
    """A class with its inherited members."""

    members: "dict[str, _Test | _Class]" = field(default_factory=dict)
    unittest: bool = False
    waived: bool = False
    rows: int = 1
    collected: bool = True
    """The value of `__test__`."""
    has_constructor: bool = False
    runs_itself: bool = False
    """Whether it has unittest's `runTest`, which counts if there is no test method."""
    unknown_base: bool = False


class _Module:
    """The names that a test module defines, and what they are, as far as its source shows."""

    def __init__(self, solution: str, rows: Rows) -> None:
        self.dynamic = False
        self._solution = solution
        self._rows = rows
        self._names: dict[str, _Test | _Class] = {}
        self._waived = False

    def read(self, module: ast.Module) -> None:
        """Read the statements of the module in order."""
        self.dynamic |= any(map(_binds_by_text, ast.walk(module)))
        for statement in module.body:
            self._read_statement(statement)

    def tests(self) -> Iterator[tuple[str, _Test]]:
        """Yield the tests with their ids inside the module."""
        for name, member in self._names.items():
            yield from self._tests_of(name, member, waived=self._waived, rows=1)

    def classes(self) -> Iterator[str]:
        """Yield the names of the classes that are not skipped."""
        for name, member in self._names.items():
            if isinstance(member, _Class) and not (self._waived or member.waived):
                yield name

    def open_classes(self) -> Iterator[str]:
        """Yield the names of the classes with unknown bases, also of those in classes."""
        pending = list(self._names.items())
        for name, member in pending:
            if isinstance(member, _Class):
                pending += [(f"{name}::{inner}", each) for inner, each in member.members.items()]
                if member.unknown_base:
                    yield name

    def _read_statement(self, statement: ast.stmt) -> None:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._names.pop(statement.name, None)
                if _is_test(statement):
                    self._names[statement.name] = self._test_of(statement)
            case ast.ClassDef():
                self._names[statement.name] = self._class_of(statement)
            case ast.Import() | ast.ImportFrom():
                self._read_import(statement)
            case _:
                bound = self._read_other(statement, self._names)
                if "pytestmark" in bound and isinstance(statement, ast.Assign):
                    value = statement.value
                    marks = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
                    self._waived |= any(map(is_waiver, marks))

    def _read_other(
        self, statement: ast.stmt, members: "dict[str, _Test | _Class]"
    ) -> frozenset[str]:
        """Read a statement other than a function or class; return the names that it binds."""
        bound = frozenset(_names_bound(statement))
        self.dynamic |= any(map(_looks_like_test, bound)) and not _binds_literal(statement)
        if not isinstance(statement, _COMPOUND):  # those may leave names as they were
            for name in bound.union(_names_deleted(statement)):
                members.pop(name, None)
        return bound

    def _read_import(self, statement: ast.Import | ast.ImportFrom) -> None:
        # Tests from the submission's module are not tests of the suite, and unittest exports none.
        sources = (self._solution, "unittest")
        if isinstance(statement, ast.ImportFrom) and statement.module not in sources:
            names = [alias.asname or alias.name for alias in statement.names]
            self.dynamic |= any(name == "*" or _looks_like_test(name) for name in names)

    def _class_of(self, definition: ast.ClassDef) -> _Class:
        made = _Class(
            waived=any(map(is_waiver, definition.decorator_list)),
            rows=self._rows.of_marks(definition.decorator_list),
        )
        for base in reversed(definition.bases):
            self._inherit(made, base)
        for statement in definition.body:
            match statement:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    made.members.pop(statement.name, None)
                    made.has_constructor |= statement.name in ("__init__", "__new__")
                    made.runs_itself |= statement.name == "runTest"
                    if _is_test(statement):
                        made.members[statement.name] = self._test_of(statement)
                case ast.ClassDef():
                    made.members[statement.name] = self._class_of(statement)
                case _:
                    bound = self._read_other(statement, made.members)
                    if "__test__" in bound and isinstance(statement, ast.Assign):
                        made.collected = not _is_false(statement.value)
        return made

    def _test_of(self, definition: Function) -> _Test:
        return _Test(
            waived=any(map(is_waiver, definition.decorator_list)),
            rows=self._rows.of_test(definition),
            skips=self._rows.skips_of(definition),
        )

    def _find(self, dotted_name: str) -> "tuple[_Test | _Class | None, str]":
        """Return what a dotted name means in the module, if it is known, and its last part."""
        first, *rest = dotted_name.split(".")
        found = self._names.get(first)
        for name in rest:
            found = found.members.get(name) if isinstance(found, _Class) else None
        return found, (rest or [first])[-1]

    def _inherit(self, made: _Class, base: ast.expr) -> None:
        known, name = self._find(_dotted_name(base))
        if isinstance(known, _Class):
            made.members.update(known.members)
            made.unittest |= known.unittest
            made.waived |= known.waived
            made.rows *= known.rows
            made.collected = known.collected
            made.has_constructor |= known.has_constructor
            made.runs_itself |= known.runs_itself
            made.unknown_base |= known.unknown_base
        elif name.endswith("TestCase"):
            made.unittest = True
        elif name not in _HARMLESS_BASES:
            made.unknown_base = True

    def _tests_of(
        self, name: str, member: _Test | _Class, *, waived: bool, rows: int
    ) -> Iterator[tuple[str, _Test]]:
        if isinstance(member, _Test):
            yield name, replace(member, waived=waived or member.waived, rows=rows * member.rows)
            return
        if member.unknown_base:
            self.dynamic = True  # it may inherit tests
        by_name = name.startswith("Test") and not member.has_constructor
        if not member.collected or not (member.unittest or by_name):
            return
        waived = waived or member.waived
        rows = rows * member.rows
        tests = {n: m for n, m in member.members.items() if isinstance(m, _Test)}
        if member.unittest and member.runs_itself and not tests:
            tests = {"runTest": _Test()}
        inner = tests if member.unittest else member.members
        for inner_name, inner_member in inner.items():
            for suffix, test in self._tests_of(inner_name, inner_member, waived=waived, rows=rows):
                # unittest's own methods have no parameters, whatever marks them.
                yield f"{name}::{suffix}", replace(test, rows=1) if member.unittest else test


# ---------------------------------------------------------------- what a piece of syntax says


def _is_test(definition: Function) -> bool:
    decorators = (_dotted_name(decorator) for decorator in definition.decorator_list)
    is_fixture = any(name.rpartition(".")[2] in ("fixture", "property") for name in decorators)
    return definition.name.startswith("test") and not is_fixture


def _dotted_name(expression: ast.expr) -> str:
    """Return `a.b.c` for that expression, for a call of it, and for a subscript of it."""
    parts: list[str] = []
    while True:
        match expression:
            case ast.Call(func=inner) | ast.Subscript(value=inner):
                expression = inner
            case ast.Attribute(value=inner, attr=name):
                parts.append(name)
                expression = inner
            case ast.Name(id=name):
                return ".".join([name, *reversed(parts)])
            case _:
                return ".".join(["?", *reversed(parts)])


def _names_bound(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement binds in its own scope."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if (name := name_bound_by(node)) is not None:
            yield name
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
                pass  # the names in it are its own
            case ast.AnnAssign(value=None):
                pass
            case ast.comprehension(iter=iterable, ifs=conditions):
                pending += [iterable, *conditions]  # its target is its own
            case _:
                pending += ast.iter_child_nodes(node)


def _binds_by_text(node: ast.AST) -> bool:
    """Tell whether a node binds a name that is a value, as in `globals()[name] = made`.

    So may code that gives these names a name, or takes hold of the module: `sys.modules[__name__]`.
    """
    match node:
        case (
            ast.Subscript(value=ast.Call(func=ast.Name(id=name), args=[]), ctx=ast.Store())
            | ast.Attribute(value=ast.Call(func=ast.Name(id=name), args=[]), attr="update")
            | ast.Assign(value=ast.Call(func=ast.Name(id=name), args=[]))
        ):
            return name in ("globals", "locals", "vars")
        case ast.Subscript(
            value=ast.Attribute(attr="modules") | ast.Name(id="modules"),
            slice=ast.Name(id="__name__") | ast.Attribute(attr="__module__"),
        ):
            return True
        case _:
            return False


def _binds_literal(statement: ast.stmt) -> bool:
    """Tell whether a statement binds names to a literal, which cannot be a test."""
    match statement:
        case ast.Assign(targets=targets, value=value):
            return isinstance(value, _LITERALS) and all(isinstance(t, ast.Name) for t in targets)
        case ast.AnnAssign(value=value):
            return isinstance(value, _LITERALS)
        case _:
            return False


def _names_deleted(statement: ast.stmt) -> Iterator[str]:
    targets = statement.targets if isinstance(statement, ast.Delete) else []
    return (node.id for t in targets for node in ast.walk(t) if isinstance(node, ast.Name))


def _looks_like_test(name: str) -> bool:
    return name.startswith(("test", "Test"))


def _is_false(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and not value.value
