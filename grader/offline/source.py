"""Files of rows, read as a stream: JSONL, a JSON array, Parquet, Arrow, CSV, folders of these.

The first bytes of a file decide its format, not its name; only CSV is known by its name. Every
format yields the number and the JSON text of each row. Memory holds one row, or one batch of a
table.
"""

import codecs
import gzip
import json
import re
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from grader.model import MiB
from grader.model.errors import InputError
from grader.model.wire import json_bytes
from grader.offline.tables import TableReader, reader_for
from grader.suites.problems import MAX_LINE_BYTES, parse_object, unpacked

STDIN = Path("-")
"""The path that means standard input."""

_ENCODED = "UTF-{0} text; expected UTF-8: iconv -f utf-{0} -t utf-8 FILE"
_UNREADABLE = {
    b"\x28\xb5\x2f\xfd": "zstd-compressed; decompress it first: zstd -d FILE",
    b"BZh": "bzip2-compressed; decompress it first: bunzip2 FILE",
    b"\xfd7zXZ": "xz-compressed; decompress it first: unxz FILE",
    b"PK\x03\x04": "a zip archive; unpack it first",
    b"\xff\xfe\0\0": _ENCODED.format(32),  # before UTF-16, whose mark begins this one
    b"\0\0\xfe\xff": _ENCODED.format(32),
    b"\xff\xfe": _ENCODED.format(16),
    b"\xfe\xff": _ENCODED.format(16),
}
_BOM = b"\xef\xbb\xbf"
_ARRAY = re.compile(rb"\s*\[\s*(?:\{|\]|\Z)")
"""How an array of rows begins. If a line of JSONL begins like this, it cannot be read as a row."""
_CHUNK = 1 << 20
_KEPT_BYTES = 2000
"""Of a line that is too long, its row keeps this many bytes."""

_ENDINGS = (".parquet", ".arrow", ".jsonl", ".jsonl.gz", ".csv", ".csv.gz", ".tsv", ".tsv.gz")
_SHARD = re.compile(r"(.+)-\d{5}-of-\d{5}\.\w+(?:\.gz)?")
"""The name of a shard: one of several files that make up a data set."""
_SHOWN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a file."""

    number: int
    """The line of a JSONL file, or the row of any other; from 1."""
    text: bytes
    """Its text on one line, without blanks at the ends. It may be invalid JSON."""
    progress: float | None
    """The share of the file up to this row, in [0, 1]; None if unknown."""
    problem: str = ""
    """Why the row was not read in full."""

    def fields(self) -> dict[str, Any]:
        """Return the object in the row.

        Raises:
            InputError: It was not read in full, is not JSON, or not an object.
        """
        if self.problem:
            raise InputError(self.problem)
        return parse_object(self.text)


class RowSource(Protocol):
    """A file of rows. Each iteration reads it from the start."""

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows in order.

        Raises:
            InputError: The file is truncated or damaged. The rows before that were yielded.
        """


def open_rows(path: Path) -> RowSource:
    """Return the rows of a file; `-` is standard input, which can be read only once.

    A folder stands for the files of a data set in it, such as `Dataset.save_to_disk` makes.

    Raises:
        InputError: It cannot be opened, or has an unknown format.
        ConfigurationError: It needs pyarrow, which is not installed.
    """
    if path == STDIN:
        return _Text(path)
    if path.is_dir():
        return _Folder(files_of(path))
    magic = _magic(path)
    _refuse_unreadable(path, magic)
    read = reader_for(path, magic)
    return _Text(path) if read is None else _Table(path, read)


def name_of(path: Path) -> str:
    """Return what messages call a file."""
    return "standard input" if path == STDIN else str(path)


def has_lines(path: Path) -> bool:
    """Return whether a file is JSONL, gzipped or not.

    Raises:
        InputError: It cannot be opened.
    """
    if path.is_dir() or reader_for(path, _magic(path)) is not None:
        return False
    with path.open("rb") as file:
        return not _is_array(unpacked(file))


