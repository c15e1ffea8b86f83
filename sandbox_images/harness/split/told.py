"""What the candidate tells beside values, taken only as far as it has the form that it should."""

import sys
from typing import Any, NamedTuple

_TRACE_FRAMES = 5


class Loaded(NamedTuple):
    """What the submission's module has, or why there is none."""

    names: frozenset[str] = frozenset()
    public: tuple[str, ...] = ()
    """What a star import takes."""
    compile_error: dict[str, Any] | None = None

    @classmethod
    def read(cls, answer: Any) -> "Loaded":
        """Take the answer to "load".

        Raises:
            TypeError, KeyError, ValueError: It makes no sense.
        """
        if type(answer) is not dict:
            raise TypeError("not a description of a module")
        if "compile_error" in answer:
            return cls(compile_error=only_data(answer["compile_error"]))
        names, public = answer["names"], answer["public"]
        if not all(type(name) is str for name in (*names, *public)):
            raise TypeError("a name is no text")
        return cls(names=frozenset(names), public=tuple(public))


def print_it(printed: Any) -> None:
    """Print what the submission printed, where the tests capture it."""
    if printed is None:
        return
    for stream, text in zip((sys.stdout, sys.stderr), printed, strict=True):
        if type(text) is not str:
            raise TypeError("printed what is no text")
        if text:
            stream.write(text.encode("utf-8", "backslashreplace").decode())


def only_data(fields: Any) -> dict[str, Any]:
    """Return the fields of a compile error that are what they should be."""
    return {
        name: fields.get(name)
        for name, kind in (("type", str), ("message", str), ("line", int))
        if type(fields.get(name)) is kind
    }


def trace_of(frames: Any) -> list[tuple[int, str]]:
    """Return line numbers and functions, where the candidate sent any."""
    return [
        (line, name)
        for line, name in frames[:_TRACE_FRAMES]
        if type(line) is int and type(name) is str
    ]
