"""Close objects at the exit of this process, before the interpreter joins its threads.

`atexit` is too late: the interpreter first joins all threads except daemons, and a trainer's
threads may be waiting for a grade.
"""

import atexit

# Imported first, so that their exit calls run after ours: see `_Exit.__init__`.
import concurrent.futures.process
import concurrent.futures.thread  # noqa: F401
import contextlib
import logging
import os
import threading
from typing import Protocol
from weakref import WeakSet

from grader.process.threads import ForkLock

_log = logging.getLogger(__name__)

_CLOSING_S = 1.5
"""How long the exit waits until all objects are closed; after that, the process ends."""


class Closeable(Protocol):
    """An object that can be closed."""

    def close(self) -> None:
        """Free everything, and answer all waiting callers. Repeats harmlessly."""


class Stream(Protocol):
    """An object with a file descriptor."""

    def fileno(self) -> int:
        """Return the descriptor; -1 if it is closed."""


class _Exit:
    """Closes the objects of one process at its exit."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self.open: set[Closeable] = set()
        self._begun = threading.Event()
        self._done = threading.Event()
        # Started now: from Python 3.12 on, an exiting interpreter cannot start threads.
        threading.Thread(target=self._close_all, name="grader-exit", daemon=True).start()
        # No public function registers calls before threads are joined. concurrent.futures uses
        # this one, too; the last registered call runs first.
        register = getattr(threading, "_register_atexit", atexit.register)
        register(self._end)

    def _end(self) -> None:
        if os.getpid() == self._pid:  # A forked process inherits this call from its parent.
            self._begun.set()
            self._done.wait(_CLOSING_S)

    def _close_all(self) -> None:
        self._begun.wait()
        for closeable in list(self.open):
            try:
                closeable.close()
            except Exception:  # noqa: BLE001 - logged; the others have to be closed as well
                _log.exception("an object could not be closed at the exit of the process")
        self._done.set()


_lock = ForkLock()
_exits: dict[int, _Exit] = {}
_streams: WeakSet[Stream] = WeakSet()


def close_at_exit(closeable: Closeable) -> None:
    """Close an object at the exit of this process, unless `forget_at_exit` removes it before.

    Also works in processes of `multiprocessing`. Processes forked from now on do not close it.

    Raises:
        RuntimeError: The process is exiting already.
    """
    with _lock.held():
        pid = os.getpid()
        if pid not in _exits:
            _exits[pid] = _Exit()
        _exits[pid].open.add(closeable)


def forget_at_exit(closeable: Closeable) -> None:
    """Remove an object that is closed. Repeats harmlessly."""
    with _lock.held():
        if (ours := _exits.get(os.getpid())) is not None:
            ours.open.discard(closeable)


def keep_from_forks(stream: Stream) -> None:
    """Disconnect a stream in processes that are forked from now on.

    The other end of the stream then sees a hang-up as soon as this process dies, even if forked
    processes live on.
    """
    _streams.add(stream)


def _disconnect() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in list(_streams):
        with contextlib.suppress(OSError, ValueError):  # The stream is closed.
            # Not closed but replaced, so that closing the stream later does not close another file.
            os.dup2(nothing, stream.fileno(), inheritable=False)
    _streams.clear()
    os.close(nothing)


os.register_at_fork(after_in_child=_disconnect)
