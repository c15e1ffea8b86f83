"""What the tests hold in place of the submission's objects, classes and modules.

A proxy class has the name, the bases and the special methods of the class that it stands for,
so that `isinstance`, `issubclass`, `except` and operators work; each special method asks the
candidate. Two rules keep an object of the submission from passing for something else:

- A proxy never equals plain data. An instance of a builtin's subclass compares as the plain
  value that it carries, by Python's own rules.
- An operator between a proxy and plain data may yield another proxy, but a plain answer counts
  only for classes that the suite names itself: else an object could stand in for a number and
  answer every comparison with what pleases.
"""

import importlib
import sys
import types
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from sandbox_images.harness.split.codec import Decoder
from sandbox_images.harness.values import ValueDecodeError

if TYPE_CHECKING:
    from sandbox_images.harness.split.judge import Judge

_SELF = "_candidate_number"
_CLASS = "_candidate_class"
_JUDGE = "_candidate_judge"
_IMMUTABLE_BASES = (int, float, complex, str, bytes, tuple, frozenset)
_MUTABLE_BASES = (list, dict, set)


def proxy_number(value: Any) -> int | None:
    """Return the candidate's number of an object that a proxy stands for, or None."""
    if not isinstance(type(value), ProxyClass):
        return None
    number = object.__getattribute__(value, "__dict__").get(_SELF)
    return number if type(number) is int else None


def proxied_class(value: Any) -> int | None:
    """Return the candidate's number of a class that a proxy class stands for, or None."""
    number = (
        type.__getattribute__(value, "__dict__").get(_CLASS)
        if isinstance(value, ProxyClass)
        else None
    )
    return number if type(number) is int else None


class ProxyClass(type):
    """The class of proxy classes: what happens to a class happens at the candidate."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make an instance, at the candidate."""
        judge, number = cls._there()
        if number is None:
            raise TypeError(
                f"{cls.__name__} extends a class of the submission, which has another process"
            )
        return judge.call(cls, args, kwargs)

    def _there(cls) -> "tuple[Judge, int | None]":
        return getattr(cls, _JUDGE), type.__getattribute__(cls, "__dict__").get(_CLASS)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        judge, _ = cls._there()
        return judge.get(cls, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        judge, _ = cls._there()
        judge.request("set", cls, name, value)

    def __delattr__(cls, name: str) -> None:
        judge, _ = cls._there()
        judge.request("delete", cls, name)

    def __iter__(cls) -> Any:
        return iter(cls._there()[0].operate("iter", cls))

    def __len__(cls) -> int:
        return int(cls._there()[0].operate("len", cls))

    def __getitem__(cls, key: Any) -> Any:
        return cls._there()[0].operate("getitem", cls, key)

    def __contains__(cls, item: Any) -> bool:
        return bool(cls._there()[0].operate("contains", cls, item))

    def __bool__(cls) -> bool:
        return True

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__qualname__}'>"


