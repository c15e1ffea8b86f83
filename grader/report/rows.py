"""Read the rows of a graded file."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from grader.model import GradeReport
from grader.model.errors import GraderError, InputError
from grader.model.wire import report_of
from grader.offline.recording import AT_KEY, DATASET_KEYS, QUEUE_KEY, STEP_KEYS
from grader.offline.rows import ORIGIN_KEY, REPORT_KEY, completion_of, id_of
from grader.report.problems import ProblemReader, ProblemTexts
from grader.report.sample import SampleView, view_of
from grader.suites.problems import parse_object

_MOST_STEP = 10**12
_MOST_SECONDS = 1e11


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedRow:
    """One row that `grader grade` wrote."""

    id: str
    """The id of the row or of its problem; samples of one input row share it."""
    name: str
    """The id, with the sample's number if the input row had several samples; `@` and the line if
    the id is blank."""
    problem_id: str | None
    completion: str
    report: GradeReport
    origin: Mapping[str, Any]
    """The input row that it was graded from; `--resume` uses it."""
    step: int | None = None
    """The training step; None if the row names none."""
    at: float | None = None
    """When it was graded, in seconds since 1970; None if the row does not say it."""
    queue_s: float | None = None
    """Seconds that it waited besides the time that it ran; None if that is not known."""
    dataset: str = ""
    """The name of its data set; "" if the row names none."""
    prompt: str = ""
    """What the model was asked; "" if the row does not say it."""
    label: object = None
    """The label in the row; None if it has none."""

    def view(self, problems: ProblemReader | None = None) -> SampleView:
        """Return the sample as pages and the terminal show it.

        Args:
            problems: Finds its prompt, unless the row has it, and its reference.
        """
        texts = problems.texts_of(self.problem_id, self.label) if problems else ProblemTexts()
        return view_of(
            self.report,
            id=self.name,
            completion=self.completion,
            problem_id=self.problem_id,
            prompt=self.prompt or texts.prompt,
            reference=texts.reference,
        )


def read_row(text: bytes, number: int) -> GradedRow:
    """Read a line of a graded file.

    Args:
        text: The line.
        number: The line number, from 1; it names a row without an id.

    Raises:
        InputError: `grader grade` did not write the line; the message says what is wrong.
    """
    with _as_line(number):
        row = parse_object(text)
        if REPORT_KEY not in row:
            message = f"the row has no field {REPORT_KEY!r}; expected a graded row"
            raise InputError(message)
        origin = row.get(ORIGIN_KEY)
        origin = origin if isinstance(origin, dict) else {}
        problem = origin.get("problem")
        id, name = _names(row, origin, number)
        return GradedRow(
            id=id,
            name=name,
            problem_id=problem if isinstance(problem, str) else None,
            completion=completion_of(row),
            report=report_of(row.get(REPORT_KEY)),
            origin=origin,
            step=next(
                (value for key in STEP_KEYS if (value := _whole(row.get(key))) is not None), None
            ),
            at=_number(row.get(AT_KEY)),
            queue_s=_number(row.get(QUEUE_KEY)),
            dataset=next((v for key in DATASET_KEYS if isinstance(v := row.get(key), str)), ""),
            prompt=prompt if isinstance(prompt := row.get("prompt"), str) else "",
            label=row.get("label"),
        )


def name_of(text: bytes, number: int) -> tuple[str, str]:
    """Return a row's id, and the name that distinguishes samples of one input row.

    Does not read the report, so that searching for a row is quick.

    Raises:
        InputError: The line is not a JSON object.
    """
    with _as_line(number):
        row = parse_object(text)
    origin = row.get(ORIGIN_KEY)
    return _names(row, origin if isinstance(origin, dict) else {}, number)


def texts_of(text: bytes) -> tuple[str, ...]:
    """Return the code and the completion of a row that was read before; quicker than `read_row`.

    Raises:
        InputError: The line is not a JSON object.
    """
    row = parse_object(text)
    report = row.get(REPORT_KEY)
    code = report.get("code") if isinstance(report, dict) else None
    found = (completion_of(row), code)
    return tuple(each for each in found if isinstance(each, str))


@contextmanager
def _as_line(number: int) -> Iterator[None]:
    """Add the line number to errors."""
    try:
        yield
    except GraderError as error:
        message = f"line {number} was not written by `grader grade`: {error}"
        raise InputError(message) from error


def _whole(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _MOST_STEP:
        return None
    return value


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < _MOST_SECONDS else None


def _names(row: Mapping[str, Any], origin: Mapping[str, Any], number: int) -> tuple[str, str]:
    line, sample = origin.get("line"), origin.get("sample")
    own = id_of(row, line if isinstance(line, int) else number)
    shown = own if own.strip() else f"@{number}"
    return own, f"{shown}#{sample}" if isinstance(sample, int) else shown
