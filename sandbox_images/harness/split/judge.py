"""The tests' end of the channel: stand-ins for the submission's functions. It trusts nothing."""

import importlib
from collections.abc import Callable
from typing import Any, NoReturn

from sandbox_images.harness.split import plain
from sandbox_images.harness.split.channel import (
    Channel,
    ChannelClosed,
    ChannelError,
    Message,
    MessageTooLong,
)
from sandbox_images.harness.wire.values import UnencodableError, ValueDecodeError

_TRACE_FRAMES = 5


class Refused(BaseException):
    """The suite cannot be judged apart from this submission.

    Not an Exception: a test that expects the submission to raise one must not catch this.
    """


class DoesNotCompile(Exception):
    """The submission does not compile; `fields` are those of the event that says so."""

    def __init__(self, fields: dict[str, Any]) -> None:
        super().__init__(fields)
        self.fields = fields


class Judge:
    """The exchange with the candidate."""

    def __init__(
        self,
        channel: Channel,
        *,
        watched: bool,
        leave: Callable[[], NoReturn],
        tell_forged: Callable[[str], object],
        tell_refused: Callable[[str], object] | None = None,
    ) -> None:
        """Nothing is loaded yet.

        Args:
            channel: To the candidate.
            watched: Whether the tests could see that an argument of theirs was changed in place.
            leave: Ends the process at once if the candidate has broken off the exchange. An
                exception would not do, because a test that expects one could catch it.
            tell_forged: Called before `leave` if the candidate sent what an honest one never sends.
            tell_refused: Called when it turns out that the suite cannot be judged this way.
        """
        self._channel = channel
        self._watched = watched
        self._leave = leave
        self._tell_forged = tell_forged
        self._tell_refused = tell_refused
        self.dropped: list[list[Any]] = []
        """Instances that the tests have dropped since the last call."""
        self.refused: str | None = None
        """Why the suite cannot be judged this way, though a test may have hidden it."""

    def load(self, apart: dict[str, Any]) -> dict[str, Any]:
        """Have the submission executed. Raises what the submission raises.

        Args:
            apart: What the tests use of it; see `grader.sandbox.payload.Apart`.

        Returns:
            What stands for each name that the submission defines.

        Raises:
            DoesNotCompile: It does not compile.
            Refused: A name is not what the tests take it for.
        """
        names, classes, modules = apart["names"], apart["classes"], apart["modules"]
        match self._ask(["load", [*names, *classes, *modules], apart["nowhere"]]):
            case ["compile_error", dict(fields)]:
                raise DoesNotCompile(_only_data(fields))
            case ["loaded", dict(kinds)]:
                pass
            case _:
                raise self._broken_off("an answer that is not a description of a module")
        found: dict[str, Any] = {}
        for name in kinds.keys() & set(names):
            self._require(kinds[name] in ("function", "class"), f"{name!r} is data")
            found[name] = _function(self, [name])
        for name in kinds.keys() & set(classes):
            self._require(kinds[name] == "class", f"{name!r} is not a class")
            self._require(name not in names, f"an instance of {name!r}")
            found[name] = SubmissionClass(self, name)
        for name in kinds.keys() & set(modules):
            self._require(kinds[name] == f"module {name}", f"{name!r} is something else")
            found[name] = importlib.import_module(name)
        return found

    def _require(self, condition: bool, why_not: str) -> None:
        if not condition:
            raise self.refuse(why_not)

    def call(self, path: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function of the submission; return what it returns, raise what it raises.

        Raises:
            Refused: Something else than plain data would have to cross.
        """
        try:
            positional = plain.encode(args, aliases=False)
            named = plain.encode(kwargs, aliases=False) if kwargs else None
        except UnencodableError as error:
            raise self.refuse(f"an argument: {error}") from None
        gone, self.dropped = self.dropped, []
        answer = self._ask(["call", path, positional, named, self._watched, gone])
        try:
            if answer[0] == "ret" and len(answer) == 2:
                return plain.decode(answer[1])
        except ValueDecodeError as error:
            raise self._broken_off(f"not a value: {error}") from None
        raise self._broken_off("an answer to another question")

    def _ask(self, request: Message) -> Message:
        """Send a request; return its answer, unless that is an exception or a refusal."""
        if self.refused is not None:
            raise Refused(self.refused)
        try:
            self._channel.send(request)
            answer = self._channel.receive()
        except MessageTooLong as error:
            raise self.refuse(str(error)) from None
        except ChannelClosed:
            self._leave()
        except ChannelError as error:
            raise self._broken_off(str(error)) from None
        match answer:
            case ["no", reason]:
                raise self.refuse(str(reason)[:500])
            case ["exc", encoded, list(frames)]:
                raise self._exception(encoded, frames)
            case _:
                return answer

    def _exception(self, encoded: Any, frames: list[Any]) -> Exception:
        try:
            error = plain.decode_exception(encoded)
        except ValueDecodeError as fault:
            raise self._broken_off(str(fault)) from None
        vars(error)["candidate_trace"] = _only_frames(frames)
        return error

    def refuse(self, why: str) -> Refused:
        """Note that the tests need more than plain data, and return the exception to raise."""
        self.refused = self.refused or why
        if self._tell_refused is not None:
            self._tell_refused(self.refused)
        return Refused(why)

    def _broken_off(self, why: str) -> NoReturn:
        self._tell_forged(why)
        self._leave()

    def close(self) -> None:
        """End the exchange in order."""
        self._channel.close()


def _function(judge: Judge, path: list[Any], owner: object = None) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        return judge.call(path, args, kwargs)

    vars(function)["owner"] = owner  # which lives as long as its methods

    return function


class SubmissionClass:
    """Stands for a class of the submission. The tests make instances and call their methods."""

    def __init__(self, judge: Judge, name: str) -> None:
        self._judge = judge
        self._name = name
        self._made = 0

    def __call__(self, *args: Any, **kwargs: Any) -> "_Instance":
        """Return a new instance."""
        if args or kwargs:
            raise self._judge.refuse(f"an instance of {self._name!r}")
        self._made += 1
        return _Instance(self._judge, self._name, self._made)


class _Instance:
    def __init__(self, judge: Judge, name: str, number: int) -> None:
        self._judge = judge
        self._path = [name, number]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return _function(self._judge, [*self._path, name], self)

    def __del__(self) -> None:
        self._judge.dropped.append(self._path)


def _only_data(fields: dict[Any, Any]) -> dict[str, Any]:
    """Return the fields of a compile error that have the right type."""
    return {
        name: fields.get(name)
        for name, kind in (("type", str), ("message", str), ("line", int))
        if type(fields.get(name)) is kind
    }


def _only_frames(frames: list[Any]) -> list[tuple[int, str]]:
    """Return the line numbers and function names, leaving out frames of another form."""
    return [
        (line, name[:200])
        for line, name in (f for f in frames[:_TRACE_FRAMES] if type(f) is list and len(f) == 2)
        if type(line) is int and type(name) is str
    ]
