"""Ctrl-C and SIGTERM: stop a command's work, close everything, and say what to do next."""

import contextlib
import contextvars
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

import typer

from grader.cli.console import note
from grader.model.errors import GradingStoppedError

T = TypeVar("T")

_ENDING_S = 3.0
"""How long stopped work may take to end: it may be reading from a pipe that stays silent."""


_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_ENDED = 0
"""Sent in place of a signal's number when the work has ended."""


class Stop:
    """Tells the work of a command that it is to stop."""

    def __init__(self) -> None:
        self._closers: list[Callable[[], None]] = []
        self._is_set = False

    def add(self, close: Callable[[], None]) -> None:
        """Close something if the command is stopped, so that the work stops waiting for it."""
        self._closers.append(close)

    def check(self) -> None:
        """Check that the command was not stopped, which may have cut short what was just done.

        Raises:
            GradingStoppedError: The command was stopped.
        """
        if self._is_set:
            message = "the command was stopped"
            raise GradingStoppedError(message)

    def set(self) -> None:
        """Make `check` raise, then close everything."""
        self._is_set = True
        for close in self._closers:
            close()


def run_stoppable(work: Callable[[Stop], T], *, advice: str) -> T:
    """Run the work of a command until it ends, or until Ctrl-C or SIGTERM.

    The work runs in a thread of its own. In the main thread, a signal would raise an exception
    between any two instructions, also just after a lock was taken and before it is sure to be
    released; closing would then wait for this lock for ever.

    Args:
        work: Is called with the `Stop` that tells it to stop.
        advice: Printed after a stop: what the user can do next.

    Raises:
        typer.Exit: The command was stopped; the code is 128 plus the signal's number.
        BaseException: What the work raised.
    """
    stop = Stop()
    done: Future[T] = Future()
    heard, said = socket.socketpair()
    said.setblocking(False)

    def run() -> None:
        try:
            result = work(stop)
        except BaseException as error:  # noqa: BLE001 - raised again in the main thread
            done.set_exception(error)
        else:
            done.set_result(result)
        with contextlib.suppress(OSError):  # Nothing waits for it any more.
            said.send(bytes([_ENDED]))

    before = {each: signal.signal(each, lambda *_: None) for each in _SIGNALS}
    # The kernel may hand a signal to any thread, and then no other wait of the main thread ends.
    # Python writes the signal's number here at once, whatever thread has got it.
    signal.set_wakeup_fd(said.fileno())
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(run,), name="grader-command", daemon=True)
    try:
        thread.start()
        while (number := heard.recv(1)[0]) not in (_ENDED, *_SIGNALS):
            pass
        if number == _ENDED:
            thread.join()
            return done.result()
        for each in _SIGNALS:  # A second signal ends the process at once.
            signal.signal(each, signal.SIG_DFL)
        stop.set()
        thread.join(_ENDING_S)
        note(f"stopped. {advice}")
        if thread.is_alive():
            # An interpreter that exits would abort over the lock of a stream that the thread reads.
            sys.stdout.flush()
            os._exit(128 + number)
        raise typer.Exit(128 + number)
    finally:
        signal.set_wakeup_fd(-1)
        for each, handler in before.items():
            signal.signal(each, handler)
        heard.close()
        said.close()