def files_of(path: Path) -> list[Path]:
    """Return the files of a data set's folder, in order; of a file, itself.

    Raises:
        InputError: The folder has none, or files of several data sets.
    """
    if not path.is_dir():
        return [path]
    files = _data_files(path)
    if not files:
        folders = [each for each in sorted(path.iterdir()) if each.is_dir() and _data_files(each)]
        if folders:
            message = f"{path} is a folder of several data sets; name one of {_names(folders)}"
        else:
            message = f"{path} is a folder without a file of rows ({', '.join(_ENDINGS)})"
        raise InputError(message)
    kinds = {shard[1] if (shard := _SHARD.fullmatch(each.name)) else each.name for each in files}
    if len(kinds) > 1:
        message = f"{path} is a folder with files of several data sets; name one of {_names(files)}"
        raise InputError(message)
    return files


def _data_files(folder: Path) -> list[Path]:
    # `datasets` keeps the results of earlier calls beside the data.
    return sorted(
        each
        for each in folder.iterdir()
        if each.name.endswith(_ENDINGS) and not each.name.startswith("cache-") and each.is_file()
    )


def _names(paths: list[Path]) -> str:
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return ", ".join(map(str, paths[:_SHOWN])) + more


def _magic(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(8)
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}"
        raise InputError(message) from error


def _refuse_unreadable(path: Path, start: bytes) -> None:
    for magic, what in _UNREADABLE.items():
        if start.startswith(magic):
            advice = what if path == STDIN else what.replace("FILE", str(path))
            message = f"{name_of(path)} is {advice}"
            raise InputError(message)


def _behind(what: str, number: int) -> str:
    return f" after {what} {number}" if number else ""


def _start(file: Any) -> bytes:
    return file.peek(64)[:64] if hasattr(file, "peek") else b""


def _is_array(file: Any) -> bool:
    return _ARRAY.match(_start(file).removeprefix(_BOM)) is not None


