"""Rates code by the tests in its label, with any grader."""

import json
import logging
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from grader.config.rewards import ScoreMode
from grader.config.settings import Settings
from grader.model import GradeReport, Submission, TestSuite
from grader.model.errors import ConfigurationError, GraderError
from grader.model.verdict import Verdict
from grader.rewards.calls import current_call
from grader.rewards.patience import Patience
from grader.rewards.sample import Rating, Sample, ungraded
from grader.scoring.policies import score_report
from grader.suites.cache import SuiteCache
from grader.suites.plain import plain
from grader.suites.reading import read_label

if TYPE_CHECKING:
    from grader.grading.futures import FutureGrader, ReportFuture
    from grader.suites.parse import Problems

_log = logging.getLogger(__name__)

_GRACE_S = 5.0
"""A report may come so much later than its deadline, which the grader itself enforces."""
_OPEN_AGAIN_S = 5.0
_CHECK_S = 60.0
"""How long a check waits for workers, which may still be starting."""

OpenGrader = Callable[[Settings], "FutureGrader"]


def open_any_grader(settings: Settings) -> "FutureGrader":
    """Open the grader that the settings name.

    Raises:
        GraderError: It cannot be opened.
    """
    from grader.opening import open_grader

    return open_grader(settings)


@dataclass(slots=True, kw_only=True)
class _Call:
    future: "ReportFuture"
    problem_id: str | None
    began: float
    """By `time.monotonic`."""
    answered_at: float = math.inf

    def __post_init__(self) -> None:
        self.future.add_done_callback(self._note)

    def _note(self, _: "ReportFuture") -> None:
        self.answered_at = time.monotonic()


