"""What Celery does with a message of our task before it is one: look whether it is any."""

import logging
from collections.abc import Callable
from typing import Any

_log = logging.getLogger(__name__)


def refuse_malformed(task: Any, app: Any, consumer: Any, **options: Any) -> Callable[..., Any]:
    """Return Celery's own handler of a task's messages, which drops those that it trips over.

    Celery takes what they raise for a fault of the worker, ends it, and puts the message back for
    the next worker to end.
    """
    from celery.worker.strategy import default

    handle = default(task, app, consumer, **options)

    def handle_or_drop(
        message: Any, body: Any, ack: Any, reject: Any, callbacks: Any, **more: Any
    ) -> Any:
        try:
            return handle(message, body, ack, reject, callbacks, **more)
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            _log.error("dropped a message that is none: %s: %s", type(error).__name__, error)
            message.reject_log_error(_log, (ConnectionError, OSError))
            return None

    return handle_or_drop
