"""The submission's end of the channel: it calls what the tests call.

    judge -> candidate                            candidate -> judge
    ["load", names, nowhere]                      ["loaded", {name: what it is}]
                                                  ["compile_error", fields]
    ["call", path, args, kwargs, watched, gone]   ["ret", value]
                                                  ["exc", exception, frames]
                                                  ["no", why it cannot be answered]

A path is [name], or [name, n, method] for a method of the n-th instance of the class `name`, which
is made without arguments. `kwargs` is null if there are none. `gone` lists the [name, n] that the
tests have dropped. This module protects nothing: the submission shares its process and can replace
all of it.
"""

import sys
import types
from collections.abc import Callable
from typing import Any

from sandbox_images.harness.split import plain
from sandbox_images.harness.split.channel import Channel, Message, MessageTooLong
from sandbox_images.harness.wire.values import UnencodableError, ValueDecodeError

Load = Callable[[], types.ModuleType | dict[str, Any]]

_MOST_HELD = 100
"""Most arguments and results that are remembered, because each call compares all of them."""


class Candidate:
    """Serves the submission to the tests."""

    def __init__(self, channel: Channel, load: Load, source_path: str) -> None:
        """Nothing is loaded yet.

        Args:
            channel: To the judge.
            load: Executes the submission. It returns the module, or a dict that says why the
                source does not compile.
            source_path: The file name of the submission's code, for tracebacks.
        """
        self._channel = channel
        self._load = load
        self._source_path = source_path
        self._namespace: dict[str, Any] = {}
        self._instances: dict[tuple[str, int], Any] = {}
        self._held: dict[int, tuple[Any, plain.Json]] = {}
        """Values that the submission may keep and the tests have copies of, each as it crossed."""

    def serve(self) -> None:
        """Answer requests until the judge hangs up, which raises ChannelClosed."""
        while True:
            message = self._channel.receive()
            try:
                answer = self._answer(message)
                self._channel.send(answer)
            except (UnencodableError, ValueDecodeError, MessageTooLong) as error:
                self._channel.send(["no", str(error)[:500]])

    def _answer(self, message: Message) -> Message:
        try:
            match message:
                case ["load", names, nowhere]:
                    return self._load_names(names, nowhere)
                case ["call", path, args, kwargs, watched, gone]:
                    for name, number in gone:
                        self._instances.pop((name, number), None)
                    return self._call(path, args, kwargs, watched=watched)
                case _:
                    raise ValueDecodeError("not a request")
        except (UnencodableError, ValueDecodeError):
            raise
        except BaseException as error:  # noqa: BLE001 - whatever the submission raised
            return ["exc", plain.encode_exception(error), self._frames(error)]

    def _load_names(self, names: list[str], nowhere: list[str]) -> Message:
        module = self._load()
        if isinstance(module, dict):
            return ["compile_error", module]
        self._namespace = module.__dict__
        for name in nowhere:
            if name in self._namespace and not _is_module(self._namespace[name], name):
                raise UnencodableError(f"{name!r} means something else to the tests")
        return ["loaded", {n: _kind(self._namespace[n]) for n in names if n in self._namespace}]

    def _call(self, path: list[Any], args: Any, kwargs: Any, *, watched: bool) -> Message:
        target = self._find(path)
        positional = plain.decode(args)
        named = {} if kwargs is None else plain.decode(kwargs)
        try:
            result = target(*positional, **named)
        except NameError as error:
            # In one process with the submission, the tests may have defined the name.
            if type(error) is NameError:
                raise UnencodableError(f"a name that may be one of the tests': {error}") from None
            raise
        finally:
            if watched and (
                plain.encode(positional) != args or (named and plain.encode(named) != kwargs)
            ):
                raise UnencodableError("an argument that was changed in place")
            if any(plain.encode(held) != before for held, before in self._held.values()):
                raise UnencodableError("a value that was changed after it had crossed")
        if watched:
            crossed = [*positional, *named.values()]
            del positional, named
            self._hold(crossed)
        encoded = plain.encode(result)
        crossed = [result]
        del result
        self._hold(crossed)
        return ["ret", encoded]

    def _hold(self, crossed: list[Any]) -> None:
        """Remember values that the submission can still change although the tests have copies."""
        if not _is_held(crossed, _FREE):
            return
        self._held |= {id(value): (value, plain.encode(value)) for value in crossed}
        if len(self._held) > _MOST_HELD:
            raise UnencodableError("too many values that the submission holds on to")

    def _find(self, path: list[Any]) -> Any:
        name, *rest = path
        if not rest:
            return self._namespace[name]
        number, method = rest
        if (name, number) not in self._instances:
            self._instances[name, number] = self._namespace[name]()
        return getattr(self._instances[name, number], method)

    def _frames(self, error: BaseException) -> list[list[Any]]:
        """Return the innermost frames of the submission: line number and function."""
        frames = []
        tb = error.__traceback__
        while tb is not None:
            code = tb.tb_frame.f_code
            if code.co_filename == self._source_path:
                frames.append([tb.tb_lineno, code.co_name])
            tb = tb.tb_next
        return frames[-5:]


def _is_held(values: list[Any], free: int) -> bool:
    """Tell whether anything outside the values refers to a mutable object in them.

    Args:
        values: No other code of ours may refer to them.
        free: How many references a value has here if nothing else refers to it.
    """
    pending = [(value, False) for value in values]
    while pending:
        value, is_held = pending.pop()
        kind = type(value)
        if kind is tuple or kind in plain.MUTABLE:
            is_held = is_held or sys.getrefcount(value) > free
        if is_held and kind in plain.MUTABLE:
            return True
        if kind is list or kind is tuple:
            pending += [(item, is_held) for item in value]
        elif kind is dict:
            pending += [(item, is_held) for item in value.values()]
    return False


_FREE = next(count for count in range(10) if not _is_held([[]], count))
"""See `_is_held`. The number depends on the interpreter."""


def _kind(value: Any) -> str:
    if isinstance(value, types.ModuleType):
        return f"module {value.__name__}"
    if isinstance(value, type):
        return "class"
    return "function" if callable(value) else "data"


def _is_module(value: Any, name: str) -> bool:
    return isinstance(value, types.ModuleType) and value.__name__ == name
