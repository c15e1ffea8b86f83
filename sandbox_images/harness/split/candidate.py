"""The submission's end of the channel: it serves what the tests do with the submission.

    judge -> candidate                         candidate -> judge
    ["load"]                                   ["ret", value, changed arguments, printed]
    ["get", target, name]                      ["exc", exception, changed arguments, printed]
    ["set", target, name, value]               ["ask", what, target, args, kwargs, printed]
    ["delete", target, name]                   answers to "ask":
    ["replace", module, name, value]           ["ret", value] or ["exc", exception]
    ["restore", module, name]
    ["call", target, args, kwargs]
    ["op", name, operands]
    ["describe", class number]
    ["environ", changed variables, removed variables]

Nothing here protects anything: the submission shares this process and can replace all of it.
References that it sends are {"c": object number, ..} and {"k": class number}; {"j": number} is
an object of the judge's.
"""

import builtins
import io
import operator
import os
import sys
import types
from collections.abc import Callable
from typing import Any, ClassVar

from sandbox_images.harness.split.channel import Channel, Message
from sandbox_images.harness.split.codec import Decoder, Encoder
from sandbox_images.harness.values import UnencodableError

_PRINTED_CHARS = 1 << 20
_DATA_BASES = (int, float, complex, str, bytes, tuple, frozenset, list, dict, set)


def _enter(manager: Any) -> Any:
    return type(manager).__enter__(manager)


def _exit(manager: Any, *exception: Any) -> Any:
    return type(manager).__exit__(manager, *exception)


def _await(awaitable: Any) -> Any:
    import asyncio  # takes a third of a zygote's memory, which every fork copies

    async def wait() -> Any:
        return await awaitable

    return asyncio.run(wait())


def _step(generator: Any) -> Any:
    return _await(generator.__anext__())


_IN_PLACE = "iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift imatmul"
_BINARY = "add sub mul truediv floordiv mod and_ or_ xor lshift rshift matmul eq ne lt le gt ge"
_UNARY = "neg pos invert index getitem setitem delitem contains"
OPERATIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(operator, name) for name in f"{_IN_PLACE} {_BINARY} {_UNARY}".split()},
    **{
        f.__name__: f
        for f in (abs, bool, bytes, complex, dir, divmod, float, format, hash, int, iter, len)
    },
    **{f.__name__: f for f in (next, pow, repr, reversed, round, str)},
    "enter": _enter,
    "exit": _exit,
    "await": _await,
    "anext": _step,
    "isinstance": isinstance,
    "issubclass": issubclass,
}
"""What the judge may ask for by name, beside calls and attributes."""


class _Printed(io.TextIOBase):
    """Standard output or error of the submission, on its way to the tests."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._parts: list[str] = []
        self._room = _PRINTED_CHARS
        self.buffer: Any = _Binary(self)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """As of the usual standard output."""
        return "utf-8"

    def write(self, text: str) -> int:
        """Keep the text until the next message."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._parts.append(text[: self._room])
        self._room -= len(self._parts[-1])
        return len(text)

    def fileno(self) -> int:
        """Return the descriptor, where what is written past this object goes."""
        return self._descriptor

    def take(self) -> str:
        """Return what was printed since last time."""
        if not self._parts:
            return ""
        text = "".join(self._parts)
        self._parts.clear()
        self._room = _PRINTED_CHARS
        return text


class _Binary(io.RawIOBase):
    def __init__(self, text: _Printed) -> None:
        self._text = text

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._text.write(bytes(data).decode("utf-8", "replace"))
        return len(data)


