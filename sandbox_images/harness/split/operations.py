"""What the tests may ask the submission's process for by name, beside calls and attributes."""

import copy
import operator
from collections.abc import Callable
from typing import Any

DATA_BASES = (int, float, complex, str, bytes, tuple, frozenset, list, dict, set)
"""Builtins whose subclasses' instances carry a plain value."""

_loops: list[Any] = []


def plain(value: Any) -> Any:
    """Return the builtin part of an instance of a builtin's subclass."""
    base = next(base for base in DATA_BASES if isinstance(value, base))
    if base is dict:
        return dict(dict.items(value))
    if base in (list, tuple, set, frozenset):
        return base(base.__iter__(value))
    if base is str:
        return str.__str__(value)
    if base is bytes:
        return bytes(memoryview(value))
    if base is complex:
        return complex(value.real, value.imag)
    return int.__index__(value) if base is int else float.__float__(value)


def _enter(manager: Any) -> Any:
    return type(manager).__enter__(manager)


def _exit(manager: Any, error: BaseException | None) -> Any:
    kind = None if error is None else type(error)
    return type(manager).__exit__(manager, kind, error, None)


def _await(awaitable: Any) -> Any:
    """Run an awaitable to its end, in a loop that lives on for the next one."""
    import asyncio  # takes a third of a zygote's memory, which every fork copies

    async def wait() -> Any:
        return await awaitable

    outer = asyncio._get_running_loop()
    loop = _loops.pop() if _loops else asyncio.new_event_loop()
    asyncio._set_running_loop(None)
    try:
        return loop.run_until_complete(wait())
    finally:
        asyncio._set_running_loop(outer)
        _loops.append(loop)


def _step(generator: Any) -> Any:
    return _await(generator.__anext__())


_IN_PLACE = "iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift imatmul"
_BINARY = "add sub mul truediv floordiv mod and_ or_ xor lshift rshift matmul eq ne lt le gt ge"
_UNARY = "neg pos invert index getitem setitem delitem contains"
OPERATIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(operator, name) for name in f"{_IN_PLACE} {_BINARY} {_UNARY}".split()},
    **{
        f.__name__: f
        for f in (abs, bool, bytes, complex, dir, divmod, float, format, hash, int, iter, len)
    },
    **{f.__name__: f for f in (next, plain, pow, repr, reversed, round, str)},
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "enter": _enter,
    "exit": _exit,
    "await": _await,
    "anext": _step,
}
"""By the names that the judge sends."""
