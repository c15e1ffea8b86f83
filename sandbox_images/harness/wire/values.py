"""Plain data as JSON, without loss and without code.

Only values of exact builtin types, and a few of the standard library's and numpy's, exist on
the wire, so decoded values compare by Python's own rules only. A subclass of
a builtin (a named tuple, a Counter, an int with its own `__eq__`) arrives as the plain value.

    JSON           value                    JSON              value
    null, bool     same                     {"t": [..]}       tuple
    str            same                     {"s": [..]}       set
    int            |n| < 2**53              {"S": [..]}       frozenset
    {"i": hex}     any other int            {"d": [[k, v]..]} dict
    float          finite                   {"D": text}       Decimal
    {"f": name}    nan, inf, -inf           {"F": [n, d]}     Fraction
    {"c": [re, im]}  complex                {"T": [kind, ..]} date, time, datetime, timedelta
    {"b": base64}  bytes                    {"n": [dtype, shape, base64]}  numpy array
    {"B": base64}  bytearray                [..]              list
"""

import base64
import datetime as dt
import math
import re
import sys
from collections import Counter, deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

MAX_DEPTH = 150
MAX_NODES = 2_000_000
MAX_INT_BITS = 1 << 22
_MAX_FRACTION_BITS = 1 << 16
"""To reduce a fraction takes time that grows with the square of its length."""
_MAX_COLLISIONS = 1000

Json = Any
"""What `json` makes of a JSON text."""

_SAFE_INT = 1 << 53
_NUMPY_KINDS = "biufcUS"
_PLAIN_DTYPE = re.compile(rf"[<>|=][{_NUMPY_KINDS}][0-9]{{1,9}}")
_MAX_DIMENSIONS = 64


class UnencodableError(TypeError):
    """The value is not plain data; the message says what it is."""


class ValueDecodeError(ValueError):
    """The JSON is not an encoded value."""


UNDECODABLE = (
    ValueError,
    TypeError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
)
"""What reading the parts of a malformed encoded value may raise."""


def encode(value: object) -> Json:
    """Return `value` in terms that `json` can write.

    Raises:
        UnencodableError: Not plain data, a cycle, or past one of the caps of this module.
    """
    return _Encoder().encode(value, 0)


class _Encoder:
    """One encoding. Counts the nodes, since an object is written as often as it is found."""

    def __init__(self) -> None:
        self._nodes = 0

    def encode(self, value: object, depth: int) -> Json:
        self._nodes += 1
        if depth > MAX_DEPTH:
            raise UnencodableError(f"nested deeper than {MAX_DEPTH} levels, or a cycle")
        if self._nodes > MAX_NODES:
            raise UnencodableError(f"more than {MAX_NODES} values")
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        encoder = _ENCODERS.get(kind)
        if encoder is not None:
            return encoder(self, value, depth)
        for base in kind.__mro__:
            encoder = _ENCODERS.get(base)
            if encoder is not None:
                return encoder(self, value, depth)
        return self._numpy(value, depth)

    def _items(self, items: Any, depth: int) -> list[Json]:
        return [self.encode(item, depth + 1) for item in items]

    def _int(self, value: Any, _depth: int) -> Json:
        value = int.__index__(value)
        if -_SAFE_INT < value < _SAFE_INT:
            return value
        if value.bit_length() > MAX_INT_BITS:
            raise UnencodableError(f"an integer of more than {MAX_INT_BITS} bits")
        return {"i": hex(value)}

    def _float(self, value: Any, _depth: int) -> Json:
        value = float.__float__(value)
        return value if math.isfinite(value) else {"f": repr(value)}

    def _complex(self, value: Any, depth: int) -> Json:
        return {"c": [self._float(value.real, depth), self._float(value.imag, depth)]}

    def _str(self, value: Any, _depth: int) -> Json:
        return str.__str__(value)

    def _bytes(self, value: Any, _depth: int) -> Json:
        return {"b": base64.b64encode(value).decode()}

    def _bytearray(self, value: Any, _depth: int) -> Json:
        return {"B": base64.b64encode(value).decode()}

    def _list(self, value: Any, depth: int) -> Json:
        return self._items(list.__iter__(value), depth)

    def _tuple(self, value: Any, depth: int) -> Json:
        return {"t": self._items(tuple.__iter__(value), depth)}

    def _set(self, value: Any, depth: int) -> Json:
        return {"s": self._items(set.__iter__(value), depth)}

    def _frozenset(self, value: Any, depth: int) -> Json:
        return {"S": self._items(frozenset.__iter__(value), depth)}

    def _dict(self, value: Any, depth: int) -> Json:
        pairs = dict.items(value)
        return {"d": [[self.encode(k, depth + 1), self.encode(v, depth + 1)] for k, v in pairs]}

    def _decimal(self, value: Any, _depth: int) -> Json:
        return {"D": Decimal.__str__(value)}

    def _fraction(self, value: Any, depth: int) -> Json:
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MAX_FRACTION_BITS:
            raise UnencodableError(f"a fraction of more than {_MAX_FRACTION_BITS} bits")
        return {"F": [self._int(value.numerator, depth), self._int(value.denominator, depth)]}

    def _datetime(self, value: Any, _depth: int) -> Json:
        return {"T": ["datetime", dt.datetime.isoformat(value)]}

    def _date(self, value: Any, _depth: int) -> Json:
        return {"T": ["date", dt.date.isoformat(value)]}

    def _time(self, value: Any, _depth: int) -> Json:
        return {"T": ["time", dt.time.isoformat(value)]}

    def _timedelta(self, value: Any, _depth: int) -> Json:
        return {"T": ["timedelta", value.days, value.seconds, value.microseconds]}

    def _numpy(self, value: Any, depth: int) -> Json:
        """Encode a numpy scalar as its plain value and an array of plain items as raw bytes."""
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(value, numpy.generic):
            return self.encode(value.item(), depth + 1)
        if numpy is not None and isinstance(value, numpy.ndarray):
            if value.ndim == 0:
                return self.encode(value.item(), depth + 1)
            if value.dtype.kind in _NUMPY_KINDS:
                raw = base64.b64encode(value.tobytes()).decode()
                return {"n": [value.dtype.str, list(value.shape), raw]}
            raise UnencodableError(f"a numpy array of {value.dtype}")
        kind = type(value)
        raise UnencodableError(f"an object of type {kind.__module__}.{kind.__qualname__}")


