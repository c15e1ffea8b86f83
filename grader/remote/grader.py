"""The grader that sends submissions to a running `grader serve`."""

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
from grader.queueing.jobs import ClientConditions, QueuedJob
from grader.remote.address import Address
from grader.remote.connections import Cancellation, Connections, RequestCancelledError
from grader.remote.repeated_request import RefusedError, RepeatedRequest
from grader.scoring.own import load_policy, policy_to_send
from grader.scoring.policies import find_policy

_log = logging.getLogger(__name__)

_THREADS = 256
"""The most requests at once; further submissions wait."""
_PATH = "/v1/grade"
_LOOK_S = 10.0


class RemoteGrader(FutureGrader):
    """Grades at the service that the setting `url` names, with one request for each submission.

    Not with batches, because a batch is answered when all of it is done: quick submissions would
    wait for slow ones.
    """

    def __init__(self, settings: Settings) -> None:
        """Check the settings; nothing is connected yet.

        Raises:
            ConfigurationError: The address is invalid, or there is no such policy.
        """
        self.settings = settings
        self.address = Address.parse(settings.url or "", settings.server.token)
        load_policy(settings.policy)
        self._intake = Intake(settings)
        self._connections = Connections(self.address)
        self._deadlines = Deadlines()
        self._lock = threading.Lock()
        self._open: dict[ReportFuture, Cancellation] = {}
        self._threads = Threads(_THREADS, "grader-remote")
        self._pid = os.getpid()
        close_at_exit(self)

    def submit(
        self,
        submission: Submission,
        *,
        timeout_s: float | None = None,
        is_bulk: bool = False,  # noqa: ARG002
    ) -> ReportFuture:
        """Send a submission; see `FutureGrader.submit`."""
        future, cancellation = ReportFuture(), Cancellation()
        timeout_s = self.settings.queue.deadline_s if timeout_s is None else timeout_s
        deadline = time.monotonic() + timeout_s
        job = self._intake.take(submission)
        if isinstance(job, GradeReport):
            future.set_result(job)
            return future
        request = RepeatedRequest(self._connections, cancellation, deadline=deadline)
        late = f"no report within {round(timeout_s, 1):g} s from {self.address}"
        alarm = self._deadlines.add(
            deadline, lambda: deliver(future, not_graded(_why(late, request), self.settings))
        )

        def settled(_: ReportFuture) -> None:
            alarm.cancel()
            with self._lock:
                self._open.pop(future, None)
            cancellation.cancel()

        with self._lock:
            self._open[future] = cancellation
        future.add_done_callback(settled)
        body = self._body(submission, job, timeout_s)
        try:
            self._threads.submit(self._deliver, request, job.conditions, body, future, late)
        except RuntimeError:
            deliver(future, not_graded("the grader is closed", self.settings))
        return future

    def look(self) -> str:
        """Send one request without submissions; see `FutureGrader.look`."""
        deadline = time.monotonic() + _LOOK_S
        request = RepeatedRequest(self._connections, Cancellation(), deadline=deadline, tries=1)
        try:
            request.post(_PATH, b'{"submissions": []}', {})
        except RequestCancelledError as error:
            message = f"{self.address} does not answer: {request.last_fault}"
            raise ServiceUnavailableError(message) from error
        except RefusedError as error:
            message = f"{self.address} refuses: {error}"
            raise ServiceUnavailableError(message) from error
        return ""

    def close(self) -> None:
        """Cancel the open requests and close the connections. Repeats harmlessly."""
        if os.getpid() != self._pid:
            return  # A process that was forked later has none of the threads.
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            waiting = list(self._open)
        for future in waiting:
            deliver(future, not_graded("the grader was closed", self.settings))
        self._threads.shutdown(wait=True)
        self._deadlines.close()
        self._connections.close()
        forget_at_exit(self)

    @property
    def _window(self) -> int:
        return _THREADS

    def _body(self, submission: Submission, job: QueuedJob, timeout_s: float) -> bytes:
        """Return the body of the request. It states every setting that affects the report."""
        chosen = self.settings.under(submission.rules)
        stop_early = chosen.stop_early
        if stop_early is None:
            stop_early = not find_policy(chosen.policy).needs_every_case
        return json_bytes(
            {
                "id": submission.id[:1000],
                "completion": job.code,
                "suite": job.suite.message.decode(),
                "policy": policy_to_send(chosen.policy),
                "extraction": ExtractionRule.VERBATIM,
                "stop_early": stop_early,
                "require_integrity": chosen.require_integrity,
                "deadline_s": timeout_s,
            }
        )

    def _deliver(
        self,
        request: RepeatedRequest,
        conditions: ClientConditions,
        body: bytes,
        future: ReportFuture,
        late: str,
    ) -> None:
        if future.done():
            return
        # One key for all tries, so that a repeated request is not graded again.
        headers = {"Idempotency-Key": secrets.token_hex(16)}
        try:
            answer = request.post(_PATH, body, headers)
            report = conditions.add_to(report_of(answer["report"]))  # type: ignore[index]
        except RequestCancelledError:
            report = not_graded(_why(late, request), self.settings)
        except RefusedError as error:
            report = not_graded(f"{self.address} refuses: {error}", self.settings)
        except (GraderError, LookupError, TypeError) as error:
            reason = f"{self.address} sent no valid report: {type(error).__name__}: {error}"
            report = not_graded(reason, self.settings)
        except Exception as error:  # noqa: BLE001 - logged; fails only this submission
            _log.exception("grading a submission failed because of a bug in the client")
            report = not_graded(f"{type(error).__name__}: {error}", self.settings)
        deliver(future, report)


def _why(late: str, request: RepeatedRequest) -> str:
    return f"{late}; {request.last_fault}" if request.last_fault else late
