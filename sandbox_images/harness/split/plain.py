"""Which values may cross between the tests and the submission, and how.

Only plain data crosses: values of exactly the types below, which cannot be told from their copies.
A suite that is judged this way neither changes a value that crossed nor asks for its identity, so
a copy is as good as the value. Any other value ends the attempt.
"""

import builtins
import datetime as dt
import math
from decimal import Context, Decimal, DefaultContext, getcontext
from fractions import Fraction
from typing import Any

from sandbox_images.harness.wire import values
from sandbox_images.harness.wire.values import UnencodableError, ValueDecodeError

_LEAVES = frozenset({type(None), bool, int, str, bytes, Fraction, dt.date, dt.timedelta})
MUTABLE = frozenset({list, set, dict, bytearray})

EXCEPTIONS: dict[str, type[Exception]] = {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type)
    and issubclass(kind, Exception)
    and not issubclass(kind, StopIteration | StopAsyncIteration | ExceptionGroup)
}
"""Exceptions that cross, by name. A StopIteration would silently end a loop of the tests."""

Json = Any


def encode(value: Any, *, aliases: bool = True) -> Json:
    """Return `value` in terms that `json` can write.

    Args:
        value: What is to cross.
        aliases: Whether one list, dict or set may occur in it twice. The receiver gets two; only
            a receiver that changes them could tell.

    Raises:
        UnencodableError: It is not plain data; the message says why.
    """
    _require_plain(value, None if aliases else set(), 0)
    return values.encode(value)


def decode(encoded: Json) -> Any:
    """Return the value that `encode` was given.

    Raises:
        ValueDecodeError: It is not an encoded value.
    """
    return values.decode(encoded)


def encode_exception(error: BaseException) -> Json:
    """Return an exception in terms that `json` can write.

    Raises:
        UnencodableError: It is not a builtin exception made from plain data.
    """
    kind = type(error)
    if EXCEPTIONS.get(kind.__name__) is not kind or vars(error):
        raise UnencodableError(f"an exception of type {kind.__qualname__}")
    encoded = [kind.__name__, encode(error.args)]
    try:
        is_whole = str(_make(kind, error.args)) == str(error)
    except ValueError:  # an integer of too many digits
        is_whole = False
    if not is_whole:
        raise UnencodableError(f"a {kind.__name__} that says more than what it was made from")
    return encoded


def decode_exception(encoded: Json) -> Exception:
    """Return the exception that `encode_exception` was given.

    Raises:
        ValueDecodeError: It is not an encoded exception.
    """
    match encoded:
        case [str(name), arguments] if name in EXCEPTIONS:
            args = decode(arguments)
            if type(args) is tuple:
                return _make(EXCEPTIONS[name], args)
    raise ValueDecodeError("not an exception that may cross")


def _make(kind: type[Exception], args: tuple[Any, ...]) -> Exception:
    try:
        return kind(*args)
    except TypeError as error:
        raise ValueDecodeError(f"not the arguments of a {kind.__name__}: {error}") from None


def _require_plain(value: Any, seen: set[int] | None, depth: int) -> None:
    kind = type(value)
    if kind in _LEAVES:
        return
    if depth > values.MAX_DEPTH:
        raise UnencodableError(f"nested deeper than {values.MAX_DEPTH} levels, or a cycle")
    if kind in MUTABLE and seen is not None:
        if id(value) in seen:
            raise UnencodableError(f"a {kind.__name__} that occurs twice in one value")
        seen.add(id(value))
    if kind is list or kind is tuple:
        for item in value:
            if type(item) not in _LEAVES:
                _require_plain(item, seen, depth + 1)
    elif kind is dict:
        for key, item in value.items():
            _require_plain(key, seen, depth + 1)
            _require_plain(item, seen, depth + 1)
    elif kind is float or kind is complex:
        # `x in [x]` is true of the same nan, and false of a copy.
        if math.isnan(value.real) or math.isnan(value.imag):
            raise UnencodableError("nan, which only its identity equals")
    elif kind is set or kind is frozenset:
        items = list(value)
        for item in items:
            _require_plain(item, seen, depth + 1)
        # The order of a set depends on how it was built.
        if list(kind(items)) != items:
            raise UnencodableError(f"a {kind.__name__} whose copy has another order")
    elif kind is dt.datetime or kind is dt.time:
        if value.tzinfo is not None or value.fold:
            raise UnencodableError(f"a {kind.__name__} in a time zone, or one of two at its hour")
    elif kind is Decimal:
        if _rules(getcontext()) != _rules(DefaultContext):
            raise UnencodableError("a Decimal in a context that the tests do not have")
    elif kind is not bytearray:
        raise UnencodableError(f"a value of type {kind.__module__}.{kind.__qualname__}")


def _rules(context: Context) -> tuple[Any, ...]:
    """Return the settings that affect results. Flags only record earlier operations."""
    traps = [signal for signal, is_set in context.traps.items() if is_set]
    return (context.prec, context.rounding, context.Emin, context.Emax, context.clamp, traps)
