"""Celery's consumer, limited to hints.

Other messages are dropped.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Any

from celery.worker.consumer import Consumer

from grader.queueing.names import GRADE_TASK

_log = logging.getLogger(__name__)

_HEADERS = ("id", "root_id", "lang", "origin", "argsrepr", "kwargsrepr")
"""The text headers of a hint that Celery needs or shows."""


class HintConsumer(Consumer):  # type: ignore[misc]
    """Celery's consumer, which drops every message that is not a well-formed hint.

    If a message raises an unexpected error, Celery ends the worker and puts the message back, so it
    would end the next worker, too. Some other messages Celery never acknowledges: after a few of
    them the worker has reached its prefetch limit and takes no more messages.
    """

    def listen(self, queues: Iterable[str], *, wanted: bool) -> None:
        """Begin or cease to take messages from queues. Can be called by any thread."""
        change = self.add_task_queue if wanted else self.cancel_task_queue

        def change_all() -> None:
            for queue in queues:
                try:
                    change(queue)
                except Exception as error:  # noqa: BLE001 - which, depends on what has failed
                    # Without a connection. The next one takes the queues that were chosen here.
                    _log.info("queue %s: %s: %s", queue, type(error).__name__, error)

        self.call_soon(change_all)

    def create_task_handler(self, *args: Any, **options: Any) -> Callable[[Any], Any]:
        """Return the function that is called with every message."""
        handle = super().create_task_handler(*args, **options)

        def handle_or_drop(message: Any) -> Any:
            try:
                message.headers = _headers_of_hint(message)
            except Exception as error:  # noqa: BLE001 - decoders may raise anything
                _log.error(
                    "dropped a message that is not a hint: %s: %s", type(error).__name__, error
                )
                message.reject_log_error(_log, (ConnectionError, OSError))
                return None
            return handle(message)

        return handle_or_drop


def _headers_of_hint(message: Any) -> dict[str, str]:
    """Return the headers of a hint.

    Raises:
        Exception: The message is not a hint, or cannot be decoded.
    """
    headers = message.headers
    match message.payload:
        case [[], {**named}, {**embedded}]:
            is_hint = not (named or any(embedded.values()))
        case _:
            is_hint = False
    if not is_hint or headers["task"] != GRADE_TASK:
        reason = f"expected the task {GRADE_TASK} without arguments"
        raise ValueError(reason)
    known = {name: headers[name] for name in _HEADERS if isinstance(headers.get(name), str)}
    if "id" not in known:
        reason = "it has no id"
        raise ValueError(reason)
    return {"task": GRADE_TASK, **known}
