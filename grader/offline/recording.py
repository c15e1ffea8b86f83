"""Recording graded samples while a training runs: one compressed file of graded rows per process.

A file is a series of gzip members, which every reader of gzip takes for one text. Each write ends
with a flush, so that a process which is killed loses nothing that was written, and its file is
readable up to there.
"""

import logging
import os
import platform
import re
import secrets
import threading
import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from grader.model import GradeReport
from grader.model.errors import ConfigurationError
from grader.model.wire import json_bytes, report_json
from grader.offline.rows import ORIGIN_KEY, REPORT_KEY
from grader.process.closing import Closing

_log = logging.getLogger(__name__)

STEP_KEYS = ("step", "global_step", "training_step")
"""Fields of a row that may hold its training step, in this order."""
DATASET_KEYS = ("dataset", "data_source", "source")
"""Fields of a row that may hold the name of its data set, in this order."""
AT_KEY = "at"
QUEUE_KEY = "queue_s"

_GZIP = 31
"""The window bits that mean a gzip member to zlib."""
_MEMBER_BYTES = 1 << 20
_TRAILER_BYTES = 16
"""Most bytes that end a member after a flush."""
_TEXT_CHARS = 64 * 1024
_BRIEF_CHARS = 160
_FULL_SHARE = 0.9
"""The share of a file that rows with all their texts may fill; the rest is for brief rows."""
_AGAIN_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedSample:
    """A graded sample as it is recorded."""

    id: str
    """Samples of one problem share it."""
    prompt: str
    completion: str
    report: GradeReport
    at: float
    """When it was graded, in seconds since 1970."""
    queue_s: float | None = None
    """Seconds that it waited besides the time that it ran; None if that is not known."""
    step: int | None = None
    """The training step; None if the trainer gives none."""
    dataset: str = ""
    """The name of its data set; "" if that is not known."""


class SampleRecorder(Closing):
    """Writes samples to a file of this process. Safe for many threads; never raises for a sample.

    If a file cannot be written, as on a full disk, the error is logged, the samples of the next
    minute are not recorded, and the rest goes to a new file.
    """

    def __init__(
        self, folder: Path, max_bytes: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Make the folder. The file is made with the first sample.

        Args:
            folder: The folder of the file.
            max_bytes: Most bytes of the file. Once nine tenths are full, rows have no texts. Once
                it is full, nothing is recorded.
            clock: Returns seconds; it tells when to try again after an error.

        Raises:
            ConfigurationError: The folder cannot be made, or no file can be made in it.
        """
        self._folder = folder
        self._max_bytes = max_bytes
        self._clock = clock
        self._lock = threading.Lock()
        self._file: _RecordFile | None = None
        self._written = 0
        self._is_full = False
        self._not_before = 0.0
        self._closed = False
        try:
            folder.mkdir(parents=True, exist_ok=True)
            probe = folder / f".{secrets.token_hex(8)}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            message = f"record is {folder}, where no file can be made: {error.strerror}"
            raise ConfigurationError(message) from error

    def write(self, samples: Iterable[RecordedSample]) -> None:
        """Record samples. Once this returns, they outlive the process."""
        with self._lock:
            if self._closed or self._is_full or self._clock() < self._not_before:
                return
            try:
                self._write(samples)
            except OSError as error:
                _log.error(
                    "samples are not recorded for %d s: cannot write to %s: %s",
                    _AGAIN_S,
                    self._folder,
                    error.strerror,
                )
                self._not_before = self._clock() + _AGAIN_S
                self._drop(ends_well=False)
            except Exception:  # noqa: BLE001 - logged; costs only these samples
                # A sample that cannot be recorded must not stop the training.
                _log.exception("recording samples failed because of a bug in the grader")

    def close(self) -> None:
        """End the file. Repeats harmlessly."""
        with self._lock:
            self._closed = True
            self._drop()

    def _write(self, samples: Iterable[RecordedSample]) -> None:
        is_brief = self._written >= _FULL_SHARE * self._max_bytes
        rows = b"".join(_row(_brief(each) if is_brief else each) for each in samples)
        if not rows:
            return
        if self._file is None or self._file.pid != os.getpid():
            # A forked process must not write into its parent's file.
            self._file = _RecordFile(self._folder)
        size = self._file.write(rows, room=self._max_bytes - self._written)
        self._written += size
        if not size:
            self._is_full = True
            self._drop(ends_well=False)
            _log.error(
                "the record in %s has %d bytes; nothing more is recorded (record_bytes)",
                self._folder,
                self._written,
            )

    def _drop(self, *, ends_well: bool = True) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close(ends_well=ends_well)


class _RecordFile:
    def __init__(self, folder: Path) -> None:
        host = re.sub(r"[^\w-]", "-", platform.node())
        started = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
        # Sorted by name, files are in the order of their starts.
        name = f"{started}-{host}-{os.getpid()}-{secrets.token_hex(2)}.jsonl.gz"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._fd = os.open(folder / name, flags, 0o666)
        self.pid = os.getpid()
        self._packer = zlib.compressobj(wbits=_GZIP)
        self._in_member = 0

    def write(self, rows: bytes, *, room: int) -> int:
        """Write rows so that they can be read at once; return the number of bytes.

        Returns 0 if they need more bytes than `room`. Nothing can be written after that.

        Raises:
            OSError: They cannot be written. The file may then end with a part of a row.
        """
        packed = self._packer.compress(rows) + self._packer.flush(zlib.Z_SYNC_FLUSH)
        self._in_member += len(rows)
        if self._in_member >= _MEMBER_BYTES:
            packed += self._packer.flush()
            self._packer = zlib.compressobj(wbits=_GZIP)
            self._in_member = 0
        if len(packed) + _TRAILER_BYTES > room:
            return 0
        self._put(packed)
        return len(packed)

    def close(self, *, ends_well: bool) -> None:
        """Close the file; end its last member if the file ends well, with the last write."""
        try:
            if ends_well and self._in_member and self.pid == os.getpid():
                self._put(self._packer.flush())
        except OSError as error:
            _log.warning("the end of a record could not be written: %s", error.strerror)
        finally:
            os.close(self._fd)

    def _put(self, packed: bytes) -> None:
        rest = memoryview(packed)
        while rest:
            rest = rest[os.write(self._fd, rest) :]


def _row(sample: RecordedSample) -> bytes:
    row: dict[str, object] = {
        "id": sample.id,
        AT_KEY: round(sample.at, 3),
        STEP_KEYS[0]: sample.step,
        DATASET_KEYS[0]: sample.dataset or None,
        QUEUE_KEY: None if sample.queue_s is None else round(sample.queue_s, 4),
        "prompt": _cut(sample.prompt),
        "completion": _cut(sample.completion),
    }
    head = json_bytes({name: value for name, value in row.items() if value is not None})
    origin = json_bytes({"problem": sample.id, "field": "completion"})
    return b'%s,"%s":%s,"%s":%s}\n' % (
        head[:-1],
        REPORT_KEY.encode(),
        report_json(sample.report),
        ORIGIN_KEY.encode(),
        origin,
    )


def _brief(sample: RecordedSample) -> RecordedSample:
    report = replace(
        sample.report,
        cases=(),
        code=None,
        output=None,
        feedback=sample.report.feedback[:_BRIEF_CHARS],
    )
    return replace(sample, prompt="", completion="", report=report)


def _cut(text: str) -> str:
    if len(text) <= _TEXT_CHARS:
        return text
    half = _TEXT_CHARS // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"
