"""Fetch files that a program has written.

A run's work area is gone when the run has ended. So the sandbox runs `fetch_program.py`, which
starts the program, waits for its end, and prints the files that it has written.
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any

from grader.judging.report import Trouble
from grader.model import KiB, SuiteFile
from grader.sandbox.contract import RunBatch, RunOutcome
from grader.sandbox.payload import text_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedRun:
    """A program's outcome and files. The outcome is that of the program alone."""

    outcome: RunOutcome
    compile_error: Trouble | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    """Contents as base64, by path. A path whose file is missing or too large is left out."""


class FetchingRun:
    """A program whose files are fetched."""

    def __init__(self, batch: RunBatch, paths: Sequence[str], most_bytes: int) -> None:
        """Wrap a program.

        Args:
            batch: The program.
            paths: Paths of the files, relative to the work area.
            most_bytes: Most bytes of all files together; a file that does not fit is left out.
        """
        self._mark = secrets.token_hex(16)
        self._output_bytes = batch.limits.output_bytes
        own_path = f".{self._mark}.py"
        order = {
            "program": batch.source_path,
            "paths": list(paths),
            "most_bytes": most_bytes,
            "mark": self._mark,
        }
        program = text_bytes(batch.source)
        room = most_bytes * 4 // 3 + 64 * KiB
        self.batch = replace(
            batch,
            source=_program(),
            source_path=own_path,
            files=(
                *batch.files,
                SuiteFile(path=batch.source_path, content=program),
                SuiteFile(path=f"{own_path}.json", content=json.dumps(order).encode()),
            ),
            # One process more than the program may have, and room for the printed files.
            limits=replace(
                batch.limits,
                output_bytes=self._output_bytes + room,
                processes=batch.limits.processes + 1,
            ),
        )
        """The batch to run in place of the program."""

    def parse(self, outcome: RunOutcome) -> FetchedRun:
        """Return the program's outcome and files. The program may have forged any output."""
        stdout, mark, rest = outcome.stdout.partition(self._mark.encode())
        cut = max(0, len(stdout) - self._output_bytes)
        outcome = replace(
            outcome,
            stdout=stdout[: self._output_bytes],
            dropped_bytes=outcome.dropped_bytes + cut,
        )
        told = _object(rest) if mark else {}
        if isinstance(trouble := told.get("compile_error"), dict):
            return FetchedRun(outcome=outcome, compile_error=_trouble(trouble))
        code, files = told.get("return_code"), told.get("files")
        if type(code) is int and -64 <= code <= 255 and outcome.limit_hit is None:
            outcome = replace(
                outcome,
                exit_code=code if code >= 0 else None,
                exit_signal=-code if code < 0 else None,
            )
        if not isinstance(files, dict) or not all(isinstance(f, str) for f in files.values()):
            files = {}
        return FetchedRun(outcome=outcome, files=files)


def _program() -> str:
    return (resources.files("grader.server.programs") / "fetch_program.py").read_text("utf-8")


def _object(text: bytes) -> dict[str, Any]:
    try:
        # Output of other processes of the program may follow.
        found, _end = json.JSONDecoder().raw_decode(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _trouble(told: Mapping[str, Any]) -> Trouble:
    line = told.get("line")
    return Trouble(
        type=str(told.get("type", ""))[:100],
        message=str(told.get("message", ""))[:500],
        line=line if type(line) is int else None,
    )
