"""The Python of episodes: one notebook each, in a session while there is room for one.

If there is no room for a session, or it has expired, the episode's cells are replayed instead (see
`interpreter`). The episode gets a session again as soon as one is free.
"""

from dataclasses import dataclass, field

from grader.config.settings import Settings
from grader.model.errors import SessionLostError, SessionsFullError
from grader.opening import open_sessions
from grader.rewards.agents.interpreter import CellOutcome, Interpreter, cell_outcome
from grader.sandbox.contract import Sandbox
from grader.sessions.local import Session, Sessions
from grader.sessions.result import StepResult


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
        self._interpreter = Interpreter(settings, sandbox=sandbox)

    def run(self, notebook: Notebook, cell: str) -> CellOutcome:
        """Run a cell, and keep it in the notebook if the notebook goes on from it.

        Raises:
            SandboxError: It could not be run, also when tried again.
            ConfigurationError: This is closed.
        """
        outcome = self._in_session(notebook, cell)
        if outcome is None:
            outcome = self._interpreter.run([*notebook.cells, cell])
        if outcome.lives:
            notebook.cells.append(cell)
        return outcome

    def close(self) -> None:
        """End every session and close the slots. Repeats harmlessly."""
        self._sessions.close()
        self._interpreter.close()

    def _in_session(self, notebook: Notebook, cell: str) -> CellOutcome | None:
        """Run a cell in the notebook's session; None if it cannot have one now."""
        if notebook.session is not None:
            try:
                return _told(notebook.session.run(cell))
            except SessionLostError:
                notebook.end()
        try:
            notebook.session = self._sessions.open()
            for earlier in notebook.cells:
                notebook.session.run(earlier)
            return _told(notebook.session.run(cell))
        except SessionsFullError:
            return None
        except SessionLostError:
            notebook.end()
            return None


def _told(result: StepResult) -> CellOutcome:
    trace = "" if result.error is None else result.error.traceback
    return cell_outcome(
        result.stdout + (result.value or "") + trace,
        is_cut=bool(result.dropped_bytes),
        problem=result.problem,
    )
