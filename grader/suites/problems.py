"""A file of problems, looked up by id without holding it in memory."""

import gzip
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import IO, Self

from grader.model import TestSuite
from grader.model.errors import InputError
from grader.process.closing import Closing
from grader.suites.cache import SuiteCache
from grader.suites.format import Row
from grader.suites.formats.quixbugs import SUPPORT_ROW
from grader.suites.parse import parse_problem, problem_id_of

_GZIP = b"\x1f\x8b"

Span = tuple[int, int]
"""The place of a row's JSON in the file: offset and length in bytes."""


class ProblemIndex(Closing):
    """Problems by id, each parsed when it is first needed. Safe to share between threads.

    It holds the place of each problem in the file, and the suites used last. The rows stay in the
    file or, if that is compressed, in an unnamed temporary copy. `close` it, or use it in `with`.
    """

    def __init__(self, file: IO[bytes], spans: Mapping[str, Span], opened: ExitStack) -> None:
        self._file = file
        self._spans = spans
        self._opened = opened
        self._suites: SuiteCache[TestSuite] = SuiteCache()

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Index a JSONL file, gzipped or not.

        Raises:
            InputError: The file cannot be read, a line is not a JSON object or has no id, or two
                lines have the same id. The message names the path and the lines.
        """
        path = Path(path)
        with ExitStack() as stack:
            try:
                file: IO[bytes]
                if _is_gzipped(path):
                    file = stack.enter_context(tempfile.TemporaryFile())
                    lines = stack.enter_context(gzip.open(path))
                    spans = _index(path, _copied(lines, file))
                    file.flush()
                else:
                    file = stack.enter_context(path.open("rb"))
                    spans = _index(path, file)
            except (OSError, EOFError) as error:
                message = f"{path}: {error}"
                raise InputError(message) from error
            return cls(file, spans, stack.pop_all())

    @classmethod
    def from_rows(cls, rows: Iterable[Row], name: str = "problems") -> Self:
        """Index rows from anywhere, such as another file format; errors call them `name`.

        Raises:
            InputError: As `load`, with the rows counted as lines.
        """
        with ExitStack() as stack:
            file = stack.enter_context(tempfile.TemporaryFile())
            lines = (json.dumps(row).encode() + b"\n" for row in rows)
            spans = _index(Path(name), _copied(lines, file))
            file.flush()
            return cls(file, spans, stack.pop_all())

    def __len__(self) -> int:
        return len(self._spans)

    def __iter__(self) -> Iterator[str]:
        return iter(self._spans)

    def __contains__(self, problem_id: object) -> bool:
        return problem_id in self._spans

    def get(self, problem_id: str) -> TestSuite | None:
        """Return the suite of a problem, or None if there is no such problem.

        Raises:
            LabelError: The row fits no known format.
            SuiteError: Its tests are broken.
        """
        if (suite := self._suites.get(problem_id)) is not None:
            return suite
        row = self.row(problem_id)
        if row is None:
            return None
        suite = replace(parse_problem(row), problem_id=problem_id)
        self._suites.keep(problem_id, suite, self._spans[problem_id][1])
        return suite

    def row(self, problem_id: str) -> Row | None:
        """Return a problem's row as the file has it, or None if there is no such problem."""
        text = self.text(problem_id)
        if text is None:
            return None
        row: Row = json.loads(text)
        return row

    def text(self, problem_id: str) -> bytes | None:
        """Return a problem's row as JSON text, or None if there is no such problem."""
        span = self._spans.get(problem_id)
        if span is None:
            return None
        offset, length = span
        return os.pread(self._file.fileno(), length, offset)

    def close(self) -> None:
        """Close the file; the index cannot be used afterwards. Calling it again does nothing."""
        self._opened.close()


def _is_gzipped(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_GZIP)) == _GZIP


def _copied(lines: Iterable[bytes], file: IO[bytes]) -> Iterator[bytes]:
    for line in lines:
        file.write(line)
        yield line


def _index(path: Path, lines: Iterable[bytes]) -> dict[str, Span]:
    spans: dict[str, Span] = {}
    numbers: dict[str, int] = {}
    offset = 0
    for number, line in enumerate(lines, start=1):
        if line.strip():
            problem_id = _id_of(path, number, line)
            if problem_id in numbers:
                message = (
                    f"{path}: the id {problem_id!r} is in line {numbers[problem_id]}"
                    f" and again in line {number}"
                )
                raise InputError(message)
            if problem_id != SUPPORT_ROW:
                numbers[problem_id] = number
                spans[problem_id] = (offset, len(line))
        offset += len(line)
    return spans


def _id_of(path: Path, number: int, line: bytes) -> str:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        message = f"{path}, line {number}: not JSON: {error}"
        raise InputError(message) from error
    if not isinstance(row, dict):
        message = f"{path}, line {number}: expected an object, found {type(row).__name__}"
        raise InputError(message)
    problem_id = problem_id_of(row)
    if problem_id is None:
        message = f"{path}, line {number}: no id; expected a field such as task_id, id or name"
        raise InputError(message)
    return problem_id
