"""The executor of a worker process. Each thread of Celery's pool has it execute one chunk."""

import hashlib
import json
import logging
import os
import platform
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TypeVar

from structlog.contextvars import bound_contextvars

from grader.config.settings import Settings
from grader.grading.engine import GradingEngine
from grader.model.errors import QueueUnavailableError
from grader.process.logs import error_kind, short_id
from grader.process.release import build_id
from grader.process.repeats import Repeats
from grader.queueing.dispatch import Dispatcher
from grader.queueing.ledger import Ledger, Taken
from grader.sandbox.contract import Sandbox
from worker.chunks import Chunk, Chunks
from worker.condition import Condition
from worker.heartbeat import SLOW_S, Heartbeat
from worker.job_runner import Finished, JobRunner, is_of_sandbox, log_fields
from worker.locks import ReadersWriterLock
from worker.sessions import SessionHost
from worker.throughput import Throughput

_log = logging.getLogger(__name__)

_RETRY_S = (0.1, 0.3, 1.0)

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
        self._chunks = Chunks(self.id, ledger=ledger, dispatcher=dispatcher)
        self._throughput = Throughput()
        self._heartbeat = Heartbeat(
            self.id,
            settings,
            ledger=ledger,
            chunks=self._chunks,
            throughput=self._throughput,
            sandbox=grader.sandbox.name,
            edition=self._edition,
        )
        self._listen = listen
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
        if not self._chunks.is_stopping:
            self._chunks.stop()
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

    def execute(self, keys: Sequence[str]) -> None:
        """Run those of the jobs that are still queued, one after another."""
        token = secrets.token_hex(8)
        try:

            def take() -> list[Taken]:
                return self._insist(lambda: self._ledger.take(self.id, token, keys))

            with self._chunks.opened(token, take) as chunk:
                while (job := self._chunks.next_job(chunk)) is not None:
                    self._start(job, chunk)
        except AbandonedError:
            _log.warning("ended without giving jobs back: Redis does not answer")

    def _abandon(self) -> None:
        self._abandoned.set()
        self._chunks.kill()
        # Threads that wait for a slot to be opened are released, too.
        self._grader.close()

    def _start(self, job: Taken, chunk: Chunk) -> None:
        with self._lock.exclusive() if job.is_suspect else self._lock.shared():
            if not self._free_slots.acquire(timeout=SLOW_S):
                # Another worker may have a free slot.
                self._chunks.give_back(chunk, [job.key])
                self._chunks.give_rest_back(chunk)
                return
            with ExitStack() as slot:
                slot.callback(self._free_slots.release)
                suite = self._runner.known_suite(job)
                lacks = suite is None
                started = self._insist(
                    lambda: self._ledger.start(self.id, chunk.token, job.key, with_suite=lacks)
                )
                if started is None:
                    return
                with (
                    self._chunks.running(chunk, job.key),
                    bound_contextvars(job=short_id(job.key), **log_fields(started)),
                ):
                    finished = self._runner.run(job, started, chunk.handle, suite)
                    slot.close()
                    self._finish(job, finished, chunk)

    def _finish(self, job: Taken, finished: Finished, chunk: Chunk) -> None:
        if chunk.handle.is_stopped:
            # The job was cancelled or given to another worker, or this worker ends.
            self._chunks.give_back(chunk, [job.key])
            return
        if is_of_sandbox(finished.error) and self._leave_to_others(job, chunk):
            return
        error = f"{self.id} {finished.error}" if finished.error else ""
        in_time = self._insist(
            lambda: self._ledger.finish(
                self.id,
                chunk.token,
                job.key,
                finished.body,
                error=error,
                keep=finished.keep,
                edition=self._edition(),
            )
        )
        fields = {"verdict": finished.verdict, "took_s": round(time.monotonic() - chunk.since, 4)}
        if not in_time:
            _log.warning("the report came too late, and was dropped", extra=fields)
            return
        self._throughput.count()
        if finished.error:
            _log.warning("not graded", extra={**fields, "error": error_kind(finished.error)})
        else:
            _log.info("graded", extra=fields)

    def _leave_to_others(self, job: Taken, chunk: Chunk) -> bool:
        """Put a job back that the sandbox failed to run; False if it has been tried enough."""
        if not self._condition.look():
            # Not a try: nothing would have run here.
            self._chunks.give_back(chunk, [job.key])
            return True
        hints = self._insist(lambda: self._ledger.retry(self.id, chunk.token, job.key))
        self._chunks.send_hints(hints)
        return bool(hints)

    def _try_sandbox(self) -> None:
        try_sandbox(self._grader.sandbox, self._settings)

    def _condition_changed(self) -> None:
        is_sick = self._condition.is_sick
        self._chunks.is_paused = self._sessions.is_paused = is_sick
        self._listen(not is_sick)

    def _edition(self) -> str:
        """Return a digest of what this worker's verdicts depend on, apart from the jobs."""
        parts = [build_id(), self._grader.sandbox.name]
        for image in self._settings.queue.images.split(","):
            parts += [image, self._grader.sandbox.environment(image)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]

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