class _Text:
    """Lines of JSON or one array of JSON, gzipped or not."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._name = name_of(path)

    def __iter__(self) -> Iterator[Row]:
        if self._path == STDIN:
            yield from self._rows(sys.stdin.buffer, None)
            return
        try:
            size = self._path.stat().st_size
            with self._path.open("rb") as file:
                yield from self._rows(file, size)
        except OSError as error:
            message = f"cannot read {self._name}: {error.strerror or error}"
            raise InputError(message) from error

    def _rows(self, file: BinaryIO, size: int | None) -> Iterator[Row]:
        content = unpacked(file)
        number = 0
        try:
            _refuse_unreadable(self._path, _start(content))
            rows = self._elements if _is_array(content) else self._lines
            for number, text, problem, read in rows(content):
                # Of a gzipped file only the compressed size is known in advance.
                behind = read if content is file or not size else file.tell()
                progress = min(1.0, behind / size) if size else None
                yield Row(number=number, text=text, progress=progress, problem=problem)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            message = f"{self._name} is damaged{_behind('line', number)}: {error}"
            raise InputError(message) from error

    def _lines(self, file: Any) -> Iterator[tuple[int, bytes, str, int]]:
        number = read = 0
        while line := file.readline(MAX_LINE_BYTES):
            number += 1
            read += len(line)
            if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
                problem = f"the line is longer than {MAX_LINE_BYTES // MiB} MiB"
                yield number, line[:_KEPT_BYTES], problem, read
                while line and not line.endswith(b"\n"):
                    line = file.readline(_CHUNK)
                    read += len(line)
                continue
            text = line.removeprefix(_BOM).strip() if number == 1 else line.strip()
            if number == 1 and text == b"{":
                message = (
                    f"{self._name} is one JSON document; expected one object per line or an array "
                    f"of objects (if a field ROWS holds the array: jq -c '.ROWS[]' {self._path})"
                )
                raise InputError(message)
            if text:
                yield number, text, "", read

    def _elements(self, file: Any) -> Iterator[tuple[int, bytes, str, int]]:
        """Yield the elements of an array as they are written, but each on one line."""
        array = _ArrayText(file)
        number = 0
        try:
            for text in array.elements():
                number += 1
                # JSON has line breaks only between tokens, so these are not part of a text.
                line = text.replace("\n", " ").replace("\r", " ").encode()
                yield number, line, "", array.read
        except (ValueError, RecursionError) as error:
            is_too_deep = isinstance(error, RecursionError)
            problem = "the next one is nested too deeply" if is_too_deep else error
            behind = _behind("row", number)
            message = f"{self._name} is an array that cannot be read{behind}: {problem}"
            raise InputError(message) from error


class _ArrayText:
    """The text of a JSON array, of which only one element is held."""

    _BETWEEN = re.compile(r"[\s,]*")
    _SCAN = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str).raw_decode

    def __init__(self, file: Any) -> None:
        self.read = 0
        """Bytes that were read so far."""
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._text = ""
        self._at = 0
        self._is_whole = False
        """Whether the file was read to its end."""

    def elements(self) -> Iterator[str]:
        """Yield the text of each element.

        Raises:
            ValueError: It is not an array or not UTF-8, or an element is longer than
                `MAX_LINE_BYTES`.
            RecursionError: It is nested too deeply.
        """
        self._more(_CHUNK)
        self._at = self._text.index("[") + 1
        while self._next() != "]":
            yield self._element()
        self._at += 1
        if self._next():
            message = "found text after the end of the array; expected none"
            raise ValueError(message)

    def _next(self) -> str:
        """Go to the next character of an element or of the end; "" is the end of the file."""
        while True:
            found = self._BETWEEN.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text) or self._is_whole:
                return self._text[self._at : self._at + 1]
            self._more(_CHUNK)

    def _element(self) -> str:
        wanted = _CHUNK
        while True:
            try:
                _, end = self._SCAN(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._is_whole:
                    message = "found text that is not JSON; expected an element or ]"
                    raise ValueError(message) from error
            else:
                # A number may go on in what was not read yet.
                if end < len(self._text) or self._is_whole:
                    text, self._at = self._text[self._at : end], end
                    return text
            if len(self._text) - self._at > MAX_LINE_BYTES:
                message = f"an element is longer than {MAX_LINE_BYTES // MiB} MiB, or is not JSON"
                raise ValueError(message)
            # Twice as much each time, since each time the element is scanned from its start.
            self._more(wanted)
            wanted *= 2

    def _more(self, count: int) -> None:
        block = self._file.read(count)
        self.read += len(block)
        self._is_whole = not block
        self._text = self._text[self._at :] + self._decode(block, final=self._is_whole)
        self._at = 0


class _Table:
    """A table, each of whose rows becomes a JSON object."""

    def __init__(self, path: Path, read: TableReader) -> None:
        self._path = path
        self._read = read

    def __iter__(self) -> Iterator[Row]:
        number = 0
        try:
            for fields, progress in self._read(self._path):
                number += 1
                yield Row(number=number, text=json_bytes(fields), progress=progress)
        except (OSError, ValueError, EOFError, zlib.error) as error:
            # The errors of pyarrow derive from the first two.
            message = f"{self._path} cannot be read{_behind('row', number)}: {error}"
            raise InputError(message) from error


class _Folder:
    """The files of one data set in order. Row numbers go on from file to file."""

    def __init__(self, files: list[Path]) -> None:
        self._sources = [open_rows(file) for file in files]

    def __iter__(self) -> Iterator[Row]:
        before = number = 0
        for index, source in enumerate(self._sources):
            for row in source:
                number = before + row.number
                progress = (index + (row.progress or 0.0)) / len(self._sources)
                yield Row(number=number, text=row.text, progress=progress, problem=row.problem)
            before = number
