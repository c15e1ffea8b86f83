"""The Python of episodes: one notebook each, in a session while there is room for one.

If there is no room for a session, or it was lost, the episode's cells are replayed in one that ends
with the step. So thousands of episodes need only as many slots as run at once, but their cells must
be repeatable. The episode gets a session of its own again as soon as one is free.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from grader.config.settings import Settings
from grader.model.errors import SessionLostError, SessionsFullError
from grader.opening import open_sessions
from grader.sandbox.contract import Sandbox
from grader.sessions.local import Session, Sessions
from grader.sessions.result import StepResult

_SHOWN_CHARS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class CellOutcome:
    """The result of a cell as the model sees it."""

    text: str
    """Its output, the value of its last line and its traceback, cut to a maximum length."""
    lives: bool
    """Whether the notebook keeps this cell; False if the cell was stopped or ended its process."""


@dataclass(slots=True, kw_only=True)
class Notebook:
    """The cells that an episode has run. Used by one thread at a time."""

    cells: list[str] = field(default_factory=list)
    session: Session | None = None
    """Where they have run; None if there was no room."""

    def end(self) -> None:
        """Free what it holds. Repeats harmlessly."""
        session, self.session = self.session, None
        if session is not None:
            session.close()


class Notebooks:
    """Runs cells of notebooks. Safe for many threads."""

    def __init__(self, settings: Settings, *, sandbox: Sandbox | None = None) -> None:
        """Open nothing yet.

        Args:
            settings: Limits, bounds and the backend.
            sandbox: None for the one that the settings choose. Closed with this.
        """
        if sandbox is None:
            self._sessions = open_sessions(settings)
        else:
            self._sessions = Sessions(settings, sandbox=sandbox)
        for_a_step = replace(settings.sessions, most=settings.slots)
        self._replaying = Sessions(replace(settings, sessions=for_a_step), sandbox=sandbox)

    def run(self, notebook: Notebook, cell: str) -> CellOutcome:
        """Run a cell, and keep it in the notebook if the notebook goes on from it.

        Raises:
            SandboxError: It could not be run, also when tried again.
            ConfigurationError: This is closed.
        """
        outcome = self._in_session(notebook, cell) or self._replayed(notebook, cell)
        if outcome.lives:
            notebook.cells.append(cell)
        return outcome

    def close(self) -> None:
        """End every session and close the slots. Repeats harmlessly."""
        self._sessions.close()
        self._replaying.close()

    def _in_session(self, notebook: Notebook, cell: str) -> CellOutcome | None:
        """Run a cell in the notebook's session; None if it cannot have one now."""
        if notebook.session is not None:
            try:
                return _told(notebook.session.run(cell))
            except SessionLostError:
                notebook.end()
        try:
            notebook.session = self._sessions.open()
            return _told(_run_after(notebook.session, notebook.cells, cell))
        except SessionsFullError:
            return None
        except SessionLostError:
            notebook.end()
            return None

    def _replayed(self, notebook: Notebook, cell: str) -> CellOutcome:
        try:
            with self._replaying.open(wait_s=threading.TIMEOUT_MAX) as session:
                return _told(_run_after(session, notebook.cells, cell))
        except SessionLostError as error:
            return CellOutcome(text=f"({error})", lives=False)


def _run_after(session: Session, cells: Sequence[str], cell: str) -> StepResult:
    """Run a cell after others in a new session."""
    for earlier in cells:
        session.run(earlier)
    return session.run(cell)


def _told(result: StepResult) -> CellOutcome:
    trace = "" if result.error is None else result.error.traceback
    printed = result.stdout + (result.value or "") + trace
    text = printed[:_SHOWN_CHARS].rstrip()
    if result.dropped_bytes or len(printed) > _SHOWN_CHARS:
        text += "\n(more was printed and is not shown)"
    if result.problem is not None:
        return CellOutcome(text=f"{text}\n({result.problem})", lives=False)
    return CellOutcome(text=text or "(no output)", lives=True)
