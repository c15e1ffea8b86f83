"""What the submission holds in place of an object of the tests."""

from collections.abc import Callable
from types import MethodType
from typing import Any, Protocol

_NAMES = ("__name__", "__qualname__", "__doc__", "__module__")
"""What a function of the tests tells of itself, which decorators hand on."""


class Asker(Protocol):
    """Whoever has the tests' process do something with an object of its own."""

    def ask(self, what: str, target: int | None, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Return what came of it, or raise what it raised."""


class Remote:
    """An object of the tests in the submission's hands: call it, iterate it, read from it."""

    def __init__(self, candidate: Asker, number: int) -> None:
        object.__setattr__(self, "_candidate", candidate)
        object.__setattr__(self, "_number", number)

    def _ask(self, what: str, *args: Any, **kwargs: Any) -> Any:
        return self._candidate.ask(what, self._number, list(args), kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Have the tests' process call its object."""
        return self._ask("call", *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in _NAMES:
            return self._ask("name", name)
        if name.startswith("_"):
            raise AttributeError(name)
        return self._ask("get", name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._ask("set", name, value)

    def __bool__(self) -> bool:
        return bool(self._ask("bool"))

    def __len__(self) -> int:
        return int(self._ask("len"))

    def __contains__(self, item: Any) -> bool:
        return bool(self._ask("contains", item))

    def __exit__(self, *_exception: Any) -> None:
        self._ask("exit")

    def __eq__(self, other: object) -> bool:
        return self is other or bool(self._ask("eq", other))

    def __hash__(self) -> int:
        return hash(self._number)

    def __str__(self) -> str:
        return str(self._ask("str"))

    __repr__ = __str__


def _asking(what: str) -> Callable[..., Any]:
    def method(self: Remote, *args: Any) -> Any:
        return self._ask(what, *args)

    return method


for _what in "enter iter next getitem setitem delitem lt le gt ge add sub mul".split():
    setattr(Remote, f"__{_what}__", _asking(_what))


class RemoteFunction(Remote):
    """A function of the tests, which becomes a method where it is put into a class."""

    def __get__(self, instance: Any, _owner: type) -> Any:
        return self if instance is None else MethodType(self, instance)
