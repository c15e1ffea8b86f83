"""A file of problems, looked up by id without holding it in memory."""

import gzip
import io
import json
import os
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Self, cast

from grader.model import MiB, TestSuite
from grader.model.errors import InputError, LabelError
from grader.process.closing import Closing
from grader.suites.cache import SuiteCache
from grader.suites.format import Row
from grader.suites.formats.quixbugs import SUPPORT_ROW
from grader.suites.parse import problem_id_of
from grader.suites.reading import read_problem

MAX_LINE_BYTES = 256 * MiB
"""Longest line of JSONL and longest element of an array.

Rows with the most thorough tests have some tens of megabytes. A longer line shows that the file is
of another kind; reading it could fill the memory.
"""

_GZIP = b"\x1f\x8b"

_KINDS: dict[type, str] = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a truth value",
    type(None): "null",
}
"""What JSON calls values, by what Python makes of them."""

Span = tuple[int, int]
"""The place of a row's JSON in the file: offset and length in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """The rows of a file by their ids."""

    spans: Mapping[str, Span]
    clashes: Mapping[str, tuple[int, ...]]
    """By each id that several different rows have: their lines. In `spans`, the id of each has its
    line added.
    """
    unnamed: int
    """The number of rows without an id. In `spans`, each is named after its line."""


class ProblemIndex(Closing):
    """Problems by id, each parsed when it is first needed. Safe to share between threads.

    Memory holds the place of each problem in the file, and the suites that were used last. The rows
    stay in the file or, if the file is compressed, in a temporary copy without a name. `close` the
    index, or use it in `with`.

    A row without an id is named after its line. If different rows have one id, each is named after
    its line as well, and nothing is found by the id alone.
    """

    def __init__(self, file: IO[bytes], named: _Named, opened: ExitStack) -> None:
        self._file = file
        self._spans = named.spans
        self._clashes = named.clashes
        self.has_ids = named.unnamed < len(named.spans)
        """Whether a row has an id of its own."""
        self._opened = opened
        self._suites: SuiteCache[TestSuite] = SuiteCache()

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Index a JSONL file, gzipped or not.

        Raises:
            InputError: The file cannot be read, or a line is not a JSON object. The message names
                the path and the line.
        """
        path = Path(path)
        with ExitStack() as stack:
            try:
                file: IO[bytes] = stack.enter_context(path.open("rb"))
                text = unpacked(file)
                lines = _lines(path, text)
                if text is not file:
                    file = stack.enter_context(tempfile.TemporaryFile())
                    lines = _copied(lines, file)
                named = _index(path, lines)
                file.flush()
            except (OSError, EOFError, zlib.error) as error:
                message = f"{path}: {error}"
                raise InputError(message) from error
            return cls(file, named, stack.pop_all())

    @classmethod
    def from_rows(cls, rows: Iterable[Row], name: str = "problems") -> Self:
        """Index rows from anywhere, such as another file format; errors call them `name`.

        Raises:
            InputError: As `load`, with the rows counted as lines.
        """
        with ExitStack() as stack:
            lines = (json.dumps(row).encode() + b"\n" for row in rows)
            try:
                file = stack.enter_context(tempfile.TemporaryFile())
                named = _index(Path(name), _copied(lines, file))
                file.flush()
            except OSError as error:  # The disk is full, for example.
                message = f"{name}: {error}"
                raise InputError(message) from error
            return cls(file, named, stack.pop_all())

    def __len__(self) -> int:
        return len(self._spans)

    def __iter__(self) -> Iterator[str]:
        return iter(self._spans)

    def __contains__(self, problem_id: object) -> bool:
        return problem_id in self._spans

    def get(self, problem_id: str) -> TestSuite | None:
        """Return the suite of a problem, or None if there is no such problem.

        Raises:
            LabelError: The row fits no known format, or different rows have this id.
            SuiteError: Its tests are broken.
            ReaderLostError: As `read_problem`.
        """
        if lines := self._clashes.get(problem_id):
            where = " and ".join(map(str, lines))
            message = f"the id {problem_id!r} stands for different problems, in lines {where}"
            raise LabelError(message)
        if (suite := self._suites.get(problem_id)) is not None:
            return suite
        row = self.row(problem_id)
        if row is None:
            return None
        suite = replace(read_problem(row), problem_id=problem_id)
        self._suites.keep(problem_id, suite, self._spans[problem_id][1])
        return suite

    def kept(self, problem_id: str) -> TestSuite | None:
        """Return the suite of a problem if it is still in memory; else None."""
        return self._suites.get(problem_id)

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


