"""A grader that has a running `grader serve` grade."""

import logging
import os
import secrets
import threading
import time

from grader.config.settings import Settings
from grader.grading.deadlines import Deadlines
from grader.grading.futures import FutureGrader, ReportFuture, deliver
from grader.grading.pipeline import not_graded
from grader.model import GradeReport, Submission
from grader.model.errors import GraderError, ServiceUnavailableError
from grader.model.overrides import ExtractionRule
from grader.model.wire import json_bytes, report_of
from grader.process.exits import close_at_exit, forget_at_exit
from grader.process.threads import Threads
from grader.queueing.intake import Intake
from grader.queueing.jobs import Found, Job
from grader.remote.address import Address
from grader.remote.connections import Connections, CutOffError, Line
from grader.remote.delivery import Delivery, RefusedError
from grader.scoring.policies import find_policy

_log = logging.getLogger(__name__)

_THREADS = 256
"""Requests under way at once; what is submitted beyond waits for one of them."""
_PATH = "/v1/grade"
_LOOK_S = 10.0


class RemoteGrader(FutureGrader):
    """Grades at the service that the setting `url` names, each submission in a request.

    A request of its own, and not a batch, because an answer comes when all of a request is done:
    the quick would wait for the slow.
    """

    def __init__(self, settings: Settings) -> None:
        """Check the settings; nothing is connected yet.

        Raises:
            ConfigurationError: The address is none, or there is no such policy.
        """
        self.settings = settings
        self.address = Address.parse(settings.url or "", settings.server.token)
        find_policy(settings.policy)
        self._intake = Intake(settings)
        self._connections = Connections(self.address)
        self._deadlines = Deadlines()
        self._lock = threading.Lock()
        self._lines: dict[ReportFuture, Line] = {}
        self._threads = Threads(_THREADS, "grader-remote")
        self._pid = os.getpid()
        close_at_exit(self)

    def submit(
        self,
        submission: Submission,
        *,
        timeout_s: float | None = None,
        is_batch: bool = False,  # noqa: ARG002
    ) -> ReportFuture:
        """Send a submission; see `FutureGrader.submit`."""
        future, line = ReportFuture(), Line()
        timeout_s = self.settings.queue.deadline_s if timeout_s is None else timeout_s
        deadline = time.monotonic() + timeout_s
        job = self._intake.take(submission)
        if isinstance(job, GradeReport):
            future.set_result(job)
            return future
        delivery = Delivery(self._connections, line, deadline=deadline)
        late = f"no report within {round(timeout_s, 1):g} s from {self.address}"
        alarm = self._deadlines.add(
            deadline, lambda: deliver(future, self._not_graded(_why(late, delivery)))
        )

        def settled(_: ReportFuture) -> None:
            alarm.cancel()
            with self._lock:
                self._lines.pop(future, None)
            line.cut()

        with self._lock:
            self._lines[future] = line
        future.add_done_callback(settled)
        body = self._body(submission, job, timeout_s)
        try:
            self._threads.submit(self._deliver, delivery, job.found, body, future, late)
        except RuntimeError:
            deliver(future, self._not_graded("the grader is closed"))
        return future

    def look(self) -> str:
        """Have the service grade nothing, once; see `FutureGrader.look`."""
        deadline = time.monotonic() + _LOOK_S
        delivery = Delivery(self._connections, Line(), deadline=deadline, tries=1)
        try:
            delivery.post(_PATH, b'{"submissions": []}', {})
        except CutOffError as error:
            message = f"{self.address} does not answer: {delivery.last_fault}"
            raise ServiceUnavailableError(message) from error
        except RefusedError as error:
            message = f"{self.address} refuses: {error}"
            raise ServiceUnavailableError(message) from error
        return ""

    def close(self) -> None:
        """Cancel what is open and hang up. Repeats harmlessly."""
        if os.getpid() != self._pid:
            return  # A process that was forked since has none of the threads.
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            waiting = list(self._lines)
        for future in waiting:
            deliver(future, self._not_graded("the grader was closed"))
        self._threads.shutdown(wait=True)
        self._deadlines.close()
        self._connections.close()
        forget_at_exit(self)

    @property
    def _window(self) -> int:
        return _THREADS

    def _body(self, submission: Submission, job: Job, timeout_s: float) -> bytes:
        """Return the request: what the service would find out otherwise is decided here."""
        chosen = self.settings.under(submission.rules)
        stop_early = chosen.stop_early
        if stop_early is None:
            stop_early = not find_policy(chosen.policy).needs_every_case
        return json_bytes(
            {
                "id": submission.id[:1000],
                "completion": job.code,
                "suite": job.suite.message.decode(),
                "policy": chosen.policy,
                "extraction": ExtractionRule.VERBATIM,
                "stop_early": stop_early,
                "require_integrity": chosen.require_integrity,
                "deadline_s": timeout_s,
            }
        )

    def _deliver(
        self, delivery: Delivery, found: Found, body: bytes, future: ReportFuture, late: str
    ) -> None:
        if future.done():
            return
        # One key for all tries: what was graded already is not graded again.
        headers = {"Idempotency-Key": secrets.token_hex(16)}
        try:
            answer = delivery.post(_PATH, body, headers)
            report = found.tell(report_of(answer["report"]))  # type: ignore[index]
        except CutOffError:
            report = self._not_graded(_why(late, delivery))
        except RefusedError as error:
            report = self._not_graded(f"{self.address} refuses: {error}")
        except (GraderError, LookupError, TypeError) as error:
            reason = f"{self.address} gives no report: {type(error).__name__}: {error}"
            report = self._not_graded(reason)
        except Exception as error:  # noqa: BLE001 - logged; it must cost no more than this
            _log.exception("a submission met a fault in the client")
            report = self._not_graded(f"{type(error).__name__}: {error}")
        deliver(future, report)

    def _not_graded(self, reason: str) -> GradeReport:
        return not_graded(reason, self.settings)


def _why(late: str, delivery: Delivery) -> str:
    return f"{late}; {delivery.last_fault}" if delivery.last_fault else late
