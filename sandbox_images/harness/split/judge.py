"""The tests' end of the channel: asks the candidate, answers its callbacks, trusts none of it."""

import _thread
from collections.abc import Callable
from types import FunctionType
from typing import Any

from sandbox_images.harness.split import library
from sandbox_images.harness.split.branches import Branches
from sandbox_images.harness.split.channel import (
    Channel,
    ChannelClosed,
    ChannelError,
    Message,
    MessageTooLong,
)
from sandbox_images.harness.split.codec import Decoder, Encoder, update_in_place
from sandbox_images.harness.split.environment import Environment
from sandbox_images.harness.split.factory import Proxies
from sandbox_images.harness.split.lending import ANSWERS, may_be_lent
from sandbox_images.harness.split.proxies import (
    GONE,
    ProxyClass,
    StandardModule,
    proxied_class,
    proxy_number,
)
from sandbox_images.harness.split.told import Loaded, print_it, trace_of
from sandbox_images.harness.values import UnencodableError, ValueDecodeError

_MAX_ASKED = 100_000
_LOOKING = frozenset({"branchable", "describe", "environ", "get", "load"})
"""Requests that make no object for the tests."""
_ENDS = (StopIteration, StopAsyncIteration, SystemExit)
"""Exceptions that tests may meet only where they speak of them."""


class CandidateError(Exception):
    """What the submission raised cannot be raised here: KeyboardInterrupt, Skipped and the like."""


class CandidateGone(BaseException):
    """The submission's process ended, or said something that is no message."""


class NotServed(BaseException):
    """The tests want something that cannot be had from an object in another process.

    No Exception: a test that expects the submission to raise one must not take this for it.
    """


