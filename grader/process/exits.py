"""How this process ends: what is closed before the interpreter waits for its threads.

`atexit` is too late for that: the interpreter first joins every thread that is no daemon, and so
those of a trainer that wait here for a grade.
"""

import atexit

# Have their own calls registered before ours, which then comes first: see `_Exit.__init__`.
import concurrent.futures.process
import concurrent.futures.thread  # noqa: F401
import contextlib
import logging
import os
import threading
from typing import Protocol
from weakref import WeakSet

_log = logging.getLogger(__name__)

_CLOSING_S = 1.5
"""How long the end of the process waits for all of it; what takes longer ends with the process."""


class Closeable(Protocol):
    """What can be closed."""

    def close(self) -> None:
        """Free everything, and answer all callers that wait. Repeats harmlessly."""


class Stream(Protocol):
    """What has a descriptor."""

    def fileno(self) -> int:
        """Return the descriptor; -1 where it is closed."""


class _Exit:
    """The end of one process."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self.open: set[Closeable] = set()
        self._begun = threading.Event()
        self._done = threading.Event()
        # Started now, since an interpreter that ends starts no thread from Python 3.12 on.
        threading.Thread(target=self._close_all, name="grader-exit", daemon=True).start()
        # No public call comes before threads are joined. concurrent.futures uses this one, too;
        # what is registered last is called first.
        register = getattr(threading, "_register_atexit", atexit.register)
        register(self._end)

    def _end(self) -> None:
        if os.getpid() == self._pid:  # A forked process has this call of its parent's, too.
            self._begun.set()
            self._done.wait(_CLOSING_S)

    def _close_all(self) -> None:
        self._begun.wait()
        for closeable in list(self.open):
            try:
                closeable.close()
            except Exception:  # noqa: BLE001 - logged; what is left has to be closed as well
                _log.exception("something could not be closed as the process ended")
        self._done.set()


_lock = threading.Lock()
_exits: dict[int, _Exit] = {}
_streams: WeakSet[Stream] = WeakSet()


def close_at_exit(closeable: Closeable) -> None:
    """Keep something, and close it when this process ends; `forget_at_exit` lets go of it.

    Also in processes of `multiprocessing`. Not in processes that are forked from now on.

    Raises:
        RuntimeError: The process is ending already.
    """
    with _lock:
        pid = os.getpid()
        if pid not in _exits:
            _exits[pid] = _Exit()
        _exits[pid].open.add(closeable)


def forget_at_exit(closeable: Closeable) -> None:
    """Keep what is closed no longer. Repeats harmlessly."""
    with _lock:
        if (ours := _exits.get(os.getpid())) is not None:
            ours.open.discard(closeable)


def keep_from_forks(stream: Stream) -> None:
    """Have a stream cut off in processes that are forked from now on.

    Its other end learns from its hang-up that this process has died, whoever else lives on.
    """
    _streams.add(stream)


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in list(_streams):
        with contextlib.suppress(OSError, ValueError):  # It is closed.
            # The number stays taken, so that whoever closes the stream later closes no other.
            os.dup2(nothing, stream.fileno(), inheritable=False)
    _streams.clear()
    os.close(nothing)


os.register_at_fork(after_in_child=_after_fork)
