"""Terminal output, logs, errors, and Ctrl-C."""

import logging
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Never

import typer

from grader.text.visible import visible, visible_line

if TYPE_CHECKING:
    from rich.console import Console

    SysExcInfo = (
        tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    )


def fail(message: str) -> None:
    """Print an error; the caller exits."""
    prefix = typer.style("error:", fg="red", bold=True) if sys.stderr.isatty() else "error:"
    typer.echo(f"{prefix} {visible(message)}", err=True)


def note(message: str) -> None:
    """Print a line to standard error."""
    typer.echo(visible(message), err=True)


def terminal(*, err: bool) -> "Console | None":
    """Return a rich console if the stream is a terminal; None if plain lines belong there."""
    stream = sys.stderr if err else sys.stdout
    if not stream.isatty():
        return None
    from rich.console import Console  # Here, since it takes 50 ms.

    return Console(stderr=err, highlight=False)


def show_log(*, verbose: bool) -> None:
    """Show the grader's log, or nothing of it: the summary says what became of the rows."""
    if verbose:
        handler = logging.StreamHandler()
        handler.setFormatter(_VisibleFormatter("%(asctime)s %(levelname)s %(message)s"))
        logging.basicConfig(level=logging.INFO, handlers=[handler])
    else:
        logging.getLogger("grader").addHandler(logging.NullHandler())


class _VisibleFormatter(logging.Formatter):
    """Makes hostile ids and messages visible, on one line; tracebacks keep their lines."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = visible_line(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: "SysExcInfo") -> str:
        return visible(super().formatException(ei))


class _StoppedError(BaseException):
    """SIGINT or SIGTERM, raised as an exception so that everything is closed."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def stoppable(advice: str) -> Iterator[Callable[[Callable[[], None]], None]]:
    """Let Ctrl-C and SIGTERM close everything, then exit with 128 plus the signal's number.

    Args:
        advice: Printed then: what the user can do next.

    Yields:
        A function that registers a call. The signal makes each call at once in a thread of its
        own, so that closing need not wait; this thread may hold any lock when the signal comes.
    """
    cut_off: list[Callable[[], None]] = []

    def stop(number: int, _frame: FrameType | None) -> Never:
        # Work that is cut off logs errors, which would only distract.
        logging.disable()
        for each in cut_off:
            threading.Thread(target=each, daemon=True).start()
        raise _StoppedError(number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield cut_off.append
    except _StoppedError as stopped:
        note(f"stopped. {advice}")
        raise typer.Exit(128 + stopped.number) from None
    finally:
        logging.disable(logging.NOTSET)
        for number, handler in before.items():
            signal.signal(number, handler)