_ENCODERS: dict[type, Callable[[_Encoder, Any, int], Json]] = {
    int: _Encoder._int,
    float: _Encoder._float,
    complex: _Encoder._complex,
    str: _Encoder._str,
    bytes: _Encoder._bytes,
    bytearray: _Encoder._bytearray,
    list: _Encoder._list,
    tuple: _Encoder._tuple,
    set: _Encoder._set,
    frozenset: _Encoder._frozenset,
    dict: _Encoder._dict,
    Decimal: _Encoder._decimal,
    Fraction: _Encoder._fraction,
    dt.datetime: _Encoder._datetime,
    dt.date: _Encoder._date,
    dt.time: _Encoder._time,
    dt.timedelta: _Encoder._timedelta,
}


def decode(encoded: Json, *, max_nodes: int = MAX_NODES) -> Any:
    """Return the value that `encode` was given, or its plain equivalent.

    A numpy array comes back as one if numpy is already imported; otherwise as nested lists.

    Args:
        encoded: What `json` made of the text. The caller limits its size.
        max_nodes: Most items and rows of all arrays together. A shape can claim any number.

    Raises:
        ValueDecodeError: Not an encoded value, or past one of the caps of this module.
    """
    try:
        return _Decoder(max_nodes).decode(encoded, 0)
    except ValueDecodeError:
        raise
    except UNDECODABLE as error:
        raise ValueDecodeError(f"not an encoded value: {type(error).__name__}: {error}") from None


def holds_array(encoded: Json) -> bool:
    """Return whether an encoded value is, or contains, a numpy array."""
    waiting = [encoded]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if "n" in value:
                return True
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return False


