"""What the endpoints of one service share: grader, program runner, stores and queues."""

import contextlib
import logging
import time
from dataclasses import replace

from grader.config.rewards import ScoreMode
from grader.config.settings import Settings
from grader.grading.engine import GradingEngine
from grader.grading.futures import FutureGrader
from grader.grading.grader import Grader
from grader.grading.probe import make_probe
from grader.model.errors import GraderError
from grader.model.verdict import Verdict
from grader.offline.problems import load_problems
from grader.process.garbage import RareCollection
from grader.process.logs import error_kind
from grader.process.threads import Threads
from grader.queueing.diagnosis import obstacle as queue_obstacle
from grader.queueing.grader import QueueGrader
from grader.queueing.status import QueueStatus, read_status
from grader.rewards.core import RewardCore
from grader.server.endpoints.labels import LabelReader
from grader.server.http.cancellation import OpenRequests
from grader.server.http.idempotency import IdempotencyStore
from grader.server.http.wait_queue import WaitQueue
from grader.server.metrics import Metrics
from grader.server.observed import ObservedGrader
from grader.server.programs.queued import QueuedPrograms
from grader.server.programs.running import LocalPrograms, Programs
from grader.server.samples import SampleStore
from grader.server.sessions import SessionRegistry
from grader.server.state import StateReader

_log = logging.getLogger(__name__)

_STATUS_LASTS_S = 2.0
_PROBE_TIMEOUT_S = 120.0
_RATING_THREADS = 512
"""A /get_reward request takes one of these while it is graded; if none is free, it waits."""
_SESSION_THREADS = 256
"""A request about a session takes one of these; if none is free, it waits."""


class Service:
    """Everything behind the endpoints. Made and closed with the application."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        """Choose the sandbox or the queue; no slot is opened yet.

        Raises:
            GraderError: What the settings name does not exist or cannot work here.
        """
        self.settings = settings = _for_service(settings)
        self.metrics = metrics
        self.wait_queue = WaitQueue()
        self.open_requests = OpenRequests()
        self.idempotency = IdempotencyStore(settings.server)
        self.samples = SampleStore(settings.keep)
        self.collection = RareCollection()
        """Begun only by a process that has no other purpose than this service."""
        with contextlib.ExitStack() as held:
            problems = None
            if settings.problems is not None:
                problems = held.enter_context(load_problems(settings.problems))
            self.labels = LabelReader(problems, metrics)
            held.callback(self.labels.close)
            self.rewards = RewardCore(settings, open_grader=lambda _: self.grader)
            inner: FutureGrader
            if settings.broker is None:
                engine = GradingEngine(settings, on_turn=lambda each: self.grader.begin(each))
                inner = Grader(settings, engine=engine)
                self.programs: Programs = LocalPrograms(engine, self.wait_queue)
            else:
                queue = QueueGrader(settings)
                inner, self.programs = queue, QueuedPrograms(queue)
            self.grader = ObservedGrader(
                settings,
                inner,
                wait_queue=self.wait_queue,
                metrics=metrics,
                samples=self.samples,
                recorder=self.rewards.recorder,
            )
            held.callback(self.grader.close)
            held.callback(self.programs.close)
            held.callback(self.rewards.close)
            self.rating_threads = Threads(_RATING_THREADS, "get-reward")
            held.callback(self.rating_threads.shutdown, wait=False, cancel_futures=True)
            self.sessions = SessionRegistry(settings)
            metrics.open_sessions.set_function(self.sessions.count)
            held.callback(self.sessions.end)
            self.session_threads = Threads(_SESSION_THREADS, "session")
            held.callback(self.session_threads.shutdown, wait=False, cancel_futures=True)
            self._held = held.pop_all()
        self._queue = None if settings.broker is None else _QueueWatch(settings)
        self.state = StateReader(
            self.wait_queue, self.programs.counts, None if self._queue is None else self._queue.read
        )
        metrics.watch(self.state)

    def obstacle(self) -> str | None:
        """Return why nothing can be graded now; None if grading works. May wait.

        Without a queue, this grades a small program. So the first call opens a slot.
        """
        if self._queue is not None:
            status = self._queue.read()
            if status is None:
                return "Redis does not answer"
            return queue_obstacle(status)
        report = self.grader.inner.grade(make_probe(), timeout_s=_PROBE_TIMEOUT_S)
        if report.verdict is Verdict.PASSED:
            return None
        _log.warning("nothing can be graded: %s", report.feedback)
        return error_kind(report.feedback)

    @property
    def is_remote(self) -> bool:
        """Whether workers of a queue grade, and not this process."""
        return self._queue is not None

    def close(self) -> None:
        """Stop all running work and free everything. Repeats harmlessly."""
        self._held.close()


def _for_service(settings: Settings) -> Settings:
    """Return the settings, adjusted so that all endpoints can share them."""
    reward = settings.reward
    deadline_s = min(reward.deadline_s, settings.server.reward_deadline_s)
    stop_early = settings.stop_early
    if reward.score is ScoreMode.FRACTION and stop_early is None:
        stop_early = False  # The fraction of passed cases needs the verdicts of all.
    return replace(settings, stop_early=stop_early, reward=replace(reward, deadline_s=deadline_s))


class _QueueWatch:
    """Reads the state of the queue from Redis, at most once in `_STATUS_LASTS_S`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._last: tuple[float, QueueStatus | None] = (float("-inf"), None)

    def read(self) -> QueueStatus | None:
        """Return the state of the queue; None if Redis does not answer. May wait."""
        when, status = self._last
        if time.monotonic() - when > _STATUS_LASTS_S:
            try:
                status = read_status(self._settings)
            except GraderError:
                status = None
            self._last = (time.monotonic(), status)
        return status
