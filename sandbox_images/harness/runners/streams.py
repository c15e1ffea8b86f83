"""Standard streams as the interpreter makes them when it starts.

A stream remembers properties of its descriptor, such as whether it can seek, and still does after a
fork. So every run gets new streams. To make the three takes 0.3 ms, so a zygote makes in advance
those whose descriptors are of the same kind in every run.
"""

import io
import os
import sys
from typing import Any

_NAMES = ("stdin", "stdout", "stderr")
_ready: dict[str, io.TextIOWrapper] = {}


def prepare() -> None:
    """Make streams in advance for the runs that this process will fork.

    A run's standard output and error are pipes. Its standard input is that of the zygote, or else
    `renew` makes the stream.
    """
    kept = os.dup(1), os.dup(2)
    reader, writer = os.pipe()
    for descriptor in (1, 2):
        os.dup2(writer, descriptor)
    _ready.update({name: _open(number, name) for number, name in enumerate(_NAMES)})
    for descriptor, original in zip((1, 2), kept, strict=True):
        os.dup2(original, descriptor)
        os.close(original)
    os.close(reader)
    os.close(writer)


def renew(*, has_input: bool = False) -> None:
    """Replace the streams of this process by new ones, for the descriptors that it has now.

    Args:
        has_input: Whether standard input is the input of a program, not that of the zygote.
    """
    if has_input:
        _ready["stdin"] = _open(0, "stdin")
    for name, stream in _ready.items():
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    _ready.clear()  # The program decides how long they live.


def _open(descriptor: int, name: str) -> io.TextIOWrapper:
    """Do what `create_stdio` does in CPython's pylifecycle.c for streams other than terminals."""
    like: Any = getattr(sys, f"__{name}__")
    mode = "r" if name == "stdin" else "w"
    buffer: Any = open(descriptor, f"{mode}b", closefd=False)  # noqa: SIM115 - stays open
    buffer.raw.name = f"<{name}>"
    stream = io.TextIOWrapper(
        buffer,
        encoding=like.encoding,
        errors=like.errors,
        newline="\n",
        line_buffering=name == "stderr",
    )
    stream.mode = mode  # type: ignore[misc]
    return stream
