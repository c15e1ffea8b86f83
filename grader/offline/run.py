"""Grading rows: the main loop of `grader grade`."""

import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Protocol

from grader.model import GradeReport, Submission
from grader.model.errors import InputError
from grader.offline.finder import SuiteFinder
from grader.offline.resume import DoneRows
from grader.offline.rows import RatedCompletion, RowRules, RowSample, output_line, refusal, samples
from grader.offline.source import Row


class Grades(Protocol):
    """The used part of a grader, such as `grader.grading.grader.Grader`."""

    def as_completed(
        self, submissions: Iterable[Submission]
    ) -> Iterable[tuple[Submission, GradeReport]]:
        """Grade lazily and yield each submission with its report, as they finish."""


class Answers(Protocol):
    """Grades what tests alone do not; implemented by `grader.rewards.rows.RowRater`."""

    def ask(self, completion: RatedCompletion, tell: Callable[[GradeReport], None]) -> None:
        """Grade a completion in another thread, and call `tell` with its report.

        Waits while too many are in flight. Raises what an earlier `tell` raised.
        """

    def finish(self) -> None:
        """Wait until `tell` was called for all. Raises what a `tell` raised."""


_LOOKED_AT = 10
"""Rows at the start of a file that show whether it is read rightly."""

Observer = Callable[[RowSample, GradeReport], None]
"""Called with every row after it was written, by one thread at a time."""


def grade_rows(
    rows: Iterable[Row],
    *,
    grader: Grades,
    rater: Answers,
    finder: SuiteFinder,
    rules: RowRules,
    policy: str,
    write: Callable[[bytes], None],
    observe: Observer,
    done: DoneRows | None = None,
) -> None:
    """Grade every row that is not done yet, and write each when it is graded.

    Keeps only the rows in memory that grader and rater have in flight. Rows that cannot be graded
    are written, too, with the reason in their report.

    Raises:
        InputError: The file of rows is damaged; the rows before that were graded and written. Or
            none of its first rows can be read, since all lack the same field or are not JSON; then
            none was written.
        GraderError: A row could not be written, says `write`.
    """
    in_flight: dict[int, RowSample] = {}
    broken: list[InputError] = []
    lock = threading.Lock()  # The grader may take submissions in another thread.

    def finish(sample: RowSample, report: GradeReport) -> None:
        with lock:
            write(output_line(sample, report))
            observe(sample, report)

    def submissions() -> Iterator[Submission]:
        try:
            for row in _looked_at(rows, finder, rules) if done is None else rows:
                if done is not None and done.whole(row.number):
                    continue
                for sample in samples(row, finder, rules):
                    if done is not None and done.sample(row.number, sample.index):
                        continue
                    if sample.submission is not None:
                        in_flight[id(sample.submission)] = sample
                        yield sample.submission
                    elif sample.rated is not None:
                        rater.ask(sample.rated, functools.partial(finish, sample))
                    else:
                        finish(sample, refusal(sample, policy))
        except InputError as error:
            broken.append(error)

    for submission, report in grader.as_completed(submissions()):
        finish(in_flight.pop(id(submission)), report)
    rater.finish()
    if broken:
        raise broken[0]


def _looked_at(rows: Iterable[Row], finder: SuiteFinder, rules: RowRules) -> Iterator[Row]:
    """Yield the rows. If each of the first ones is misread, assume that all are, and yield none.

    Raises:
        InputError: Each of the first rows is misread, or the file is damaged.
    """
    rows = iter(rows)
    held: list[Row] = []
    problem = ""
    for row in islice(rows, _LOOKED_AT):
        held.append(row)
        sample = samples(row, finder, rules)[0]
        if not sample.is_misread:
            problem = ""
            break
        problem = problem or f"row {row.number}: {sample.problem}"
    if problem:
        many = f"; none of the first {len(held)} rows can be graded" if len(held) > 1 else ""
        raise InputError(problem + many)
    yield from held
    yield from rows