class _Decoder:
    """One decoding: counts what arrays claim to hold."""

    def __init__(self, max_nodes: int) -> None:
        self._array_nodes_left = max_nodes

    def decode(self, encoded: Json, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ValueDecodeError(f"nested deeper than {MAX_DEPTH} levels")
        if isinstance(encoded, list):
            return [self.decode(item, depth + 1) for item in encoded]
        if not isinstance(encoded, dict):
            return encoded
        if len(encoded) != 1:
            raise ValueDecodeError("a tagged value has exactly one tag")
        tag, content = next(iter(encoded.items()))
        decoder = _DECODERS.get(tag)
        if decoder is None:
            raise ValueDecodeError(f"unknown tag {tag[:20]!r}")
        return decoder(self, content, depth + 1)

    def _int(self, content: Any, _depth: int) -> int:
        if not isinstance(content, str) or len(content) > MAX_INT_BITS // 4 + 3:
            raise ValueDecodeError("an integer past the cap")
        return int(content, 16)

    def _float(self, content: Any, _depth: int) -> float:
        if content not in ("nan", "inf", "-inf"):
            raise ValueDecodeError("not the name of a float")
        return float(content)

    def _complex(self, content: Any, depth: int) -> complex:
        real, imag = (self.decode(part, depth) for part in content)
        return complex(real, imag)

    def _bytes(self, content: Any, _depth: int) -> bytes:
        return base64.b64decode(content, validate=True)

    def _bytearray(self, content: Any, depth: int) -> bytearray:
        return bytearray(self._bytes(content, depth))

    def _tuple(self, content: Any, depth: int) -> tuple[Any, ...]:
        return tuple(self._list(content, depth))

    def _list(self, content: Any, depth: int) -> list[Any]:
        if not isinstance(content, list):
            raise ValueDecodeError("items are not a list")
        return [self.decode(item, depth) for item in content]

    def _set(self, content: Any, depth: int) -> set[Any]:
        return set(_hashable(self._list(content, depth)))

    def _frozenset(self, content: Any, depth: int) -> frozenset[Any]:
        return frozenset(_hashable(self._list(content, depth)))

    def _dict(self, content: Any, depth: int) -> dict[Any, Any]:
        keys = _hashable([self.decode(key, depth) for key, _value in content])
        items = (self.decode(value, depth) for _key, value in content)
        return dict(zip(keys, items, strict=True))

    def _decimal(self, content: Any, _depth: int) -> Decimal:
        if not isinstance(content, str):
            raise ValueDecodeError("a Decimal is text")
        return Decimal(content)

    def _fraction(self, content: Any, depth: int) -> Fraction:
        numerator, denominator = (self.decode(part, depth) for part in content)
        if max(numerator.bit_length(), denominator.bit_length()) > _MAX_FRACTION_BITS:
            raise ValueDecodeError("a fraction past the cap")
        return Fraction(numerator, denominator)

    def _time(self, content: Any, _depth: int) -> Any:
        kind, *parts = content
        if kind == "timedelta":
            days, seconds, microseconds = parts
            return dt.timedelta(days=days, seconds=seconds, microseconds=microseconds)
        classes: dict[str, Any] = {"datetime": dt.datetime, "date": dt.date, "time": dt.time}
        return classes[kind].fromisoformat(*parts)

    def _numpy(self, content: Any, _depth: int) -> Any:
        dtype, shape, raw = content
        if not isinstance(dtype, str) or not _PLAIN_DTYPE.fullmatch(dtype):
            raise ValueDecodeError("not the dtype of plain items")
        self._count_array(shape)
        data = base64.b64decode(raw, validate=True)
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            return numpy.frombuffer(data, dtype=numpy.dtype(dtype)).reshape(shape).copy()
        return _nest(deque(_unpack(dtype, data)), shape)

    def _count_array(self, shape: Any) -> None:
        """Make sure that an array is within the limit, also one that has rows but no items."""
        if not isinstance(shape, list) or len(shape) > _MAX_DIMENSIONS:
            raise ValueDecodeError("not an array's shape")
        if not all(type(size) is int and 0 <= size <= MAX_NODES for size in shape):
            raise ValueDecodeError("not an array's dimension")
        self._array_nodes_left -= math.prod(filter(None, shape))
        if self._array_nodes_left < 0:
            raise ValueDecodeError("an array of too many items or rows")


def _hashable(keys: list[Any]) -> list[Any]:
    """Return `keys`, unless they were chosen to collide, which costs quadratic time."""
    if len(keys) > _MAX_COLLISIONS:
        (_, most), *_rest = Counter(map(hash, keys)).most_common(1)
        if most > _MAX_COLLISIONS:
            raise ValueDecodeError(f"{most} keys with the same hash")
    return keys


def _unpack(dtype: str, data: bytes) -> list[Any]:
    """Read the items of a numeric array without numpy."""
    order, kind, size = dtype[0], dtype[1], int(dtype[2:])
    byteorder: Literal["big", "little"] = "big" if order == ">" else "little"
    if kind in "US" or size not in (1, 2, 4, 8, 16) or len(data) % size:
        raise ValueDecodeError(f"cannot read an array of {dtype[:20]!r} here")
    chunks = (data[i : i + size] for i in range(0, len(data), size))
    if kind == "b":
        return [chunk != b"\0" for chunk in chunks]
    if kind in "iu":
        return [int.from_bytes(chunk, byteorder, signed=kind == "i") for chunk in chunks]
    import struct

    prefix = ">" if order == ">" else "<"
    if kind == "c":
        code = prefix + {8: "ff", 16: "dd"}[size]
        return [complex(*struct.unpack(code, chunk)) for chunk in chunks]
    code = prefix + {2: "e", 4: "f", 8: "d"}[size]
    return [struct.unpack(code, chunk)[0] for chunk in chunks]


def _nest(items: "deque[Any]", shape: list[int]) -> Any:
    if math.prod(shape) != len(items):
        raise ValueDecodeError("an array's shape does not fit its items")
    if not shape:
        return items.popleft()

    def build(dimension: int) -> Any:
        if dimension == len(shape):
            return items.popleft()
        return [build(dimension + 1) for _ in range(shape[dimension])]

    return build(0)


_DECODERS: dict[str, Callable[[_Decoder, Any, int], Any]] = {
    "i": _Decoder._int,
    "f": _Decoder._float,
    "c": _Decoder._complex,
    "b": _Decoder._bytes,
    "B": _Decoder._bytearray,
    "t": _Decoder._tuple,
    "s": _Decoder._set,
    "S": _Decoder._frozenset,
    "d": _Decoder._dict,
    "D": _Decoder._decimal,
    "F": _Decoder._fraction,
    "T": _Decoder._time,
    "n": _Decoder._numpy,
}
