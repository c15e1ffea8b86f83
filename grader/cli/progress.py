"""The progress of a long run: a bar on a terminal, else a line now and then."""

import time
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol

from grader.cli.console import note, terminal
from grader.text.integers import counted
from grader.text.visible import visible

if TYPE_CHECKING:
    from rich.console import Console

_PLAIN_INTERVAL_S = 10.0
_BAR_INTERVAL_S = 0.1


class Progress(Protocol):
    """Shows how far a run is; every method is cheap enough to be called for every row."""

    def shown(self) -> AbstractContextManager[object]:
        """Return a context in which the progress is shown."""

    def advance(self, *, behind: float | None, good: bool) -> None:
        """Count one thing.

        Args:
            behind: Share of the input that is done, in [0, 1]; None if that is unknown.
            good: Whether the thing counts as good.
        """

    def note(self, message: str) -> None:
        """Print a line without disturbing the bar."""


def progress(title: str, *, thing: str, good: str) -> Progress:
    """Return a progress for standard error: a bar on a terminal, else plain lines.

    Args:
        title: The title of the bar.
        thing: The name of one of the things that are counted.
        good: The adjective for the good ones.
    """
    console = terminal(err=True)
    if console is None:
        return PlainProgress(thing, good)
    return BarProgress(console, title, thing, good)


class _Counted:
    """Counts, and shows the count at intervals."""

    def __init__(self, interval_s: float, thing: str, good: str) -> None:
        self._interval_s = interval_s
        self._thing, self._good = thing, good
        self._start = self._shown_at = time.monotonic()
        self._count = self._good_count = 0
        self._behind: float | None = 0.0

    def advance(self, *, behind: float | None, good: bool) -> None:
        """Count one thing, and show the count if it is time."""
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
            f"{counted(self._count, self._thing)}, {self._count / elapsed_s:,.1f}/s, "
            f"{100 * self._good_count / max(self._count, 1):.1f} % {self._good}"
        )


class PlainProgress(_Counted):
    """A line every ten seconds."""

    def __init__(self, thing: str, good: str) -> None:
        super().__init__(_PLAIN_INTERVAL_S, thing, good)

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
    """A bar with the rate and the remaining time; it disappears at the end."""

    def __init__(self, console: "Console", title: str, thing: str, good: str) -> None:
        super().__init__(_BAR_INTERVAL_S, thing, good)
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
