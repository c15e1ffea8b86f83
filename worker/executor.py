"""The executor of a worker process. Each thread of Celery's pool has it run jobs, if any wait."""

import functools
import hashlib
import json
import logging
import os
import platform
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from structlog.contextvars import bound_contextvars

from grader.config.settings import Settings
from grader.grading.engine import GradingEngine
from grader.grading.probe import make_probe
from grader.model.errors import QueueUnavailableError, SandboxUnavailableError
from grader.model.verdict import Verdict
from grader.process.logs import error_kind, short_id
from grader.process.release import build_id
from grader.process.repeats import Repeats
from grader.process.tracing import span, trace_fields
from grader.queueing.dispatch import Dispatcher
from grader.queueing.ledger import Ledger
from grader.queueing.ledger_values import Handover, Taken
from grader.sandbox.contract import Sandbox
from grader.sandbox.images import VARIANTS
from worker.condition import Condition
from worker.deliveries import Deliveries, Delivery
from worker.heartbeat import Heartbeat
from worker.job_runner import Finished, JobRunner, is_of_sandbox, origin_of, runs_program
from worker.locks import ReadersWriterLock
from worker.sessions import SessionHost
from worker.steps import Steps, StepShare
from worker.throughput import Throughput

_log = logging.getLogger(__name__)

_RETRY_S = (0.1, 0.3, 1.0)
_SLOW_S = 0.5
"""A job that waits for a slot for longer is given back."""

_FAILURES = 5
"""After so many internal errors in a row, a worker tries whether it can grade at all."""

_Answer = TypeVar("_Answer")


def try_sandbox(sandbox: Sandbox, settings: Settings) -> None:
    """Open a slot of each image variant that the worker serves. A new slot runs a program.

    Raises:
        SandboxError: One cannot be opened.
    """
    for image in settings.queue.images.split(","):
        sandbox.open_slot(image=image, memory_bytes=settings.limits.memory_bytes).close()