def parse_object(text: bytes) -> dict[str, Any]:
    """Return the object in a row's JSON text.

    Raises:
        InputError: It is not JSON, or not an object.
    """
    try:
        # Without its end, so that an error there has a column of this line.
        value = json.loads(text.decode("utf-8-sig").rstrip("\r\n"))
    except UnicodeDecodeError as error:
        message = f"not UTF-8: byte 0x{text[error.start]:02x} at offset {error.start}"
        raise InputError(message) from error
    except json.JSONDecodeError as error:
        problem = error.msg.removesuffix(" starting at")
        message = f"not JSON: {problem} at column {error.colno}; expected one object per line"
        raise InputError(message) from error
    except RecursionError as error:
        message = "JSON nested too deeply to read"
        raise InputError(message) from error
    except ValueError as error:
        most = sys.get_int_max_str_digits()
        message = f"JSON with a whole number of more than {most} digits; expected fewer"
        raise InputError(message) from error
    if not isinstance(value, dict):
        message = f"JSON, but {_KINDS[type(value)]}; expected an object with fields"
        raise InputError(message)
    return value


def unpacked(file: IO[bytes]) -> IO[bytes]:
    """Return a file, decompressed if its first bytes say that it is gzipped."""
    start = file.peek(len(_GZIP)) if isinstance(file, io.BufferedReader) else b""
    return cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if start.startswith(_GZIP) else file


def _lines(path: Path, file: IO[bytes]) -> Iterator[bytes]:
    number = 0
    while line := file.readline(MAX_LINE_BYTES):
        number += 1
        if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
            message = f"{path}, line {number}: longer than {MAX_LINE_BYTES} bytes"
            raise InputError(message)
        yield line


def _copied(lines: Iterable[bytes], file: IO[bytes]) -> Iterator[bytes]:
    for line in lines:
        file.write(line)
        yield line


def _index(path: Path, lines: Iterable[bytes]) -> _Named:
    spans: dict[str, Span] = {}
    seen: dict[str, tuple[int, int]] = {}
    clashes: dict[str, dict[int, Span]] = {}
    offset = unnamed = 0
    for number, line in enumerate(lines, start=1):
        text, span = line.strip(), (offset, len(line))
        offset += len(line)
        if not text or (problem_id := _id_of(path, number, line)) == SUPPORT_ROW:
            continue
        unnamed += problem_id is None
        name = problem_id or f"line {number}"
        # Rows that are the same in each byte are one problem.
        first, content = seen.setdefault(name, (number, hash(text)))
        if first == number:
            spans[name] = span
        elif content != hash(text):
            clashes.setdefault(name, {first: spans[name]})[number] = span
    for name, rows in clashes.items():
        del spans[name]
        spans.update({f"{name} (line {number})": span for number, span in rows.items()})
    return _Named(
        # In the order of the file again.
        spans=dict(sorted(spans.items(), key=lambda each: each[1])) if clashes else spans,
        clashes={name: tuple(rows) for name, rows in clashes.items()},
        unnamed=unnamed,
    )


def _id_of(path: Path, number: int, line: bytes) -> str | None:
    try:
        row = parse_object(line)
    except InputError as error:
        message = f"{path}, line {number}: {error}"
        raise InputError(message) from error
    return problem_id_of(row)
