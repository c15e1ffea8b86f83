"""The files that commands write. None holds a partial row, even if the run is stopped."""

import fcntl
import os
import stat
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from grader.model.errors import ConfigurationError, GraderError
from grader.process.closing import Closing

STDOUT = Path("-")
"""The path that means standard output."""
_OTHER_FORMATS = frozenset({".parquet", ".gz", ".csv", ".xz", ".zst"})


_BLOCK_BYTES = 1 << 16
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC


class OutputError(GraderError):
    """The output cannot be written, for example because the disk is full."""


class Output(Closing):
    """Appends lines, each with one write, so that a crash leaves at most one partial line.

    A regular file is locked while it is open, because two runs with the same output would grade
    every row twice. A file that it made and wrote nothing to is removed again, and one that it is
    to replace stays as it is until the first line is written. Not safe for more than one thread.
    """

    def __init__(self, path: Path, *, resume: bool = False, force: bool = False) -> None:
        """Open the file.

        Args:
            path: The file; `-` is standard output.
            resume: Append to the output of an earlier run. A partial last line is cut off.
            force: Replace an existing file.

        Raises:
            ConfigurationError: The file exists and neither `resume` nor `force` is set, it cannot
                be opened, another run is writing it, or its name has another format.
        """
        _refuse_other_format(path)
        self.path = path
        self._is_new = False
        self._replaces = False
        """Whether the file still holds what the first line replaces."""
        self._fd = os.dup(1) if path == STDOUT else self._open(path)
        self._regular = path != STDOUT and stat.S_ISREG(os.fstat(self._fd).st_mode)
        try:
            if self._regular:
                self._prepare(resume=resume, force=force)
        except BaseException:
            os.close(self._fd)
            raise

    def write(self, line: bytes) -> None:
        """Append a line, which must end with a newline.

        Raises:
            OutputError: The line could not be written. No part of it is left in the file.
        """
        if self._replaces:
            os.ftruncate(self._fd, 0)
            self._replaces = False
        start = os.fstat(self._fd).st_size if self._regular else 0
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except BrokenPipeError:
            raise
        except OSError as error:
            if self._regular:
                os.ftruncate(self._fd, start)
            message = f"cannot write {self.path}: {error.strerror}"
            raise OutputError(message) from error

    def drop(self, lines: Collection[int]) -> None:
        """Remove lines, given by their numbers from 1. If that fails, the file is as before.

        Raises:
            OutputError: The file without these lines cannot be written.
        """
        path = self.path.resolve()
        temporary = path.with_name(f".{path.name}.resumed")
        try:
            fd = os.open(temporary, _FLAGS | os.O_TRUNC, stat.S_IMODE(os.fstat(self._fd).st_mode))
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                with path.open("rb") as old, open(fd, "ab", closefd=False) as new:
                    new.writelines(
                        line for number, line in enumerate(old, start=1) if number not in lines
                    )
                os.fsync(fd)
                temporary.replace(path)
            except BaseException:
                os.close(fd)
                temporary.unlink(missing_ok=True)
                raise
        except OSError as error:
            message = f"cannot write {temporary}: {error.strerror}"
            raise OutputError(message) from error
        os.close(self._fd)
        self._fd = fd

    def remove_if_unused(self) -> None:
        """Remove the file if this object made it and wrote nothing to it. Repeats harmlessly.

        For a command that ends while another thread still has the file.
        """
        if self._fd >= 0 and self._is_new and os.fstat(self._fd).st_size == 0:
            self._is_new = False
            self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the file and release the lock. Repeats harmlessly."""
        if self._fd >= 0:
            self.remove_if_unused()
            os.close(self._fd)
            self._fd = -1

    def _open(self, path: Path) -> int:
        try:
            try:
                fd = os.open(path, _FLAGS | os.O_EXCL, 0o666)
            except FileExistsError:
                return os.open(path, _FLAGS, 0o666)
        except OSError as error:
            message = f"cannot write {path}: {error.strerror}"
            raise ConfigurationError(message) from error
        self._is_new = True
        return fd

    def _prepare(self, *, resume: bool, force: bool) -> None:
        message = f"{self.path} is being written by another run"
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_same = os.fstat(self._fd).st_ino == self.path.stat().st_ino
        except (BlockingIOError, FileNotFoundError) as error:
            raise ConfigurationError(message) from error
        if not is_same:  # The other run has replaced the file.
            raise ConfigurationError(message)
        size = os.fstat(self._fd).st_size
        if resume:
            os.ftruncate(self._fd, _end_of_last_line(self._fd, size))
        elif force:
            self._replaces = True
        elif size:
            message = (
                f"{self.path} exists; continue it with --resume, replace it with --force, "
                "or name another file with -o"
            )
            raise ConfigurationError(message)


def write_whole(path: Path, data: Iterable[bytes]) -> None:
    """Write a file; `-` is standard output. If that fails, a plain file is left as it was.

    Raises:
        ConfigurationError: A file of that name cannot be made.
        OutputError: It could not be written, for example because the disk is full.
    """
    if path == STDOUT:
        sys.stdout.buffer.writelines(data)
        return
    with replacing(path) as target, target.open("wb") as file:
        file.writelines(data)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield the path of a file to write, which takes the place of `path` once it is whole.

    Raises:
        ConfigurationError: A file of that name cannot be made.
        OutputError: It could not be written, for example because the disk is full. A plain file is
            left as it was.
    """
    # Links and devices are written to and not replaced: /dev/stdout is a link to a device.
    if path.is_symlink() or (path.exists() and not path.is_file()):
        with _output_errors(path):
            yield path
        return
    target = path.with_name(f".{path.name}.new")
    try:
        target.touch()
    except OSError as error:
        message = f"cannot write {path}: {error.strerror}"
        raise ConfigurationError(message) from error
    try:
        with _output_errors(path):
            yield target
            target.replace(path)
    finally:
        target.unlink(missing_ok=True)


@contextmanager
def _output_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"cannot write {path}: {error.strerror or error}"
        raise OutputError(message) from error


def _refuse_other_format(path: Path) -> None:
    if path.suffix in _OTHER_FORMATS:
        message = f"the output {path} would be plain JSONL; give it a name that ends with .jsonl"
        raise ConfigurationError(message)


def _end_of_last_line(fd: int, size: int) -> int:
    """Return the offset after the last newline of the file."""
    end = size
    while end > 0:
        start = max(0, end - _BLOCK_BYTES)
        newline = os.pread(fd, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0
