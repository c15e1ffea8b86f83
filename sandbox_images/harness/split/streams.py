"""Standard streams of the submission: what it prints and reads goes through the tests' process."""

import io
import os
from collections.abc import Callable
from typing import Any

_PRINTED_CHARS = 1 << 20
"""As much as one message carries; a submission that prints more in one call floods."""


class Printed(io.TextIOBase):
    """Standard output or error of the submission, on its way to the tests."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._parts: list[str] = []
        self._size = 0
        self.buffer: Any = _Binary(self)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """As of the usual standard output."""
        return "utf-8"

    def write(self, text: str) -> int:
        """Keep the text until the next message."""
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._parts.append(text)
        self._size += len(text)
        if self._size > _PRINTED_CHARS:
            self._spill()
        return len(text)

    def _spill(self) -> None:
        """Send more than a message may hold where the supervisor counts it, and stops a flood."""
        view = memoryview(self.take().encode("utf-8", "replace"))
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError:  # the submission closed it
            pass

    def fileno(self) -> int:
        """Return the descriptor, where what is written past this object goes."""
        return self._descriptor

    def take(self) -> str:
        """Return what was printed since last time."""
        if not self._parts:
            return ""
        text = "".join(self._parts)
        self._parts.clear()
        self._size = 0
        return text


class _Binary(io.RawIOBase):
    def __init__(self, text: Printed) -> None:
        self._text = text

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._text.write(bytes(data).decode("utf-8", "replace"))
        return len(data)


class Input(io.TextIOBase):
    """Standard input: whatever the tests have put there."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask

    def readable(self) -> bool:
        """It is there to be read."""
        return True

    def readline(self, size: int = -1) -> str:  # type: ignore[override]
        """Read a line of what the tests have put there."""
        return str(self._ask("stdin", None, ["readline", size], {}))

    def read(self, size: int | None = -1) -> str:
        """Read some of what the tests have put there, or all."""
        return str(self._ask("stdin", None, ["read", -1 if size is None else size], {}))
