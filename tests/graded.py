"""Graded files for tests, as `grader grade` writes them."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from grader.model import GradeReport
from grader.model.wire import json_bytes, report_json


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of a graded file."""

    report: GradeReport
    id: str = "a"
    completion: str = "x = 1"
    problem: str | None = None
    line: int | None = None
    """Of the row that it was graded from; None: its own number."""


def write_graded(file: Path, rows: Iterable[Row]) -> Path:
    """Write a graded file and return its path."""
    with file.open("wb") as out:
        for number, row in enumerate(rows, start=1):
            origin: dict[str, object] = {"line": row.line or number}
            if row.problem is not None:
                origin["problem"] = row.problem
            out.write(
                json_bytes(
                    {
                        "id": row.id,
                        "completion": row.completion,
                        "report": json.loads(report_json(row.report)),
                        "_grader": origin,
                    }
                )
                + b"\n"
            )
    return file
