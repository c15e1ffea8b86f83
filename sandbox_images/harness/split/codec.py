"""Values on the channel: plain data by value, everything else by reference.

Plain data is what has exactly one of the types below; a subclass is not. Leaves are written as
`sandbox_images.harness.values` does. Containers may share parts and contain themselves:

    [..]            list                {"t": [..]}   tuple        {"s": [..]}  set
    {"d": [[k, v]]} dict                {"S": [..]}   frozenset    {"q": [[..], maxlen]} deque
    {"C": [[k, v]]} Counter             {"O": [[k, v]]} OrderedDict
    {"e": [factory, [[k, v]]]} defaultdict
    {"@": n}        the n-th mutable container of this value, once more
    {"r": [a, b, c]} range   {"l": [a, b, c]} slice   {"y": name} Ellipsis, NotImplemented
    {"g": [module, name]}  something of the standard library, by name
    {"M": name}     a module of the standard library
    {"P": text}     a path
    {"x": ..}       a reference; what it means is each end's own affair
"""

import importlib
import sys
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Collection
from typing import Any

from sandbox_images.harness import set_order, values
from sandbox_images.harness.split import library
from sandbox_images.harness.split.channel import MAX_MESSAGE_BYTES
from sandbox_images.harness.values import UNDECODABLE, UnencodableError, ValueDecodeError

MAX_DEPTH = 100
MAX_NODES = 2_500_000
_LEAST_ITEM_BYTES = 2
"""Of an item in JSON: a digit and a comma."""
_LEAVES = frozenset({*values.LEAF_TYPES} - {bytearray})
_SINGLETONS = {"Ellipsis": Ellipsis, "NotImplemented": NotImplemented}
_KEYED = {"d": dict, "C": Counter, "O": OrderedDict}

Reference = Callable[[Any], Any]
Resolve = Callable[[Any], Any]
NameOf = Callable[[Any], list[str] | None]
Find = Callable[[Any, Any], Any]


def is_numpy(value: object) -> bool:
    """Tell whether a value is a numpy array or scalar of plain items."""
    numpy = sys.modules.get("numpy")
    return (numpy is not None and type(value) is numpy.ndarray) or _is_scalar(numpy, value)


def _is_scalar(numpy: Any, value: object) -> bool:
    return numpy is not None and isinstance(value, numpy.generic)


class Encoder:
    """Encodes one value, or several that may share parts."""

    def __init__(self, reference: Reference, name_of: NameOf = library.name_of) -> None:
        """Begin a value.

        Args:
            reference: Encodes what is not plain data, or raises `UnencodableError`.
            name_of: Names what of the standard library may cross by name.
        """
        self._reference = reference
        self._name_of = name_of
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []
        self._nodes = 0
        self._room = MAX_MESSAGE_BYTES
        """How many bytes a message has left for what is yet to be encoded, at the least."""

    @property
    def has_mutable(self) -> bool:
        """Whether anything that was encoded can be changed in place."""
        return bool(self._kept)

    def encode(self, value: Any, depth: int = 0) -> Any:
        """Return the value in terms that `json` can write."""
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str:
            self._take_room(len(value))
            return value
        self._nodes += 1
        if depth > MAX_DEPTH or self._nodes > MAX_NODES:
            raise UnencodableError("a value that is too deep or too large")
        if kind in _LEAVES:
            return values.encode(value)
        if kind in _MUTABLE:
            return self._encode_mutable(value, kind, depth)
        if kind is tuple:
            return {"t": self._items(value, depth)}
        if kind is frozenset:
            return {"S": self._items(value, depth)}
        if kind is range:
            return {"r": [values.encode(n) for n in (value.start, value.stop, value.step)]}
        if kind is slice:
            return {"l": self._items((value.start, value.stop, value.step), depth)}
        for name, singleton in _SINGLETONS.items():
            if value is singleton:
                return {"y": name}
        if kind.__module__ == "pathlib" and kind.__name__ == "PosixPath":
            return {"P": str(value)}
        if is_numpy(value):
            return values.encode(value)
        if kind is types.ModuleType and (module := library.module_name(value)) is not None:
            return {"M": module}
        named = self._name_of(value)
        return {"x": self._reference(value)} if named is None else {"g": named}

    def _items(self, items: Collection[Any], depth: int) -> list[Any]:
        self._take_room(_LEAST_ITEM_BYTES * len(items))
        return [self.encode(item, depth + 1) for item in items]

    def _take_room(self, size: int) -> None:
        """Count what a message needs at the least; give up where none could hold it."""
        self._room -= size
        if self._room < 0:
            raise UnencodableError("a value that is too large for a message")

    def _pairs(self, value: dict[Any, Any], depth: int) -> list[Any]:
        self._take_room(2 * _LEAST_ITEM_BYTES * len(value))
        return [[self.encode(k, depth + 1), self.encode(v, depth + 1)] for k, v in value.items()]

    def _encode_mutable(self, value: Any, kind: type, depth: int) -> Any:
        number = self._seen.get(id(value))
        if number is not None:
            return {"@": number}
        self._seen[id(value)] = len(self._kept)
        self._kept.append(value)
        if kind is list:
            return self._items(value, depth)
        if kind is set:
            return {"s": self._items(value, depth)}
        if kind is bytearray:
            return values.encode(value)
        if kind is deque:
            return {"q": [self._items(value, depth), value.maxlen]}
        if kind is defaultdict:
            factory = self.encode(value.default_factory, depth + 1)
            return {"e": [factory, self._pairs(value, depth)]}
        tag = next(tag for tag, keyed in _KEYED.items() if keyed is kind)
        return {tag: self._pairs(value, depth)}


