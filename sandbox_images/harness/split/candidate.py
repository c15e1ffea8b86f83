"""The submission's end of the channel: it serves what the tests do with the submission.

    judge -> candidate                         candidate -> judge
    ["load"]                                   ["ret", value, changed arguments, printed]
    ["get", target, name]                      ["exc", exception, changed arguments, printed]
    ["set", target, name, value]               ["no", reason, None, printed]
    ["delete", target, name]                   ["ask", what, target, args, kwargs, printed]
    ["call", target, args, kwargs]             answers to "ask":
    ["method", target, name, args, kwargs]     ["ret", value] or ["exc", exception]
    ["op", name, operands]
    ["describe", class number]
    ["environ", changed variables, removed variables]
    ["branchable"]                             the numbers given so far, if it can be copied
    ["branch"], ["return"]                     see `branches`

Nothing here protects anything: the submission shares this process and can replace all of it.
References that it sends are {"c": object number, ..} and {"k": class number}; {"j": number} is
an object of the judge's.
"""

import builtins
import os
import sys
import types
from collections.abc import Callable
from typing import Any, ClassVar

from sandbox_images.harness.split import forking, library
from sandbox_images.harness.split.channel import Channel, Message, MessageTooLong
from sandbox_images.harness.split.codec import Decoder, Encoder
from sandbox_images.harness.split.operations import DATA_BASES, OPERATIONS, plain
from sandbox_images.harness.split.remote import Remote, RemoteFunction
from sandbox_images.harness.split.streams import Input, Printed
from sandbox_images.harness.values import UnencodableError, ValueDecodeError

_NONE = object()


def _dataclass_fields(fields: Any) -> list[str]:
    """Return the names of a dataclass's fields; none for another class."""
    if not isinstance(fields, dict):
        return []
    # Variables of the class are among them, by another kind.
    return [name for name, field in fields.items() if field._field_type.name == "_FIELD"]


