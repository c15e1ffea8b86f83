"""The threads that send a client's jobs to the ledger and receive the answers.

Callers only wait for futures. If there is no answer by a job's deadline, the thread of `Deadlines`
settles its future; until then, these threads retry whatever fails.
"""

import logging
import math
import os
import platform
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from grader.config.settings import ServiceClass, Settings
from grader.grading.deadlines import Deadlines
from grader.grading.futures import deliver
from grader.model.errors import GraderError, QueueUnavailableError
from grader.process.repeats import Repeats
from grader.queueing import names
from grader.queueing.dispatch import Dispatcher, make_app
from grader.queueing.jobs import AnswerReader, QueuedJob
from grader.queueing.ledger import Ledger
from grader.queueing.ledger_values import Message
from grader.queueing.names import AnswerKind
from grader.queueing.pending import PendingJob, PendingJobs

_log = logging.getLogger(__name__)

_SEND_AT_ONCE = 256
_CHARACTERS_AT_ONCE = 1 << 20
"""Of code. Redis serves nothing else while it runs a command, so commands must stay small."""
_READ_BLOCK_S = 0.5
_CHECK_INTERVAL_S = 2.0
_BACKOFF_S = (0.05, 0.2, 0.5, 1.0)
_JOIN_TIMEOUT_S = 2.0


def client_id() -> str:
    """Return a name for this process that no other has."""
    return f"{platform.node()}:{os.getpid()}:{secrets.token_hex(4)}"


