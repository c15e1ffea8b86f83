"""The tests' end of the channel: asks the candidate, answers its callbacks, trusts none of it.

What the candidate may do to objects of the tests is listed in `_ANSWERS`, and is only ever
possible with an object that a test handed over: nothing here gives it a way from such an object
to the tests' namespaces, to their classes' insides or to an expected value.
"""

import builtins
import os
import sys
import threading
import types
from collections.abc import Callable
from typing import Any, NamedTuple

from sandbox_images.harness.split.channel import Channel, ChannelClosed, ChannelError, Message
from sandbox_images.harness.split.codec import Decoder, Encoder, update_in_place
from sandbox_images.harness.split.proxies import (
    Proxies,
    Proxy,
    ProxyClass,
    StandardModule,
    proxied_class,
    proxy_number,
)
from sandbox_images.harness.values import UnencodableError, ValueDecodeError

_MAX_ASKED = 100_000


class CandidateError(Exception):
    """What the submission raised cannot be raised here: SystemExit, Skipped and the like."""


class CandidateGone(BaseException):
    """The submission's process ended, or said something that is no message."""


class Loaded(NamedTuple):
    """What the submission's module has, or why there is none."""

    names: frozenset[str] = frozenset()
    public: tuple[str, ...] = ()
    """What a star import takes."""
    compile_error: dict[str, Any] | None = None


