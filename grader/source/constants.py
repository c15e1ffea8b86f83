"""Evaluates conditions of tests that read nothing but constants, parameters and the platform."""

import ast
import operator
import sys
from collections.abc import Callable, Mapping
from typing import Any

_VERSIONS = ((3, 11), (3, 99))
"""The lowest and the highest version of Python in a sandbox. Both must decide a condition alike."""
_PLATFORM = {
    "os.name": "posix",
    "platform.system()": "Linux",
    "sys.platform": "linux",
    "sys.byteorder": sys.byteorder,
    "sys.maxsize": sys.maxsize,
}
COMPARISONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda item, items: item in items,
    ast.NotIn: lambda item, items: item not in items,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
"""What each operator of a comparison computes."""


class UnknownError(Exception):
    """The source does not show the value."""


def holds(condition: ast.expr, names: Mapping[str, Any]) -> bool:
    """Tell whether a condition holds, given the values of some names.

    Raises:
        UnknownError: It depends on something else.
    """
    try:
        one, other = (bool(_value(condition, names, version)) for version in _VERSIONS)
    except (TypeError, ValueError, LookupError, RecursionError) as error:
        raise UnknownError from error
    if one is not other:
        raise UnknownError
    return one


def _value(node: ast.expr, names: Mapping[str, Any], version: tuple[int, ...]) -> Any:
    match node:
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return not _value(inner, names, version)
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_value(each, names, version) for each in values)
        case ast.BoolOp(values=values):
            return any(_value(each, names, version) for each in values)
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            values = [_value(each, names, version) for each in (left, *comparators)]
            pairs = zip(ops, values, values[1:], strict=False)
            return all(COMPARISONS[type(op)](one, other) for op, one, other in pairs)
        case ast.Call(func=ast.Name(id="len"), args=[inner], keywords=[]):
            return len(_value(inner, names, version))
        case ast.Call(func=ast.Attribute(value=inner, attr="startswith"), args=[start]):
            return str(_value(inner, names, version)).startswith(_value(start, names, version))
        case ast.Attribute() | ast.Call():
            return _of_platform(ast.unparse(node), version)
        case ast.Subscript(value=inner, slice=ast.Constant(value=int(index))):
            return _value(inner, names, version)[index]
        case _:
            return ast.literal_eval(node)


def _of_platform(expression: str, version: tuple[int, ...]) -> Any:
    if expression == "sys.version_info":
        return version
    if expression in _PLATFORM:
        return _PLATFORM[expression]
    raise UnknownError
