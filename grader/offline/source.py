"""Files of rows, read as a stream: JSONL, gzipped JSONL and Parquet.

The first bytes of a file decide its format, not its name. Every format yields the number and the
JSON text of each row. Memory holds one row of a JSONL file, or one batch of a Parquet file.
"""

import gzip
import importlib
import io
import json
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from grader.model.errors import ConfigurationError, InputError
from grader.model.wire import json_bytes

STDIN = Path("-")
"""The path that means standard input."""

_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_UNREADABLE = {
    b"\x28\xb5\x2f\xfd": "zstd-compressed; decompress it first: zstd -d FILE",
    b"BZh": "bzip2-compressed; decompress it first: bunzip2 FILE",
    b"\xfd7zXZ": "xz-compressed; decompress it first: unxz FILE",
    b"PK\x03\x04": "a zip archive; unpack it first",
    b"\xff\xfe": "UTF-16 text; expected UTF-8: iconv -f utf-16 -t utf-8 FILE",
    b"\xfe\xff": "UTF-16 text; expected UTF-8: iconv -f utf-16 -t utf-8 FILE",
}
_BOM = b"\xef\xbb\xbf"
_PARQUET_BATCH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a file."""

    number: int
    """The line of a JSONL file, or the row of a Parquet file; from 1."""
    text: bytes
    """Its JSON, stripped of blanks; not checked yet."""
    progress: float | None
    """The share of the file up to this row, in [0, 1]; None if unknown."""


class RowSource(Protocol):
    """A file of rows. Each iteration reads it from the start."""

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows in order.

        Raises:
            InputError: The file is truncated or damaged. The rows before that were yielded.
        """


def open_rows(path: Path) -> RowSource:
    """Return the rows of a file; `-` is standard input, which can be read only once.

    Raises:
        InputError: It cannot be opened, or has an unknown format.
        ConfigurationError: It is a Parquet file, and pyarrow is not installed.
    """
    if path == STDIN:
        return _Jsonl(path)
    magic = _magic(path)
    for start, what in _UNREADABLE.items():
        if magic.startswith(start):
            message = f"{path} is {what.replace('FILE', str(path))}"
            raise InputError(message)
    return _Parquet(path) if magic.startswith(_PARQUET) else _Jsonl(path)


def is_parquet(path: Path) -> bool:
    """Return whether a file is a Parquet file.

    Raises:
        InputError: It cannot be opened.
    """
    return _magic(path).startswith(_PARQUET)


def _magic(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(8)
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}"
        raise InputError(message) from error


class _Jsonl:
    """Lines of JSON, gzipped or not."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[Row]:
        if self._path == STDIN:
            yield from self._rows(sys.stdin.buffer, None)
            return
        try:
            size = self._path.stat().st_size
            with self._path.open("rb") as file:
                yield from self._rows(file, size)
        except OSError as error:
            message = f"cannot read {self._path}: {error.strerror or error}"
            raise InputError(message) from error

    def _rows(self, file: BinaryIO, size: int | None) -> Iterator[Row]:
        start = file.peek(2)[:2] if isinstance(file, io.BufferedReader) else b""
        gzipped = start == _GZIP
        lines: Any = gzip.GzipFile(fileobj=file) if gzipped else file
        number = read = 0
        try:
            for line in lines:
                number += 1
                read += len(line)
                text = line.removeprefix(_BOM).strip() if number == 1 else line.strip()
                if not text:
                    continue
                if number == 1:
                    self._refuse_array(text)
                # Of a gzipped file only the compressed size is known in advance.
                behind = file.tell() if gzipped and size else read
                progress = min(1.0, behind / size) if size else None
                yield Row(number=number, text=text, progress=progress)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            message = f"{self._path} is damaged after line {number}: {error}"
            raise InputError(message) from error

    def _refuse_array(self, first_line: bytes) -> None:
        # JSONL never begins with a line like this: the file is one JSON document.
        if first_line in (b"[", b"{") or first_line.startswith(b"[{"):
            message = (
                f"{self._path} is one JSON document; expected one object per line "
                f"(to turn an array into lines: jq -c '.[]' {self._path})"
            )
            raise InputError(message)


class _Parquet:
    """A Parquet table, each of whose rows becomes a JSON object."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            # Imported only here, because it takes 60 MB and 200 ms.
            self._parquet: Any = importlib.import_module("pyarrow.parquet")
        except ImportError as error:
            message = (
                f"{path} is a Parquet file; reading one needs: pip install 'grader-rl[parquet]'"
            )
            raise ConfigurationError(message) from error

    def __iter__(self) -> Iterator[Row]:
        number = 0
        try:
            with self._parquet.ParquetFile(self._path) as table:
                total = table.metadata.num_rows
                for batch in table.iter_batches(batch_size=_PARQUET_BATCH):
                    for fields in batch.to_pylist():
                        number += 1
                        text = json_bytes(_plain(fields))
                        yield Row(number=number, text=text, progress=number / total)
        except (OSError, ValueError) as error:
            # The errors of pyarrow derive from these two.
            message = f"{self._path} is damaged after row {number}: {error}"
            raise InputError(message) from error


def _plain(value: Any) -> Any:
    """Return the value of a Parquet cell as a JSON value."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)  # Dates, times, decimals.


def parse_object(text: bytes) -> dict[str, Any]:
    """Return the object in a row's JSON text.

    Raises:
        InputError: It is not JSON, or not an object.
    """
    try:
        value = json.loads(text.decode("utf-8"))
    except UnicodeDecodeError as error:
        message = f"not UTF-8: byte 0x{text[error.start]:02x} at offset {error.start}"
        raise InputError(message) from error
    except json.JSONDecodeError as error:
        message = f"not JSON: {error.msg} at column {error.colno}; expected one object per line"
        raise InputError(message) from error
    except RecursionError as error:
        message = "JSON nested too deeply to read"
        raise InputError(message) from error
    except ValueError as error:
        message = f"JSON that cannot be read: {error}"
        raise InputError(message) from error
    if not isinstance(value, dict):
        message = f"JSON, but {_KINDS[type(value)]}; expected an object with fields"
        raise InputError(message)
    return value


_KINDS: dict[type, str] = {
    list: "an array",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "a truth value",
    type(None): "null",
}