class Judge:
    """The conversation with the candidate. Calls from several threads take turns."""

    def __init__(self, channel: Channel, named: frozenset[str]) -> None:
        """Nothing is loaded yet.

        Args:
            channel: To the candidate.
            named: Every identifier in the suite's sources: classes by these names are part of
                what the suite tests, and may answer comparisons.
        """
        self._channel = channel
        self._lock = threading.RLock()
        self._mine: list[Any] = []
        self._my_numbers: dict[int, int] = {}
        self._my_exceptions: list[BaseException] = []
        self._environ: dict[str, str] = dict(os.environ)
        self._gone: str | None = None
        self.proxies = Proxies(self, named)

    def load(self) -> "Loaded":
        """Have the submission executed; raises what it raises.

        Raises:
            CandidateGone: It ended the process, or its names make no sense.
        """
        answer = self.request("load")
        try:
            if "compile_error" in answer:
                return Loaded(compile_error=dict(answer["compile_error"]))
            names, public = answer["names"], answer["public"]
            if not all(type(name) is str for name in (*names, *public)):
                raise TypeError("a name is no text")
        except (TypeError, KeyError, ValueError) as error:
            raise self._lost(f"the submission's names make no sense: {error}") from None
        return Loaded(names=frozenset(names), public=tuple(public))

    def get(self, target: Any, name: str) -> Any:
        """Return an attribute of one of the submission's objects; of its module for None."""
        return self.request("get", target, name)

    def call(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call one of the submission's objects."""
        # Tuples, so that only what can be changed in place has to come back.
        return self.request("call", target, args, tuple(kwargs.items()))

    def operate(self, name: str, *operands: Any) -> Any:
        """Apply an operation of `candidate.OPERATIONS`."""
        return self._exchange(["op", name], (operands,))

    def request(self, kind: str, *parts: Any) -> Any:
        """Send a request, serve the candidate until it has answered, and return the answer."""
        return self._exchange([kind], parts)

    def _exchange(self, head: list[Any], parts: tuple[Any, ...]) -> Any:
        with self._lock:
            if self._gone is not None:
                raise CandidateGone(self._gone)
            self._send_environ()
            encoder = Encoder(self._reference)
            message = [*head, *(encoder.encode(part) for part in parts)]
            try:
                self._channel.send(message)
                answer = self._wait_for_answer()
            except (ChannelClosed, ChannelError, ValueDecodeError) as error:
                raise self._lost(str(error)) from None
            return self._unpack(answer, parts)

    def _lost(self, why: str) -> CandidateGone:
        self._gone = self._gone or why
        return CandidateGone(self._gone)

    def _wait_for_answer(self) -> Message:
        for _ in range(_MAX_ASKED):
            message = self._channel.receive()
            if message[0] != "ask":
                return message
            self._channel.send(self._answer(message))
        raise ChannelError("too many callbacks in one call")

    def _unpack(self, answer: Message, parts: tuple[Any, ...]) -> Any:
        try:
            kind, content, changed, printed = answer
            self._print(printed)
            decoder = Decoder(self.proxies.resolve)
            if changed is not None:
                self._update(parts, changed)
            if kind == "ret":
                return decoder.decode(content)
            error = self._exception(content)
        except (ValueDecodeError, ValueError, TypeError, LookupError) as fault:
            raise self._lost(f"an answer that makes no sense: {fault}") from None
        raise error

    def _update(self, parts: tuple[Any, ...], changed: Any) -> None:
        """Copy back what the submission did to the arguments of a call."""
        decoder = Decoder(self.proxies.resolve)
        # Of a call, the first part is what is called; of an operation there is only one.
        before = parts[1:] if len(parts) > 1 else parts
        for old, encoded in zip(before, changed, strict=True):
            new = decoder.decode(encoded)
            if not isinstance(new, tuple) or len(new) != len(old):
                raise ValueDecodeError("other arguments than there were")
            for old_item, new_item in zip(old, new, strict=True):
                _copy_back(old_item, new_item)

    @staticmethod
    def _print(printed: Any) -> None:
        """Print what the submission printed, where the tests capture it."""
        if printed is None:
            return
        out, err = printed
        if out:
            sys.stdout.write(str(out))
        if err:
            sys.stderr.write(str(err))

    def _send_environ(self) -> None:
        now = dict(os.environ)
        now.pop("PYTEST_CURRENT_TEST", None)
        if now == self._environ:
            return
        changed = {k: v for k, v in now.items() if self._environ.get(k) != v}
        removed = [k for k in self._environ if k not in now]
        self._environ = now
        encoder = Encoder(self._reference)
        self._channel.send(["environ", encoder.encode(changed), encoder.encode(removed)])
        self._wait_for_answer()

    # ------------------------------------------------------------ references

    def _reference(self, value: Any) -> Any:
        """Encode what is no plain data: the candidate's own by number, else a reference."""
        kind = proxied_class(value)
        if kind is not None:
            return {"k": kind}
        number = proxy_number(value)
        if number is not None:
            return {"c": number}
        if isinstance(value, StandardModule):
            return {"module": value.__name__}
        if not _may_be_lent(value):
            raise UnencodableError(
                f"a {type(value).__name__} of the tests cannot be given to the submission"
            )
        mine = self._my_numbers.get(id(value))
        if mine is None:
            mine = self._my_numbers[id(value)] = len(self._mine)
            self._mine.append(value)
        return {"j": mine}

    def lent(self, number: Any) -> Any:
        """Return an object of the tests that the candidate sends back."""
        if type(number) is not int or not 0 <= number < len(self._mine):
            raise ValueDecodeError("a reference to nothing")
        return self._mine[number]

    # ------------------------------------------------------------ exceptions

    def _exception(self, encoded: Any) -> BaseException:
        """Make an exception of what the submission raised."""
        if "judge" in encoded:
            own: BaseException = self._my_exceptions[encoded["judge"]]
            return own
        kind = Decoder(self.proxies.resolve).decode(encoded["type"])
        text = str(encoded["text"])
        args = [Decoder(self.proxies.resolve).decode(arg) for arg in encoded["args"]]
        if not isinstance(kind, type) or not _may_be_raised(kind):
            name = getattr(kind, "__name__", "something")
            error: BaseException = CandidateError(f"the code raised {name}: {text}")
        else:
            error = self.proxies.new_exception(kind, args, encoded.get("c"))
        object.__setattr__(error, "candidate_trace", encoded["trace"])
        return error

    def _encode_exception(self, error: BaseException) -> dict[str, Any]:
        """Encode an exception of the tests, to go through the submission and perhaps back."""
        number = len(self._my_exceptions)
        self._my_exceptions.append(error)
        encoded: dict[str, Any] = {"number": number, "text": str(error)[:1000], "args": []}
        encoder = Encoder(self._reference)
        try:
            kind = type(error)
            while kind.__module__ != "builtins" and proxied_class(kind) is None:
                kind = kind.__mro__[1]
            encoded["type"] = encoder.encode(kind)
            encoded["args"] = encoder.encode(list(error.args))
        except UnencodableError:
            encoded["args"] = [encoded["text"]]
        return encoded

    # ------------------------------------------------------------ callbacks

    def _answer(self, message: Message) -> Message:
        """Do what the candidate asks, if it is one of the things that it may ask."""
        try:
            _, what, number, encoded_args, encoded_kwargs, printed = message
            self._print(printed)
            args = Decoder(self.proxies.resolve).decode(encoded_args)
            kwargs = Decoder(self.proxies.resolve).decode(encoded_kwargs)
            answer = _ANSWERS[what]
            target = None if number is None else self.lent(number)
        except (ValueDecodeError, ValueError, TypeError, LookupError) as fault:
            raise ChannelError(f"a callback that makes no sense: {fault}") from None
        try:
            result = answer(target, *args, **kwargs)
            return ["ret", Encoder(self._reference).encode(result)]
        except CandidateGone:
            raise
        except BaseException as error:  # noqa: BLE001 - the submission may catch it
            return ["exc", self._encode_exception(error)]


def _copy_back(old: Any, new: Any) -> None:
    if not update_in_place(old, new) and type(old) is tuple and type(new) is tuple:
        for old_item, new_item in zip(old, new, strict=False):
            _copy_back(old_item, new_item)


def _may_be_raised(kind: type) -> bool:
    """Tell whether tests may meet such an exception: nothing that would end or skip them."""
    if not issubclass(kind, Exception):
        return False
    return all(
        base.__module__.partition(".")[0] not in ("_pytest", "pytest", "unittest")
        for base in kind.__mro__
    )


_LENT_TYPES: tuple[type, ...] = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.MethodWrapperType,
)


