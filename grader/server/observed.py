"""The grader that the endpoints share: counts, logs and bounds the work of another grader."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import structlog

from grader.config.server import ServerSettings
from grader.config.settings import Settings
from grader.grading.futures import FutureGrader, ReportFuture
from grader.model import GradeReport, Limits, Submission, TestSuite
from grader.offline.recording import RecordedSample, SampleRecorder
from grader.process.logs import error_kind, short_id
from grader.process.tracing import trace_fields
from grader.server.http.request_context import RequestContext, current_request
from grader.server.http.wait_queue import WaitEntry, WaitQueue
from grader.server.metrics import Metrics
from grader.server.samples import GradedSample, SampleStore

GRADE_PATH = "/v1/grade"
"""The endpoint whose samples are recorded here. Those of the endpoints for rewards are recorded
with their rewards, by the reward core."""

_log = structlog.stdlib.get_logger(__name__)

_MOST_TIMES = 16
"""If no setting bounds a limit, a client may set it to at most this multiple of the service's own.
The limit on output is one: the service holds in memory what a run prints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    submission: Submission
    entry: WaitEntry
    context: RequestContext | None
    trace: Mapping[str, str]
    """A field for the log; see `trace_fields`."""


class ObservedGrader(FutureGrader):
    """Grades with another grader, on behalf of the current request."""

    def __init__(
        self,
        settings: Settings,
        inner: FutureGrader,
        *,
        wait_queue: WaitQueue,
        metrics: Metrics,
        samples: SampleStore,
        recorder: SampleRecorder | None,
    ) -> None:
        """Grade nothing yet.

        Args:
            settings: Bounds the limits that labels may set, and says whether there is a queue.
            inner: The other grader. It is closed with this one, and calls `begin` unless it is that
                of a queue.
            wait_queue: Counts the submissions that have not begun.
            metrics: Counts submissions.
            samples: Keeps samples for the live page.
            recorder: Records the samples of `GRADE_PATH`; None: they are not recorded.
        """
        self._most = most_limits(settings.server, settings.limits)
        self._has_queue = settings.broker is not None
        self._wait_queue = wait_queue
        self._metrics = metrics
        self._samples = samples
        self._recorder = recorder
        self._calls: dict[int, _Call] = {}
        self.failures_in_a_row = 0
        """Internal errors since a submission was last graded."""
        self.inner = inner
        """The other grader, for submissions that should not be counted."""

    def submit(
        self, submission: Submission, *, timeout_s: float | None = None, is_bulk: bool = False
    ) -> ReportFuture:
        """Begin to grade; see `FutureGrader.submit`. Cancelling the request cancels it."""
        suite = cap_limits(submission.suite, self._most)
        if suite is not submission.suite:
            submission = replace(submission, suite=suite)
        call = _Call(
            submission=submission,
            entry=self._wait_queue.enter(),
            context=current_request(),
            trace=trace_fields(),
        )
        # The call keeps the submission alive, so no other object gets its id.
        self._calls[id(submission)] = call
        if self._has_queue:  # which counts itself how long a submission waits
            self.begin(submission)
        future = self.inner.submit(submission, timeout_s=timeout_s, is_bulk=is_bulk)
        future.add_done_callback(partial(self._settle, call))
        if call.context is not None:
            call.context.call.hold(future)
        return future

    def begin(self, submission: Submission) -> None:
        """Note that a submission has its turn. Safe for any thread."""
        call = self._calls.get(id(submission))
        if call is not None:
            self._wait_queue.leave(call.entry)
            if call.context is not None:
                call.context.has_begun = True

    def close(self) -> None:
        """Close the other grader. Repeats harmlessly."""
        self.inner.close()

    @property
    def _window(self) -> int:
        return self.inner._window

    def _settle(self, call: _Call, future: ReportFuture) -> None:
        self._calls.pop(id(call.submission), None)
        self._wait_queue.leave(call.entry)
        took_s = time.monotonic() - call.entry.since
        log = _log.bind(
            submission=short_id(call.submission.id),
            request=call.context.id if call.context else None,
            endpoint=call.context.endpoint if call.context else None,
            took_s=round(took_s, 4),
            **call.trace,
        )
        if future.cancelled():
            self._metrics.cancelled()
            log.info("cancelled")
            return
        report = future.result()
        self.failures_in_a_row = 0 if report.graded else self.failures_in_a_row + 1
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
        submission, at = call.submission, time.time()
        endpoint = call.context.endpoint if call.context else ""
        self._samples.add(
            GradedSample(
                id=submission.id,
                problem_id=submission.suite.problem_id,
                prompt=submission.prompt or submission.suite.prompt,
                reference=submission.suite.reference or "",
                completion=submission.completion,
                report=report,
                endpoint=endpoint,
                at=at,
                took_s=took_s,
            )
        )
        if self._recorder is not None and endpoint == GRADE_PATH:
            sample = RecordedSample(
                id=submission.suite.problem_id or submission.id or "sample",
                prompt=submission.prompt,
                completion=submission.completion,
                report=report,
                at=at,
                queue_s=max(0.0, took_s - (report.usage.wall_time_s or 0.0)),
            )
            self._recorder.write((sample,))


def most_limits(settings: ServerSettings, own: Limits) -> Mapping[str, Any]:
    """Return the most that a client may set, by the names of the limits.

    Args:
        settings: Bounds time and memory.
        own: The service's own limits; a multiple of them bounds all other limits.
    """
    return {field.name: _MOST_TIMES * getattr(own, field.name) for field in fields(Limits)} | {
        "cpu_time_s": settings.max_time_s,
        "wall_time_s": settings.max_time_s,
        "total_time_s": settings.max_time_s,
        "memory_bytes": settings.max_memory_bytes,
    }


def cap_limits(suite: TestSuite, most: Mapping[str, Any]) -> TestSuite:
    """Return a suite with its limits, as the client sent them, lowered to `most`."""
    capped = {
        name: highest
        for name, highest in most.items()
        if (value := getattr(suite.limits, name)) is not None and value > highest
    }
    if not capped:
        return suite
    return replace(suite, limits=replace(suite.limits, **capped))
