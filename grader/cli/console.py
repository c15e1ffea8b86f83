"""Terminal output, logs and errors."""

import logging
import sys
from types import TracebackType
from typing import TYPE_CHECKING

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
    """Show the grader's log if `verbose` is set; otherwise none, since there is a summary."""
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
