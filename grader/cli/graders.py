"""The grader and the rater of one run, each opened when it is first needed."""

import contextlib
import itertools
import threading
from typing import TYPE_CHECKING

from grader.cli.console import note
from grader.config.rewards import RewardTask
from grader.model.errors import GraderError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from grader.config.settings import Settings
    from grader.grading.futures import FutureGrader
    from grader.model import GradeReport, Submission
    from grader.offline.rows import RatedCompletion
    from grader.rewards.rows import RowRater


WARM_IMAGE = "python"
"""The image of the slot that is opened before the first row is read."""


class Graders:
    """Both the grader and the rater of `grader.offline.run.grade_rows`."""

    def __init__(self, settings: "Settings") -> None:
        """Start a slot if rows are likely to need one, since that takes as long as the imports.

        Raises:
            GraderError: The task is code, and no slot can be opened here.
        """
        self._settings = settings
        self._lock = threading.Lock()
        self._tests: FutureGrader | None = None
        self._is_warm = False
        self._rater: RowRater | None = None
        if settings.task is RewardTask.CODE:
            self._open_tests()
        elif settings.task is RewardTask.AUTO:
            # If this fails, the first row with tests reports the error.
            with contextlib.suppress(GraderError):
                self._open_tests()

    def check(self) -> None:
        """Check that the packages and models that the task needs are there.

        Raises:
            GraderError: Something is missing.
        """
        if self._settings.task in (RewardTask.MATH, RewardTask.CONVERSATION):
            self._open_rater().check()

    def as_completed(
        self, submissions: "Iterable[Submission]"
    ) -> "Iterator[tuple[Submission, GradeReport]]":
        """Grade lazily by tests; see `grader.grading.futures.FutureGrader.as_completed`.

        Raises:
            GraderError: There is a submission, and nothing can grade it.
        """
        source = iter(submissions)
        first = next(source, None)
        if first is not None:
            tests = self._open_tests()
            can_look = not self._is_warm or first.suite.image == WARM_IMAGE
            # Now, before a whole file turns out to be ungraded.
            if can_look and (trouble := tests.look()):
                note(f"waiting: {trouble}")
            yield from tests.as_completed(itertools.chain((first,), source))

    def ask(self, completion: "RatedCompletion", tell: "Callable[[GradeReport], None]") -> None:
        """Grade a row without tests; see `grader.rewards.rows.RowRater.ask`."""
        self._open_rater().ask(completion, tell)

    def finish(self) -> None:
        """Wait for these rows; see `grader.rewards.rows.RowRater.finish`."""
        if self._rater is not None:
            self._rater.finish()

    def close(self) -> None:
        """Close grader and rater. Repeats harmlessly."""
        for opened in (self._rater, self._tests):
            if opened is not None:
                opened.close()

    def _open_tests(self) -> "FutureGrader":
        """Return a grader of this process, or of a queue or service that the settings name."""
        with self._lock:
            if self._tests is None:
                if self._settings.broker is None and self._settings.url is None:
                    from grader.grading.grader import Grader

                    self._tests = grader = Grader(self._settings)
                    grader.warm(WARM_IMAGE)
                    self._is_warm = True
                else:
                    from grader.opening import open_grader

                    self._tests = open_grader(self._settings)
            return self._tests

    def _open_rater(self) -> "RowRater":
        with self._lock:
            if self._rater is None:
                from grader.rewards.rows import RowRater

                self._rater = RowRater(self._settings, open_grader=lambda _: self._open_tests())
            return self._rater
