"""An index of graded rows: for every row, the fields for tables and charts, and its place.

Each file is read once, as a stream. The memory for each row is bounded; the rest of a sample is
read again by its offset if it is opened.
"""

import threading
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from grader.model import Conditions, Usage
from grader.model.errors import InputError
from grader.model.verdict import LimitKind, Suspicion, Verdict
from grader.report.files import Line, LineFile, files_in
from grader.report.reasons import FAMILIES, Family
from grader.report.rows import GradedRow, read_row, texts_of
from grader.report.sample import heaviest

_FEEDBACK_CHARS = 160
_MINUTE_S = 60.0
_NAME_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedRow:
    """The fields of one row that stay in memory."""

    line: int
    """The line number in the file, from 1; in a folder, the number among all rows."""
    source_line: int
    """The line of the row that it was graded from; `line` if that is not known."""
    file: LineFile
    offset: int
    """Where the line begins in `file`, in bytes."""
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
    step: int | None
    """The training step; None if it is not known."""
    at: float | None
    """When it was graded, in seconds since 1970; None if that is not known."""
    queue_s: float | None
    dataset: str
    """The name of its data set; if that is not known, the format of its label."""

    @property
    def is_hack(self) -> bool:
        """Whether it shows a sign of an attack on the grader."""
        return bool(self.suspicion) or self.verdict is Verdict.TAMPERED

    @property
    def families(self) -> tuple[Family, ...]:
        """The families of attacks that it shows signs of, each once."""
        found = {FAMILIES[sign] for sign in self.suspicion}
        if self.verdict is Verdict.TAMPERED:
            found.add(Family.FORGING)
        return tuple(family for family in Family if family in found)


class StretchUnit(StrEnum):
    """What a stretch of a run is measured in."""

    STEP = "step"
    MINUTE = "minute"
    """Since the run's first row was graded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A part of a run."""

    first: int
    """Its first step, or minute."""
    last: int
    """Its last step, or minute. All rows of it belong to the stretch."""
    unit: StretchUnit = StretchUnit.STEP

    def __str__(self) -> str:
        """Return its name."""
        if self.first == self.last:
            return f"{self.unit} {self.first}"
        return f"{self.unit}s {self.first} to {self.last}"

    def of(self, entries: Sequence[IndexedRow]) -> list[IndexedRow]:
        """Return its rows among all rows of the run."""
        if self.unit is StretchUnit.STEP:
            return [e for e in entries if e.step is not None and self.first <= e.step <= self.last]
        start = min((e.at for e in entries if e.at is not None), default=0.0)
        earliest, end = start + self.first * _MINUTE_S, start + (self.last + 1) * _MINUTE_S
        return [e for e in entries if e.at is not None and earliest <= e.at < end]


class GradedFile:
    """Graded rows, indexed: of one file, or of all files in a folder. Safe for many threads."""

    def __init__(self, path: Path, stretch: Stretch | None = None) -> None:
        """Read the rows.

        Args:
            path: A file, a folder of `.jsonl` and `.jsonl.gz` files, or `-`, standard input.
            stretch: Only rows of this part of the run; None: all rows.

        Raises:
            InputError: A file cannot be read, or `grader grade` did not write one of its lines.
                An incomplete last line, as of a run that goes on, is left out.
        """
        self.path = path
        self.name = path.name if stretch is None else f"{path.name}, {stretch}"
        """The name that pages show."""
        self._stretch = stretch
        self.entries: list[IndexedRow] = []
        self._all: list[IndexedRow] = []
        """Also the rows outside of the stretch."""
        self._files: dict[Path, LineFile] = {}
        self._lock = threading.Lock()
        # Rows share equal conditions, to save memory.
        self._conditions: dict[Conditions, Conditions] = {}
        self.read_on()
        if not self.entries:
            message = f"{path} has no graded row"
            if stretch is not None:
                message += f" of the {stretch}"
            elif path.is_dir():
                message += f": it holds {len(self._files)} files *.jsonl and *.jsonl.gz"
            raise InputError(message)

    def read_on(self) -> bool:
        """Read the rows that were added since; return whether there were any.

        Raises:
            InputError: As for the first reading.
        """
        with self._lock:
            before = len(self._all)
            is_folder = self.path.is_dir()
            for path in files_in(self.path) if is_folder else [self.path]:
                if path not in self._files:
                    self._files[path] = LineFile(path)
                for line in self._files[path].new_lines():
                    self._all.append(self._entry(line, is_folder=is_folder))
            self.entries = self._all if self._stretch is None else self._stretch.of(self._all)
            return len(self._all) > before

    def read(self, entry: IndexedRow) -> GradedRow:
        """Read a row again.

        Raises:
            InputError: The file has changed since it was indexed.
        """
        row = read_row(entry.file.read(entry.offset, entry.length), entry.line)
        if row.name[:_NAME_CHARS] != entry.name:
            message = f"{entry.file.shown} has changed since it was read"
            raise InputError(message)
        return row

    def texts(self, entry: IndexedRow) -> tuple[str, ...]:
        """Read a row's code and completion again, without checking its report.

        Raises:
            InputError: The file has changed since it was indexed.
        """
        return texts_of(entry.file.read(entry.offset, entry.length))

    def _entry(self, line: Line, *, is_folder: bool) -> IndexedRow:
        try:
            row = read_row(line.text, line.number)
        except InputError as error:
            message = f"{line.file.shown}: {error}"
            raise InputError(message) from error
        conditions = row.report.conditions
        if conditions is not None:
            conditions = self._conditions.setdefault(conditions, conditions)
        # The lines of several files are counted as one text, so that each has its own number.
        number = len(self._all) + 1 if is_folder else line.number
        entry = _entry(row, line, number, conditions)
        if is_folder and entry.step is None and entry.at is None:
            return replace(entry, step=line.file.number_in_name)
        return entry


def _entry(row: GradedRow, line: Line, number: int, conditions: Conditions | None) -> IndexedRow:
    report = row.report
    code = report.code
    name = row.name[:_NAME_CHARS]
    source_line = row.origin.get("line")
    return IndexedRow(
        line=number,
        source_line=source_line if isinstance(source_line, int) else number,
        file=line.file,
        offset=line.offset,
        length=len(line.text),
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
        step=row.step,
        at=row.at,
        queue_s=row.queue_s,
        dataset=(row.dataset or (conditions.format if conditions else report.policy))[:_NAME_CHARS],
    )


def _crc(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))
