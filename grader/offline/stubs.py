"""Programs that do nothing, under the names of one that does: to find tests that assert nothing.

Two stubs of a solution have all of its functions, classes and variables. In one, whatever is
called returns None and every variable is None; in the other it is an object that equals only
itself. A test that passes with both does not depend on what the solution answers. One stub
would not do: a test that rightly expects None passes with the first, one that merely expects
something true passes with the second.
"""

import ast
import builtins
from enum import Enum

from grader.syntax import UNPARSABLE, parse

_NONE = "None"
_ODD_NAME = "_grader_odd"
_ODD_CLASS = f"""
class _GraderOdd:
    pass

{_ODD_NAME} = _GraderOdd()
"""
_KEPT_DECORATORS = {
    "cached_property",
    "classmethod",
    "deleter",
    "getter",
    "property",
    "setter",
    "staticmethod",
}
"""Decorators that decide how a name is used; others, such as dataclass, do the work themselves."""
_KEPT_BASES = {"Generic", "Protocol"} | {
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}
"""Bases that bring no answers with them; `list`, say, would make a working stack of a stub."""
_ANY_INIT = "def __init__(self, *args, **kwargs):\n    return None"


class Stub(Enum):
    """Which of the two."""

    NOTHING = "nothing"
    ODD = "odd"


def stub_of(source: str, stub: Stub) -> str | None:
    """Return a stub of a solution's source; None: it does not parse."""
    try:
        module = parse(source)
    except UNPARSABLE:
        return None
    value = _NONE if stub is Stub.NOTHING else _ODD_NAME
    classes = {node.name for node in module.body if isinstance(node, ast.ClassDef)}
    stubber = _Stubber(value, kept_bases=_KEPT_BASES | classes)
    body = [kept for node in module.body if (kept := stubber.stubbed(node)) is not None]
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


class _Stubber:
    """Takes the work out of statements and leaves their names; changes the nodes in place."""

    def __init__(self, value: str, kept_bases: set[str]) -> None:
        self._value = value
        self._kept_bases = kept_bases

    def stubbed(self, node: ast.stmt) -> ast.stmt | None:
        """Return what is left of a statement; None: nothing."""
        match node:
            case ast.Import() | ast.ImportFrom():
                return node
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return self._function(node)
            case ast.ClassDef():
                return self._class(node)
            case ast.Assign(targets=targets) if all(isinstance(t, ast.Name) for t in targets):
                node.value = _expression(self._value)
                return node
            case ast.AnnAssign(target=ast.Name(), value=ast.expr()):
                node.value = _expression(self._value)
                return node
            case ast.AnnAssign(target=ast.Name()):
                return node
            case _:
                # What a module does as it is loaded is work, and a stub does none.
                return None

    def _function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef
    ) -> ast.FunctionDef | ast.AsyncFunctionDef:
        makes_object = node.name in ("__init__", "__post_init__", "__init_subclass__")
        node.body = [ast.Return(_expression(_NONE if makes_object else self._value))]
        node.decorator_list = _kept(node.decorator_list, _KEPT_DECORATORS)
        return node

    def _class(self, node: ast.ClassDef) -> ast.ClassDef:
        node.bases = _kept(node.bases, self._kept_bases)
        node.keywords = []
        node.decorator_list = []
        # Making an object answers nothing yet, so that a stub of every class can be made.
        parts = [part for part in node.body if getattr(part, "name", None) != "__new__"]
        names = {getattr(part, "name", None) for part in parts}
        node.body = [kept for part in parts if (kept := self.stubbed(part)) is not None]
        if "__init__" not in names:
            node.body += ast.parse(_ANY_INIT).body
        return node


def _kept(expressions: list[ast.expr], names: set[str]) -> list[ast.expr]:
    return [each for each in expressions if _last_name(each) in names]


def _last_name(node: ast.expr) -> str:
    """Return the name that an expression ends in: "setter" of `@size.setter`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return _last_name(inner)
        case _:
            return ""


def _expression(source: str) -> ast.expr:
    return ast.parse(source, mode="eval").body
