"""Resuming an interrupted run: which rows are done, and whether the input is still the same.

Every output row holds the number of its input row, a checksum of that row's text, and a key of the
settings that its verdict depends on. So resuming needs only the output, and an output of another
input or other settings is refused before grading begins. Only rows that were not graded may have
changed since: they were corrected, and are graded again.
"""

import zlib
from array import array
from collections.abc import Callable, Collection
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from grader.config.settings import Settings
from grader.model import GradeReport, LimitOverrides
from grader.model.errors import ConfigurationError, GraderError, InputError
from grader.model.wire import report_of
from grader.offline.output import Output
from grader.offline.rows import ORIGIN_KEY, REPORT_KEY, id_of
from grader.offline.source import RowSource, files_of
from grader.suites.problems import parse_object

_PARTS = (
    "policy",
    "limits",
    "extraction",
    "stop early",
    "required integrity",
    "completion key",
    "problems",
    "task",
    "label key",
    "how answers and conversations are graded",
)
_PART_DIGITS = 4


def run_key(
    settings: Settings,
    *,
    limits: LimitOverrides,
    completion_key: str | None,
    label_key: str | None = None,
    problems: Path | None,
) -> str:
    """Return a short text that differs if settings differ that may change a verdict.

    It does not depend on where, or how many at once, submissions run.
    """
    values = (
        _policy_key(settings.policy),
        (astuple(settings.limits), astuple(limits)),
        settings.extraction,
        settings.stop_early,
        settings.require_integrity,
        completion_key,
        None if problems is None else _checksum(problems),
        settings.task,
        label_key,
        (
            replace(settings.math, processes=1),
            replace(settings.conversation, device="", batch=1, gather_ms=0.0),
        ),
    )
    return "".join(
        f"{zlib.crc32(repr(value).encode()) & 0xFFFF:0{_PART_DIGITS}x}" for value in values
    )


def _policy_key(policy: str) -> object:
    """Return what identifies a policy: its name and, for a user's own file, the file's checksum."""
    file = Path(policy.rpartition(":")[0])
    return (policy, _checksum(file)) if file.suffix == ".py" else policy


def _checksum(path: Path) -> int:
    crc = 0
    try:
        for part in files_of(path):
            with part.open("rb") as file:
                while block := file.read(1 << 20):
                    crc = zlib.crc32(block, crc)
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}"
        raise InputError(message) from error
    return crc


def _differences(found: str, expected: str) -> list[str]:
    if len(found) != len(expected):
        return list(_PARTS)
    starts = range(0, len(expected), _PART_DIGITS)
    return [
        part
        for part, i in zip(_PARTS, starts, strict=True)
        if found[i : i + _PART_DIGITS] != expected[i : i + _PART_DIGITS]
    ]


