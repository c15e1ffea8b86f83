"""Making proxies of what the candidate sends references to."""

import importlib
from collections.abc import AsyncIterator, Collection, Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from sandbox_images.harness.split import library
from sandbox_images.harness.split.codec import Decoder
from sandbox_images.harness.split.operations import DATA_BASES
from sandbox_images.harness.split.proxies import (
    CLASS,
    GONE,
    JUDGE,
    SELF,
    Proxy,
    ProxyClass,
    StandardModule,
    proxied_class,
    proxy_number,
)
from sandbox_images.harness.split.special import MUTABLE, fill, make_methods
from sandbox_images.harness.values import ValueDecodeError

if TYPE_CHECKING:
    from sandbox_images.harness.split.judge import Judge


class Proxies:
    """Every proxy of one candidate."""

    def __init__(self, judge: "Judge") -> None:
        self.expected: set[int] = set()
        """Numbers of the classes that the suite took by a class's name."""
        self.own: set[int] = set()
        """Numbers of the objects that the suite made itself, and has not been handed since."""
        self._judge = judge
        self._classes: dict[int, type] = {}
        self._objects: dict[int, Any] = {}
        self._modules: dict[str, StandardModule] = {}

    @property
    def had_modules(self) -> bool:
        """Whether the tests were handed a module of the standard library."""
        return bool(self._modules)

    def expect_class(self, kind: ProxyClass, owner: Any) -> None:
        """Take a class for one that the suite tests, if it was found where such are."""
        number = proxied_class(kind)
        if number is not None and (owner is None or proxied_class(owner) in self.expected):
            self.expected.add(number)

    def claim(self, value: Any) -> None:
        """Take an object for the suite's own."""
        number = proxy_number(value)
        if number is not None:
            self.own.add(number)

    def objects(self) -> Collection[Any]:
        """Return every object that the tests have been handed, classes apart."""
        return self._objects.values()

    def forget(self, objects: int, classes: int, *, own: frozenset[int]) -> None:
        """Mark as gone whatever the candidate has numbered from here on.

        Args:
            objects: How many numbers of objects stay good.
            classes: How many numbers of classes do.
            own: What was the suite's own, and is again.
        """
        for number in [number for number in self._objects if number >= objects]:
            object.__getattribute__(self._objects.pop(number), "__dict__")[SELF] = GONE
        for number in [number for number in self._classes if number >= classes]:
            type.__setattr__(self._classes.pop(number), CLASS, GONE)
        self.expected = {number for number in self.expected if number < classes}
        self.own = set(own)

    def resolve(self, reference: Any) -> Any:
        """Return what a reference of the candidate's stands for.

        Raises:
            ValueDecodeError: Nothing.
        """
        if type(reference) is not dict:
            raise ValueDecodeError("not a reference")
        if "module" in reference:
            return self.standard_module(reference["module"])
        if "j" in reference:
            return self._judge.lent(reference["j"])
        if "judge" in reference:
            return self._judge.own_exception(reference["judge"])
        if "c" in reference:
            return self._object(reference)
        return self._class(reference["k"])

    def _decode(self, encoded: Any) -> Any:
        return Decoder(self.resolve, library.find_harmless).decode(encoded)

    def standard_module(self, name: Any) -> StandardModule:
        """Return a module of the standard library, as the tests see it.

        Raises:
            ValueDecodeError: It is none, or does something when it is imported.
        """
        if not library.is_safe_module(name):
            raise ValueDecodeError("not a module that can cross by name")
        if name not in self._modules:
            try:
                module = importlib.import_module(name)
            except Exception as error:  # noqa: BLE001 - whatever keeps it from being there
                raise ValueDecodeError(f"a module that is none here: {error}") from None
            self._modules[name] = StandardModule(self._judge, module)
        return self._modules[name]

    def wrap_module(self, module: ModuleType) -> ModuleType:
        """Return a module as the tests see it: what they patch there, they patch over there."""
        safe = library.is_safe_module(module.__name__)
        return self.standard_module(module.__name__) if safe else module

    # ------------------------------------------------------------ objects

    def _object(self, reference: dict[str, Any]) -> Any:
        number = _number(reference["c"])
        # Whatever the candidate hands over is its word, even if the suite has made it.
        self.own.discard(number)
        known = self._objects.get(number)
        if known is not None and ("data" not in reference or not isinstance(known, MUTABLE)):
            return known
        kind = self._class(reference["k"])
        match reference.get("how"):
            case "coroutine":
                return self._coroutine(kind, number)
            case "asyncgen":
                return self._async_generator(kind, number)
            case _:
                pass
        if "exception" in reference and issubclass(kind, BaseException):
            args = [self._decode(arg) for arg in reference["exception"]["args"]]
            return self.new_exception(kind, args, number)
        if "data" in reference:
            return self._with_data(kind, number, self._decode(reference["data"]))
        return self._remember(number, object.__new__(kind))

    def _remember(self, number: int, value: Any) -> Any:
        object.__getattribute__(value, "__dict__")[SELF] = number
        self._objects[number] = value
        return value

    def _with_data(self, kind: type, number: int, data: Any) -> Any:
        """Return an instance of a builtin's subclass, which carries its plain value."""
        base = type(data)
        if base not in DATA_BASES or not issubclass(kind, base):
            raise ValueDecodeError("an object carries data of another type than its class")
        if base not in MUTABLE:
            return self._remember(number, base.__new__(kind, data))
        value = self._objects.get(number)
        if type(value) is not kind:
            value = self._remember(number, base.__new__(kind))
        fill(value, data)
        return value

    def new_exception(self, kind: type, args: list[Any], number: Any) -> Any:
        """Return an instance of an exception class, the submission's own or the library's."""
        if not isinstance(kind, ProxyClass):
            return _new_builtin_exception(kind, args)
        known = self._objects.get(_number(number))
        if known is not None:
            if type(known) is not kind:
                raise ValueDecodeError("an exception that is another object")
            return known
        make: Any = kind.__new__
        return self._remember(number, make(kind, *args))

    def _coroutine(self, kind: type, number: int) -> Any:
        waiting = self._remember(number, object.__new__(kind))

        async def coroutine() -> Any:
            return self._judge.operate("await", waiting)

        return coroutine()

    def _async_generator(self, kind: type, number: int) -> AsyncIterator[Any]:
        source = self._remember(number, object.__new__(kind))

        async def generator() -> AsyncIterator[Any]:
            while True:
                try:
                    yield self._judge.operate("anext", source)
                except StopAsyncIteration:
                    return

        return generator()

    # ------------------------------------------------------------ classes

    def _class(self, number: Any) -> type:
        if _number(number) not in self._classes:
            described = self._judge.request("describe", number)
            if type(described) is not dict:
                raise ValueDecodeError("a class is not described")
            # Again, since the description may have led back here.
            self._classes.setdefault(number, self._new_class(number, described))
        return self._classes[number]

    def _new_class(self, number: int, described: dict[str, Any]) -> type:
        data = described["data"]
        if data is not None and data not in DATA_BASES:
            raise ValueDecodeError("a class of data that is none")
        special = frozenset(_texts(described["special"]))
        methods = frozenset(_texts(described["methods"]))
        body: dict[str, Any] = {
            **make_methods(special, methods, data),
            CLASS: number,
            JUDGE: self._judge,
            "__module__": _text(described["module"]),
            "__qualname__": _text(described["qualname"]),
            "__doc__": None if described["doc"] is None else _text(described["doc"]),
        }
        if described["fields"]:
            body["__dataclass_fields__"] = _dataclass_fields(_texts(described["fields"]))
        bases = [base for base in described["bases"] if _can_be_base(base, data)]
        if data is not None and not any(issubclass(base, data) for base in bases):
            bases.append(data)
        if not any(issubclass(base, Proxy) for base in bases):
            bases = [Proxy, *bases]
        try:
            return ProxyClass(_text(described["name"]), tuple(bases), body)
        except TypeError:  # bases that do not go together here
            return ProxyClass(_text(described["name"]), (Proxy,), body)