def _may_be_lent(value: Any) -> bool:
    """Tell whether the candidate may hold a reference: what offers no way into the tests."""
    kind = type(value)
    if isinstance(value, (*_LENT_TYPES, types.GeneratorType)):
        return True
    if kind.__module__.partition(".")[0] in ("builtins", "_pytest", "pytest", "pluggy"):
        return hasattr(kind, "__next__")
    return not isinstance(value, type(sys))


# ---------------------------------------------------------------- what the candidate may ask


def _public(name: Any) -> str:
    if not isinstance(name, str) or name.startswith("_"):
        raise AttributeError("only public attributes of the tests' objects can be reached")
    return name


def _call(target: Any, *args: Any, **kwargs: Any) -> Any:
    return target(*args, **kwargs)


def _get(target: Any, name: Any) -> Any:
    if isinstance(target, (*_LENT_TYPES, types.GeneratorType)):
        raise AttributeError("functions of the tests can only be called")
    return getattr(target, _public(name))


def _set(target: Any, name: Any, value: Any) -> None:
    if isinstance(target, (*_LENT_TYPES, type)):
        raise AttributeError("functions and classes of the tests cannot be changed")
    setattr(target, _public(name), value)


def _stdin(_target: Any, method: Any, size: Any) -> Any:
    reader: Callable[[Any], Any] = {"read": sys.stdin.read, "readline": sys.stdin.readline}[method]
    return reader(size)


def _exit(target: Any) -> None:
    type(target).__exit__(target, None, None, None)


_ANSWERS: dict[str, Callable[..., Any]] = {
    "call": _call,
    "get": _get,
    "set": _set,
    "iter": lambda target: iter(target),
    "next": lambda target: next(target),
    "bool": lambda target: bool(target),
    "len": lambda target: len(target),
    "getitem": lambda target, key: target[key],
    "contains": lambda target, item: item in target,
    "enter": lambda target: type(target).__enter__(target),
    "exit": _exit,
    "eq": lambda target, other: bool(target == other),
    "str": lambda target: str(target),
    "input": lambda _target, prompt: builtins.input(prompt),
    "stdin": _stdin,
}

__all__ = ["CandidateError", "CandidateGone", "Judge", "Proxy", "ProxyClass"]
