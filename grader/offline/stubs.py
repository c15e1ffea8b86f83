"""Programs that do nothing, under the names of one that does: to find tests that assert nothing.

Two stubs of a solution have all of its functions, classes and variables. In one, whatever is
called returns None and every variable is None; in the other it is an object that equals only
itself. A test that passes with both does not depend on what the solution answers. One stub
would not do: a test that rightly expects None passes with the first, one that merely expects
something true passes with the second.
"""

import ast
from enum import Enum

_NONE = "None"
_ODD_NAME = "_grader_odd"
_ODD_CLASS = f"""
class _GraderOdd:
    pass

{_ODD_NAME} = _GraderOdd()
"""
_KEPT_DECORATORS = {
    "abstractmethod",
    "cached_property",
    "classmethod",
    "dataclass",
    "deleter",
    "getter",
    "property",
    "setter",
    "staticmethod",
}
"""Decorators that decide how a name is used; any other may do what the stub must not do."""


class Stub(Enum):
    """Which of the two."""

    NOTHING = "nothing"
    ODD = "odd"


def stub_of(source: str, stub: Stub) -> str | None:
    """Return a stub of a solution's source; None: it does not parse."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    value = _NONE if stub is Stub.NOTHING else _ODD_NAME
    body = [kept for node in module.body if (kept := _stubbed(node, value)) is not None]
    # `from __future__` has to stay in front.
    future = [node for node in body if isinstance(node, ast.ImportFrom) and _is_future(node)]
    rest = [node for node in body if node not in future]
    odd = ast.parse(_ODD_CLASS).body if stub is Stub.ODD else []
    return ast.unparse(ast.Module(body=[*future, *odd, *rest], type_ignores=[])) + "\n"


def stub_program(stub: Stub) -> str:
    """Return a program that reads nothing and prints nothing, or something that nobody expects."""
    return "pass\n" if stub is Stub.NOTHING else "print('grader stub: 7f3a9c51')\n"


def _is_future(node: ast.ImportFrom) -> bool:
    return node.module == "__future__"


def _stubbed(node: ast.stmt, value: str) -> ast.stmt | None:
    match node:
        case ast.Import() | ast.ImportFrom():
            return node
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return _stubbed_function(node, value)
        case ast.ClassDef():
            return _stubbed_class(node, value)
        case ast.Assign(targets=targets) if all(isinstance(t, ast.Name) for t in targets):
            node.value = _expression(value)
            return node
        case ast.AnnAssign(target=ast.Name(), value=ast.expr()):
            node.value = _expression(value)
            return node
        case ast.AnnAssign(target=ast.Name()):
            return node
        case _:
            # What a module does as it is loaded is work, and a stub does none.
            return None


def _stubbed_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef, value: str
) -> ast.FunctionDef | ast.AsyncFunctionDef:
    makes_object = node.name in ("__init__", "__post_init__", "__init_subclass__")
    node.body = [ast.Return(_expression(_NONE if makes_object else value))]
    node.decorator_list = [d for d in node.decorator_list if _decorator(d) in _KEPT_DECORATORS]
    return node


def _stubbed_class(node: ast.ClassDef, value: str) -> ast.ClassDef:
    # An object of any kind can be made; what it is made of, the solution would have to say.
    kept = [
        stubbed
        for part in node.body
        if getattr(part, "name", None) != "__new__"
        and (stubbed := _stubbed(part, value)) is not None
    ]
    node.body = kept or [ast.Pass()]
    node.decorator_list = [d for d in node.decorator_list if _decorator(d) in _KEPT_DECORATORS]
    return node


def _decorator(node: ast.expr) -> str:
    """Return the last name of a decorator: "setter" of `@size.setter`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=called):
            return _decorator(called)
        case _:
            return ""


def _expression(source: str) -> ast.expr:
    return ast.parse(source, mode="eval").body
