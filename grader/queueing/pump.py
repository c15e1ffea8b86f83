"""The threads that carry a client's jobs to the ledger and its answers back.

Callers never touch a socket: they wait for a future, which the deadline's thread settles when
Redis does not. Whatever fails here is tried again until then.
"""

import logging
import secrets
import threading
import time
from collections import Counter
from concurrent.futures import Future
from typing import Any

from grader.config.settings import Settings
from grader.grading.deadlines import Deadlines
from grader.grading.futures import deliver
from grader.model.errors import GraderError, QueueUnavailableError
from grader.process.repeats import Repeats
from grader.queueing.calls import Calls, Entry
from grader.queueing.dispatch import Dispatcher, make_app
from grader.queueing.jobs import Job, Reader
from grader.queueing.ledger import Hint, Ledger, Message, Submitted
from grader.queueing.names import Answer

_log = logging.getLogger(__name__)

_SEND_AT_ONCE = 256
_CHARACTERS_AT_ONCE = 1 << 20
"""Of code: Redis holds the command and the jobs for a moment, and serves nobody else."""
_CHUNKS_OF_ONE_SEND = 8
"""Into how many chunks at least a send is cut, so that several workers share a small batch."""
_READ_BLOCK_S = 0.5
_CHECK_INTERVAL_S = 2.0
_BACKOFF_S = (0.05, 0.2, 0.5, 1.0)
_JOIN_TIMEOUT_S = 2.0