class CodeRater:
    """See `Rater`. Opens the grader when it is first needed, and keeps it until `close`."""

    def __init__(self, settings: Settings, *, open_grader: OpenGrader = open_any_grader) -> None:
        """Open nothing yet.

        Args:
            settings: All settings.
            open_grader: Opens the grader. If it raises, it is called again some seconds later.
        """
        if settings.reward.score is ScoreMode.FRACTION and settings.stop_early is None:
            # The share of passed cases needs all cases, even if the policy does not.
            settings = replace(settings, stop_early=False)
        self._settings = settings
        self._open_grader = open_grader
        self._lock = threading.Lock()
        self._patience = Patience()
        self._grader: FutureGrader | None = None
        self._failure: tuple[float, GraderError] | None = None
        self._closed = False
        self._labels: SuiteCache[TestSuite] = SuiteCache()

    def rate(self, samples: list[Sample], labels: list[object], deadline: float) -> list[Rating]:
        """See `Rater.rate`."""
        wait = self._patience.begin(deadline)
        begun = [
            self._begin(sample, label, wait.deadline)
            for sample, label in zip(samples, labels, strict=True)
        ]
        waited = [each for each in begun if isinstance(each, _Call)]
        ratings = [
            each if isinstance(each, Rating) else self._end(each, wait.deadline) for each in begun
        ]
        in_time = any(each.answered_at < wait.deadline for each in waited)
        self._patience.end(wait, answered=in_time or not waited)
        return ratings

    def grade(self, sample: Sample, label: object, deadline: float) -> GradeReport:
        """Grade one sample by `deadline` (of `time.monotonic`), and return the whole report.

        Raises:
            GraderError: The label cannot be read, or the grader cannot be opened.
            TimeoutError: The grader did not answer in time, not even with an error.
        """
        future = self._open().submit(
            self._submission(sample, label), timeout_s=max(0.001, deadline - time.monotonic())
        )
        return future.result(max(0.0, deadline - time.monotonic()) + _GRACE_S)

    def check(self) -> None:
        """Grade a trivial submission.

        Raises:
            GraderError: It did not pass; the message has the reason.
        """
        label: object = {"assert_case": ["assert answer() == 42"]}
        sample = Sample(query="def answer():\n    return 42\n")
        timeout_s = min(_CHECK_S, self._settings.reward.deadline_s)
        report = self.grade(sample, label, time.monotonic() + timeout_s)
        if report.verdict is not Verdict.PASSED:
            message = f"{report.feedback}{self._state_of_queue()}"
            raise GraderError(message)

    def close(self) -> None:
        """Close the grader. Repeats harmlessly."""
        with self._lock:
            self._closed = True
            grader, self._grader = self._grader, None
        if grader is not None:
            grader.close()

    # ------------------------------------------------------------ one sample

    def _begin(self, sample: Sample, label: object, deadline: float) -> "_Call | Rating":
        began = time.monotonic()
        if began >= deadline:
            return ungraded("no time was left to read the label", self._settings.reward)
        try:
            submission = self._submission(sample, label)
            # Trainers call with one sample from many threads. While the queue's client sends one
            # batch, the next samples gather, and are then sent together.
            future = self._open().submit(
                submission, timeout_s=max(0.001, deadline - began), is_bulk=True
            )
        except GraderError as error:
            return ungraded(f"{type(error).__name__}: {error}", self._settings.reward)
        except Exception as error:  # noqa: BLE001 - logged; fails only this call
            # A bad label or a bug in the client must not stop the training.
            _log.exception("rating a sample failed because of a bug in the grader")
            return ungraded(f"{type(error).__name__}: {error}", self._settings.reward)
        current_call().hold(future)
        return _Call(future=future, problem_id=submission.suite.problem_id, began=began)

    def _end(self, call: _Call, deadline: float) -> Rating:
        return replace(self._ended(call, deadline), problem_id=call.problem_id)

    def _ended(self, call: _Call, deadline: float) -> Rating:
        try:
            report = call.future.result(max(0.0, deadline - time.monotonic()) + _GRACE_S)
            return self._rating(report, time.monotonic() - call.began)
        except TimeoutError:
            call.future.cancel()
            return ungraded("no report by the deadline", self._settings.reward)
        except CancelledError:
            return ungraded("the call was cancelled", self._settings.reward)
        except Exception as error:  # noqa: BLE001 - logged; fails only this call
            _log.exception("rating a sample failed because of a bug in the grader")
            return ungraded(f"{type(error).__name__}: {error}", self._settings.reward)

    def _submission(self, sample: Sample, label: object) -> Submission:
        suite = self._suite(plain(label))
        return Submission(
            id=suite.problem_id or "sample",
            completion=sample.query,
            prompt=sample.prompt,
            suite=suite,
        )

    def _suite(self, label: object) -> TestSuite:
        """Parse a label once for the samples of its prompt, which come at about the same time."""
        try:
            # Not the label itself, because 1, 1.0 and true are equal in Python but not in a test.
            key = label if isinstance(label, str) else json.dumps(label)
        except (TypeError, ValueError, RecursionError):  # It is more than plain data.
            return self._parse(label)
        if (suite := self._labels.get(key)) is None:
            suite = self._parse(label)
            self._labels.keep(key, suite, len(key))
        return suite

    def _parse(self, label: object) -> TestSuite:
        return read_label(label, problems=_problems(self._settings))

    def _rating(self, report: GradeReport, elapsed_s: float) -> Rating:
        if not report.graded:
            return ungraded(report.feedback, self._settings.reward)
        right = report.verdict is Verdict.PASSED
        fraction = fraction_of(report)
        score = float(right) if self._settings.reward.score is ScoreMode.BINARY else fraction
        reward = score if self._settings.reward.unit else report.reward
        usage = report.usage
        return Rating(
            reward=reward,
            score=score,
            graded=True,
            verdict=report.verdict,
            logs={
                "raw_reward": reward,
                "code_reward": reward,
                "cases_passed": report.passed,
                "cases_total": report.total,
                "cases_fraction": fraction,
                "cpu_time_s": usage.cpu_time_s or 0.0,
                "queue_time_s": max(0.0, elapsed_s - (usage.wall_time_s or 0.0)),
                "cache_hits": self._hit_rate(),
                "suspicion": float(bool(report.suspicion) or report.verdict is Verdict.TAMPERED),
            },
            answer=report.code,
            note=f"{report.verdict} {report.passed}/{report.total}: {report.feedback}",
            report=report,
        )

    def _state_of_queue(self) -> str:
        """Return what may be wrong with the queue; "" if there is none, or nothing is found."""
        if self._settings.broker is None:
            return ""
        try:
            trouble = self._open().look()
        except GraderError as error:
            trouble = str(error)
        return f"; {trouble}" if trouble else ""

    # ------------------------------------------------------------ the grader

    def _open(self) -> "FutureGrader":
        with self._lock:
            if self._grader is not None:
                return self._grader
            if self._closed:
                message = "the grader is closed"
                raise ConfigurationError(message)
            if self._failure is not None:
                when, error = self._failure
                if time.monotonic() < when + _OPEN_AGAIN_S:
                    raise error
            try:
                self._grader = self._open_grader(self._settings)
            except GraderError as error:
                self._failure = (time.monotonic(), error)
                raise
            return self._grader

    def _hit_rate(self) -> float:
        from grader.queueing.grader import QueueGrader

        grader = self._grader
        return grader.counts().hit_rate if isinstance(grader, QueueGrader) else 0.0


def fraction_of(report: GradeReport) -> float:
    """Return the share of its points that a submission earned, in [0, 1], under any policy."""
    if report.verdict is Verdict.PASSED:
        return 1.0
    if not report.cases:
        return 0.0
    return score_report(
        verdict=report.verdict, cases=report.cases, policy="fraction", total=report.total
    ).score


@lru_cache(maxsize=8)
def _open_problems(path: str) -> "Problems":
    from pathlib import Path

    from grader.offline.problems import load_problems

    return load_problems(Path(path))


def _problems(settings: Settings) -> "Problems | None":
    return None if settings.problems is None else _open_problems(str(settings.problems))
