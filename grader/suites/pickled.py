"""Reads base64(zlib(pickle(...))) test fields without unpickling.

A pickle is a program for a stack machine that can import and call anything. This module runs only
the instructions that build plain data, on a stack of its own, and refuses all others. So nothing is
imported, called, or looked up by name. The result consists of None, bool, int, float, str, bytes,
list, tuple and dict. It is a tree: a memoised container cannot be fetched again, so a value cannot
contain itself, and a small pickle cannot unfold to a huge value.

Memory stays within a small multiple of `MAX_BYTES`: decompression stops there, and each instruction
makes at most one object.
"""

import base64
import binascii
import pickletools
import re
import zlib
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from grader.model.errors import LabelError

MAX_BYTES = 128 << 20
"""Size limit of a decompressed pickle. The largest test field in LiveCodeBench has half of it."""

MAX_OBJECTS = 1_000_000
"""An object takes one byte of a pickle, which may be packed a thousandfold, but about 60 bytes of
memory and a microsecond. Tests are usually one text of JSON, which is one object."""

_MARK = object()
_SCALARS = (str, bytes, int, float)

_PUSH_ARGUMENT = frozenset(
    (
        "INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT"
        " UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8"
        " BINBYTES SHORT_BINBYTES BINBYTES8"
    ).split()
)
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_EMPTY = {"EMPTY_LIST": list, "EMPTY_TUPLE": tuple, "EMPTY_DICT": dict}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_PUT = frozenset({"PUT", "BINPUT", "LONG_BINPUT"})
_GET = frozenset({"GET", "BINGET", "LONG_BINGET"})
_IGNORED = frozenset({"PROTO", "FRAME"})


_PACKED = re.compile(r"\s*e[AFJN][A-Za-z0-9+/]{8,}={0,2}\s*")
"""Base64 of zlib data, which starts with one of four pairs of bytes."""


def is_packed(field: str) -> bool:
    """Return whether a text looks like packed tests."""
    return _PACKED.fullmatch(field) is not None


class PackedError(Exception):
    """A label holds packed tests, which are not to be decoded here."""


_may_decode: ContextVar[bool] = ContextVar("may_decode", default=True)


@contextmanager
def nothing_decoded() -> Iterator[None]:
    """Have `decode` raise `PackedError`: what it returns may be a thousand times the field."""
    token = _may_decode.set(False)
    try:
        yield
    finally:
        _may_decode.reset(token)


def decode(field: str | bytes) -> Any:
    """Return the plain data in a base64(zlib(pickle(...))) field.

    Raises:
        PackedError: The caller is in `nothing_decoded`.
        LabelError: The field has another form, decompresses to more than `MAX_BYTES`, or holds
            anything but plain data.
    """
    if not _may_decode.get():
        raise PackedError
    try:
        packed = base64.b64decode(field, validate=True)
    except (binascii.Error, ValueError) as error:
        message = f"the packed tests are not base64: {error}"
        raise LabelError(message) from error
    return decode_pickle(_decompressed(packed))


def _decompressed(packed: bytes) -> bytes:
    machine = zlib.decompressobj()
    try:
        data = machine.decompress(packed, MAX_BYTES)
    except zlib.error as error:
        message = f"the packed tests are not zlib data: {error}"
        raise LabelError(message) from error
    if machine.unconsumed_tail:
        message = f"the packed tests hold more than {MAX_BYTES} bytes"
        raise LabelError(message)
    if not machine.eof:
        message = "the packed tests are cut off"
        raise LabelError(message)
    return data


def decode_pickle(data: bytes) -> Any:
    """Return the plain data that a pickle builds.

    Raises:
        LabelError: The pickle is damaged, or builds something else, or more than `MAX_OBJECTS`.
    """
    machine = _Machine()
    try:
        for name, argument in _instructions(data):
            if name == "STOP":
                return machine.result()
            machine.run(name, argument)
    except (ValueError, IndexError, KeyError, TypeError, OverflowError) as error:
        message = f"the pickled tests are damaged: {error}"
        raise LabelError(message) from error
    message = "the pickled tests are cut off"
    raise LabelError(message)


def _instructions(data: bytes) -> Iterator[tuple[str, Any]]:
    """Yield each instruction's name and argument; `pickletools` reads them and runs nothing."""
    for count, (opcode, argument, _position) in enumerate(pickletools.genops(data)):
        if count > MAX_OBJECTS:
            message = f"the pickled tests hold more than {MAX_OBJECTS} objects"
            raise LabelError(message)
        yield opcode.name, argument


class _Machine:
    """The stack and the memo of one pickle."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def result(self) -> Any:
        if len(self._stack) != 1 or self._stack[0] is _MARK:
            message = "it does not end with one value"
            raise ValueError(message)
        return self._stack[0]

    def run(self, name: str, argument: Any) -> None:
        if name in _PUSH_ARGUMENT:
            self._stack.append(argument)
        elif name in _CONSTANTS:
            self._stack.append(_CONSTANTS[name])
        elif name in _EMPTY:
            self._stack.append(_EMPTY[name]())
        elif name in _TUPLES:
            self._stack.append(tuple(self._pop(_TUPLES[name])))
        elif name in _PUT:
            self._memoise(argument)
        elif name in _GET:
            self._stack.append(self._recall(argument))
        elif name not in _IGNORED:
            self._build(name)

    def _build(self, name: str) -> None:
        match name:
            case "MARK":
                self._stack.append(_MARK)
            case "MEMOIZE":
                self._memoise(len(self._memo))
            case "LIST":
                self._stack.append(self._pop_to_mark())
            case "TUPLE":
                self._stack.append(tuple(self._pop_to_mark()))
            case "DICT":
                items = self._pop_to_mark()
                self._stack.append({})
                self._set(items)
            case "APPEND":
                self._extend(self._pop(1))
            case "APPENDS":
                self._extend(self._pop_to_mark())
            case "SETITEM":
                self._set(self._pop(2))
            case "SETITEMS":
                self._set(self._pop_to_mark())
            case _:
                message = f"the pickled tests hold more than plain data: instruction {name}"
                raise LabelError(message)

    def _pop(self, count: int) -> list[Any]:
        values = self._stack[-count:]
        if len(values) < count or _MARK in values:
            message = "an instruction finds too few values"
            raise ValueError(message)
        del self._stack[-count:]
        return values

    def _pop_to_mark(self) -> list[Any]:
        for index in range(len(self._stack) - 1, -1, -1):
            if self._stack[index] is _MARK:
                values = self._stack[index + 1 :]
                del self._stack[index:]
                return values
        message = "an instruction finds no mark"
        raise ValueError(message)

    def _extend(self, values: list[Any]) -> None:
        if type(self._stack[-1]) is not list:
            message = "it appends to something else than a list"
            raise ValueError(message)
        self._stack[-1].extend(values)

    def _set(self, items: list[Any]) -> None:
        if type(self._stack[-1]) is not dict or len(items) % 2:
            message = "it sets items of something else than a dict"
            raise ValueError(message)
        for key, value in zip(items[::2], items[1::2], strict=True):
            if not isinstance(key, Hashable) or isinstance(key, tuple):
                message = "a key is neither text nor a number"
                raise ValueError(message)
            self._stack[-1][key] = value

    def _memoise(self, key: int) -> None:
        if self._stack[-1] is _MARK:
            message = "it memoises a mark"
            raise ValueError(message)
        self._memo[key] = self._stack[-1]

    def _recall(self, key: int) -> Any:
        value = self._memo[key]
        if type(value) not in _SCALARS:
            message = "the pickled tests hold one container in two places, or in itself"
            raise LabelError(message)
        return value