class Pump:
    """One process's client of one Redis."""

    def __init__(
        self, settings: Settings, client: str, move: Callable[["Pump"], None] | None = None
    ) -> None:
        """Connect to nothing and start nothing yet.

        Args:
            settings: The settings, with one broker.
            client: What the ledger calls this client.
            move: Called every few seconds if other Redis could take the jobs of this one.

        Raises:
            ConfigurationError: The broker's address is unusable, or Celery or redis is missing.
        """
        self._settings = settings
        self._client = client
        self._move = move
        self._slots: dict[str, tuple[int, float]] = {}
        """By image: how many take its jobs, and when that was last told, by `time.monotonic`."""
        self._began = math.inf
        self._ledger = Ledger(settings)
        self._dispatcher = Dispatcher(make_app(settings))
        self._pending = PendingJobs(settings.queue.in_flight)
        self._deadlines = Deadlines()
        self._repeats = Repeats()
        self._trouble: dict[str, str] = {}
        """Why the last attempt to send, or to receive, failed."""
        self._unserved_since = math.inf
        """When all workers were first seen to be of other versions, by `time.monotonic`."""
        self._start_lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self.counts: Counter[str] = Counter()
        """This client's submissions: sent, hits, joined. Only the sending thread writes them."""

    def submit(
        self, job: QueuedJob, future: Future[Any], timeout_s: float, *, is_bulk: bool
    ) -> None:
        """Send a job, and settle `future` within `timeout_s` s. Cancelling it cancels the job."""
        deadline = time.monotonic() + timeout_s

        def fail() -> None:
            deliver(future, job.reader.failure(self._why_late(job.key, timeout_s)))

        alarm = self._deadlines.add(deadline, fail)
        future.add_done_callback(lambda _: alarm.cancel())
        self._take(job, future, deadline, is_bulk=is_bulk)

    def take_over(self, pending: PendingJob) -> None:
        """Send a job of another pump, whose deadlines still hold."""
        for future, reader in pending.futures.items():
            job = replace(pending.job, reader=reader)
            self._take(job, future, pending.deadline, is_bulk=pending.is_bulk)

    def release(self, image: str) -> list[PendingJob]:
        """Cancel all jobs of an image here, and return them for another pump to take over."""
        return self._pending.release(image)

    def images(self) -> set[str]:
        """Return the images of its jobs."""
        return self._pending.images()

    def slots(self, image: str) -> int:
        """Return how many slots take jobs of an image; 0 if none was seen for `queue.lease_s`.

        Before the first answer of Redis it is 1.
        """
        number, seen = self._slots.get(image, (1, self._began))
        return number if time.monotonic() - seen < self._settings.queue.lease_s else 0

    def __contains__(self, key: str) -> bool:
        return key in self._pending

    def _take(self, job: QueuedJob, future: Future[Any], deadline: float, *, is_bulk: bool) -> None:
        self.start()
        if self._pending.add(job, future, deadline, is_bulk=is_bulk):
            future.add_done_callback(lambda _: self._pending.drop(job.key, future))
        else:
            deliver(future, job.reader.failure("the client is closed"))

    def has_slot(self, key: str) -> bool:
        """Return whether a program runs at this moment."""
        return self._ledger.has_slot(key)

    def close(self) -> None:
        """Cancel the pending jobs, and leave the queue. Repeats harmlessly."""
        for pending in self._pending.close():
            for future, reader in pending.futures.items():
                deliver(future, reader.failure("the client was closed"))
        for thread in self._threads:
            thread.join(_JOIN_TIMEOUT_S)
        self._deadlines.close()
        if self._threads:
            try:
                self._ledger.leave(self._client)
            except QueueUnavailableError as error:
                _log.warning("could not tell the ledger that this client leaves: %s", error)
        self._threads = []
        self._dispatcher.close()
        self._ledger.close()

    def start(self) -> None:
        """Connect. Repeats harmlessly."""
        with self._start_lock:
            if self._threads:
                return
            self._began = time.monotonic()
            self._threads = [
                threading.Thread(target=target, name=f"grader-{name}", daemon=True)
                for name, target in (("send", self._send), ("receive", self._receive))
            ]
            for thread in self._threads:
                thread.start()

    def _why_late(self, key: str, timeout_s: float) -> str:
        reason = f"no report within {round(timeout_s, 1):g} s"
        trouble = [*self._trouble.values()] if key in self else []
        return ": ".join([reason, *trouble[:1]])

    # ------------------------------------------------------------ to the ledger

    def _send(self) -> None:
        failures = 0
        while True:
            # Send less after a failure, because the size may have caused it.
            shrink = 4 ** min(failures, 4)
            jobs, cancelled = self._pending.take_unsent(
                _SEND_AT_ONCE // shrink, _CHARACTERS_AT_ONCE // shrink
            )
            if not jobs and not cancelled:
                return
            try:
                if cancelled:
                    self._ledger.cancel(self._client, cancelled)
                if jobs:
                    self._send_jobs(jobs)
                failures = 0
                self._trouble.pop("send", None)
            except GraderError as error:
                self._note_failure("send", error)
                if self._pending.is_closed:
                    return
                self._pending.unsend(jobs, cancelled)
                time.sleep(_BACKOFF_S[min(failures, len(_BACKOFF_S) - 1)])
                failures += 1

    def _send_jobs(self, jobs: list[PendingJob]) -> None:
        lacking = self._submit(jobs)
        if not lacking:
            return
        for suite in {p.job.suite.digest: p.job.suite for p in lacking}.values():
            self._ledger.store_suite(suite.digest, suite.message)
        if lost := self._submit(lacking):
            message = f"Redis has lost the suites of {len(lost)} jobs that were just stored"
            raise QueueUnavailableError(message)

    def _submit(self, jobs: list[PendingJob]) -> list[PendingJob]:
        """Enter jobs and send their hints; return the jobs whose suites Redis does not have."""
        entries = [
            pending.job.ledger_entry(pending.timeout_s, self._class_of(pending)) for pending in jobs
        ]
        entered = self._ledger.submit(self._client, entries)
        for pending, outcome in zip(jobs, entered.jobs, strict=True):
            self.counts["sent"] += not outcome.lacks_suite
            if outcome.report is not None:
                self.counts["hits"] += 1
                self._answer(pending.job.key, outcome.report)
            elif not outcome.is_new:
                self.counts["joined"] += not outcome.lacks_suite
            pending.is_entered = not outcome.lacks_suite
        self._dispatcher.send(entered.hints)
        return [p for p, outcome in zip(jobs, entered.jobs, strict=True) if outcome.lacks_suite]

    def _class_of(self, pending: PendingJob) -> ServiceClass:
        usual = ServiceClass.BATCH if pending.is_bulk else ServiceClass.TRAINING
        return self._settings.queue.service_class or usual

    def _note_failure(self, what: str, error: GraderError) -> None:
        self._trouble[what] = str(error)
        if self._repeats.is_due(str(error)):
            _log.warning("the queue cannot be reached: %s", error)

    # ------------------------------------------------------------ from the ledger

    def _receive(self) -> None:
        failures = 0
        next_check = time.monotonic() + (_CHECK_INTERVAL_S if self._move is None else 0)
        while not self._pending.is_closed:
            if not self._pending.wait_for_sent(_CHECK_INTERVAL_S) and self._move is None:
                continue
            if self._move is not None:
                # Before the check, which refuses what only workers of other versions could do.
                self._move(self)
            try:
                self._read()
                if time.monotonic() >= next_check:
                    self._check()
                    next_check = time.monotonic() + _CHECK_INTERVAL_S
                failures = 0
                self._trouble.pop("receive", None)
            except GraderError as error:
                self._note_failure("receive", error)
                time.sleep(_BACKOFF_S[min(failures, len(_BACKOFF_S) - 1)])
                failures += 1

    def _read(self) -> None:
        messages = self._ledger.read(self._client, block_s=_READ_BLOCK_S)
        for message in messages:
            self._receive_message(message)
        if messages:
            self._ledger.acknowledge(self._client, messages[-1].id)

    def _check(self) -> None:
        """Renew this client's lease, and send jobs that the ledger has lost again."""
        found = self._ledger.check(self._client, self._pending.entered_keys())
        now = time.monotonic()
        self._slots |= {image: (number, now) for image, number in found.slots.items() if number}
        again = sum(self._pending.resend(key) for key in found.lost)
        if again:
            _log.warning("the ledger has lost %d jobs; sending them again", again)
        if not found.other_versions:
            self._unserved_since = math.inf
            return
        self._unserved_since = min(self._unserved_since, now)
        # By then, a worker that was only restarted would be back.
        if now - self._unserved_since >= self._settings.queue.lease_s:
            self._refuse(names.version_mismatch(found.other_versions))

    def _refuse(self, reason: str) -> None:
        """Fail all jobs that are in the ledger."""
        keys = self._pending.entered_keys()
        self._ledger.cancel(self._client, keys)
        for key in keys:
            self._pending.answer(key, lambda reader: reader.failure(reason))

    def _receive_message(self, message: Message) -> None:
        match message.kind:
            case AnswerKind.REPORT:
                self._answer(message.key, message.body)
            case AnswerKind.KILLED:
                deaths = self._settings.queue.worker_deaths
                reason = f"{deaths} workers died while they graded this submission and no other"
                self._pending.answer(message.key, lambda reader: reader.failure(reason))
            case AnswerKind.AGAIN:
                self._pending.resend(message.key)

    def _answer(self, key: str, body: bytes) -> None:
        def read(reader: AnswerReader) -> Any:
            try:
                return reader.decode(body)
            except GraderError as error:
                return reader.failure(f"the report cannot be read: {error}")

        self._pending.answer(key, read)
