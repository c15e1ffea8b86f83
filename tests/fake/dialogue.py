"""Two programs of one process that talk to each other; for `tests.fake.backend` only.

Each runs in a thread of its own, in which `sys.stdin` and the like are its own streams.
"""

import io
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.fake.interrupt import Stopped, WallTimeReached

_TICK_S = 0.02
_SATISFIED = (0, 7, 42)
"""Exit codes after which the submission may go on; see `grader.sandbox.contract.Counterpart`."""


class Talk:
    """A dialogue, with what was written and not yet read in both directions."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.submission = TalkSide(self)
        self.interactor = TalkSide(self)
        self.interactor_first = False
        self.deadlock = False

    def other(self, side: "TalkSide") -> "TalkSide":
        """Return the side that `side` talks to."""
        return self.interactor if side is self.submission else self.submission

    def find_deadlock(self) -> None:
        """Note a deadlock if both wait and nothing is on its way."""
        sides = (self.submission, self.interactor)
        if all(side.waits and not side.unheard and not side.has_ended for side in sides):
            self.deadlock = True
            self.changed.notify_all()


class TalkSide:
    """One of the two programs, as the dialogue sees it."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self.unheard = bytearray()
        """What was written to it and not yet read."""
        self.waits = False
        self.has_ended = False
        self.is_stopped = False
        self._stdout: io.TextIOWrapper | None = None

    def open(self, kept: io.RawIOBase, stderr: io.TextIOWrapper) -> None:
        """Make the streams of the calling thread those of this program."""
        self._stdout = io.TextIOWrapper(io.BufferedWriter(_Mouth(self, kept)), encoding="utf-8")
        stdin = io.TextIOWrapper(io.BufferedReader(_Ear(self)), encoding="utf-8")
        for name, stream in (("stdin", stdin), ("stdout", self._stdout), ("stderr", stderr)):
            getattr(sys, name).enter(stream)

    def flush(self) -> None:
        """Pass on what the program has printed so far, as when it ends in order."""
        if self._stdout is not None and not self._stdout.closed:
            self._stdout.flush()

    def say(self, data: bytes) -> None:
        """Write `data` to the other side."""
        with self.talk.changed:
            self._check()
            self.talk.other(self).unheard += data
            self.talk.changed.notify_all()

    def hear(self, most: int) -> bytes:
        """Wait for data from the other side; b"" once that has ended."""
        other = self.talk.other(self)
        with self.talk.changed:
            self.waits = True
            try:
                while not self.unheard and not other.has_ended:
                    self._check()
                    self.talk.find_deadlock()
                    # A short wait, because a limit can only interrupt Python code.
                    self.talk.changed.wait(_TICK_S)
                self._check()
            finally:
                self.waits = False
            data = bytes(self.unheard[:most])
            del self.unheard[:most]
            return data

    def end(self, exit_code: int | None) -> None:
        """Note that the program has ended; an exit code of None: it was stopped."""
        talk, other = self.talk, self.talk.other(self)
        with talk.changed:
            self.has_ended = True
            is_interactor = self is talk.interactor
            if is_interactor and not other.has_ended and not self.is_stopped:
                talk.interactor_first = not talk.deadlock
            other.is_stopped = exit_code is None or (is_interactor and exit_code not in _SATISFIED)
            talk.changed.notify_all()

    def _check(self) -> None:
        if self.talk.deadlock:
            raise WallTimeReached if self is self.talk.submission else Stopped
        if self.is_stopped:
            raise Stopped


class _Ear(io.RawIOBase):
    def __init__(self, side: TalkSide) -> None:
        super().__init__()
        self._side = side

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._side.hear(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _Mouth(io.RawIOBase):
    def __init__(self, side: TalkSide, kept: io.RawIOBase) -> None:
        super().__init__()
        self._side = side
        self._kept = kept

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        said = bytes(data)
        self._kept.write(said)
        self._side.say(said)
        return len(said)


class _ByThread:
    """Stands for a stream of `sys`. Each thread enters a stream of its own for it."""

    def __init__(self) -> None:
        self._own = threading.local()

    def enter(self, stream: io.TextIOWrapper) -> None:
        self._own.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own.stream, name)


@contextmanager
def by_thread() -> Iterator[None]:
    """Let each thread have its own `sys.stdin`, `sys.stdout` and `sys.stderr`."""
    streams = sys.stdin, sys.stdout, sys.stderr
    stand_ins: Any = _ByThread(), _ByThread(), _ByThread()
    sys.stdin, sys.stdout, sys.stderr = stand_ins
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