class AbandonedError(Exception):
    """The executor closes while Redis does not answer; other workers take its jobs back later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Report:
    """A job's result, until it is handed in with the thread's next step."""

    handover: Handover
    finished: Finished
    took_s: float
    ids: Mapping[str, str]
    """By which logs name the job."""


class Executor:
    """Executes jobs of the ledger in this worker's slots. `execute` is safe for many threads."""

    def __init__(
        self,
        settings: Settings,
        *,
        ledger: Ledger,
        dispatcher: Dispatcher,
        grader: GradingEngine,
        listen: Callable[[bool], None],
    ) -> None:
        """Start nothing yet.

        Args:
            settings: The worker's settings.
            ledger: Has the jobs and takes the reports. `close` closes it and the next two.
            dispatcher: Sends hints to other workers.
            grader: Has the slots.
            listen: Begins or ceases to take hints from the broker, as it is told.
        """
        self.id = f"{platform.node()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._settings = settings
        self._ledger = ledger
        self._dispatcher = dispatcher
        self._grader = grader
        self._runner = JobRunner(settings, grader)
        self._deliveries = Deliveries(self.id, ledger=ledger, dispatcher=dispatcher)
        self._steps = Steps(self.id, ledger, settings.queue.images.split(","))
        self._throughput = Throughput()
        self._heartbeat = Heartbeat(
            self.id,
            settings,
            ledger=ledger,
            deliveries=self._deliveries,
            throughput=self._throughput,
            sandbox=grader.sandbox.name,
            edition=self._edition,
        )
        self._listen = listen
        self._failures_in_a_row = 0
        self._condition = Condition(self._try_sandbox, self._condition_changed)
        self._sessions = SessionHost(self.id, settings, sandbox=lambda: grader.sandbox)
        self._lock = ReadersWriterLock()
        self._free_slots = threading.BoundedSemaphore(settings.slots)
        self._repeats = Repeats()
        self._abandoned = threading.Event()
        self._patience = threading.Timer(settings.queue.drain_s, self._abandon)
        self._patience.daemon = True

    def open(self) -> None:
        """Join the queue."""
        self._heartbeat.start()
        self._sessions.start()

    def stop(self) -> None:
        """Start no more jobs; stop running ones after the `drain_s` setting. Does not wait."""
        if not self._deliveries.is_stopping:
            self._deliveries.stop()
            self._sessions.stop()
            # A timer of its own, because the heartbeat may hang if Redis is silent.
            self._patience.start()

    def close(self) -> None:
        """Stop the running jobs, give back all jobs, and close the slots."""
        self._patience.cancel()
        self._sessions.close()
        self._abandon()
        self._condition.close()
        self._heartbeat.close()
        try:
            self._dispatcher.send(self._ledger.leave_worker(self.id))
        except QueueUnavailableError as error:
            _log.warning("could not tell the ledger that this worker leaves: %s", error)
        self._dispatcher.close()
        self._ledger.close()

    def execute(self) -> None:
        """Run jobs, one after another, until none waits."""
        report: _Report | None = None
        delivery: Delivery | None = None
        following: Delivery | None = None
        try:
            while (following := self._deliveries.open()) is not None or report is not None:
                outcome = self._step(report, following)
                if report is not None:
                    self._note(report, is_in_time=outcome.in_time)
                if delivery is not None:
                    self._deliveries.close(delivery)
                delivery, report = following, None
                if delivery is None or outcome.taken is None:
                    return
                report = self._run(outcome.taken, delivery)
                if delivery.is_left:
                    # Else this thread would take the job again at once.
                    return
        except AbandonedError:
            _log.warning("ended without giving jobs back: Redis does not answer")
        finally:
            for each in (delivery, following):
                if each is not None:
                    self._deliveries.close(each)

    def _abandon(self) -> None:
        self._abandoned.set()
        self._deliveries.kill()
        # Threads that wait for a slot to be opened are released, too.
        self._grader.close()

    def _step(self, report: _Report | None, following: Delivery | None) -> StepShare:
        handover = None if report is None else report.handover
        token = None if following is None else following.token
        return self._insist(lambda: self._steps.make(handover, token))

    def _run(self, job: Taken, delivery: Delivery) -> _Report | None:
        """Run a job; None if it has no report, since another worker will run it or none."""
        with self._lock.exclusive() if job.is_suspect else self._lock.shared():
            if not self._free_slots.acquire(timeout=_SLOW_S):
                # Another worker may have a free slot.
                self._leave(job, delivery)
                return None
            try:
                return self._run_in_slot(job, delivery)
            finally:
                self._free_slots.release()

    def _run_in_slot(self, job: Taken, delivery: Delivery) -> _Report | None:
        identity = (self.id, delivery.token, job.key)
        if job.is_suspect and not self._insist(lambda: self._ledger.run_alone(*identity)):
            return None
        # Services ask whether a program has a slot, but not whether a submission has one.
        if runs_program(job) and not self._insist(lambda: self._ledger.begin(*identity)):
            return None
        suite = self._runner.known_suite(job) or self._insist(lambda: self._ledger.suite(job.suite))
        if suite is None:
            self._insist(lambda: self._ledger.ask_again(*identity))
            return None
        origin = origin_of(job)
        ids = {"job": short_id(job.key), "request": origin.request, "submission": origin.submission}
        with (
            self._deliveries.running(delivery, job.key) as may_start,
            span("job", parent=origin.traceparent, worker=self.id, **ids),
        ):
            ids |= trace_fields()
            with bound_contextvars(**ids):
                finished = self._runner.run(job, delivery.handle, suite) if may_start else None
        if finished is None or delivery.handle.is_stopped:
            # The job was cancelled or given to another worker, or this worker ends.
            self._deliveries.give_back([(delivery.token, job.key)])
            return None
        if finished.error and self._leave_to_others(job, delivery, finished.error):
            return None
        if not finished.error:
            self._failures_in_a_row = 0
        handover = Handover(
            token=delivery.token,
            key=job.key,
            report=finished.body,
            error=f"{self.id} {finished.error}" if finished.error else "",
            keep=finished.keep,
            edition=self._edition(),
        )
        took_s = round(time.monotonic() - delivery.since, 4)
        return _Report(handover=handover, finished=finished, took_s=took_s, ids=ids)

    def _note(self, report: _Report, *, is_in_time: bool) -> None:
        finished = report.finished
        fields = {"verdict": finished.verdict, "took_s": report.took_s}
        with bound_contextvars(**report.ids):
            if not is_in_time:
                _log.warning("the report came too late, and was dropped", extra=fields)
                return
            self._throughput.count()
            if finished.error:
                _log.warning("not graded", extra={**fields, "error": error_kind(finished.error)})
            else:
                _log.info("graded" if finished.verdict else "ran", extra=fields)

    def _leave_to_others(self, job: Taken, delivery: Delivery, error: str) -> bool:
        """Put a job back that this worker failed to run; False if the internal error is final."""
        self._failures_in_a_row += 1
        sandbox_failed = is_of_sandbox(error)
        if not sandbox_failed and self._failures_in_a_row < _FAILURES:
            return False
        self._failures_in_a_row = 0
        if not self._condition.look():
            # Not a try: nothing would have run here.
            self._leave(job, delivery)
            return True
        if not sandbox_failed:
            return False
        hints = self._insist(lambda: self._ledger.retry(self.id, delivery.token, job.key))
        self._deliveries.send_hints(hints or ())
        delivery.is_left = hints is not None
        return delivery.is_left

    def _leave(self, job: Taken, delivery: Delivery) -> None:
        delivery.is_left = True
        self._deliveries.give_back([(delivery.token, job.key)])

    def _try_sandbox(self) -> None:
        try_sandbox(self._grader.sandbox, self._settings)
        for image in set(self._settings.queue.images.split(",")) & set(VARIANTS):
            report = self._grader.grade(make_probe(image))
            if report.verdict is not Verdict.PASSED:
                message = f"a small program got {report.verdict}: {report.feedback}"
                raise SandboxUnavailableError(message)

    def _condition_changed(self) -> None:
        is_sick = self._condition.is_sick
        self._deliveries.is_paused = self._sessions.is_paused = is_sick
        self._listen(not is_sick)

    def _edition(self) -> str:
        """Return a digest of what this worker's verdicts depend on, apart from the jobs."""
        sandbox = self._grader.sandbox
        images = self._settings.queue.images.split(",")
        return _digest(sandbox.name, *(sandbox.environment(image) for image in images))

    def _insist(self, step: Callable[[], _Answer]) -> _Answer:
        """Try a step in the ledger until Redis answers.

        Raises:
            AbandonedError: The executor is closed first.
        """
        tries = 0
        while True:
            try:
                return step()
            except QueueUnavailableError as error:
                if self._repeats.is_due(f"retrying: {error}"):
                    _log.warning("retrying: %s", error)
                if self._abandoned.wait(_RETRY_S[min(tries, len(_RETRY_S) - 1)]):
                    raise AbandonedError from error
                tries += 1


@functools.lru_cache(maxsize=4)
def _digest(*parts: str) -> str:
    return hashlib.sha256(json.dumps([build_id(), *parts]).encode()).hexdigest()[:12]
