"""The loop from rows to graded rows."""

import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from grader.model import GradeReport, Submission
from grader.model.errors import InputError
from grader.offline.finder import SuiteFinder
from grader.offline.output import Output
from grader.offline.resume import DoneRows
from grader.offline.rows import RatedCompletion, RowRules, RowSample, output_line, refusal, samples
from grader.offline.source import Row


class Grades(Protocol):
    """What is needed of a grader; `grader.grading.grader.Grader` is one."""

    def as_completed(
        self, submissions: Iterable[Submission]
    ) -> Iterable[tuple[Submission, GradeReport]]:
        """Grade lazily and yield each submission with its report, as they finish."""


class Answers(Protocol):
    """What is needed of who grades questions; `grader.rewards.rows.RowRater` is one."""

    def ask(self, question: RatedCompletion, tell: Callable[[GradeReport], None]) -> None:
        """Have a question graded and its report told, in another thread.

        Waits while too many are under way, and raises what an earlier `tell` raised.
        """

    def finish(self) -> None:
        """Wait until all reports were told; raises what a `tell` raised."""


Observer = Callable[[RowSample, GradeReport], None]
"""Is told of every row after it was written, by one thread at a time."""


def grade_rows(
    rows: Iterable[Row],
    *,
    grader: Grades,
    rater: Answers,
    finder: SuiteFinder,
    rules: RowRules,
    policy: str,
    output: Output,
    observe: Observer,
    done: DoneRows | None = None,
) -> None:
    """Grade every row that is not done yet and write it as soon as it is.

    Holds in memory only what grader and rater have in flight. Rows that cannot be graded are
    written too, with a report that says why.

    Raises:
        InputError: The file of rows broke off; what came before was graded and written.
        OutputError: A row could not be written.
    """
    in_flight: dict[int, RowSample] = {}
    broken: list[InputError] = []
    lock = threading.Lock()  # The grader may pull submissions from a thread of its own.

    def finish(sample: RowSample, report: GradeReport) -> None:
        with lock:
            output.write(output_line(sample, report))
            observe(sample, report)

    def submissions() -> Iterator[Submission]:
        try:
            for row in rows:
                if done is not None and done.whole(row.number):
                    continue
                for sample in samples(row, finder, rules):
                    if done is not None and done.sample(row.number, sample.index):
                        continue
                    if sample.submission is not None:
                        in_flight[id(sample.submission)] = sample
                        yield sample.submission
                    elif sample.question is not None:
                        rater.ask(sample.question, functools.partial(finish, sample))
                    else:
                        finish(sample, refusal(sample, policy))
        except InputError as error:
            broken.append(error)

    for submission, report in grader.as_completed(submissions()):
        finish(in_flight.pop(id(submission)), report)
    rater.finish()
    if broken:
        raise broken[0]