class Judge:
    """The conversation with the candidate. Calls from several threads take turns."""

    def __init__(
        self,
        channel: Channel,
        named: frozenset[str],
        leave: Callable[[], object] = lambda: None,
        tell_forged: Callable[[], object] = lambda: None,
        tell_crossed: Callable[[], object] = lambda: None,
    ) -> None:
        """Nothing is loaded yet.

        Args:
            channel: To the candidate.
            named: Every identifier in the suite's sources.
            leave: Called when the conversation has broken off. It had better not return: a test
                may swallow the exception that follows.
            tell_forged: Called before that where the candidate sent what none of ours sends.
            tell_crossed: Called where a test may meet what an earlier one has left of a branch. It
                had better not return either.
        """
        self.named = named
        self._channel = channel
        self._leave = leave
        self._tell_forged = tell_forged
        self._tell_crossed = tell_crossed
        self._lock = _thread.RLock()
        self._mine: list[Any] = []
        self._my_numbers: dict[int, int] = {}
        self._my_exceptions: list[BaseException] = []
        self._environment = Environment()
        self._gone: str | None = None
        self._refused: str | None = None
        self.proxies = Proxies(self)
        self.branches = Branches(channel, self.proxies)

    # ------------------------------------------------------------ what the tests ask

    def load(self) -> Loaded:
        """Have the submission executed; raises what it raises.

        Raises:
            CandidateGone: It ended the process, or its names make no sense.
        """
        answer = self.request("load")
        try:
            return Loaded.read(answer)
        except (TypeError, KeyError, ValueError) as error:
            raise self.forged(f"the submission's names make no sense: {error}") from None

    def get(self, target: Any, name: str) -> Any:
        """Return an attribute of one of the submission's objects; of its module for None."""
        value = self.request("get", target, name)
        if isinstance(value, ProxyClass) and name.lstrip("_")[:1].isupper():
            self.proxies.expect_class(value, target)
        return value

    def call(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call one of the submission's objects."""
        # Tuples, so that only what can be changed in place has to come back.
        return self._exchange(["call"], (target,), (args, tuple(kwargs.items())))

    def call_method(
        self, target: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Call a method of one of the submission's objects."""
        return self._exchange(["method"], (target, name), (args, tuple(kwargs.items())))

    def operate(self, name: str, *operands: Any) -> Any:
        """Apply an operation of `operations.OPERATIONS`."""
        return self._exchange(["op", name], (), (operands,))

    def request(self, kind: str, *parts: Any) -> Any:
        """Send another request and return the answer."""
        return self._exchange([kind], parts, ())

    def refuse(self, why: str) -> NotServed:
        """Return what to raise where the suite cannot be served; the case must not pass then."""
        self._refused = self._refused or why
        return NotServed(why)

    def can_branch(self) -> bool:
        """Tell whether tests can have copies of the submission of their own."""
        if self.branches.have_objects():
            return False
        try:
            return self.branches.hold(self.request("branchable"))
        except (Exception, NotServed):  # noqa: BLE001 - whatever it said
            self.take_refusal()
            return False

    def end_branch(self) -> None:
        """Have what a test did to its copy of the submission be over."""
        with self._lock:
            try:
                if self._gone is None and self.branches.end():
                    self._environment.end_branch()
            except ChannelClosed as error:
                self.lost(str(error))

    def crossed(self) -> NotServed:
        """Return what to raise where a test may meet what an earlier one had of a branch."""
        self._tell_crossed()
        return self.refuse("a test meets what an earlier one has left of a copy of the submission")

    def close(self) -> None:
        """End the conversation in order."""
        self._channel.close()

    def take_refusal(self) -> str | None:
        """Return why something was refused since last time, though the tests may have caught it."""
        refused, self._refused = self._refused, None
        return refused

    def lost(self, why: str) -> CandidateGone:
        """Give the candidate up; return what to raise."""
        self._gone = self._gone or why
        self._leave()
        return CandidateGone(self._gone)

    def forged(self, why: str) -> CandidateGone:
        """Give the candidate up for what it sent, and tell of it; return what to raise."""
        if self._gone is None:
            self._tell_forged()
        return self.lost(why)

    # ------------------------------------------------------------ the conversation

    def _exchange(
        self, head: list[Any], fixed: tuple[Any, ...], arguments: tuple[tuple[Any, ...], ...]
    ) -> Any:
        """Send a request, serve the candidate until it has answered, and return the answer.

        Args:
            head: What is sent as it is.
            fixed: Values that the candidate has no business changing.
            arguments: Values that are copied back if it changed them.
        """
        with self._lock:
            if self._gone is not None:
                raise self.lost(self._gone)
            known = len(self.proxies.objects())
            try:
                if self.branches.settle():
                    self._environment.branch()
                if self.branches.left_files:
                    raise self.crossed()
                self._send_environ()
                encoder = Encoder(self._reference)
                parts = [encoder.encode(part) for part in (*fixed, *arguments)]
                self._channel.send([*head, *parts])
                answer = self._wait_for_answer()
            except (UnencodableError, MessageTooLong) as error:
                raise self.refuse(str(error)) from None
            except ChannelClosed as error:
                raise self.lost(str(error)) from None
            except ChannelError as error:
                raise self.forged(str(error)) from None
            try:
                return self._unpack(answer, arguments, may_stop=head[-1] in ("next", "anext"))
            finally:
                if head[0] not in _LOOKING and len(self.proxies.objects()) > known:
                    self.branches.made_objects = True

    def _wait_for_answer(self) -> Message:
        for _ in range(_MAX_ASKED):
            message = self._channel.receive()
            if message[0] != "ask":
                return message
            self._channel.send(self._answer(message))
        raise self.lost("too many callbacks in one call")

    def _unpack(
        self, answer: Message, arguments: tuple[tuple[Any, ...], ...], *, may_stop: bool
    ) -> Any:
        error: BaseException
        try:
            kind, content, changed, printed = answer
            print_it(printed)
            if changed is not None:
                self._update(arguments, changed)
            match kind:
                case "ret":
                    return self._decoder().decode(content)
                case "exc":
                    error = self._exception(content, may_stop=may_stop)
                case "no":
                    error = self.refuse(f"the submission's process cannot: {str(content)[:200]}")
                case _:
                    raise ValueDecodeError("an answer of an unknown kind")
        except (ValueDecodeError, ValueError, TypeError, LookupError) as fault:
            raise self.forged(f"an answer that makes no sense: {fault}") from None
        raise error

    def _update(self, arguments: tuple[tuple[Any, ...], ...], changed: Any) -> None:
        """Copy back what the submission did to the arguments of a call."""
        decoder = self._decoder()
        for old, encoded in zip(arguments, changed, strict=True):
            new = decoder.decode(encoded)
            if type(new) is not tuple or len(new) != len(old):
                raise ValueDecodeError("other arguments than there were")
            for old_item, new_item in zip(old, new, strict=True):
                _copy_back(old_item, new_item)

    def _send_environ(self) -> None:
        """Let the candidate have the environment that the tests have set up."""
        news = self._environment.take_news()
        if news is not None:
            encoder = Encoder(self._reference)
            self._channel.send(["environ", *(encoder.encode(part) for part in news)])
            self._wait_for_answer()

    # ------------------------------------------------------------ values

    def _decoder(self) -> Decoder:
        return Decoder(self.proxies.resolve, library.find_harmless)

    def _reference(self, value: Any) -> Any:
        """Encode what is no plain data: the candidate's own by number, else a reference."""
        kind, number = proxied_class(value), proxy_number(value)
        if GONE in (kind, number):
            raise self.crossed()
        if kind is not None:
            return {"k": kind}
        if number is not None:
            return {"c": number}
        if isinstance(value, StandardModule):
            return {"module": value.__name__}
        if isinstance(value, BaseException):
            return {"raised": self._encode_exception(value)}
        if not may_be_lent(value):
            raise UnencodableError(
                f"a {type(value).__name__} of the tests cannot be given to the submission"
            )
        mine = self._my_numbers.get(id(value))
        if mine is None:
            mine = self._my_numbers[id(value)] = len(self._mine)
            self._mine.append(value)
        return {"j": mine, "function": True} if type(value) is FunctionType else {"j": mine}

    def lent(self, number: Any) -> Any:
        """Return an object of the tests that the candidate sends back."""
        if type(number) is not int or not 0 <= number < len(self._mine):
            raise ValueDecodeError("a reference to nothing")
        return self._mine[number]

    # ------------------------------------------------------------ exceptions

    def _exception(self, encoded: Any, *, may_stop: bool) -> BaseException:
        """Make an exception of what the submission raised."""
        if "judge" in encoded:
            own = self.own_exception(encoded["judge"])
            if isinstance(own, _ENDS) and not self._may_be_raised(type(own), may_stop=may_stop):
                return CandidateError(f"the code raised {type(own).__name__}")
            return own
        kind = self._decoder().decode(encoded["type"])
        text = str(encoded["text"])
        args = [self._decoder().decode(arg) for arg in encoded["args"]]
        if isinstance(kind, type) and self._may_be_raised(kind, may_stop=may_stop):
            error: BaseException = self.proxies.new_exception(kind, args, encoded.get("c"))
        else:
            name = kind.__name__ if isinstance(kind, type) else "something"
            error = CandidateError(f"the code raised {name}: {text}")
        object.__setattr__(error, "candidate_trace", trace_of(encoded["trace"]))
        return error

    def own_exception(self, number: Any) -> BaseException:
        """Return an exception of the tests that the candidate sends back."""
        if type(number) is not int or not 0 <= number < len(self._my_exceptions):
            raise ValueDecodeError("an exception that the tests have not raised")
        return self._my_exceptions[number]

    def _may_be_raised(self, kind: type, *, may_stop: bool) -> bool:
        """Tell whether tests may meet such an exception: nothing that would end or skip them."""
        # A StopIteration also ends a `map` of the tests' in silence, and their assertions with it.
        if issubclass(kind, _ENDS) and not (may_stop and not issubclass(kind, SystemExit)):
            return any(issubclass(kind, end) and end.__name__ in self.named for end in _ENDS)
        return issubclass(kind, Exception) and all(
            base.__module__.partition(".")[0] not in ("_pytest", "pytest", "unittest")
            for base in kind.__mro__
        )

    def _encode_exception(self, error: BaseException) -> dict[str, Any]:
        """Encode an exception of the tests, to go through the submission and perhaps back."""
        number = len(self._my_exceptions)
        self._my_exceptions.append(error)
        encoded: dict[str, Any] = {"number": number, "text": _text_of(error), "args": []}
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
            print_it(printed)
            args = self._decoder().decode(encoded_args)
            kwargs = self._decoder().decode(encoded_kwargs)
            answer = ANSWERS[what]
            target = None if number is None else self.lent(number)
        except (ValueDecodeError, ValueError, TypeError, LookupError) as fault:
            raise ChannelError(f"a callback that makes no sense: {fault}") from None
        try:
            result = answer(target, *args, **kwargs)
            return ["ret", Encoder(self._reference).encode(result)]
        except CandidateGone:
            raise
        except UnencodableError as error:
            self.refuse(str(error))
            return ["exc", self._encode_exception(error)]
        except BaseException as error:  # noqa: BLE001 - the submission may catch it
            return ["exc", self._encode_exception(error)]


def _text_of(error: BaseException) -> str:
    try:
        return str(error)[:1000]
    except Exception:  # noqa: BLE001 - its class may be the submission's
        return ""


def _copy_back(old: Any, new: Any) -> None:
    if not update_in_place(old, new) and type(old) is tuple and type(new) is tuple:
        for old_item, new_item in zip(old, new, strict=False):
            _copy_back(old_item, new_item)
