"""The values that fixtures, and `setUp`, hand out to a test, as far as the source shows."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from grader.source.names import Function, bound_names
from grader.twins.names import Names
from grader.twins.source import SuiteSource

_KEYWORDS = frozenset({"params", "ids", "scope"})
"""Keywords of `pytest.fixture` that leave its name and its tests as they are."""


@dataclass(frozen=True, slots=True)
class HandedOut:
    """A fixture that only one test uses and that does nothing but return or yield a value."""

    fixture: ast.FunctionDef
    value: ast.expr
    """The value; if there are several, the list of them."""
    is_list: bool
    """Whether the test runs once for each item of the value, which is the fixture's `params`."""


def handed_out(
    test: Function, functions: Iterable[Function], source: SuiteSource, names: Names
) -> Iterator[HandedOut]:
    """Yield the fixtures that hand out values to a test.

    Args:
        test: The test.
        functions: Those that its module certainly defines.
        source: The module.
        names: The meanings of names in the module.
    """
    arguments = {argument.arg for argument in test.args.args}
    for function in functions:
        if isinstance(function, ast.FunctionDef) and function.name in arguments:
            found = _read(function, names)
            if found is not None and not _is_known_elsewhere(function, test, source):
                yield found


def made_before(
    test: Function, functions: Iterable[Function], methods: Mapping[str, Function], names: Names
) -> dict[str, ast.expr]:
    """Return what certainly makes a value that a test reads, by the text that it is read by.

    Other tests may use the value's fixture, too.

    Args:
        test: The test.
        functions: Those that its module certainly defines.
        methods: Those of its class.
        names: The meanings of names in the module.
    """
    arguments = {argument.arg for argument in test.args.args} - {*bound_names(test.body)}
    found = {
        function.name: read.value
        for function in functions
        if isinstance(function, ast.FunctionDef) and function.name in arguments
        if (read := _read(function, names)) is not None and not read.is_list
    }
    stored = [
        node.attr
        for method in methods.values()
        for node in ast.walk(method)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    ]
    for setup in (methods[name] for name in ("setUp", "setup_method") if name in methods):
        for statement in setup.body:
            match statement:
                case ast.Assign(
                    targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value
                ) if stored.count(name) == 1:
                    found[f"self.{name}"] = value
                case _:
                    pass
    return found


def _read(fixture: ast.FunctionDef, names: Names) -> HandedOut | None:
    match fixture:
        case ast.FunctionDef(
            decorator_list=[decorator],
            body=[*before, ast.Return(value=value) | ast.Expr(value=ast.Yield(value=value))],
        ) if value is not None and all(map(_is_docstring, before)):
            pass
        case _:
            return None
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    given = {keyword.arg: keyword.value for keyword in keywords}
    if names.library(function) != "pytest.fixture" or not given.keys() <= _KEYWORDS:
        return None
    match fixture.args.args, value:
        case [], _ if "params" not in given:
            return HandedOut(fixture, value, is_list=False)
        case [ast.arg(arg="request")], ast.Attribute(value=ast.Name(id="request"), attr="param"):
            params = given.get("params")
            return None if params is None else HandedOut(fixture, params, is_list=True)
        case _:
            return None


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_known_elsewhere(fixture: ast.FunctionDef, test: Function, source: SuiteSource) -> bool:
    """Tell whether anything but a fixture and its test mentions the fixture's name."""
    inside = {*ast.walk(fixture), *ast.walk(test)}
    return any(_name_of(node) == fixture.name for node in source.nodes if node not in inside)


def _name_of(node: ast.AST) -> str | None:
    match node:
        case (
            ast.arg(arg=name)
            | ast.Name(id=name)
            | ast.FunctionDef(name=name)
            | ast.AsyncFunctionDef(name=name)
            | ast.Constant(value=str(name))
        ):
            return name
        case _:
            return None
