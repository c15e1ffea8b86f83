"""Starting, stopping and closing a worker process, on Celery's signals."""

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from celery import signals
from celery.utils.log import mlevel

from grader.config.settings import Settings
from grader.grading.engine import GradingEngine
from grader.model.errors import ConfigurationError, GraderError
from grader.process.logs import show_logs
from grader.queueing.dispatch import Dispatcher
from grader.queueing.ledger import Ledger
from grader.queueing.names import queue_name
from grader.sandbox.retrying import OPENING_S, retrying
from worker.executor import Executor, try_sandbox

_log = logging.getLogger(__name__)

_CANNOT_START = 3

_CHATTY = ("celery.app.trace", "celery.worker.strategy")
"""Loggers of Celery that write two lines for each task at INFO."""


class Lifecycle:
    """Owns the executor of this process."""

    def __init__(self, app: Any, settings: Settings) -> None:
        """Connect to Celery's signals; nothing is started yet."""
        self._app = app
        self._settings = settings
        self._executor: Executor | None = None
        self.open_grader: Callable[[], GradingEngine] = self._warm_grader
        """Opens what grades. Benchmarks set it."""
        self._is_closed = False
        self._celery: Any = None
        """Celery's own object for this worker."""
        signals.celeryd_init.connect(self._show_logs, weak=False)
        # If any function is connected, Celery leaves logging alone.
        signals.setup_logging.connect(lambda **_: None, weak=False)
        signals.worker_init.connect(self._open, weak=False)
        signals.worker_shutting_down.connect(self._stop, weak=False)
        signals.worker_shutdown.connect(lambda **_: self.close(), weak=False)

    @property
    def executor(self) -> Executor:
        """The executor.

        Raises:
            ConfigurationError: This process was not started as a worker.
        """
        if self._executor is None:
            message = "no worker is running in this process"
            raise ConfigurationError(message)
        return self._executor

    @property
    def exit_code(self) -> int:
        """What the process has to end with. Celery itself ends with 0 even if it crashed."""
        return getattr(self._celery, "exitcode", None) or 0

    def close(self) -> None:
        """Leave the queue and close the slots. Repeats harmlessly."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._executor is not None:
            self._executor.close()
        _log.info("worker %d has closed its slots", os.getpid())

    def _show_logs(self, *, options: Mapping[str, Any], **_: Any) -> None:
        level = mlevel(options["loglevel"])
        show_logs(level)
        logging.captureWarnings(True)
        for name in _CHATTY:
            logging.getLogger(name).setLevel(max(level, logging.WARNING))

    def _open(self, sender: Any, **_: Any) -> None:
        """Check that this worker can run submissions, and join the queue.

        Opening the first slot also removes containers that dead workers left on this machine.
        """
        self._celery = sender
        try:
            self._executor = Executor(
                self._settings,
                ledger=Ledger(self._settings),
                dispatcher=Dispatcher(self._app),
                grader=self.open_grader(),
                listen=self._listen,
            )
            self._executor.open()
        except Exception as error:
            # Celery would ignore the error and go on with a worker that fails every task.
            is_bug = not isinstance(error, GraderError)
            _log.error("the worker cannot grade: %s", error, exc_info=is_bug)
            raise SystemExit(_CANNOT_START) from error

    def _warm_grader(self) -> GradingEngine:
        # An engine that is away is not waited for: meanwhile other workers can have the jobs.
        grader = GradingEngine(replace(self._settings, outage_s=0.0))
        try:
            retrying(
                partial(try_sandbox, grader.sandbox, self._settings),
                retries=self._settings.retries,
                within_s=OPENING_S,
            )
        except BaseException:
            grader.close()
            raise
        return grader

    def _listen(self, wanted: bool) -> None:
        queues = [queue_name(image) for image in self._settings.queue.images.split(",")]
        self._celery.consumer.listen(queues, wanted=wanted)

    def _stop(self, **_: Any) -> None:
        self.executor.stop()
