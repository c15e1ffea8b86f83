"""Standard streams as the interpreter makes them when it starts.

Those of a zygote remember what its own descriptors were like, such as whether one can seek, and
so do those that are copied with it by a fork.
"""

import io
import sys
from typing import Any


def renew() -> None:
    """Make the three streams anew, from the descriptors that this process has now."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        stream = _open(descriptor, name, like=getattr(sys, f"__{name}__"))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _open(descriptor: int, name: str, *, like: Any) -> io.TextIOWrapper:
    """Do what `create_stdio` does in CPython's pylifecycle.c, for what is no terminal."""
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