_MUTABLE = frozenset({list, set, dict, bytearray, deque, defaultdict, Counter, OrderedDict})


class Decoder:
    """Decodes one value, or several that may share parts."""

    def __init__(self, resolve: Resolve, find: Find = library.find) -> None:
        """Begin a value.

        Args:
            resolve: Makes a value of a reference, or raises `ValueDecodeError`.
            find: Returns what a name of the standard library stands for, or None.
        """
        self._resolve = resolve
        self._find = find
        self._mutable: list[Any] = []
        self._nodes = 0

    @property
    def has_mutable(self) -> bool:
        """Whether anything that was decoded can be changed in place."""
        return bool(self._mutable)

    def decode(self, encoded: Any) -> Any:
        """Return the value.

        Raises:
            ValueDecodeError: It is none, or is too deep or too large.
        """
        try:
            return self._decode(encoded, 0)
        except ValueDecodeError:
            raise
        except UNDECODABLE as error:
            raise ValueDecodeError(f"not a value: {type(error).__name__}: {error}") from None

    def _decode(self, encoded: Any, depth: int) -> Any:
        self._nodes += 1
        if depth > MAX_DEPTH or self._nodes > MAX_NODES:
            raise ValueDecodeError("a value that is too deep or too large")
        if isinstance(encoded, list):
            found: list[Any] = []
            self._mutable.append(found)
            found.extend(self._decode(item, depth + 1) for item in encoded)
            return found
        if not isinstance(encoded, dict):
            return encoded
        if len(encoded) != 1:
            raise ValueDecodeError("a tagged value has exactly one tag")
        tag, content = next(iter(encoded.items()))
        decoder = _DECODERS.get(tag)
        if decoder is None:
            return self._keep_bytes(values.decode(encoded))
        return decoder(self, content, depth + 1)

    def _keep_bytes(self, value: Any) -> Any:
        if type(value) is bytearray:
            self._mutable.append(value)
        return value

    def _items(self, content: Any, depth: int) -> list[Any]:
        if not isinstance(content, list):
            raise ValueDecodeError("items are not a list")
        return [self._decode(item, depth) for item in content]

    def _again(self, content: Any, _depth: int) -> Any:
        if type(content) is not int or not 0 <= content < len(self._mutable):
            raise ValueDecodeError("a back reference to nothing")
        return self._mutable[content]

    def _tuple(self, content: Any, depth: int) -> Any:
        return tuple(self._items(content, depth))

    def _frozenset(self, content: Any, depth: int) -> Any:
        return set_order.frozen(self._items(content, depth))

    def _set(self, content: Any, depth: int) -> Any:
        found: set[Any] = set()
        self._mutable.append(found)
        set_order.fill(found, self._items(content, depth))
        return found

    def _fill(self, found: Any, content: Any, depth: int) -> Any:
        for key, value in content:
            found[self._decode(key, depth)] = self._decode(value, depth)
        return found

    def _deque(self, content: Any, depth: int) -> Any:
        items, limit = content
        found: deque[Any] = deque(maxlen=limit)
        self._mutable.append(found)
        found.extend(self._items(items, depth))
        return found

    def _defaultdict(self, content: Any, depth: int) -> Any:
        factory, pairs = content
        found: defaultdict[Any, Any] = defaultdict()
        self._mutable.append(found)
        found.default_factory = self._decode(factory, depth)
        return self._fill(found, pairs, depth)

    def _array(self, content: Any, _depth: int) -> Any:
        try:
            importlib.import_module("numpy")  # without it, an array would come as a list
        except ImportError:
            pass
        return values.decode({"n": content})

    def _range(self, content: Any, depth: int) -> Any:
        return range(*self._items(content, depth))

    def _slice(self, content: Any, depth: int) -> Any:
        return slice(*self._items(content, depth))

    def _singleton(self, content: Any, _depth: int) -> Any:
        return _SINGLETONS[content]

    def _named(self, content: Any, _depth: int) -> Any:
        module, name = content
        found = self._find(module, name)
        if found is None:
            raise ValueDecodeError("something that cannot cross by name")
        return found

    def _module(self, content: Any, _depth: int) -> Any:
        if not library.is_safe_module(content):
            raise ValueDecodeError("not a module that can cross by name")
        return self._resolve({"module": content})

    def _path(self, content: Any, _depth: int) -> Any:
        import pathlib  # takes memory in every fork, for what few suites need

        return pathlib.PosixPath(content)

    def _reference(self, content: Any, _depth: int) -> Any:
        return self._resolve(content)


