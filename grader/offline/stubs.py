"""Stubs: programs with the names of a solution, but without its work.

A stub has all functions, classes and variables of the solution. Each function does only what the
`Recipe` says. `grader.offline.attacks` grades stubs to find tests that they pass.
"""

import ast
import builtins
from dataclasses import dataclass

from grader.source.names import last_name
from grader.source.syntax import UNPARSABLE, parse

_KEPT_DECORATORS = {
    "cached_property",
    "classmethod",
    "deleter",
    "getter",
    "property",
    "setter",
    "staticmethod",
}
"""Decorators that change how a name is used. Others, such as dataclass, would do real work."""
_EXCEPTIONS = {
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}
_KEPT_BASES = {"Generic"} | _EXCEPTIONS
"""Bases that give a stub no behaviour; `list`, for example, would make a working stack."""
_ANY_INIT = "def __init__(self, *args, **kwargs):\n    return None"
_SILENT = {"__init__", "__post_init__", "__init_subclass__"}
"""Methods that create objects. They always return None, so that objects can be created."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What a stub has instead of the solution's work."""

    body: str = "return None"
    """The only statement of every function. `{argument}` is replaced by the first argument."""
    value: str = "None"
    """The value of every variable, as an expression."""
    helpers: str = ""
    """Source that defines the names in the other fields."""
    base: str = ""
    """A base class of all classes of the stub, except of exceptions."""
    is_hollow: bool = False
    """Whether classes have no attributes but those of `base`."""


def stub_of(source: str, recipe: Recipe) -> str | None:
    """Return a stub of a solution's source; None if it does not parse."""
    try:
        module = parse(source)
        stubber = _Stubber(recipe, module)
        body = [kept for node in module.body if (kept := stubber.stubbed(node)) is not None]
        # `from __future__` must stay first.
        future = [node for node in body if isinstance(node, ast.ImportFrom) and _is_future(node)]
        rest = [node for node in body if node not in future]
        helpers = parse(recipe.helpers).body
        return ast.unparse(ast.Module(body=[*future, *helpers, *rest], type_ignores=[])) + "\n"
    except UNPARSABLE:
        return None


def _is_future(node: ast.ImportFrom) -> bool:
    return node.module == "__future__"


class _Stubber:
    """Turns statements into stubs, in place."""

    def __init__(self, recipe: Recipe, module: ast.Module) -> None:
        self._recipe = recipe
        self._value = _expression(recipe.value)
        classes = [node for node in module.body if isinstance(node, ast.ClassDef)]
        names = {node.name for node in classes}
        self._kept_bases = names if recipe.is_hollow else _KEPT_BASES | names
        self._exceptions = set(_EXCEPTIONS)
        for node in classes:
            if any(last_name(base) in self._exceptions for base in node.bases):
                self._exceptions.add(node.name)

    def stubbed(self, node: ast.stmt, *, is_method: bool = False) -> ast.stmt | None:
        """Return the stub of a statement; None if nothing is left of it."""
        match node:
            case ast.Import() | ast.ImportFrom():
                return node
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return self._function(node, is_method=is_method)
            case ast.ClassDef():
                return self._class(node)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda(args=args)):
                function = ast.parse(f"def {name}(): pass").body[0]
                assert isinstance(function, ast.FunctionDef)  # noqa: S101 - it was just written
                function.args = args
                return self._function(function, is_method=is_method)
            case ast.Assign(targets=targets) if all(isinstance(t, ast.Name) for t in targets):
                node.value = self._value
                return node
            case ast.AnnAssign(target=ast.Name() as name, value=ast.expr()):
                return ast.copy_location(ast.Assign(targets=[name], value=self._value), node)
            case _:
                # Other statements do work when the module is loaded.
                return None

    def _function(self, node: _Function, *, is_method: bool) -> _Function:
        node.decorator_list = _kept(node.decorator_list, _KEPT_DECORATORS)
        is_bound = is_method and "staticmethod" not in map(last_name, node.decorator_list)
        body = self._recipe.body.replace("{argument}", _first_argument(node.args, is_bound))
        node.body = ast.parse("return None" if node.name in _SILENT else body).body
        # Defaults and annotations may use names that the stub lacks.
        node.returns = None
        for argument in ast.walk(node.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        node.args.defaults = [ast.Constant(None) for _ in node.args.defaults]
        node.args.kw_defaults = [each and ast.Constant(None) for each in node.args.kw_defaults]
        return node

    def _class(self, node: ast.ClassDef) -> ast.ClassDef:
        is_exception = node.name in self._exceptions
        node.bases = _kept(node.bases, self._kept_bases | (_EXCEPTIONS if is_exception else set()))
        node.keywords = []
        node.decorator_list = []
        if self._recipe.base and not is_exception:
            # Last, because a kept base class derives from it, too.
            node.bases.append(ast.Name(self._recipe.base))
            if self._recipe.is_hollow:
                node.body = [ast.Pass()]
                return node
        parts = [part for part in node.body if getattr(part, "name", None) != "__new__"]
        names = {getattr(part, "name", None) for part in parts}
        left = (self.stubbed(part, is_method=True) for part in parts)
        node.body = [kept for kept in left if kept is not None]
        if "__init__" not in names:
            node.body += ast.parse(_ANY_INIT).body
        return node


def _first_argument(args: ast.arguments, is_bound: bool) -> str:
    """Return an expression for the first argument of a function."""
    names = [arg.arg for arg in (*args.posonlyargs, *args.args)][is_bound:]
    if names:
        return names[0]
    if args.vararg is not None:
        return f"({args.vararg.arg}[0] if {args.vararg.arg} else None)"
    return args.kwonlyargs[0].arg if args.kwonlyargs else "None"


def _kept(expressions: list[ast.expr], names: set[str]) -> list[ast.expr]:
    return [each for each in expressions if last_name(each) in names]


def _expression(source: str) -> ast.expr:
    return ast.parse(source, mode="eval").body