def _dataclass_fields(names: Iterable[str]) -> dict[str, Any]:
    """Return what makes `dataclasses.asdict` and its like take a proxy for a dataclass's."""
    import dataclasses  # takes memory in every fork, for what few suites need

    fields: dict[str, Any] = {name: dataclasses.field() for name in names}
    for name, field in fields.items():
        field.name = name
        field._field_type = getattr(dataclasses, "_FIELD")  # noqa: B009 - private to the library
    return fields


def _can_be_base(base: Any, data: Any) -> bool:
    """Tell whether a class can be one of a proxy's bases here."""
    if isinstance(base, ProxyClass):
        return True
    if not isinstance(base, type):
        return False
    return base is data or issubclass(base, BaseException)


def _new_builtin_exception(kind: type, args: list[Any]) -> Any:
    if kind.__module__ == "builtins":
        try:
            return kind(*args)
        except (TypeError, ValueError):  # its arguments are more than what it was made from
            pass
    make: Any = kind.__new__
    error = make(kind)
    error.args = tuple(args)
    return error


def _number(value: Any) -> int:
    if type(value) is not int:
        raise ValueDecodeError("a number is none")
    return value


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueDecodeError("a text is none")
    return value


def _texts(values: Any) -> tuple[str, ...]:
    if type(values) is not list:
        raise ValueDecodeError("a list of names is none")
    return tuple(map(_text, values))
