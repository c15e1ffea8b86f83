"""Sessions without isolation: each step repeats all steps before it, in this very process."""

import io
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from grader.model import Limits, SuiteFile, Usage
from grader.model.errors import InputError, SandboxUnavailableError, SessionLostError
from grader.model.verdict import LimitKind
from grader.sandbox.contract import RunOutcome, StepOutcome
from sandbox_images.harness.runners.cells import Cells
from sandbox_images.harness.runners.events import Reporter
from sandbox_images.harness.slot.limit_hit import limit_of
from tests.fake.interrupt import Stopped, watched
from tests.fake.process import CappedStream, borrowed_process, one_run_at_a_time


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """The steps that lead to a state, and its files."""

    cells: tuple[str, ...] = ()
    given: tuple[tuple[SuiteFile, ...], ...] = ()
    files: Mapping[str, bytes]


class FakeSession:
    """A `grader.sandbox.contract.SlotSession` without processes of its own."""

    def __init__(self, *, states: int, has_slot: Callable[[], bool]) -> None:
        """Begin with state 0.

        Args:
            states: How many states there may be at once.
            has_slot: Tells whether its slot is open.
        """
        self._has_slot = has_slot
        self._most_states = states
        self._states: dict[int, _State] = {0: _State(files={})}
        self._next = 1
        self._has_ended = False

    def step(
        self, state: int, cell: str, *, limits: Limits, files: Sequence[SuiteFile] = ()
    ) -> StepOutcome:
        """Execute a cell after those before it; see `SlotSession.step`."""
        self._check()
        if state not in self._states:
            return StepOutcome(state=None, problem="the state is gone", run=None, is_gone=True)
        if len(self._states) >= self._most_states:
            problem = f"the session has {self._most_states} states, which is its limit"
            return StepOutcome(state=None, problem=problem, run=None)
        before = self._states[state]
        with one_run_at_a_time, tempfile.TemporaryDirectory(prefix="grader-fake-") as folder:
            work = Path(folder).resolve()
            with borrowed_process(work):
                run = _Steps(before, work).take(cell, files, limits)
            left = {
                str(path.relative_to(work)): path.read_bytes()
                for path in work.rglob("*")
                if path.is_file() and not path.is_symlink()
            }
        if run.limit_hit not in (None, LimitKind.OUTPUT):
            problem = f"the limit on {run.limit_hit} was hit".replace("_", " ")
            return StepOutcome(state=None, problem=problem, run=run)
        number, self._next = self._next, self._next + 1
        self._states[number] = _State(
            cells=(*before.cells, cell), given=(*before.given, tuple(files)), files=left
        )
        return StepOutcome(state=number, problem=None, run=run)

    def read_files(self, state: int, paths: Sequence[str]) -> Mapping[str, bytes]:
        """Return files; see `SlotSession.read_files`."""
        files = self._files(state)
        return {path: files[path] for path in paths if path in files}

    def list_files(self, state: int) -> Mapping[str, int]:
        """Return sizes; see `SlotSession.list_files`."""
        return {path: len(content) for path, content in self._files(state).items()}

    def drop(self, states: Sequence[int]) -> None:
        """Free states; see `SlotSession.drop`."""
        for state in states:
            self._states.pop(state, None)

    def close(self) -> None:
        """End the session; see `SlotSession.close`."""
        self._has_ended = True

    def _files(self, state: int) -> Mapping[str, bytes]:
        self._check()
        if state not in self._states:
            message = "the state is gone"
            raise InputError(message)
        return self._states[state].files

    def _check(self) -> None:
        if not self._has_slot():
            message = "the slot is closed"
            raise SandboxUnavailableError(message)
        if self._has_ended:
            message = "the session has ended"
            raise SessionLostError(message)


class _Report(Reporter):
    """Keeps what a cell reports."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def emit(self, event: str, **fields: Any) -> None:
        """Keep an event. An exception that stops the cell is raised again instead."""
        if isinstance(error := sys.exc_info()[1], Stopped):
            raise error
        super().emit(event, **fields)

    def emit_line(self, line: bytes) -> None:
        """Keep a line."""
        self.lines.append(line + b"\n")


class _Steps:
    """Takes steps one after another in a borrowed process."""

    def __init__(self, before: _State, work: Path) -> None:
        self._work = work
        self._cells = Cells()
        for cell, files in zip(before.cells, before.given, strict=True):
            self._open_streams(CappedStream(0), CappedStream(0))
            self._put(files)
            self._cells.run(cell, _Report())

    def take(self, cell: str, files: Sequence[SuiteFile], limits: Limits) -> RunOutcome:
        """Take a step, and return how its cell ran."""
        stdout, stderr = CappedStream(limits.output_bytes), CappedStream(limits.output_bytes)
        self._open_streams(stdout, stderr)
        self._put(files)
        report = _Report()
        stopped_by = None
        started_at, cpu_before_s = time.monotonic(), time.process_time()
        try:
            with watched(limits):
                self._cells.run(cell, report)
        except Stopped as error:
            stopped_by = error.limit
        cpu_time_s = time.process_time() - cpu_before_s
        dropped = stdout.dropped_bytes + stderr.dropped_bytes
        hit = limit_of(
            stopped_by, dropped_bytes=dropped, cpu_time_s=cpu_time_s, limits=asdict(limits)
        )
        return RunOutcome(
            index=0,
            exit_code=None if hit else 0,
            exit_signal=None,
            stdout=stdout.content,
            stderr=stderr.content,
            dropped_bytes=dropped,
            report=b"".join(report.lines),
            usage=Usage(cpu_time_s=cpu_time_s, wall_time_s=time.monotonic() - started_at),
            limit_hit=None if hit is None else LimitKind(hit),
        )

    def _open_streams(self, stdout: CappedStream, stderr: CappedStream) -> None:
        sys.stdin = io.StringIO()
        sys.stdout = io.TextIOWrapper(stdout, encoding="utf-8", write_through=True)
        sys.stderr = io.TextIOWrapper(stderr, encoding="utf-8", write_through=True)

    def _put(self, files: Sequence[SuiteFile]) -> None:
        for file in files:
            path = self._work / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.content)
