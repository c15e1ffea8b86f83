"""What the tests hold in place of the submission's objects, classes and modules.

A proxy class has the name, the bases and the special methods of the class that it stands for,
so that `isinstance`, `issubclass`, `except` and operators work; each special method asks the
candidate (`special`). Three rules keep an object of the submission from passing for something
else:

- A proxy never equals plain data. An instance of a builtin's subclass is, in comparisons and
  everywhere else, the plain value that it carries.
- No operator tells the candidate the other operand, nor believes its answer, but for the suite's
  own objects: those that a test made itself, of a class that it took by a class's name, and what
  their operators yield. Else an object could stand in for a number and answer every comparison
  with what pleases.
- What cannot be served so is refused (`Judge.refuse`), and the case does not pass, whatever the
  tests make of the refusal.
"""

import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sandbox_images.harness.split.judge import Judge
    from sandbox_images.harness.split.scope import Taken

SELF = "_candidate_number"
CLASS = "_candidate_class"
JUDGE = "_candidate_judge"
GONE = -1
"""The number of what a copy of the submission had that is over; see `branches`."""

_PREDICATES = frozenset(
    name
    for base in (float, str, set)
    for name in dir(base)
    if name.startswith("is") or name.endswith("with")
) | {"equals"}
"""Methods by which plain data is asked about other data; only plain data may answer."""


def proxy_number(value: Any) -> int | None:
    """Return the candidate's number of an object that a proxy stands for, or None."""
    if not isinstance(type(value), ProxyClass):
        return None
    number = object.__getattribute__(value, "__dict__").get(SELF)
    return number if type(number) is int else None


def proxied_class(value: Any) -> int | None:
    """Return the candidate's number of a class that a proxy class stands for, or None."""
    number = (
        type.__getattribute__(value, "__dict__").get(CLASS)
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
            raise judge.refuse(
                f"{cls.__name__} extends a class of the submission, which has another process"
            )
        made = judge.call(cls, args, kwargs)
        if number in judge.proxies.expected:
            judge.proxies.claim(made)
        return made

    def _there(cls) -> "tuple[Judge, int | None]":
        return getattr(cls, JUDGE), type.__getattribute__(cls, "__dict__").get(CLASS)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        judge, _ = cls._there()
        return judge.get(cls, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        judge, _ = cls._there()
        if value is type.__getattribute__(cls, "__dict__").get(name):
            judge.request("delete", cls, name)  # that is, put back
        else:
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
        if proxy_number(item) is None:
            return any(item is each or item == each for each in cls)
        return bool(cls._there()[0].operate("contains", cls, item))

    def __bool__(cls) -> bool:
        return True

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__qualname__}'>"


class Proxy(metaclass=ProxyClass):
    """An object of the submission. Its attributes are asked for, not kept."""

    def __getattr__(self, name: str) -> Any:
        if name in ("__dict__", SELF, CLASS, JUDGE):
            raise AttributeError(name)
        return ask_method(self, name).get(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__") and name.endswith("__"):
            # Such as the traceback and the cause of an exception, which are this process's.
            object.__setattr__(self, name, value)
            return
        judge_of(self).request("set", self, name, value)
        if callable(value) and proxy_number(value) is None:
            # A mock of the tests': it is here to be looked at, and there to be called.
            object.__getattribute__(self, "__dict__")[name] = value

    def __delattr__(self, name: str) -> None:
        object.__getattribute__(self, "__dict__").pop(name, None)
        judge_of(self).request("delete", self, name)

    def __repr__(self) -> str:
        return str(judge_of(self).operate("repr", self))

    def __str__(self) -> str:
        return str(judge_of(self).operate("str", self))

    def __format__(self, spec: str) -> str:
        return str(judge_of(self).operate("format", self, spec))

    def __dir__(self) -> Any:
        return judge_of(self).operate("dir", self)

    def __copy__(self) -> Any:
        return judge_of(self).operate("copy", self)

    def __deepcopy__(self, _memo: Any) -> Any:
        return judge_of(self).operate("deepcopy", self)

    def __reduce_ex__(self, _protocol: Any) -> Any:
        raise judge_of(self).refuse("an object of the submission cannot be pickled here")


def judge_of(value: Any) -> "Judge":
    """Return whom a proxy asks."""
    judge: Judge = getattr(type(value), JUDGE)
    return judge


def is_own(value: Any) -> bool:
    """Tell whether a proxy stands for an object that the suite made itself."""
    number = proxy_number(value)
    if number == GONE:
        raise judge_of(value).crossed()
    return number in judge_of(value).proxies.own


def ask_method(value: Any, name: str) -> "Judge":
    """Return whom to ask for a method that plain data might have too; refuse if it stands in."""
    judge = judge_of(value)
    if name in _PREDICATES and not is_own(value):
        raise judge.refuse(f"an object of the submission stands in for plain data in {name!r}")
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
            vars(self)["_judge"].request("set", self, name, value)

    def __delattr__(self, name: str) -> None:
        vars(self)["_judge"].request("delete", self, name)


class SolutionModule(types.ModuleType):
    """The module that the tests import; everything in it is the candidate's."""

    def __init__(self, judge: "Judge", name: str, star: "Taken") -> None:
        """`star` is what a star import takes."""
        super().__init__(name)
        own = {
            n: judge.proxies.wrap_module(v) if isinstance(v, types.ModuleType) else v
            for n, v in star.own.items()
        }
        vars(self).update(own, _judge=judge, __all__=[*star.names, *own])
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
