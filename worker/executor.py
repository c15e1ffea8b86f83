"""The executor of a worker process: threads of Celery's pool call it, one chunk of jobs each."""

import logging
import os
import platform
import secrets
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TypeVar

from grader.config.settings import Settings
from grader.grading.engine import GradingEngine
from grader.model.errors import QueueUnavailableError
from grader.process.repeats import Repeats
from grader.queueing.dispatch import Dispatcher
from grader.queueing.ledger import Ledger, Taken
from worker.chunks import Chunk, Chunks
from worker.gate import Gate
from worker.heartbeat import SLOW_S, Heartbeat
from worker.job_runner import Finished, JobRunner
from worker.throughput import Throughput

_log = logging.getLogger(__name__)

_RETRY_S = (0.1, 0.3, 1.0)

_Answer = TypeVar("_Answer")


class AbandonedError(Exception):
    """The executor is closing and Redis does not answer: others will find what is left."""


class Executor:
    """Executes jobs of the ledger in slots of its own. `execute` is safe for many threads."""

    def __init__(
        self,
        settings: Settings,
        *,
        ledger: Ledger,
        dispatcher: Dispatcher,
        grader: GradingEngine,
    ) -> None:
        """Start nothing yet.

        Args:
            settings: Of this worker.
            ledger: Where jobs come from and reports go. Closed with this, as are the next two.
            dispatcher: Tells other workers.
            grader: Has the slots.
        """
        self.id = f"{platform.node()}:{os.getpid()}:{secrets.token_hex(4)}"
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
        )
        self._gate = Gate()
        self._free_slots = threading.BoundedSemaphore(settings.slots)
        self._repeats = Repeats()
        self._abandoned = threading.Event()
        self._patience = threading.Timer(settings.queue.drain_s, self._abandon)
        self._patience.daemon = True

    def open(self) -> None:
        """Join the queue."""
        self._heartbeat.start()

    def stop(self) -> None:
        """Take nothing new; finish what runs as long as the settings allow. Does not wait."""
        if not self._chunks.is_stopping:
            self._chunks.stop()
            # By a clock of its own: the heartbeat may hang on a Redis that is silent.
            self._patience.start()

    def close(self) -> None:
        """Stop what still runs, give everything back and close the slots."""
        self._patience.cancel()
        self._abandon()
        self._heartbeat.close()
        try:
            self._dispatcher.send(self._ledger.leave_worker(self.id))
        except QueueUnavailableError as error:
            _log.warning("left without a word, as Redis does not answer: %s", error)
        self._dispatcher.close()
        self._ledger.close()

    def execute(self, keys: Sequence[str]) -> None:
        """Run those of the jobs that still wait for it, one after another."""
        token = secrets.token_hex(8)
        try:
            jobs = self._insist(lambda: self._ledger.take(self.id, token, keys))
            with self._chunks.opened(token, jobs) as chunk:
                while (job := self._chunks.next_job(chunk)) is not None:
                    self._start(job, chunk)
        except AbandonedError:
            _log.warning("left jobs behind: Redis does not answer")

    def _abandon(self) -> None:
        self._abandoned.set()
        self._chunks.kill()
        # Nor does anybody wait any longer for a slot that an engine would have to open.
        self._grader.close()

    def _start(self, job: Taken, chunk: Chunk) -> None:
        with self._gate.alone() if job.is_suspect else self._gate.together():
            if not self._free_slots.acquire(timeout=SLOW_S):
                # Another worker may have a slot that is free.
                self._chunks.let_go(chunk, [job.key])
                self._chunks.let_rest_go(chunk)
                return
            with ExitStack() as slot:
                slot.callback(self._free_slots.release)
                with_suite = self._runner.lacks_suite(job)
                started = self._insist(
                    lambda: self._ledger.start(self.id, chunk.token, job.key, with_suite=with_suite)
                )
                if started is None:
                    return
                with self._chunks.running(chunk, job.key):
                    finished = self._runner.run(job, started, chunk.run)
                    slot.close()
                    self._finish(job, finished, chunk)

    def _finish(self, job: Taken, finished: Finished, chunk: Chunk) -> None:
        if chunk.run.is_stopped:
            # Cancelled, or given to another worker, which the ledger then knows; or we stop.
            self._chunks.let_go(chunk, [job.key])
            return
        error = f"{self.id} {finished.error}" if finished.error else ""
        in_time = self._insist(
            lambda: self._ledger.finish(
                self.id, chunk.token, job.key, finished.body, error=error, keep=finished.keep
            )
        )
        if in_time:
            self._throughput.count()

    def _insist(self, step: Callable[[], _Answer]) -> _Answer:
        """Take a step in the ledger, as often as it takes.

        Raises:
            AbandonedError: The executor closes first.
        """
        tries = 0
        while True:
            try:
                return step()
            except QueueUnavailableError as error:
                if self._repeats.is_due(f"again: {error}"):
                    _log.warning("trying again: %s", error)
                if self._abandoned.wait(_RETRY_S[min(tries, len(_RETRY_S) - 1)]):
                    raise AbandonedError from error
                tries += 1