class Candidate:
    """Serves the submission to the tests."""

    def __init__(
        self,
        channel: Channel,
        load: Callable[[], types.ModuleType | Any],
        own_descriptors: frozenset[int],
    ) -> None:
        """Nothing is loaded yet.

        Args:
            channel: To the judge.
            load: Executes the submission, once, on the judge's word. It returns the module, or a
                dict that says why the source does not compile.
            own_descriptors: Every descriptor that the process began with.
        """
        self._channel = channel
        self._load = load
        self._own_descriptors = own_descriptors
        self._is_copy = False
        self._files: frozenset[tuple[object, ...]] = frozenset()
        """What the work area held when the submission was loaded."""
        self._module: types.ModuleType | None = None
        self._objects: list[Any] = []
        self._object_numbers: dict[int, int] = {}
        self._classes: list[type] = []
        self._class_numbers: dict[type, int] = {}
        self._remotes: dict[int, Any] = {}
        self._judge_exceptions: dict[int, BaseException] = {}
        self._originals: dict[tuple[int, str], Any] = {}
        self._out, self._err = Printed(1), Printed(2)

    def serve(self) -> None:
        """Serve until the judge hangs up; then the channel's exception is raised."""
        sys.stdout, sys.stderr = self._out, self._err
        sys.stdin = Input(self.ask)
        builtins.input = self._input
        while True:
            message = self._channel.receive()
            match message[0]:
                case "branch":
                    self._branch()
                case "return":
                    self._return()
                case _:
                    self._handle(message)

    def _branch(self) -> None:
        """Have a copy of this process serve a test; go on when it has left, or as the copy."""
        pid = forking.fork()
        if pid == 0:
            self._is_copy = True
        elif pid is not None:
            forking.wait_for(pid)
            self._channel.forget()  # what was read before the fork was the copy's
            left_files = forking.files() != self._files
            self._channel.send(["returned", "files" if left_files else True])

    def _return(self) -> None:
        """Leave, where this is a copy: a test is over."""
        if self._is_copy:
            forking.leave()
        self._channel.send(["returned", False])

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
        decoder = Decoder(self._resolve)
        arguments: list[Any] = []
        answer: list[Any]
        try:
            run, arguments = self._prepare(message, decoder)
            try:
                result = run()
            except BaseException as error:  # noqa: BLE001 - whatever it is, the judge is to have it
                answer = ["exc", self._encode_exception(error)]
            else:
                answer = ["ret", self._encoder().encode(result)]
        except (UnencodableError, ValueDecodeError) as error:
            answer, arguments = ["no", str(error)], []
        changed = arguments and decoder.has_mutable
        answer.append(self._changed(message[-len(arguments) :], arguments) if changed else None)
        answer.append(self._printed())
        try:
            self._channel.send(answer)
        except MessageTooLong as error:
            self._channel.send(["no", str(error), None, None])

    def _prepare(self, message: Message, decoder: Decoder) -> tuple[Callable[[], Any], list[Any]]:
        """Return what to do, and the arguments for it that may be changed in place."""
        kind, *content = message
        match kind:
            case "op":
                operation, operands = OPERATIONS[content[0]], decoder.decode(content[1])
                return lambda: operation(*operands), [operands]
            case "call" | "method":
                *target, args, kwargs = (decoder.decode(part) for part in content)
                return lambda: self._call(*target)(*args, **dict(kwargs)), [args, kwargs]
            case _:
                parts = [decoder.decode(part) for part in content]
                return lambda: self._SERVICES[kind](self, *parts), []

    @staticmethod
    def _call(target: Any, method: str | None = None) -> Any:
        return target if method is None else getattr(target, method)

    def _changed(self, before: list[Any], arguments: list[Any]) -> Any:
        """Return the arguments anew where the submission changed them."""
        after: list[Any] = before
        try:
            # By the names that the judge gave first, some of which it would not take back.
            for encoder in (Encoder(self._reference), self._encoder()):
                after = [encoder.encode(part) for part in arguments]
                if after == before:
                    return None
        except UnencodableError:
            return None
        return after

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

    def _branchable(self) -> list[int] | None:
        """Return how many numbers are given, if this process can be copied.

        What the module has gets its numbers now, so that it has the same in every copy.
        """
        if self._module is None or not forking.can_fork(self._own_descriptors):
            return None
        self._files = forking.files()
        pending = list(vars(self._module).values())
        for value in pending:
            if isinstance(value, type) and value not in self._class_numbers:
                self._class_number(value)
                pending += vars(value).values()
            elif isinstance(value, types.FunctionType):
                self._reference(value)
        return [len(self._objects), len(self._classes)]

    def _get(self, target: Any, name: str) -> Any:
        return getattr(self._module if target is None else target, name)

    def _set(self, target: Any, name: str, value: Any) -> None:
        owner = self._module if target is None else target
        self._originals.setdefault(
            (id(owner), name), getattr(owner, "__dict__", {}).get(name, _NONE)
        )
        setattr(owner, name, value)

    def _delete(self, target: Any, name: str) -> None:
        """Delete an attribute, or put back what was there before the tests set it.

        Who patches an attribute looks in a `__dict__` for what to put back, which is here.
        """
        owner = self._module if target is None else target
        original = self._originals.pop((id(owner), name), _NONE)
        if original is _NONE:
            delattr(owner, name)
        else:
            setattr(owner, name, original)

    def _environ(self, changed: dict[str, str], removed: list[str]) -> None:
        os.environ.update(changed)
        for name in removed:
            os.environ.pop(name, None)

    def _describe(self, number: int) -> dict[str, Any]:
        kind = self._classes[number]
        data = next((base for base in DATA_BASES if issubclass(kind, base)), None)
        attributes = {
            name: value for base in reversed(kind.__mro__) for name, value in vars(base).items()
        }
        builtin = data or object
        own = {n: v for n, v in attributes.items() if v is not getattr(builtin, n, None)}
        return {
            "name": kind.__name__,
            "qualname": kind.__qualname__,
            "module": kind.__module__,
            "doc": kind.__doc__ if isinstance(kind.__doc__, str) else None,
            "bases": [base for base in kind.__bases__ if _is_worth_telling(base)],
            "special": [n for n, v in own.items() if n.startswith("__") and v is not None],
            "methods": [
                n
                for n, v in own.items()
                if isinstance(v, types.FunctionType) and not n.startswith("__")
            ],
            "data": data,
            "fields": _dataclass_fields(attributes.get("__dataclass_fields__")),
        }

    _SERVICES: ClassVar[dict[str, Callable[..., Any]]] = {
        "load": _load_module,
        "branchable": _branchable,
        "get": _get,
        "set": _set,
        "delete": _delete,
        "environ": _environ,
        "describe": _describe,
    }

    # ------------------------------------------------------------ values

    def _encoder(self) -> Encoder:
        return Encoder(self._reference, library.name_of_harmless)

    def _decode(self, encoded: Any) -> Any:
        return Decoder(self._resolve).decode(encoded)

    def _reference(self, value: Any) -> Any:
        if isinstance(value, Remote):
            return {"j": value._number}
        if isinstance(value, type):
            return {"k": self._class_number(value)}
        if isinstance(value, BaseException) and (known := self._find_judge_exception(value)):
            return known
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
        elif isinstance(value, DATA_BASES):
            reference["data"] = self._encoder().encode(plain(value))
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
                kind = RemoteFunction if reference.get("function") else Remote
                self._remotes[number] = kind(self, number)
            return self._remotes[number]
        if "raised" in reference:
            return self._judge_exception(reference["raised"])
        if "c" in reference:
            return self._objects[reference["c"]]
        return self._classes[reference["k"]]

    def _find_judge_exception(self, error: BaseException) -> dict[str, Any] | None:
        for number, known in self._judge_exceptions.items():
            if known is error:
                return {"judge": number}
        return None

    def _encode_exception(self, error: BaseException) -> dict[str, Any]:
        if (known := self._find_judge_exception(error)) is not None:
            return known
        try:
            text = str(error)
        except BaseException:  # noqa: BLE001 - the submission wrote this __str__
            text = ""
        encoded: dict[str, Any] = {"text": text[:10_000], "args": [], "trace": _trace(error)}
        for arg in _arguments(error):
            try:
                encoded["args"].append(self._encoder().encode(arg))
            except UnencodableError:
                encoded["args"].append(repr(arg)[:1000])
        return {
            **encoded,
            "type": self._encoder().encode(type(error)),
            "c": self._object_number(error),
        }

    def _judge_exception(self, encoded: dict[str, Any]) -> BaseException:
        """Make an exception of the judge's that can go through the submission and back."""
        kind = self._decode(encoded["type"]) if "type" in encoded else Exception
        try:
            error: BaseException = kind(*self._decode(encoded["args"]))
        except Exception:  # noqa: BLE001 - a class that wants other arguments
            error = Exception(encoded["text"])
        self._judge_exceptions[encoded["number"]] = error
        return error


def _arguments(error: BaseException) -> tuple[Any, ...]:
    """Return what an exception was made from."""
    args = error.args
    if isinstance(error, OSError) and error.filename is not None and len(args) == 2:
        args = (*args, error.filename)
    return args if type(args) is tuple else ()


def _is_worth_telling(base: type) -> bool:
    """Tell whether a base can be one in the tests' process as well."""
    known = base.__module__.partition(".")[0] in sys.stdlib_module_names
    return not known or base in DATA_BASES or issubclass(base, BaseException)


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
