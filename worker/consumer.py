"""What stands between Celery and its broker: hints come through, and nothing else.

Nor does an acknowledgement get to a connection that was lost.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from celery.worker.consumer import Consumer

from grader.queueing.names import GRADE_TASK

_log = logging.getLogger(__name__)

_HEADERS = ("id", "root_id", "lang", "origin", "argsrepr", "kwargsrepr")
"""What Celery needs of a hint, and shows of it; all of them text."""


class HintConsumer(Consumer):  # type: ignore[misc]
    """Celery's consumer, which never sees a message that `grader.queueing.dispatch` did not send.

    What other messages raise, Celery takes for a fault of the worker, ends it, and puts the
    message back for the next worker to end. Others again it never acknowledges: after a few of
    these a worker, which may hold so many and no more, takes nothing.
    """

    def create_task_handler(self, *args: Any, **options: Any) -> Callable[[Any], Any]:
        """Return what is called with every message."""
        handle = super().create_task_handler(*args, **options)

        def handle_or_drop(message: Any) -> Any:
            forget_with_channel(message)
            try:
                message.headers = _headers_of_hint(message)
            except Exception as error:  # noqa: BLE001 - whatever the message makes its decoders do
                _log.error("dropped a message that is none: %s: %s", type(error).__name__, error)
                message.reject_log_error(_log, (ConnectionError, OSError))
                return None
            return handle(message)

        return handle_or_drop


def forget_with_channel(message: Any) -> None:
    """Have a message that is acknowledged or rejected after its channel was closed do nothing.

    The channel has put it back when it was closed, and it comes again. Celery acknowledges from its
    loop, where it takes whatever that raises but a network's error for the end of the worker; from
    a channel without a connection it is an AttributeError.
    """

    def settle_if_open(settle: Callable[..., None], *args: Any, **options: Any) -> None:
        if not message.channel.closed:
            settle(*args, **options)

    message.ack_log_error = partial(settle_if_open, message.ack_log_error)
    message.reject_log_error = partial(settle_if_open, message.reject_log_error)


def _headers_of_hint(message: Any) -> dict[str, str]:
    """Return the headers that count.

    Raises:
        Exception: The message is no hint, or cannot even be decoded.
    """
    headers = message.headers
    match message.payload:
        case [[[*keys]], {**named}, {**embedded}] if not (named or any(embedded.values())):
            is_hint = all(isinstance(key, str) for key in keys)
        case _:
            is_hint = False
    if not is_hint or headers["task"] != GRADE_TASK:
        reason = f"expected {GRADE_TASK} of a list of keys, and nothing else"
        raise ValueError(reason)
    told = {name: headers[name] for name in _HEADERS if isinstance(headers.get(name), str)}
    if "id" not in told:
        reason = "it has no id"
        raise ValueError(reason)
    return {"task": GRADE_TASK, **told}