class _Input(io.TextIOBase):
    """Standard input: whatever the tests have put there."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask

    def readable(self) -> bool:
        return True

    def readline(self, size: int = -1) -> str:  # type: ignore[override]
        return str(self._ask("stdin", None, ["readline", size], {}))

    def read(self, size: int | None = -1) -> str:
        return str(self._ask("stdin", None, ["read", -1 if size is None else size], {}))


class Remote:
    """An object of the tests in the submission's hands: call it, iterate it, read from it."""

    def __init__(self, candidate: "Candidate", number: int) -> None:
        object.__setattr__(self, "_candidate", candidate)
        object.__setattr__(self, "_number", number)

    def _ask(self, what: str, *args: Any, **kwargs: Any) -> Any:
        return self._candidate.ask(what, self._number, list(args), kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Have the tests' process call its object."""
        return self._ask("call", *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._ask("get", name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._ask("set", name, value)

    def __iter__(self) -> Any:
        return self._ask("iter")

    def __next__(self) -> Any:
        return self._ask("next")

    def __bool__(self) -> bool:
        return bool(self._ask("bool"))

    def __len__(self) -> int:
        return int(self._ask("len"))

    def __getitem__(self, key: Any) -> Any:
        return self._ask("getitem", key)

    def __contains__(self, item: Any) -> bool:
        return bool(self._ask("contains", item))

    def __enter__(self) -> Any:
        return self._ask("enter")

    def __exit__(self, *_exception: Any) -> None:
        self._ask("exit")

    def __eq__(self, other: object) -> bool:
        return self is other or bool(self._ask("eq", other))

    def __hash__(self) -> int:
        return hash(self._number)

    def __str__(self) -> str:
        return str(self._ask("str"))

    __repr__ = __str__


class Candidate:
    """Serves the submission to the tests."""

    def __init__(self, channel: Channel, load: Callable[[], types.ModuleType | Any]) -> None:
        """`load` executes the submission, once, on the judge's word.

        It returns the module, or a dict that says why the source does not compile.
        """
        self._channel = channel
        self._load = load
        self._module: types.ModuleType | None = None
        self._objects: list[Any] = []
        self._object_numbers: dict[int, int] = {}
        self._classes: list[type] = []
        self._class_numbers: dict[type, int] = {}
        self._remotes: dict[int, Any] = {}
        self._judge_exceptions: dict[int, BaseException] = {}
        self._replaced: dict[tuple[str, str], Any] = {}
        self._out, self._err = _Printed(1), _Printed(2)

    def serve(self) -> None:
        """Serve until the judge hangs up; then the channel's exception is raised."""
        sys.stdout, sys.stderr = self._out, self._err
        sys.stdin = _Input(self.ask)
        builtins.input = self._input
        while True:
            self._handle(self._channel.receive())

    def ask(self, what: str, target: int | None, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Have the judge do something with an object of its own; serves it meanwhile."""
        encoder = self._encoder()
        encoded = [encoder.encode(args), encoder.encode(kwargs)]
        self._channel.send(["ask", what, target, *encoded, self._printed()])
        while True:
            message = self._channel.receive()
            if message[0] == "ret":
                return self._decode(message[1])
            if message[0] == "exc":
                raise self._judge_exception(message[1])
            self._handle(message)

    def _input(self, prompt: object = "") -> str:
        return str(self.ask("input", None, [str(prompt)], {}))

    def _handle(self, message: Message) -> None:
        kind, *content = message
        decoder = Decoder(self._resolve)
        arguments: list[Any] = []
        try:
            if kind == "call":
                target, args, kwargs = (decoder.decode(part) for part in content)
                arguments = [args, kwargs]
                result = target(*args, **dict(kwargs))
            elif kind == "op":
                args = decoder.decode(content[1])
                arguments = [args]
                result = OPERATIONS[content[0]](*args)
            else:
                result = self._SERVICES[kind](self, *(decoder.decode(part) for part in content))
            answer = ["ret", self._encoder().encode(result)]
        except BaseException as error:  # noqa: BLE001 - whatever it is, the judge is to have it
            answer = ["exc", self._encode_exception(error)]
        answer.append(
            self._changed(content[1:3], arguments) if arguments and decoder.has_mutable else None
        )
        answer.append(self._printed())
        self._channel.send(answer)

    def _changed(self, before: list[Any], arguments: list[Any]) -> Any:
        """Return the arguments anew where the submission changed them."""
        encoder = self._encoder()
        try:
            after = [encoder.encode(part) for part in arguments]
        except UnencodableError:
            return None
        return after if after != before else None

    def _printed(self) -> list[str] | None:
        printed = [self._out.take(), self._err.take()]
        return printed if any(printed) else None

    # ------------------------------------------------------------ services

    def _load_module(self) -> dict[str, Any]:
        loaded = self._load()
        if not isinstance(loaded, types.ModuleType):
            return {"compile_error": loaded}
        self._module = loaded
        names = [name for name in vars(loaded) if not name.startswith("__")]
        public = getattr(loaded, "__all__", None)
        if public is None:
            public = [name for name in names if not name.startswith("_")]
        return {"names": names, "public": [str(name) for name in public]}

    def _get(self, target: Any, name: str) -> Any:
        return getattr(self._module if target is None else target, name)

    def _set(self, target: Any, name: str, value: Any) -> None:
        setattr(self._module if target is None else target, name, value)

    def _delete(self, target: Any, name: str) -> None:
        delattr(self._module if target is None else target, name)

    def _replace(self, module: types.ModuleType, name: str, value: Any) -> None:
        """Set an attribute of a module of the standard library, until `_restore`."""
        self._replaced.setdefault((module.__name__, name), getattr(module, name))
        setattr(module, name, value)

    def _restore(self, module: types.ModuleType, name: str) -> None:
        key = (module.__name__, name)
        if key in self._replaced:
            setattr(module, name, self._replaced.pop(key))

    def _environ(self, changed: dict[str, str], removed: list[str]) -> None:
        os.environ.update(changed)
        for name in removed:
            os.environ.pop(name, None)

    def _describe(self, number: int) -> dict[str, Any]:
        kind = self._classes[number]
        attributes = {
            name: value for base in reversed(kind.__mro__) for name, value in vars(base).items()
        }
        own = {n: v for n, v in attributes.items() if v is not getattr(object, n, None)}
        return {
            "name": kind.__name__,
            "qualname": kind.__qualname__,
            "module": kind.__module__,
            "doc": kind.__doc__ if isinstance(kind.__doc__, str) else None,
            "bases": list(kind.__bases__),
            "special": [n for n in own if n.startswith("__") and own[n] is not None],
            "methods": [
                n
                for n, v in own.items()
                if isinstance(v, types.FunctionType) and not n.startswith("__")
            ],
            "data": next((b for b in _DATA_BASES if issubclass(kind, b)), None),
        }

    _SERVICES: ClassVar[dict[str, Callable[..., Any]]] = {
        "load": _load_module,
        "get": _get,
        "set": _set,
        "delete": _delete,
        "replace": _replace,
        "restore": _restore,
        "environ": _environ,
        "describe": _describe,
    }

    # ------------------------------------------------------------ values

    def _encoder(self) -> Encoder:
        return Encoder(self._reference)

    def _decode(self, encoded: Any) -> Any:
        return Decoder(self._resolve).decode(encoded)

    def _reference(self, value: Any) -> Any:
        if type(value) is Remote:
            return {"j": value._number}
        if isinstance(value, type):
            return {"k": self._class_number(value)}
        reference: dict[str, Any] = {
            "c": self._object_number(value),
            "k": self._class_number(type(value)),
        }
        if isinstance(value, types.CoroutineType):
            reference["how"] = "coroutine"
        elif isinstance(value, types.AsyncGeneratorType):
            reference["how"] = "asyncgen"
        elif isinstance(value, BaseException):
            reference["exception"] = self._encode_exception(value)
        elif not isinstance(value, bool):
            for base in _DATA_BASES:
                if isinstance(value, base):
                    reference["data"] = self._encoder().encode(_plain(value, base))
                    break
        return reference

    def _object_number(self, value: Any) -> int:
        number = self._object_numbers.get(id(value))
        if number is None:
            number = self._object_numbers[id(value)] = len(self._objects)
            self._objects.append(value)
        return number

    def _class_number(self, kind: type) -> int:
        number = self._class_numbers.get(kind)
        if number is None:
            number = self._class_numbers[kind] = len(self._classes)
            self._classes.append(kind)
        return number

    def _resolve(self, reference: dict[str, Any]) -> Any:
        if "module" in reference:
            return sys.modules.get(reference["module"])
        if "j" in reference:
            number = reference["j"]
            if number not in self._remotes:
                self._remotes[number] = Remote(self, number)
            return self._remotes[number]
        if "c" in reference:
            return self._objects[reference["c"]]
        return self._classes[reference["k"]]

    def _encode_exception(self, error: BaseException) -> dict[str, Any]:
        for number, known in self._judge_exceptions.items():
            if known is error:
                return {"judge": number}
        try:
            text = str(error)
        except BaseException:  # noqa: BLE001 - the submission wrote this __str__
            text = ""
        encoded: dict[str, Any] = {"text": text[:10_000], "args": [], "trace": _trace(error)}
        for arg in error.args if type(error.args) is tuple else ():
            try:
                encoded["args"].append(self._encoder().encode(arg))
            except UnencodableError:
                encoded["args"].append(repr(arg)[:1000])
        named = Encoder(lambda value: {"k": self._class_number(value)}).encode(type(error))
        return {**encoded, "type": named, "c": self._object_number(error)}

    def _judge_exception(self, encoded: dict[str, Any]) -> BaseException:
        """Make an exception of the judge's that can go through the submission and back."""
        kind = self._decode(encoded["type"]) if "type" in encoded else Exception
        try:
            error: BaseException = kind(*self._decode(encoded["args"]))
        except Exception:  # noqa: BLE001 - a class that wants other arguments
            error = Exception(encoded["text"])
        self._judge_exceptions[encoded["number"]] = error
        return error


def _plain(value: Any, base: type) -> Any:
    """Return the builtin part of an instance of a builtin's subclass."""
    if issubclass(base, dict):
        return dict(dict.items(value))
    if base in (list, tuple, set, frozenset):
        return base(base.__iter__(value))
    if base is str:
        return str.__str__(value)
    if base is bytes:
        return bytes(memoryview(value))
    if base is complex:
        return complex(value.real, value.imag)
    return int.__index__(value) if base is int else float.__float__(value)


def _trace(error: BaseException) -> list[list[Any]]:
    """Return the innermost frames of the submission: line number and function."""
    frames = []
    tb = error.__traceback__
    while tb is not None:
        code = tb.tb_frame.f_code
        if code.co_filename.startswith("/work/"):
            frames.append([tb.tb_lineno, code.co_name])
        tb = tb.tb_next
    return frames[-5:]