class Pump:
    """One process's connection to the queue."""

    def __init__(self, settings: Settings) -> None:
        """Connect to nothing and start nothing yet.

        Raises:
            ConfigurationError: The broker's address is none, or Celery or redis are missing.
        """
        self._settings = settings
        self._client = secrets.token_hex(8)
        self._ledger = Ledger(settings)
        self._dispatcher = Dispatcher(make_app(settings))
        self._calls = Calls(settings.queue.in_flight)
        self._deadlines = Deadlines()
        self._repeats = Repeats()
        self._start_lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self.counts: Counter[str] = Counter()
        """Of this client's submissions: sent, hits, joined. Written by one thread."""

    def submit(self, job: Job, future: Future[Any], timeout_s: float, *, is_batch: bool) -> None:
        """Have `future` settled within `timeout_s` seconds; cancelling it cancels the job."""
        self._start()
        deadline = time.monotonic() + timeout_s
        if not self._calls.add(job, future, deadline, is_batch=is_batch):
            future.set_result(job.reader.failure("the client is closed"))
            return
        reason = f"no report within {round(timeout_s, 1):g} s"
        alarm = self._deadlines.add(deadline, lambda: deliver(future, job.reader.failure(reason)))

        def settled(_: Future[Any]) -> None:
            alarm.cancel()
            self._calls.drop(job.key, future)

        future.add_done_callback(settled)

    def is_running(self, key: str) -> bool:
        """Ask whether a worker runs a job at this moment."""
        return self._ledger.is_running(key)

    def close(self) -> None:
        """Give up what is open, and leave the queue. Repeats harmlessly."""
        for entry in self._calls.close():
            for future, reader in entry.futures.items():
                deliver(future, reader.failure("the client was closed"))
        for thread in self._threads:
            thread.join(_JOIN_TIMEOUT_S)
        self._deadlines.close()
        if self._threads:
            try:
                self._ledger.leave(self._client)
            except QueueUnavailableError as error:
                _log.warning("could not leave the queue in order: %s", error)
        self._threads = []
        self._dispatcher.close()
        self._ledger.close()

    def _start(self) -> None:
        with self._start_lock:
            if self._threads:
                return
            self._threads = [
                threading.Thread(target=target, name=f"grader-{name}", daemon=True)
                for name, target in (("send", self._send), ("receive", self._receive))
            ]
            for thread in self._threads:
                thread.start()

    # ------------------------------------------------------------ to the ledger

    def _send(self) -> None:
        failures = 0
        while True:
            # Less after a failure: the size may be what it failed of.
            shrink = 4 ** min(failures, 4)
            entries, cancelled = self._calls.take_unsent(
                _SEND_AT_ONCE // shrink, _CHARACTERS_AT_ONCE // shrink
            )
            if not entries and not cancelled:
                return
            try:
                if cancelled:
                    self._ledger.cancel(self._client, cancelled)
                if entries:
                    self._send_entries(entries)
                failures = 0
            except GraderError as error:
                self._complain(error)
                if self._calls.is_closed:
                    return
                self._calls.unsend(entries, cancelled)
                time.sleep(_BACKOFF_S[min(failures, len(_BACKOFF_S) - 1)])
                failures += 1

    def _send_entries(self, entries: list[Entry]) -> None:
        outcomes = self._submit(entries)
        lacking = [e for e, outcome in zip(entries, outcomes, strict=True) if outcome.lacks_suite]
        if lacking:
            for suite in {entry.job.suite.digest: entry.job.suite for entry in lacking}.values():
                self._ledger.store_suite(suite.digest, suite.message)
            self._submit(lacking)

    def _submit(self, entries: list[Entry]) -> list[Submitted]:
        tickets = [entry.job.ticket(entry.timeout_s) for entry in entries]
        outcomes = self._ledger.submit(self._client, tickets)
        singles: list[Hint] = []
        together: list[Hint] = []
        for entry, ticket, outcome in zip(entries, tickets, outcomes, strict=True):
            self.counts["sent"] += not outcome.lacks_suite
            if outcome.report is not None:
                self.counts["hits"] += 1
                self._answer(entry.job.key, outcome.report)
            elif outcome.is_new:
                (together if entry.is_batch else singles).append(ticket.hint)
            else:
                self.counts["joined"] += not outcome.lacks_suite
            entry.is_entered = not outcome.lacks_suite
        chunk = min(self._settings.queue.chunk, -(-len(together) // _CHUNKS_OF_ONE_SEND))
        self._dispatcher.send(singles)
        self._dispatcher.send(together, together=max(1, chunk))
        return outcomes

    def _complain(self, error: GraderError) -> None:
        if self._repeats.is_due(str(error)):
            _log.warning("the queue cannot be reached: %s", error)

    # ------------------------------------------------------------ and back

    def _receive(self) -> None:
        failures = 0
        next_check = time.monotonic() + _CHECK_INTERVAL_S
        while not self._calls.is_closed:
            if not self._calls.wait_for_sent(_CHECK_INTERVAL_S):
                continue
            try:
                self._read()
                if time.monotonic() >= next_check:
                    self._check()
                    next_check = time.monotonic() + _CHECK_INTERVAL_S
                failures = 0
            except GraderError as error:
                self._complain(error)
                time.sleep(_BACKOFF_S[min(failures, len(_BACKOFF_S) - 1)])
                failures += 1

    def _read(self) -> None:
        messages = self._ledger.read(self._client, block_s=_READ_BLOCK_S)
        for message in messages:
            self._take_in(message)
        if messages:
            self._ledger.acknowledge(self._client, messages[-1].id)

    def _check(self) -> None:
        """Tell the ledger that we live, and send anew what it has lost."""
        lost = self._ledger.check(self._client, self._calls.entered_keys())
        again = sum(self._calls.resend(key) for key in lost)
        if again:
            _log.warning("the queue has lost %d submissions; sending them again", again)

    def _take_in(self, message: Message) -> None:
        match message.kind:
            case Answer.REPORT:
                self._answer(message.key, message.body)
            case Answer.KILLED:
                deaths = self._settings.queue.worker_deaths
                reason = f"{deaths} workers died while they graded this submission alone"
                self._calls.answer(message.key, lambda reader: reader.failure(reason))
            case Answer.AGAIN:
                self._calls.resend(message.key)

    def _answer(self, key: str, body: bytes) -> None:
        def read(reader: Reader) -> Any:
            try:
                return reader.decode(body)
            except GraderError as error:
                return reader.failure(f"the report cannot be read: {error}")

        self._calls.answer(key, read)