class Proxy(metaclass=ProxyClass):
    """An object of the submission. Its attributes are asked for, not kept."""

    def __getattr__(self, name: str) -> Any:
        if name in ("__dict__", _SELF, _CLASS, _JUDGE):
            raise AttributeError(name)
        return _judge_of(self).get(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__") and name.endswith("__"):
            # Such as the traceback and the cause of an exception, which are this process's.
            object.__setattr__(self, name, value)
        else:
            _judge_of(self).request("set", self, name, value)

    def __delattr__(self, name: str) -> None:
        _judge_of(self).request("delete", self, name)

    def __repr__(self) -> str:
        return str(_judge_of(self).operate("repr", self))

    def __str__(self) -> str:
        return str(_judge_of(self).operate("str", self))

    def __format__(self, spec: str) -> str:
        return str(_judge_of(self).operate("format", self, spec))

    def __dir__(self) -> Any:
        return _judge_of(self).operate("dir", self)

    def __reduce_ex__(self, _protocol: Any) -> Any:
        raise TypeError("an object of the submission cannot be copied or pickled here")


def _judge_of(value: Any) -> "Judge":
    judge: Judge = getattr(type(value), _JUDGE)
    return judge


class StandardModule(types.ModuleType):
    """A module of the standard library that the submission imported.

    What it holds is this process's own, so that the submission has no say in it; what a test
    puts there, such as a mock, is put into the submission's.
    """

    def __init__(self, judge: "Judge", module: types.ModuleType) -> None:
        super().__init__(module.__name__)
        vars(self)["_here"] = module
        vars(self)["_judge"] = judge

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["_here"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if value is getattr(vars(self)["_here"], name, None):
            self.__delattr__(name)
        else:
            vars(self)["_judge"].request("replace", self, name, value)

    def __delattr__(self, name: str) -> None:
        vars(self)["_judge"].request("restore", self, name)


class SolutionModule(types.ModuleType):
    """The module that the tests import; everything in it is the candidate's."""

    def __init__(self, judge: "Judge", name: str, names: list[str]) -> None:
        super().__init__(name)
        vars(self)["_judge"] = judge
        vars(self)["__all__"] = names
        vars(self)["__file__"] = f"/work/{name}.py"

    def __getattr__(self, name: str) -> Any:
        if name in ("__path__", "__wrapped__", "__test__", "pytestmark", "pytest_plugins"):
            raise AttributeError(name)
        return vars(self)["_judge"].get(None, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__") and name.endswith("__"):
            super().__setattr__(name, value)
        else:
            vars(self)["_judge"].request("set", None, name, value)

    def __delattr__(self, name: str) -> None:
        vars(self)["_judge"].request("delete", None, name)

    def __dir__(self) -> list[str]:
        return list(vars(self)["__all__"])


# ---------------------------------------------------------------- special methods


def _ask(operation: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any) -> Any:
        return _judge_of(self).operate(operation, self, *args)

    return method


def _binary(operation: str, *, reflected: bool = False) -> Callable[[Any, Any], Any]:
    """Make a binary operator; see the module's second rule for mixed operands."""

    def method(self: Any, other: Any) -> Any:
        operands = (other, self) if reflected else (self, other)
        result = _judge_of(self).operate(operation, *operands)
        if result is not NotImplemented and not _may_answer(self, other, result):
            raise TypeError(
                f"an object of the submission's class {type(self).__name__} "
                f"stands in for plain data in {operation!r}"
            )
        return result

    return method


def _may_answer(proxy: Any, other: Any, result: Any) -> bool:
    if proxy_number(other) is not None or proxy_number(result) is not None:
        return True
    return _is_named(type(proxy))


def _is_named(kind: type) -> bool:
    judge: Judge = getattr(kind, _JUDGE)
    return kind.__name__ in judge.proxies.named


def _equal(self: Any, other: Any) -> Any:
    if proxy_number(other) is None:
        return NotImplemented
    return bool(_judge_of(self).operate("eq", self, other))


def _not_equal(self: Any, other: Any) -> Any:
    if proxy_number(other) is None:
        return NotImplemented
    return bool(_judge_of(self).operate("ne", self, other))


def _contains(self: Any, item: Any) -> bool:
    if not _is_named(type(self)) and proxy_number(item) is None:
        return any(item is each or item == each for each in self)
    return bool(_judge_of(self).operate("contains", self, item))


def _exit(self: Any, kind: Any, error: Any, _tb: Any) -> Any:
    return _judge_of(self).operate("exit", self, kind, error, None)


def _next(self: Any) -> Any:
    return _judge_of(self).operate("next", self)


def _call_self(self: Any, *args: Any, **kwargs: Any) -> Any:
    return _judge_of(self).call(self, args, kwargs)


def _await(self: Any) -> Any:
    return _judge_of(self).operate("await", self)
    yield


_ARITHMETIC = (
    "add sub mul truediv floordiv mod pow lshift rshift matmul and or xor divmod"
).split()
_SPECIAL: dict[str, Callable[..., Any]] = {
    "__call__": _call_self,
    "__contains__": _contains,
    "__enter__": _ask("enter"),
    "__eq__": _equal,
    "__exit__": _exit,
    "__ne__": _not_equal,
    "__next__": _next,
    "__await__": _await,
    **{f"__{name}__": _binary(name) for name in ("lt", "le", "gt", "ge")},
    **{
        f"__{name}__": _ask(name)
        for name in (
            "abs bool bytes complex delitem float getitem hash index int invert iter len neg pos "
            "reversed round setitem"
        ).split()
    },
}
for _name in _ARITHMETIC:
    _operation = f"{_name}_" if _name in ("and", "or") else _name
    _SPECIAL[f"__{_name}__"] = _binary(_operation)
    _SPECIAL[f"__r{_name}__"] = _binary(_operation, reflected=True)
    if _name != "divmod":
        _SPECIAL[f"__i{_name}__"] = _binary(f"i{_name}")


def _method(name: str) -> Callable[..., Any]:
    """Make a method that is called at once, without asking for it first."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        judge = _judge_of(self)
        return judge.call(judge.get(self, name), args, kwargs)

    method.__name__ = name
    return method


# ---------------------------------------------------------------- making them


class Proxies:
    """Every proxy of one candidate."""

    def __init__(self, judge: "Judge", named: frozenset[str]) -> None:
        self.named = named
        self._judge = judge
        self._classes: dict[int, type] = {}
        self._objects: dict[int, Any] = {}
        self._modules: dict[str, StandardModule] = {}

    def resolve(self, reference: Any) -> Any:
        """Return what a reference of the candidate's stands for.

        Raises:
            ValueDecodeError: Nothing.
        """
        if "module" in reference:
            return self._standard_module(reference["module"])
        if "j" in reference:
            return self._judge.lent(reference["j"])
        if "c" in reference:
            return self._object(reference)
        return self._class(reference["k"])

    def _standard_module(self, name: str) -> StandardModule:
        if name not in self._modules:
            self._modules[name] = StandardModule(self._judge, importlib.import_module(name))
        return self._modules[name]

    def _object(self, reference: dict[str, Any]) -> Any:
        number = reference["c"]
        if type(number) is not int:
            raise ValueDecodeError("the number of an object is no number")
        if number in self._objects and "data" not in reference:
            return self._objects[number]
        kind = self._class(reference["k"])
        match reference.get("how"):
            case "coroutine":
                return self._coroutine(kind, number)
            case "asyncgen":
                return self._async_generator(kind, number)
            case _:
                pass
        if "exception" in reference and issubclass(kind, BaseException):
            args = [Decoder(self.resolve).decode(a) for a in reference["exception"]["args"]]
            return self.new_exception(kind, args, number)
        if "data" in reference:
            return self._with_data(kind, number, Decoder(self.resolve).decode(reference["data"]))
        return self._remember(number, object.__new__(kind))

    def _remember(self, number: int, value: Any) -> Any:
        object.__getattribute__(value, "__dict__")[_SELF] = number
        self._objects[number] = value
        return value

    def _with_data(self, kind: type, number: int, data: Any) -> Any:
        """Return an instance of a builtin's subclass, which carries its plain value."""
        base = type(data)
        if not issubclass(kind, base):
            raise ValueDecodeError("an object carries data of another type than its class")
        if base in _MUTABLE_BASES and number in self._objects:
            value = self._objects[number]
        else:
            value = base.__new__(kind, *(() if base in _MUTABLE_BASES else (data,)))
        if base is list:
            list.__init__(value, data)
        elif base is dict:
            dict.clear(value)
            dict.update(value, data)
        elif base is set:
            set.__init__(value, data)
        return self._remember(number, value)

    def new_exception(self, kind: type, args: list[Any], number: Any) -> BaseException:
        """Return an instance of an exception class, the submission's own or the library's."""
        error: BaseException = kind.__new__(kind, *args)
        if issubclass(kind, OSError) and not isinstance(kind, ProxyClass):
            error = kind(*args)
        if isinstance(kind, ProxyClass) and type(number) is int:
            if number in self._objects:
                return self._objects[number]  # type: ignore[no-any-return]
            self._remember(number, error)
        return error

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

    def _class(self, number: Any) -> type:
        if type(number) is not int:
            raise ValueDecodeError("the number of a class is no number")
        if number not in self._classes:
            described = self._judge.request("describe", number)
            if not isinstance(described, dict):
                raise ValueDecodeError("a class is not described")
            self._classes[number] = self._new_class(number, described)
        return self._classes[number]

    def _new_class(self, number: int, described: dict[str, Any]) -> type:
        bases = tuple(b for b in described["bases"] if isinstance(b, type) and b is not object)
        data = described["data"]
        usable = [b for b in bases if isinstance(b, ProxyClass) or _can_be_base(b, data)]
        special = set(described["special"])
        body: dict[str, Any] = {
            _CLASS: number,
            _JUDGE: self._judge,
            "__module__": str(described["module"]),
            "__qualname__": str(described["qualname"]),
            "__doc__": described["doc"],
        }
        if data is None:
            body.update((n, _SPECIAL[n]) for n in special & _SPECIAL.keys())
            if "__eq__" in special:
                body.setdefault("__hash__", _SPECIAL["__hash__"])
                body["__ne__"] = _not_equal
            if "__getitem__" in special and "__iter__" not in special:
                body["__iter__"] = _ask("iter")
        else:
            own = special & _SPECIAL.keys() & {"__call__", "__enter__", "__exit__"}
            body.update((n, _SPECIAL[n]) for n in own)
        body.update((str(n), _method(str(n))) for n in described["methods"])
        if not any(issubclass(b, Proxy) for b in usable):
            usable = [Proxy, *usable]
        name = str(described["name"])
        try:
            return ProxyClass(name, tuple(usable), body)
        except TypeError:
            return ProxyClass(name, (Proxy,), body)


def _can_be_base(base: type, data: Any) -> bool:
    """Tell whether a class of the standard library can be one of a proxy's bases here."""
    if issubclass(base, BaseException):
        return True
    return isinstance(data, type) and base is data


def named_identifiers(sources: list[str]) -> frozenset[str]:
    """Return every identifier in the suite's sources."""
    import re

    return frozenset(name for text in sources for name in re.findall(r"[A-Za-z_]\w*", text))


def install(judge: "Judge", name: str, names: list[str]) -> SolutionModule:
    """Make the submission importable under `name`."""
    module = SolutionModule(judge, name, names)
    sys.modules[name] = module
    return module
