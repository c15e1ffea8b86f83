"""Objects of the tests in the submission's hands: which may be lent, and what it may do with them.

All of it is only ever possible with an object that a test handed over, and nothing here gives a
way from there to the tests' namespaces, to the insides of their classes or to an expected value.
"""

import builtins
import operator
import sys
import types
from collections.abc import Callable
from typing import Any

_LENT_TYPES: tuple[type, ...] = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
)
_ROUTINES: tuple[type, ...] = (
    *_LENT_TYPES,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    types.MethodWrapperType,
)


def may_be_lent(value: Any) -> bool:
    """Tell whether the submission may hold a reference: what offers no way into the tests."""
    kind = type(value)
    if isinstance(value, (*_LENT_TYPES, types.GeneratorType)):
        return True
    if kind.__module__.partition(".")[0] in ("builtins", "_pytest", "pytest", "pluggy"):
        return hasattr(kind, "__next__")
    return not isinstance(value, type(sys))


def _public(target: Any, name: Any) -> str:
    """Return the name of an attribute that the submission may reach."""
    # Exactly text: a subclass of the submission's would answer `startswith` as it pleases.
    if type(name) is not str or name.startswith("_"):
        raise AttributeError("only public attributes of the tests' objects can be reached")
    if _is_mock(target) and name in dir(sys.modules["unittest.mock"].Mock):
        raise AttributeError("what a mock has recorded is for the tests alone")
    return name


def _is_mock(target: Any) -> bool:
    mock = sys.modules.get("unittest.mock")
    return mock is not None and isinstance(target, mock.NonCallableMock)


def _call(target: Any, *args: Any, **kwargs: Any) -> Any:
    return target(*args, **kwargs)


def _get(target: Any, name: Any) -> Any:
    if isinstance(target, (*_ROUTINES, types.GeneratorType)):
        raise AttributeError("functions of the tests can only be called")
    return getattr(target, _public(target, name))


def _name(target: Any, which: Any) -> str | None:
    """Return what a function says of itself, and only as text."""
    if which not in ("__name__", "__qualname__", "__doc__", "__module__"):
        raise AttributeError("not the name of a function")
    text = getattr(target, which)
    if text is not None and type(text) is not str:
        raise AttributeError("a function's name is text")
    return text


def _set(target: Any, name: Any, value: Any) -> None:
    if isinstance(target, (*_ROUTINES, type)):
        raise AttributeError("functions and classes of the tests cannot be changed")
    name = _public(target, name)
    if callable(getattr(type(target), name, None)) or (_is_mock(target) and _is_no_data(value)):
        raise AttributeError("methods of the tests' objects cannot be replaced")
    setattr(target, name, value)


def _is_no_data(value: Any) -> bool:
    return callable(value) or type(value).__module__ != "builtins"


def _stdin(_target: Any, method: Any, size: Any) -> Any:
    reader: Callable[[Any], Any] = {"read": sys.stdin.read, "readline": sys.stdin.readline}[method]
    return reader(size)


def _exit(target: Any) -> None:
    type(target).__exit__(target, None, None, None)


ANSWERS: dict[str, Callable[..., Any]] = {
    "call": _call,
    "get": _get,
    "set": _set,
    "name": _name,
    "iter": lambda target: iter(target),
    "next": lambda target: next(target),
    "bool": lambda target: bool(target),
    "len": lambda target: len(target),
    "contains": lambda target, item: item in target,
    "enter": lambda target: type(target).__enter__(target),
    "exit": _exit,
    "eq": lambda target, other: bool(target == other),
    "str": lambda target: str(target),
    "input": lambda _target, prompt: builtins.input(prompt),
    "stdin": _stdin,
    **{
        name: getattr(operator, name)
        for name in "getitem setitem delitem lt le gt ge add sub mul".split()
    },
}
"""What the submission may ask to be done with an object that it was lent."""
