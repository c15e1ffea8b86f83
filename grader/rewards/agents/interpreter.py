"""Sessions without a process that stays: all cells of a session are replayed.

Each step runs all cells in a fresh run, and shows only the output of the last. So thousands of
episodes need only as many slots as run at once. But cells must be repeatable, and the limits of one
run apply to all cells together. `notebooks` falls back on this.
"""

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from grader.config.settings import Settings
from grader.grading.engine import GradingEngine
from grader.grading.stopping import StopHandle
from grader.model.errors import ConfigurationError
from grader.sandbox.contract import Program, RunBatch, RunOutcome, Sandbox

_SHOWN_CHARS = 2000

_DRIVER = """
import ast, io, json, linecache, sys, traceback

class Sink(io.TextIOBase):
    def write(self, text):
        return len(text)

cells = json.load(sys.stdin)
sys.stdin = io.StringIO()
names = {"__name__": "__main__", "__builtins__": __builtins__}

def run(cell, name):
    linecache.cache[name] = (len(cell), None, cell.splitlines(True), name)
    tree = ast.parse(cell, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), name, "eval"), names)
        if value is not None:
            print(repr(value))

out = sys.stdout, sys.stderr
for number, cell in enumerate(cells, 1):
    is_last = number == len(cells)
    sys.stdout, sys.stderr = out if is_last else (Sink(), Sink())
    try:
        run(cell, f"<cell {number}>")
    except (Exception, SystemExit, KeyboardInterrupt):
        if is_last:
            kind, error, frames = sys.exc_info()
            while frames and not frames.tb_frame.f_code.co_filename.startswith("<cell"):
                frames = frames.tb_next
            traceback.print_exception(kind, error, frames, file=sys.stdout)
sys.stdout.flush()
sys.exit(42)
"""
_ALIVE = 42
"""The driver's exit code. Any other means that a cell ended the process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellOutcome:
    """The result of the last cell of a session."""

    text: str
    """Its output, the value of its last line and its traceback, cut to a maximum length."""
    lives: bool
    """Whether the session keeps this cell; False if the cell was stopped or ended its process."""


class Interpreter:
    """Runs sessions in slots of this process. Safe for many threads."""

    def __init__(self, settings: Settings, *, sandbox: Sandbox | None = None) -> None:
        """Open nothing yet.

        Args:
            settings: The limits and the backend.
            sandbox: None for the one in the settings. The caller closes it if nothing was run.
        """
        self._settings = settings
        self._sandbox = sandbox
        self._lock = threading.Lock()
        self._engine: GradingEngine | None = None
        self._closed = False

    def run(self, cells: Sequence[str]) -> CellOutcome:
        """Run a session up to its last cell.

        Raises:
            SandboxError: The sandbox failed at every try.
            ConfigurationError: The interpreter is closed.
        """
        batch = RunBatch(
            program=Program.STDIN,
            source=_DRIVER,
            runs=(json.dumps(list(cells)).encode(),),
            limits=self._settings.limits,
        )
        return _told(self._open().run_program(batch, StopHandle(), image="python"))

    def close(self) -> None:
        """Close the slots. Repeats harmlessly."""
        with self._lock:
            self._closed = True
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def _open(self) -> GradingEngine:
        with self._lock:
            if self._closed:
                message = "the interpreter is closed"
                raise ConfigurationError(message)
            if self._engine is None:
                self._engine = GradingEngine(self._settings, sandbox=self._sandbox)
            return self._engine


def _told(outcome: RunOutcome) -> CellOutcome:
    problem = None
    if outcome.limit_hit is not None:
        problem = f"stopped: limit on {outcome.limit_hit}"
    elif outcome.oom_killed or outcome.exit_code != _ALIVE:
        problem = "the interpreter ended"
    printed = outcome.stdout[: 4 * _SHOWN_CHARS].decode("utf-8", "backslashreplace")
    return cell_outcome(printed, is_cut=bool(outcome.dropped_bytes), problem=problem)


def cell_outcome(printed: str, *, is_cut: bool, problem: str | None) -> CellOutcome:
    """Return the result of a cell as the model sees it.

    Args:
        printed: The output of the cell, its value and its traceback.
        is_cut: Whether `printed` is incomplete.
        problem: Why the session does not keep the cell; None if it does.
    """
    text = printed[:_SHOWN_CHARS].rstrip()
    if is_cut or len(printed) > _SHOWN_CHARS:
        text += "\n(more was printed and is not shown)"
    if problem is not None:
        return CellOutcome(text=f"{text}\n({problem})", lives=False)
    return CellOutcome(text=text or "(no output)", lives=True)
