"""How a long run shows that it gets on: a bar on a terminal, a line now and then elsewhere."""

import time
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol

from grader.cli.console import note, terminal
from grader.text.visible import visible

if TYPE_CHECKING:
    from rich.console import Console

_PLAIN_INTERVAL_S = 10.0
_BAR_INTERVAL_S = 0.1


class Progress(Protocol):
    """Shows how far a run is; every method is cheap enough to be called for every row."""

    def shown(self) -> AbstractContextManager[object]:
        """Return a context in which the progress is on show."""

    def advance(self, *, behind: float | None, good: bool) -> None:
        """Count one thing.

        Args:
            behind: How much of the input lies behind, in [0, 1]; None: unknown.
            good: Whether it came out well.
        """

    def note(self, message: str) -> None:
        """Print a line without disturbing the picture."""


def progress(title: str, *, things: str, good: str) -> Progress:
    """Return what suits standard error: a bar on a terminal, else plain lines.

    Args:
        title: What is going on, for the bar.
        things: What is counted.
        good: What those are called that come out well.
    """
    console = terminal(err=True)
    if console is None:
        return PlainProgress(things, good)
    return BarProgress(console, title, things, good)


class _Counted:
    """Counts, and says when it is time to show the count again."""

    def __init__(self, interval_s: float, things: str, good: str) -> None:
        self._interval_s = interval_s
        self._things, self._good = things, good
        self._start = self._shown_at = time.monotonic()
        self._count = self._good_count = 0
        self._behind: float | None = 0.0

    def advance(self, *, behind: float | None, good: bool) -> None:
        """Count one thing, and show the count where it is time."""
        self._count += 1
        self._good_count += good
        # Things finish out of order; the bar must not run backwards.
        self._behind = None if behind is None else max(behind, self._behind or 0.0)
        now = time.monotonic()
        if now - self._shown_at >= self._interval_s:
            self._shown_at = now
            self._show()

    def _show(self) -> None:
        raise NotImplementedError

    def _facts(self) -> str:
        elapsed_s = max(time.monotonic() - self._start, 1e-6)
        return (
            f"{self._count:,} {self._things}, {self._count / elapsed_s:,.1f}/s, "
            f"{100 * self._good_count / max(self._count, 1):.1f} % {self._good}"
        )


class PlainProgress(_Counted):
    """A line every ten seconds."""

    def __init__(self, things: str, good: str) -> None:
        super().__init__(_PLAIN_INTERVAL_S, things, good)

    def shown(self) -> AbstractContextManager[object]:
        """Return an empty context: lines need no screen."""
        return nullcontext()

    def note(self, message: str) -> None:
        """Print the line."""
        note(message)

    def _show(self) -> None:
        share = "" if self._behind is None else f", {100 * self._behind:.0f} % of the input"
        note(self._facts() + share)


class BarProgress(_Counted):
    """A bar with a rate and the time that is left; it vanishes at the end."""

    def __init__(self, console: "Console", title: str, things: str, good: str) -> None:
        super().__init__(_BAR_INTERVAL_S, things, good)
        from rich import progress as rich_progress

        self._bar = rich_progress.Progress(
            rich_progress.SpinnerColumn(),
            rich_progress.TextColumn("[bold]{task.description}"),
            rich_progress.BarColumn(),
            rich_progress.TaskProgressColumn(),
            rich_progress.TextColumn("{task.fields[facts]}"),
            rich_progress.TimeRemainingColumn(elapsed_when_finished=True),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task(title, total=1.0, facts="")

    def shown(self) -> AbstractContextManager[object]:
        """Return the context in which the bar is drawn."""
        return self._bar

    def note(self, message: str) -> None:
        """Print the line above the bar."""
        self._bar.console.print(visible(message), markup=False)

    def _show(self) -> None:
        self._bar.update(
            self._task,
            total=None if self._behind is None else 1.0,
            completed=self._behind or 0.0,
            facts=self._facts(),
        )
