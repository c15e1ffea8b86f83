"""What a worker process does at its start, its stop and its end."""

import logging
import os
import sys
import traceback
from typing import Any

from celery import signals

from grader.config.settings import Settings
from grader.grading.engine import GradingEngine
from grader.model.errors import ConfigurationError, GraderError
from grader.queueing.dispatch import Dispatcher
from grader.queueing.ledger import Ledger
from worker.executor import Executor

_log = logging.getLogger(__name__)

_CANNOT_START = 3

_CHATTY = ("celery.app.trace", "celery.worker.strategy")
"""Loggers of Celery that write two lines a task at INFO."""


class Lifecycle:
    """Holds the executor of this process, from Celery's start signal to its last."""

    def __init__(self, app: Any, settings: Settings) -> None:
        """Connect to Celery's signals; nothing is started yet."""
        self._app = app
        self._settings = settings
        self._executor: Executor | None = None
        signals.after_setup_logger.connect(self._quieten, weak=False)
        signals.worker_init.connect(self._open, weak=False)
        signals.worker_shutting_down.connect(self._stop, weak=False)
        signals.worker_shutdown.connect(self._close, weak=False)

    @property
    def executor(self) -> Executor:
        """The executor.

        Raises:
            ConfigurationError: The worker was not started as a worker.
        """
        if self._executor is None:
            message = "no worker is running in this process"
            raise ConfigurationError(message)
        return self._executor

    def _quieten(self, **_: Any) -> None:
        for name in _CHATTY:
            logging.getLogger(name).setLevel(logging.WARNING)

    def _open(self, **_: Any) -> None:
        """Check that submissions can be run at all, before any is taken; then join the queue.

        Opening the first slot also removes what dead workers of this machine left behind.
        """
        try:
            self._executor = Executor(
                self._settings,
                ledger=Ledger(self._settings),
                dispatcher=Dispatcher(self._app),
                grader=self._warm_grader(),
            )
            self._executor.open()
        except Exception as error:
            # Celery would swallow it, go on, and lose every task. Its log is not open yet.
            reason = error if isinstance(error, GraderError) else traceback.format_exc()
            print(f"the worker cannot grade: {reason}", file=sys.stderr)  # noqa: T201
            raise SystemExit(_CANNOT_START) from error

    def _warm_grader(self) -> GradingEngine:
        grader = GradingEngine(self._settings)
        try:
            for image in self._settings.queue.images.split(","):
                memory_bytes = self._settings.limits.memory_bytes
                grader.sandbox.open_slot(image=image, memory_bytes=memory_bytes).close()
        except BaseException:
            grader.close()
            raise
        return grader

    def _stop(self, **_: Any) -> None:
        self.executor.stop()

    def _close(self, **_: Any) -> None:
        if self._executor is not None:
            self._executor.close()
        _log.info("worker %d has left nothing behind", os.getpid())
