"""What grades the rows of one run, whatever they ask for; each part is opened when it is needed."""

import contextlib
import itertools
import threading
from typing import TYPE_CHECKING

from grader.cli.console import note
from grader.config.rewards import Task
from grader.model.errors import GraderError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from grader.config.settings import Settings
    from grader.grading.futures import FutureGrader
    from grader.grading.stoppable import StoppableGrader
    from grader.model import GradeReport, Submission
    from grader.offline.rows import Question
    from grader.rewards.rows import RowRater


WARM_IMAGE = "python"
"""Of the slot that is opened before the first row is read."""


class Graders:
    """Both the grader and the rater of `grader.offline.run.grade_rows`."""

    def __init__(self, settings: "Settings") -> None:
        """Start a slot where rows are likely to need one: it takes as long as importing the rest.

        Raises:
            GraderError: Code is all that is graded, and nothing can run here.
        """
        self._settings = settings
        self._lock = threading.Lock()
        self._tests: StoppableGrader | FutureGrader | None = None
        self._rater: RowRater | None = None
        if settings.task is Task.CODE:
            self._open_tests()
        elif settings.task is Task.AUTO:
            # The first row with tests, if there is one, says what is wrong.
            with contextlib.suppress(GraderError):
                self._open_tests()

    def check(self) -> None:
        """See that what the rows are said to need is there.

        Raises:
            GraderError: It is not; the message is for the person at the command line.
        """
        if self._settings.task in (Task.MATH, Task.CONVERSATION):
            self._open_rater().check()

    def as_completed(
        self, submissions: "Iterable[Submission]"
    ) -> "Iterator[tuple[Submission, GradeReport]]":
        """Grade lazily by tests; see `grader.grading.grader.Grader.as_completed`.

        Raises:
            GraderError: There is a submission, and nothing can run here, or nobody answers
                where it would run.
        """
        source = iter(submissions)
        first = next(source, None)
        if first is not None:
            tests = self._open_tests()
            _look(tests, first)
            yield from tests.as_completed(itertools.chain((first,), source))

    def ask(self, question: "Question", tell: "Callable[[GradeReport], None]") -> None:
        """Have something else grade; see `grader.rewards.rows.RowRater.ask`."""
        self._open_rater().ask(question, tell)

    def finish(self) -> None:
        """Wait for what was asked; see `grader.rewards.rows.RowRater.finish`."""
        if self._rater is not None:
            self._rater.finish()

    def close(self) -> None:
        """Close what was opened. Repeats harmlessly."""
        for opened in (self._rater, self._tests):
            if opened is not None:
                opened.close()

    def _open_tests(self) -> "StoppableGrader | FutureGrader":
        """Return a grader of this process, or one of elsewhere where the settings name it."""
        with self._lock:
            if self._tests is None:
                if self._settings.broker is None and self._settings.url is None:
                    from grader.grading.stoppable import StoppableGrader

                    self._tests = StoppableGrader(self._settings)
                    self._tests.warm(WARM_IMAGE)
                else:
                    from grader.opening import open_grader

                    self._tests = open_grader(self._settings)
            return self._tests

    def _open_rater(self) -> "RowRater":
        with self._lock:
            if self._rater is None:
                from grader.rewards.rows import RowRater

                self._rater = RowRater(
                    self._settings, open_grader=lambda _: self._open_future_grader()
                )
            return self._rater

    def _open_future_grader(self) -> "FutureGrader":
        """Return the grader of tests as combinations need it, over the same slots."""
        from grader.grading.local import LocalGrader
        from grader.grading.stoppable import StoppableGrader

        tests = self._open_tests()
        if isinstance(tests, StoppableGrader):
            return LocalGrader(self._settings, grader=tests)
        return tests


def _look(tests: "StoppableGrader | FutureGrader", first: "Submission") -> None:
    """See that the first submission can be graded, before a whole file is found not to be.

    Raises:
        GraderError: Nobody answers, or no slot can be opened.
    """
    from grader.grading.futures import FutureGrader

    if isinstance(tests, FutureGrader):
        if trouble := tests.look():
            note(f"waiting: {trouble}")
    elif first.suite.image == WARM_IMAGE:
        tests.look()
