"""Celery: the application that clients and workers share, and sending hints."""

import contextlib
import threading
from collections.abc import Iterable
from typing import Any

from grader.config.settings import Settings
from grader.model.errors import ConfigurationError, QueueUnavailableError
from grader.queueing.broker import celery_broker
from grader.queueing.ledger_values import Hint
from grader.queueing.names import GRADE_TASK, queue_name

_SOCKET_TIMEOUT_S = 10.0
"""Longer than any blocking read of the transport."""
_CONNECT_TIMEOUT_S = 3.0


def make_app(settings: Settings) -> Any:
    """Return a Celery application for the broker that the settings name; nothing is sent yet.

    Raises:
        ConfigurationError: No broker is set, or Celery is not installed.
    """
    try:
        from celery import Celery
    except ImportError as error:
        message = "a broker needs the extra: pip install 'grader-rl[worker]'"
        raise ConfigurationError(message) from error
    broker = celery_broker(settings)
    app = Celery("grader", set_as_current=False)
    app.conf.update(
        broker_url=broker.url,
        broker_use_ssl=broker.tls,
        accept_content=["json"],
        task_serializer="json",
        event_serializer="json",
        # Reports go through the ledger; for the reasons, see docs/adr/0020-ledger-and-hints.md.
        task_ignore_result=True,
        result_expires=settings.queue.result_ttl_s,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        worker_prefetch_multiplier=1,
        task_create_missing_queues=True,
        task_queue_max_priority=None,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        # Redis refuses commands while its disk is full, and while it is a replica.
        broker_channel_error_retry=True,
        broker_transport_options={
            **broker.transport_options,
            # Otherwise Celery keeps each message in Redis until it is acknowledged, and a worker
            # ends if a full Redis refuses that. The ledger finds lost hints.
            "ack_emulation": False,
            "socket_timeout": _SOCKET_TIMEOUT_S,
            "socket_connect_timeout": _CONNECT_TIMEOUT_S,
            "socket_keepalive": True,
        },
        worker_hijack_root_logger=False,
        # They are three messages for each task. Flower turns them on if it runs.
        worker_send_task_events=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
    )
    return app


class Dispatcher:
    """Sends hints over its own connection. Safe for many threads, but not across a fork."""

    def __init__(self, app: Any) -> None:
        """Connect to nothing yet.

        Args:
            app: Made by `make_app`.
        """
        self._app = app
        self._lock = threading.Lock()
        self._producer: Any = None

    def send(self, hints: Iterable[Hint]) -> None:
        """Send hints.

        Raises:
            QueueUnavailableError: The broker cannot be reached. Some hints may have been sent.
        """
        for hint in hints:
            for _ in range(hint.number):
                self._send(hint.image)

    def close(self) -> None:
        """Close the connection. Repeats harmlessly."""
        with self._lock:
            self._disconnect()

    def _send(self, image: str) -> None:
        with self._lock:
            try:
                if self._producer is None:
                    # From none of Celery's pools: a forked child would inherit the pool's sockets.
                    self._producer = self._app.amqp.Producer(self._app.connection_for_write())
                self._app.send_task(
                    GRADE_TASK,
                    queue=queue_name(image),
                    ignore_result=True,
                    retry=False,
                    producer=self._producer,
                )
            except Exception as error:
                # Which exceptions kombu raises depends on its version and on what failed.
                self._disconnect()
                message = f"the broker did not accept a message: {type(error).__name__}: {error}"
                raise QueueUnavailableError(message) from error

    def _disconnect(self) -> None:
        producer, self._producer = self._producer, None
        if producer is None:
            return
        with contextlib.suppress(Exception):  # The connection may be broken.
            producer.connection.release()
