"""The submission's end of the channel: it calls what the tests call.

    judge -> candidate                            candidate -> judge
    ["load", names, nowhere]                      ["loaded", {name: what it is}]
                                                  ["compile_error", fields]
    ["call", path, args, kwargs, watched]         ["ret", value]
                                                  ["exc", exception, frames]
                                                  ["no", why it cannot be answered]

A path is [name], or [name, n, method] for a method of the n-th instance of the class of that name
that was made without arguments. Nothing here protects anything: the submission shares this process
and can replace all of it.
"""

import types
from collections.abc import Callable
from typing import Any

from sandbox_images.harness.split import plain
from sandbox_images.harness.split.channel import Channel, Message, MessageTooLong
from sandbox_images.harness.values import UnencodableError, ValueDecodeError

Load = Callable[[], types.ModuleType | dict[str, Any]]


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

    def serve(self) -> None:
        """Serve until the judge hangs up; then the channel's exception is raised."""
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
                case ["call", path, args, kwargs, watched]:
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
        positional, named = plain.decode(args), plain.decode(kwargs)
        try:
            result = target(*positional, **named)
        except NameError as error:
            # In one process, the tests may have defined it.
            if type(error) is NameError:
                raise UnencodableError(f"a name that may be one of the tests': {error}") from None
            raise
        finally:
            if watched and [plain.encode(positional), plain.encode(named)] != [args, kwargs]:
                raise UnencodableError("an argument that was changed in place")
        return ["ret", plain.encode(result)]

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


def _kind(value: Any) -> str:
    if isinstance(value, types.ModuleType):
        return f"module {value.__name__}"
    if isinstance(value, type):
        return "class"
    return "function" if callable(value) else "data"


def _is_module(value: Any, name: str) -> bool:
    return isinstance(value, types.ModuleType) and value.__name__ == name