class DoneRows:
    """Which rows an output holds. Needs eight bytes for each row that was graded."""

    def __init__(self) -> None:
        self.ungraded: dict[int, DoneRow] = {}
        """The rows that were not graded, by their lines in the output. They count as done."""
        self._crcs = array("Q")
        self._samples: dict[int, int] = {}
        """By row: its finished samples, as bits; only for rows with a list of completions."""
        self.count = 0
        """The number of output rows."""

    def add(self, number: int, sample: int | None, crc: int) -> None:
        """Add one output row."""
        if number >= len(self._crcs):
            self._crcs.extend([0] * (number + 1 - len(self._crcs)))
        self._crcs[number] = crc | _PRESENT
        if sample is not None:
            self._samples[number] = self._samples.get(number, 0) | 1 << sample
        self.count += 1

    def forget_ungraded(self, numbers: Collection[int] | None = None) -> frozenset[int]:
        """Forget rows that were not graded, so that they are graded again.

        Args:
            numbers: Only these input rows. None: all.

        Returns:
            Their lines in the output.
        """
        lines = {
            line: row
            for line, row in self.ungraded.items()
            if numbers is None or row.number in numbers
        }
        for line, row in lines.items():
            del self.ungraded[line]
            self.count -= 1
            left = self._samples.get(row.number, 0)
            if row.sample is not None:
                left &= ~(1 << row.sample)
            if left:
                self._samples[row.number] = left
            else:
                self._samples.pop(row.number, None)
                self._crcs[row.number] = 0
        return frozenset(lines)

    def whole(self, number: int) -> bool:
        """Return whether the row is done and has a single completion."""
        return number < len(self._crcs) and self._crcs[number] > 0 and number not in self._samples

    def sample(self, number: int, sample: int | None) -> bool:
        """Return whether this sample of the row is done."""
        if sample is None:
            return self.whole(number)
        return bool(self._samples.get(number, 0) >> sample & 1)

    def check(self, source: RowSource, output: Path) -> frozenset[int]:
        """Compare the checksums with the input.

        Returns:
            The numbers of the rows that have changed, none of which was graded.

        Raises:
            ConfigurationError: The output belongs to another input.
        """
        seen = 0
        corrected: set[int] = set()
        ungraded = self._without_grade()
        for row in source:
            if row.number >= len(self._crcs):
                return frozenset(corrected)
            expected = self._crcs[row.number]
            if expected and expected != zlib.crc32(row.text) | _PRESENT:
                if row.number not in ungraded:
                    raise ConfigurationError(_other_input(output, f"row {row.number} differs"))
                corrected.add(row.number)
            seen = row.number
        if seen < len(self._crcs) - 1:
            problem = f"it holds row {len(self._crcs) - 1}, and the input ends at {seen}"
            raise ConfigurationError(_other_input(output, problem))
        return frozenset(corrected)

    def _without_grade(self) -> frozenset[int]:
        """Return the numbers of the rows without a graded sample."""
        samples: dict[int, int] = {}
        for row in self.ungraded.values():
            bit = 0 if row.sample is None else 1 << row.sample
            samples[row.number] = samples.get(row.number, 0) | bit
        return frozenset(
            number for number, bits in samples.items() if self._samples.get(number, 0) == bits
        )


_PRESENT = 1 << 32
"""Distinguishes a row with the checksum 0 from one that is not done."""


def _other_input(output: Path, problem: str) -> str:
    return (
        f"{output} was made from another input: {problem}. "
        "Resume with the same input, or write to another file"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneRow:
    """A row of an output."""

    number: int
    """The number of its input row."""
    sample: int | None
    crc: int
    run: str
    id: str
    problem_id: str | None
    report: GradeReport


def continue_output(
    output: Output,
    source: RowSource,
    run: str,
    observe: Callable[[DoneRow], None],
    *,
    retry_ungraded: bool = False,
) -> DoneRows:
    """Return which rows of an earlier run are done.

    Rows that are to be graded again are removed from the output.

    Args:
        output: Open to be continued, so that it ends with a whole line.
        source: The input.
        run: The `run_key` of the run that continues it.
        observe: Called with each row that is done, for the summary.
        retry_ungraded: Whether to grade all rows again that were not graded, also those of a run
            with other settings. Else only those of them whose input has changed.

    Raises:
        ConfigurationError: A line is invalid, or of a run with other settings or another input.
        OutputError: The output cannot be written.
    """
    done = DoneRows()
    with output.path.open("rb") as file:
        for number, line in enumerate(file, 1):
            row = _done_row(line, number, output.path)
            if row.run != run and (row.report.graded or not retry_ungraded):
                changed = " and ".join(_differences(row.run, run))
                message = (
                    f"{output.path} was graded with other settings: {changed} changed. "
                    "Resume with the same ones, or write to another file"
                )
                raise ConfigurationError(message)
            done.add(row.number, row.sample, row.crc)
            if row.report.graded:
                observe(row)
            else:
                done.ungraded[number] = row
    corrected = done.check(source, output.path)
    if again := done.forget_ungraded(None if retry_ungraded else corrected):
        output.drop(again)
    for row in done.ungraded.values():
        observe(row)
    return done


def _done_row(line: bytes, number: int, output: Path) -> DoneRow:
    try:
        row = parse_object(line)
        origin = row[ORIGIN_KEY]
        source_number = int(origin["line"])
        sample = origin.get("sample")
        return DoneRow(
            number=source_number,
            sample=None if sample is None else int(sample),
            crc=int(origin["input"], 16),
            run=str(origin["run"]),
            id=id_of(row, source_number),
            problem_id=origin.get("problem"),
            report=report_of(row[REPORT_KEY]),
        )
    except (GraderError, LookupError, TypeError, ValueError) as error:
        message = (
            f"line {number} of {output} was not written by `grader grade`; "
            "remove it, or write to another file"
        )
        raise ConfigurationError(message) from error
