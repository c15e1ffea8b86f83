"""Talking to a person: terminals, notes, errors, and being stopped."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Never

import typer

if TYPE_CHECKING:
    from rich.console import Console

_TERMINATED = 128 + signal.SIGTERM
_INTERRUPTED = 128 + signal.SIGINT


def fail(message: str) -> None:
    """Print an error; the caller exits."""
    prefix = typer.style("error:", fg="red", bold=True) if sys.stderr.isatty() else "error:"
    typer.echo(f"{prefix} {printable(message)}", err=True)


def note(message: str) -> None:
    """Print a line beside the output proper."""
    typer.echo(printable(message), err=True)


def printable(text: str) -> str:
    """Return text without what a terminal would obey: rows and models are not to be trusted."""
    return "".join(
        c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text
    )


def terminal(*, err: bool) -> "Console | None":
    """Return a rich console where the stream is a terminal; None where plain lines belong."""
    stream = sys.stderr if err else sys.stdout
    if not stream.isatty():
        return None
    from rich.console import Console  # 50 ms, for people only

    return Console(stderr=err, highlight=False)


class _TerminatedError(BaseException):
    """SIGTERM, as an exception, so that it unwinds as Ctrl-C does."""


@contextmanager
def stoppable(advice: str) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM unwind everything, then exit with the code they stand for.

    Args:
        advice: What the person may do then.
    """

    def terminated(_number: int, _frame: FrameType | None) -> Never:
        raise _TerminatedError

    before = signal.signal(signal.SIGTERM, terminated)
    try:
        yield
    except KeyboardInterrupt:
        note(f"stopped. {advice}")
        raise typer.Exit(_INTERRUPTED) from None
    except _TerminatedError:
        note(f"stopped. {advice}")
        raise typer.Exit(_TERMINATED) from None
    finally:
        signal.signal(signal.SIGTERM, before)
