"""Grades rows of files that tests alone do not grade: answers, conversations, combinations."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace

from grader.config.settings import Settings
from grader.model import GradeReport
from grader.offline.rows import RatedCompletion
from grader.process.threads import Threads
from grader.rewards.code import OpenGrader
from grader.rewards.core import RewardCore
from grader.rewards.reports import report_for
from grader.rewards.sample import Sample
from grader.suites.plans import plan_for

_WAITING_PER_THREAD = 4


class RowRater:
    """Grades completions in several threads. Starts graders when they are needed."""

    def __init__(self, settings: Settings, *, open_grader: OpenGrader) -> None:
        """Start nothing yet.

        Args:
            settings: All settings. Those that only shape the rewards of a training run, such as
                the length term, are not used unless a label asks for them.
            open_grader: Opens the grader for code, for labels that ask for several graders.
        """
        plain = replace(
            settings.reward, unit=False, normalise=0, length_weight=0.0, format_weight=0.0
        )
        self._settings = settings
        # The rows of a file are written anyway, so they are not recorded.
        self._core = RewardCore(
            replace(settings, reward=plain, record=None), open_grader=open_grader
        )
        # As many as a model rates at once, because each waits for the others of its batch.
        workers = max(settings.conversation.batch, settings.math.processes)
        self._threads = Threads(workers, "grader-rater")
        self._room = threading.Semaphore(workers * _WAITING_PER_THREAD)
        self._lock = threading.Lock()
        self._open: set[Future[None]] = set()
        self._failure: BaseException | None = None
        self._closed = threading.Event()

    def check(self) -> None:
        """Check that rows can be graded under these settings.

        Raises:
            GraderError: They cannot; the message has the reason.
        """
        self._core.check()

    def ask(self, completion: RatedCompletion, tell: Callable[[GradeReport], None]) -> None:
        """Grade a completion in a thread of this rater, and call `tell` with its report.

        Waits while too many are in flight.

        Raises:
            BaseException: What `tell` raised for an earlier one.
        """
        self._room.acquire()
        self._raise_failure()
        future = self._threads.submit(self._answer, completion, tell)
        with self._lock:
            self._open.add(future)
        future.add_done_callback(self._settle)

    def finish(self) -> None:
        """Wait until `tell` was called for all.

        Raises:
            BaseException: What a `tell` raised.
        """
        with self._lock:
            waiting = list(self._open)
        for future in waiting:
            future.exception()
        self._raise_failure()

    def close(self) -> None:
        """Drop what is in flight, and free everything. Repeats harmlessly."""
        self._closed.set()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._core.close()
        self._threads.shutdown(wait=True)

    def _answer(self, completion: RatedCompletion, tell: Callable[[GradeReport], None]) -> None:
        sample = Sample(query=completion.text, prompt=completion.prompt, label=completion.label)
        (rating,) = self._core.rate([sample], deadline_s=self._settings.queue.deadline_s)
        plan = plan_for(completion.label, self._settings.task)
        report = report_for(rating, plan, self._settings)
        # Closing cancels what is in flight, so its report says nothing about the completion.
        if not self._closed.is_set():
            tell(report)

    def _settle(self, future: "Future[None]") -> None:
        with self._lock:
            self._open.discard(future)
            if not future.cancelled():
                self._failure = self._failure or future.exception()
        self._room.release()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure
