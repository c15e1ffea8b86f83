"""The bench: one worker process's slots, the jobs on them, and its dealings with the ledger.

Threads of Celery's pool call `work`, one chunk each. A thread of the bench's own keeps the lease,
stops what was cancelled, lets others have the rest of a chunk that a slow job holds up, and looks
for what dead workers left.
"""

import json
import logging
import os
import platform
import secrets
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from grader import wire
from grader.cache import is_cacheable
from grader.errors import GraderError, QueueUnavailableError, WireError
from grader.model import Submission
from grader.queueing.dispatch import Dispatcher
from grader.queueing.jobs import SuiteReader, apply
from grader.queueing.ledger import Hint, Ledger, Started, Taken
from grader.queueing.programs import (
    ProgramResult,
    decode_program,
    encode_result,
    is_program,
)
from grader.queueing.repeats import Repeats
from grader.service import not_graded
from grader.settings import Settings
from grader.stoppable import Run, StoppableGrader
from worker.gate import Gate

_log = logging.getLogger(__name__)

_BEAT_S = 0.5
_SLOW_S = 0.5
"""How long a job may run before the rest of its chunk goes to others, or wait for a slot."""
_RETRY_S = (0.1, 0.3, 1.0)
_RATE_WINDOW_S = 60.0

_Result = TypeVar("_Result")


class AbandonedError(Exception):
    """The bench is closing and Redis does not answer: what is left will be found by others."""


@dataclass(slots=True, kw_only=True, eq=False)
class _Chunk:
    """The jobs of one hint, taken together under one token."""

    token: str
    left: deque[Taken]
    key: str | None = None
    """The job that runs."""
    run: Run = field(default_factory=Run)
    since: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _AnswerTo:
    """What becomes of a job."""

    body: bytes
    error: str
    """What is told to operators; "" where all went well."""
    keep: bool
    """Whether it may answer the next equal job."""


class Bench:
    """Grades jobs. `work` is safe for many threads."""

    def __init__(
        self,
        settings: Settings,
        *,
        ledger: Ledger,
        dispatcher: Dispatcher,
        grader: StoppableGrader,
    ) -> None:
        """Start nothing yet.

        Args:
            settings: Of this worker.
            ledger: Where jobs come from and reports go.
            dispatcher: Tells other workers.
            grader: Has the slots. Closed with the bench.
        """
        self.id = f"{platform.node()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._settings = settings
        self._ledger = ledger
        self._dispatcher = dispatcher
        self._grader = grader
        self._suites = SuiteReader()
        self._gate = Gate()
        self._free_slots = threading.BoundedSemaphore(settings.slots)
        self._lock = threading.Lock()
        self._chunks: dict[_Chunk, None] = {}
        self._stopping = threading.Event()
        self._abandoned = threading.Event()
        self._closed = threading.Event()
        self._repeats = Repeats()
        self._patience = threading.Timer(settings.queue.drain_s, self._abandon)
        self._patience.daemon = True
        self._counts: Counter[str] = Counter()
        self._recent: deque[float] = deque(maxlen=10_000)
        self._started = time.time()
        self._heart = threading.Thread(target=self._beat_on, name="heartbeat", daemon=True)

    def open(self) -> None:
        """Join the queue."""
        self._heart.start()

    def stop(self) -> None:
        """Take nothing new; finish what runs as long as the settings allow. Does not wait."""
        if not self._stopping.is_set():
            self._stopping.set()
            # By a clock of its own: the heartbeat may hang on a Redis that is silent.
            self._patience.start()

    def close(self) -> None:
        """Stop what still runs, give everything back and close the slots."""
        self._stopping.set()
        self._patience.cancel()
        self._abandon()
        self._closed.set()
        if self._heart.is_alive():
            self._heart.join()
        try:
            self._dispatcher.send(self._ledger.leave_worker(self.id))
        except QueueUnavailableError as error:
            _log.warning("left without a word, as Redis does not answer: %s", error)
        self._dispatcher.close()
        self._ledger.close()

    def _abandon(self) -> None:
        self._abandoned.set()
        for chunk in self._open_chunks():
            chunk.run.stop()
        # Nor does anybody wait any longer for a slot that an engine would have to open.
        self._grader.close()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being graded."""
        return not self._chunks

    def work(self, keys: Sequence[str]) -> None:
        """Grade those of the jobs that still wait for it, one after another."""
        token = secrets.token_hex(8)
        try:
            taken = self._insist(lambda: self._ledger.take(self.id, token, keys))
            chunk = _Chunk(token=token, left=deque(taken))
            with self._lock:
                self._chunks[chunk] = None
            try:
                while (job := self._next(chunk)) is not None:
                    self._grade(job, chunk)
            finally:
                with self._lock:
                    del self._chunks[chunk]
                self._give_back(chunk.token, list(chunk.left))
        except AbandonedError:
            _log.warning("left jobs behind: Redis does not answer")

    # ------------------------------------------------------------ one job

    def _next(self, chunk: _Chunk) -> Taken | None:
        with self._lock:
            if self._stopping.is_set() or not chunk.left:
                return None
            chunk.run = Run()
            return chunk.left.popleft()

    def _grade(self, job: Taken, chunk: _Chunk) -> None:
        with self._gate.alone() if job.is_suspect else self._gate.together():
            with_suite = not self._suites.knows(job.suite)
            started = self._insist(
                lambda: self._ledger.start(self.id, chunk.token, job.key, with_suite=with_suite)
            )
            if started is None:
                return
            with self._lock:
                chunk.key, chunk.since = job.key, time.monotonic()
            try:
                self._run(job, started, chunk)
            finally:
                with self._lock:
                    chunk.key = None

    def _run(self, job: Taken, started: Started, chunk: _Chunk) -> None:
        if not self._free_slots.acquire(timeout=_SLOW_S):
            # Another worker may have a slot that is free.
            self._give_back(chunk.token, [job])
            self._shed(chunk)
            return
        try:
            answer = self._answer(job, started, chunk.run)
        finally:
            self._free_slots.release()
        if chunk.run.is_stopped:
            # Cancelled, or given to another worker, which the ledger then knows; or we stop.
            self._give_back(chunk.token, [job])
            return
        error = f"{self.id} {answer.error}" if answer.error else ""
        in_time = self._insist(
            lambda: self._ledger.finish(
                self.id, chunk.token, job.key, answer.body, error=error, keep=answer.keep
            )
        )
        self._counts["graded" if in_time else "stale"] += 1
        self._recent.append(time.monotonic())

    def _answer(self, job: Taken, started: Started, run: Run) -> _AnswerTo:
        """Do what a job says; whatever it says, somebody waits for an answer."""
        try:
            settings = _settings_of(started)
            code = started.code.decode()
            if is_program(settings):
                return self._run_program(code, run)
            return self._grade_submission(job, started, code, settings, run)
        except (GraderError, LookupError, ValueError, TypeError) as error:
            reason = f"the job cannot be read: {type(error).__name__}: {error}"
        except Exception as error:  # noqa: BLE001 - and it is logged
            _log.exception("a job met a fault in the worker")
            reason = f"{type(error).__name__}: {error}"
        report = not_graded(reason, self._settings)
        return _AnswerTo(body=wire.encode_report(report), error=reason, keep=False)

    def _run_program(self, code: str, run: Run) -> _AnswerTo:
        try:
            program, image = decode_program(code)
            result = ProgramResult(outcome=self._grader.run_program(program, run, image=image))
        except GraderError as error:
            result = ProgramResult(reason=f"{type(error).__name__}: {error}")
        return _AnswerTo(body=encode_result(result), error=result.reason, keep=False)

    def _grade_submission(
        self, job: Taken, started: Started, code: str, given: Mapping[str, Any], run: Run
    ) -> _AnswerTo:
        suite = self._suites.read(job.suite, started.suite)
        settings = apply(given, self._settings)
        submission = Submission(id=job.key, completion=code, suite=suite)
        report = self._grader.grade_run(submission, run, settings)
        return _AnswerTo(
            body=wire.encode_report(report),
            error="" if report.graded else report.feedback,
            keep=is_cacheable(report, settings.limits.override(suite.limits)),
        )

    def _give_back(self, token: str, jobs: Iterable[Taken]) -> None:
        keys = [job.key for job in jobs]
        if keys:
            self._tell(self._insist(lambda: self._ledger.give_back(self.id, token, keys)))

    def _insist(self, step: Callable[[], _Result]) -> _Result:
        """Take a step in the ledger, as often as it takes.

        Raises:
            AbandonedError: The bench closes first.
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

    # ------------------------------------------------------------ the heart

    def _beat_on(self) -> None:
        while not self._closed.wait(_BEAT_S):
            try:
                self._beat()
            except QueueUnavailableError as error:
                if self._repeats.is_due(str(error)):
                    _log.warning("no heartbeat: %s", error)
            except Exception:  # noqa: BLE001 - and it is logged
                # Without a heart everything here would be taken away again and again.
                _log.exception("the heartbeat met a fault")

    def _beat(self) -> None:
        chunks = self._open_chunks()
        with self._lock:
            # The run itself: its chunk may be at the next job when the answer comes.
            running = {c.key: (c, c.run) for c in chunks if c.key is not None}
        pairs = [(chunk.token, key) for key, (chunk, _) in running.items()]
        for key in self._ledger.beat(self.id, self._description(len(running)), pairs):
            running[key][1].stop()
        now = time.monotonic()
        for chunk, _ in running.values():
            if now - chunk.since > _SLOW_S or self._stopping.is_set():
                self._shed(chunk)
        self._tell(self._ledger.reap(self._settings.queue.images.split(",")))

    def _shed(self, chunk: _Chunk) -> None:
        """Let others have what waits behind a slow job."""
        with self._lock:
            rest = list(chunk.left)
            chunk.left.clear()
        if rest:
            keys = [job.key for job in rest]
            self._tell(self._ledger.give_back(self.id, chunk.token, keys))

    def _tell(self, hints: Sequence[Hint]) -> None:
        try:
            self._dispatcher.send(hints)
        except QueueUnavailableError as error:
            # The ledger has them; whoever reaps next sends the hints.
            _log.warning("hints were not sent: %s", error)

    def _open_chunks(self) -> list[_Chunk]:
        with self._lock:
            return list(self._chunks)

    def _description(self, running: int) -> str:
        now = time.monotonic()
        recent = sum(1 for at in list(self._recent) if now - at < _RATE_WINDOW_S)
        alive_s = time.time() - self._started
        return json.dumps(
            {
                "host": platform.node(),
                "pid": os.getpid(),
                "started": self._started,
                "slots": self._settings.slots,
                # One or two more may be on their way to or from the ledger.
                "running": min(running, self._settings.slots),
                "images": self._settings.queue.images,
                "sandbox": self._grader.sandbox.name,
                "state": "stopping" if self._stopping.is_set() else "serving",
                "graded": self._counts["graded"],
                "per_s": round(recent / max(1.0, min(_RATE_WINDOW_S, alive_s)), 2),
            }
        )


def _settings_of(started: Started) -> Mapping[str, Any]:
    settings = json.loads(started.settings)
    if not isinstance(settings, dict):
        message = f"its settings are {type(settings).__name__}; expected an object"
        raise WireError(message)
    return settings
