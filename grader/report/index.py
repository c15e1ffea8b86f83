"""An index of a graded file: for every row, the fields for tables and charts, and its offset.

The file is read once, as a stream. The memory for each row is bounded; the rest of a sample is
read again by its offset if it is opened.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.model import Conditions, Usage
from grader.model.errors import InputError
from grader.model.verdict import LimitKind, Suspicion, Verdict
from grader.report.rows import GradedRow, read_row
from grader.report.sample import heaviest

MAX_LINE_BYTES = 64 * 1024 * 1024
_FEEDBACK_CHARS = 160
_NAME_CHARS = 200
_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedRow:
    """The fields of one row that stay in memory."""

    line: int
    """The line number in the file, from 1."""
    source_line: int
    """The line of the row that it was graded from; `line` if that is not known."""
    offset: int
    length: int
    """Bytes of the line, with its newline."""
    name: str
    problem: str
    """The row's own name if it has no problem."""
    verdict: Verdict
    graded: bool
    score: float
    reward: float
    passed: int
    total: int
    usage: Usage
    """The most that any single run used, since limits apply to a run."""
    cpu_in_all_s: float
    limit_hit: LimitKind | None
    suspicion: tuple[Suspicion, ...]
    feedback: str
    completion_chars: int
    code_crc: int | None
    """CRC of the code that ran; None if there was none."""
    completion_crc: int
    integrity: str
    policy: str
    conditions: Conditions | None


class GradedFile:
    """A graded file, indexed. Safe for many threads."""

    def __init__(self, path: Path) -> None:
        """Read the file.

        Raises:
            InputError: The file cannot be read, or `grader grade` did not write one of its lines.
                An incomplete last line, as of a run that goes on, is left out.
        """
        self.path = path
        self.entries: list[IndexedRow] = []
        # Rows share equal conditions, to save memory.
        shared: dict[Conditions, Conditions] = {}
        try:
            for line, offset, text in _lines(path):
                row = read_row(text, line)
                conditions = row.report.conditions
                if conditions is not None:
                    conditions = shared.setdefault(conditions, conditions)
                self.entries.append(_entry(row, line, offset, len(text), conditions))
        except OSError as error:
            message = f"cannot read {path}: {error.strerror or error}"
            raise InputError(message) from error
        if not self.entries:
            message = f"{path} has no graded row"
            raise InputError(message)

    def read(self, entry: IndexedRow) -> GradedRow:
        """Read a row again.

        Raises:
            InputError: The file has changed since it was indexed.
        """
        try:
            with self.path.open("rb") as file:
                file.seek(entry.offset)
                row = read_row(file.read(entry.length), entry.line)
        except OSError as error:
            message = f"cannot read {self.path}: {error.strerror or error}"
            raise InputError(message) from error
        if row.name[:_NAME_CHARS] != entry.name:
            message = f"{self.path} has changed since it was read"
            raise InputError(message)
        return row


def _lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yield each complete line that is not blank: number, offset, text.

    Raises:
        InputError: The file is compressed, or a line is too long.
    """
    with path.open("rb") as file:
        start = file.peek(4)[:4]
        if start.startswith((_GZIP, _PARQUET)):
            message = f"{path} is compressed; expected plain JSONL, as `grader grade` writes it"
            raise InputError(message)
        offset = number = 0
        while text := file.readline(MAX_LINE_BYTES):
            number += 1
            if not text.endswith(b"\n"):
                if len(text) == MAX_LINE_BYTES:
                    message = f"line {number} of {path} is longer than {MAX_LINE_BYTES} bytes"
                    raise InputError(message)
                return
            if not text.isspace():
                yield number, offset, text
            offset += len(text)


def _entry(
    row: GradedRow, line: int, offset: int, length: int, conditions: Conditions | None
) -> IndexedRow:
    report = row.report
    code = report.code
    name = row.name[:_NAME_CHARS]
    source_line = row.origin.get("line")
    return IndexedRow(
        line=line,
        source_line=source_line if isinstance(source_line, int) else line,
        offset=offset,
        length=length,
        name=name,
        problem=(row.problem_id or name)[:_NAME_CHARS],
        verdict=report.verdict,
        graded=report.graded,
        score=report.score,
        reward=report.reward,
        passed=report.passed,
        total=report.total,
        usage=heaviest(report),
        cpu_in_all_s=report.usage.cpu_time_s or 0.0,
        limit_hit=report.limit_hit,
        suspicion=report.suspicion,
        feedback=report.feedback[:_FEEDBACK_CHARS],
        completion_chars=len(row.completion),
        code_crc=None if code is None else _crc(code),
        completion_crc=_crc(row.completion),
        integrity=report.integrity or "",
        policy=report.policy,
        conditions=conditions,
    )


def _crc(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))
