"""The result of a step of a session, read from the report of its cell."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from grader.model import Usage
from grader.model.verdict import LimitKind
from grader.sandbox.contract import RunOutcome, StepOutcome

_NO_USAGE = Usage(cpu_time_s=0.0, wall_time_s=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellError:
    """An exception that a cell raised and did not catch."""

    type: str
    message: str
    traceback: str
    """As Python prints it, from the cell's own line on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """The result of a step. The cell can forge all of it but limits and usage."""

    stdout: str
    stderr: str
    value: str | None
    """`repr` of the value of the last line; None if that is not an expression, or is None."""
    error: CellError | None
    problem: str | None
    """Why nothing of the step was kept; None if the session goes on from it.

    After an uncaught exception, the session keeps what the cell did before it, as in a notebook.
    """
    limit_hit: LimitKind | None
    dropped_bytes: int
    """Output beyond the limit, of both streams together."""
    usage: Usage
    replayed: bool
    """Whether earlier steps were repeated because their process was gone."""

    @property
    def kept(self) -> bool:
        """Whether the session goes on from this step."""
        return self.problem is None


def read_result(outcome: StepOutcome, *, replayed: bool) -> StepResult:
    """Return the result of a step."""
    run = outcome.run
    value = error = None
    for event in _events(run):
        match event:
            case {"e": "value", "text": str(text)}:
                value = _encodable(text)
            case {
                "e": "exception",
                "type": str(kind),
                "message": str(message),
                "traceback": str(trace),
            }:
                error = CellError(
                    type=_encodable(kind), message=_encodable(message), traceback=_encodable(trace)
                )
            case _:
                pass
    return StepResult(
        stdout="" if run is None else run.stdout.decode("utf-8", "replace"),
        stderr="" if run is None else run.stderr.decode("utf-8", "replace"),
        value=value,
        error=error,
        problem=outcome.problem,
        limit_hit=None if run is None else run.limit_hit,
        dropped_bytes=0 if run is None else run.dropped_bytes,
        usage=_NO_USAGE if run is None else run.usage,
        replayed=replayed,
    )


def _encodable(text: str) -> str:
    """Return a text without the lone surrogates that JSON can hold and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()


def _events(run: RunOutcome | None) -> Iterator[Mapping[str, Any]]:
    """Yield the events of a report. Other lines than JSON objects are not the runner's."""
    for line in (b"" if run is None else run.report).splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            yield event