def _keyed(tag: str) -> Callable[[Decoder, Any, int], Any]:
    def decode(decoder: Decoder, content: Any, depth: int) -> Any:
        found = _KEYED[tag]()
        decoder._mutable.append(found)
        return decoder._fill(found, content, depth)

    return decode


_DECODERS: dict[str, Callable[[Decoder, Any, int], Any]] = {
    "@": Decoder._again,
    "t": Decoder._tuple,
    "S": Decoder._frozenset,
    "s": Decoder._set,
    "d": _keyed("d"),
    "C": _keyed("C"),
    "O": _keyed("O"),
    "q": Decoder._deque,
    "e": Decoder._defaultdict,
    "n": Decoder._array,
    "r": Decoder._range,
    "l": Decoder._slice,
    "y": Decoder._singleton,
    "g": Decoder._named,
    "M": Decoder._module,
    "P": Decoder._path,
    "x": Decoder._reference,
}


def update_in_place(old: Any, new: Any, done: set[int] | None = None) -> bool:
    """Make a mutable container equal to another of its type, keeping the parts that it has.

    Returns whether `old` now stands for `new`; False where they are of different types.
    """
    done = set() if done is None else done
    if type(old) is not type(new) or type(old) not in _MUTABLE:
        return False
    if id(old) in done:
        return True
    done.add(id(old))
    if isinstance(old, dict):
        merged = {k: _kept(old.get(k), v, done) for k, v in new.items()}
        old.clear()
        for key, value in merged.items():
            old[key] = value
    elif isinstance(old, list | deque):
        before = list(old)
        before += [None] * (len(new) - len(before))
        merged_items = [_kept(o, n, done) for o, n in zip(before, new, strict=False)]
        old.clear()
        old.extend(merged_items)
    elif isinstance(old, set):
        set_order.fill(old, list(new))
    else:
        old[:] = new
    return True


def _kept(old: Any, new: Any, done: set[int]) -> Any:
    if type(old) is tuple and type(new) is tuple and len(old) == len(new):
        parts = [_kept(o, n, done) for o, n in zip(old, new, strict=True)]
        return old if all(p is o for p, o in zip(parts, old, strict=True)) else tuple(parts)
    return old if update_in_place(old, new, done) else new
