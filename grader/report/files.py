"""The lines of graded files: of one file, or of all files in a folder, plain or gzipped.

A gzipped file is unpacked once, to a temporary file, so that every line can be read again by its
offset. Lines that are added later are found by reading on.
"""

import os
import re
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from grader.model.errors import InputError
from grader.suites.problems import parse_object

STDIN = Path("-")
"""The path that means standard input."""
MAX_LINE_BYTES = 64 * 1024 * 1024

_SUFFIXES = (".jsonl", ".jsonl.gz")
_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_WBITS = 31
"""The window bits that mean a gzip member to zlib."""
_BLOCK_BYTES = 1 << 16
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line that is complete and not blank."""

    file: "LineFile"
    number: int
    """Of the line in its file, from 1."""
    offset: int
    text: bytes


class LineFile:
    """The lines of one file. `read` is safe for many threads, `new_lines` for one."""

    def __init__(self, path: Path) -> None:
        """Look at the file.

        Args:
            path: The file; `-` is standard input.

        Raises:
            InputError: It cannot be read, or is a Parquet file.
        """
        self.path = path
        self.shown = "standard input" if path == STDIN else str(path)
        """The name of the file in errors."""
        self._offset = 0
        self._number = 0
        self._packed_offset = 0
        self._unpacker = zlib.decompressobj(_WBITS)
        self._unpacked: int | None = None
        """The descriptor of the text of a gzipped file or of standard input."""
        try:
            with self._opened() as file:
                start = file.peek(4)
            self._is_gzip = start.startswith(_GZIP)
            if self._is_gzip or path == STDIN:
                self._unpacked, name = tempfile.mkstemp()
                weakref.finalize(self, os.close, self._unpacked)
                Path(name).unlink()
        except OSError as error:
            raise self._unreadable(error) from error
        if start.startswith(_PARQUET):
            message = f"{self.shown} is a Parquet file; expected JSONL, as `grader grade` writes it"
            raise InputError(message)

    @property
    def number_in_name(self) -> int | None:
        """The last number in the file's name, as of a checkpoint; None if it has none."""
        found = _NUMBER.findall(self.path.name.partition(".")[0])
        return int(found[-1]) if found else None

    def new_lines(self) -> Iterator[Line]:
        """Yield the complete lines that were added since the last call.

        The last line is also complete without a newline if it is a whole JSON object, since no
        part of an object is one.

        Raises:
            InputError: The file cannot be read or is damaged, or a line is too long.
        """
        try:
            self._unpack()
            with self._text() as file:
                file.seek(self._offset)
                while text := file.readline(MAX_LINE_BYTES):
                    number, has_newline = self._number + 1, text.endswith(b"\n")
                    if not has_newline and len(text) == MAX_LINE_BYTES:
                        message = f"line {number} of {self.shown} is longer than {len(text)} bytes"
                        raise InputError(message)
                    if not has_newline and not _is_object(text):
                        return
                    offset, self._offset = self._offset, self._offset + len(text)
                    self._number += has_newline
                    if not text.isspace():
                        yield Line(file=self, number=number, offset=offset, text=text)
        except OSError as error:
            raise self._unreadable(error) from error

    def read(self, offset: int, length: int) -> bytes:
        """Return the text of a line again.

        Raises:
            InputError: The file cannot be read.
        """
        try:
            if self._unpacked is not None:
                return os.pread(self._unpacked, length, offset)
            with self.path.open("rb") as file:
                file.seek(offset)
                return file.read(length)
        except OSError as error:
            raise self._unreadable(error) from error

    def _opened(self) -> AbstractContextManager[Any]:
        return nullcontext(sys.stdin.buffer) if self.path == STDIN else self.path.open("rb")

    def _text(self) -> IO[bytes]:
        if self._unpacked is None:
            return self.path.open("rb")
        return open(self._unpacked, "rb", closefd=False)

    def _unpack(self) -> None:
        """Unpack what was added to a gzipped file since the last call."""
        if self._unpacked is None:
            return
        with self._opened() as file, open(self._unpacked, "ab", closefd=False) as text:
            if self.path != STDIN:
                file.seek(self._packed_offset)
            while packed := file.read(_BLOCK_BYTES):
                self._packed_offset += len(packed)
                if not self._is_gzip:
                    text.write(packed)
                    continue
                try:
                    self._unpack_to(text, packed)
                except zlib.error as error:
                    message = f"{self.shown} is damaged: {error}"
                    raise InputError(message) from error

    def _unpack_to(self, text: IO[bytes], packed: bytes) -> None:
        while packed:
            if self._unpacker.eof:
                self._unpacker = zlib.decompressobj(_WBITS)
            text.write(self._unpacker.decompress(packed))
            packed = self._unpacker.unused_data

    def _unreadable(self, error: OSError) -> InputError:
        return InputError(f"cannot read {self.shown}: {error.strerror or error}")


def _is_object(text: bytes) -> bool:
    try:
        parse_object(text)
    except InputError:
        return False
    return True


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield each line of a file or a folder with its number, as reports name it.

    In a folder, the lines of all files that are not blank are counted as one text.

    Raises:
        InputError: A file cannot be read or is damaged, or a line is too long.
    """
    if not path.is_dir():
        yield from ((line.number, line.text) for line in LineFile(path).new_lines())
        return
    lines = (line for file in files_in(path) for line in LineFile(file).new_lines())
    yield from ((number, line.text) for number, line in enumerate(lines, start=1))


def files_in(folder: Path) -> list[Path]:
    """Return the graded files of a folder, in the order of their names.

    Raises:
        InputError: The folder cannot be read.
    """
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        message = f"cannot read {folder}: {error.strerror}"
        raise InputError(message) from error
    return [path for path in paths if path.name.endswith(_SUFFIXES) and path.name[0] != "."]
