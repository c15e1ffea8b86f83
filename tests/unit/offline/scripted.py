"""Graders that run nothing: a completion names its own verdict."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from grader.model import CaseResult, GradeReport, Submission, Usage
from grader.model.verdict import Verdict
from grader.offline.rows import RatedCompletion
from tests.factories import make_report


class ScriptedGrader:
    """Reports the verdict whose name is the completion; `passed` for any other text.

    Holds a few submissions back and finishes the latest first, as a pool of slots may.
    """

    def __init__(self, *, in_flight: int = 3, stop_after: int | None = None) -> None:
        self._in_flight = in_flight
        self._stop_after = stop_after
        self.graded: list[Submission] = []

    def as_completed(
        self, submissions: Iterable[Submission]
    ) -> Iterator[tuple[Submission, GradeReport]]:
        waiting: list[Submission] = []
        for submission in submissions:
            waiting.append(submission)
            if len(waiting) == self._in_flight:
                yield self._finish(waiting.pop())
        while waiting:
            yield self._finish(waiting.pop())

    def _finish(self, submission: Submission) -> tuple[Submission, GradeReport]:
        if len(self.graded) == self._stop_after:
            raise KeyboardInterrupt
        self.graded.append(submission)
        text = submission.completion
        verdict = Verdict(text) if text in set(Verdict) else Verdict.PASSED
        case = CaseResult(id="0", verdict=verdict, usage=Usage(cpu_time_s=0.01))
        return submission, replace(make_report(verdict), code=text, cases=(case,))


class ScriptedRater:
    """As `ScriptedGrader`, for rated completions; it reports in another thread."""

    def __init__(self) -> None:
        self.asked: list[RatedCompletion] = []
        self._told: list[Future[None]] = []
        self._threads = ThreadPoolExecutor(1)

    def ask(self, completion: RatedCompletion, tell: Callable[[GradeReport], None]) -> None:
        self.asked.append(completion)
        self._told.append(self._threads.submit(tell, make_report(Verdict(completion.text))))

    def finish(self) -> None:
        for future in self._told:
            future.result()
        self._threads.shutdown()
