"""The grader that the endpoints share: any other, with its work counted, logged and bounded."""

import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial

import structlog

from grader.config.server import ServerSettings
from grader.config.settings import Settings
from grader.grading.futures import FutureGrader, ReportFuture
from grader.model import GradeReport, Limits, Submission, TestSuite
from grader.server.http.logs import short_id
from grader.server.http.request_context import Visit, current_visit
from grader.server.http.wait_queue import Lobby, Ticket
from grader.server.metrics import Metrics
from grader.server.samples import GradedSample, SampleStore

_log = structlog.stdlib.get_logger(__name__)

_MOST_TIMES = 16
"""A client may set limits without a setting of their own, such as of output, so many times as
high as the service's: what a run prints is held in the service's memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    submission: Submission
    ticket: Ticket
    visit: Visit | None


class ObservedGrader(FutureGrader):
    """Grades with another grader, on behalf of the current visit."""

    def __init__(
        self,
        settings: Settings,
        open_inner: Callable[[Callable[[Submission], None]], FutureGrader],
        *,
        lobby: Lobby,
        metrics: Metrics,
        samples: SampleStore,
    ) -> None:
        """Open the other grader.

        Args:
            settings: What labels may set at most.
            open_inner: Opens it, given what it calls when a submission has its turn.
            lobby: Where submissions wait for that.
            metrics: Where they are counted.
            samples: Where those are kept that somebody may want to look at.

        Raises:
            GraderError: It cannot be opened.
        """
        self._settings = settings
        self._lobby = lobby
        self._metrics = metrics
        self._samples = samples
        self._calls: dict[int, _Call] = {}
        self.inner = open_inner(self._begin)
        """The other grader, for what nobody should see."""

    def submit(
        self, submission: Submission, *, timeout_s: float | None = None, is_batch: bool = False
    ) -> ReportFuture:
        """Begin to grade; see `FutureGrader.submit`. A visit that is given up cancels it."""
        suite = cap_limits(submission.suite, self._settings.server, self._settings.limits)
        if suite is not submission.suite:
            submission = replace(submission, suite=suite)
        call = _Call(submission=submission, ticket=self._lobby.enter(), visit=current_visit())
        # The call keeps the submission, so its id stays its own.
        self._calls[id(submission)] = call
        future = self.inner.submit(submission, timeout_s=timeout_s, is_batch=is_batch)
        future.add_done_callback(partial(self._settle, call))
        if call.visit is not None:
            call.visit.hold(future)
        return future

    def close(self) -> None:
        """Close the other grader. Repeats harmlessly."""
        self.inner.close()

    @property
    def _window(self) -> int:
        return self.inner._window

    def _begin(self, submission: Submission) -> None:
        call = self._calls.get(id(submission))
        if call is not None:
            self._lobby.leave(call.ticket)
            if call.visit is not None:
                call.visit.has_begun = True

    def _settle(self, call: _Call, future: ReportFuture) -> None:
        self._calls.pop(id(call.submission), None)
        self._lobby.leave(call.ticket)
        took_s = time.monotonic() - call.ticket.since
        log = _log.bind(
            submission=short_id(call.submission.id),
            request=call.visit.id if call.visit else None,
            endpoint=call.visit.endpoint if call.visit else None,
            took_s=round(took_s, 4),
        )
        if future.cancelled():
            self._metrics.cancelled()
            log.info("cancelled")
            return
        report = future.result()
        self._metrics.report(report, took_s)
        self._keep(call, report, took_s)
        log = log.bind(verdict=report.verdict.value, cpu_time_s=report.usage.cpu_time_s)
        if report.graded:
            signs = [sign.value for sign in report.suspicion]
            log.info("graded", passed=report.passed, total=report.total, suspicion=signs)
        else:
            log.warning("not graded", error=error_kind(report.feedback))
            log.debug("reason", feedback=report.feedback)

    def _keep(self, call: _Call, report: GradeReport, took_s: float) -> None:
        submission = call.submission
        self._samples.add(
            GradedSample(
                id=submission.id,
                problem_id=submission.suite.problem_id,
                prompt=submission.prompt,
                completion=submission.completion,
                report=report,
                endpoint=call.visit.endpoint if call.visit else "",
                at=time.time(),
                took_s=took_s,
            )
        )


def error_kind(feedback: str) -> str:
    """Return which error a feedback tells of, without its words: these may quote tests."""
    name = feedback.partition(":")[0]
    return name if name.isidentifier() else "other"


def cap_limits(suite: TestSuite, settings: ServerSettings, own: Limits) -> TestSuite:
    """Return a suite whose limits are no higher than a client may set them.

    Args:
        suite: As a client sent it.
        settings: How much time and memory it may have.
        own: The service's own limits, whose multiple is the most of all else.
    """
    most = {field.name: _MOST_TIMES * getattr(own, field.name) for field in fields(Limits)} | {
        "cpu_time_s": settings.max_time_s,
        "wall_time_s": settings.max_time_s,
        "total_time_s": settings.max_time_s,
        "memory_bytes": settings.max_memory_bytes,
    }
    given = {name: getattr(suite.limits, name) for name in most}
    capped = {
        name: most[name]
        for name, value in given.items()
        if value is not None and value > most[name]
    }
    if not capped:
        return suite
    return replace(suite, limits=replace(suite.limits, **capped))
