"""Celery's transport over Redis, without what a full Redis refuses.

A refused command would end the worker, or keep a new one from starting.
"""

import logging
from collections.abc import Callable
from typing import Any

from kombu import transport
from kombu.transport import redis
from redis.exceptions import OutOfMemoryError

_log = logging.getLogger(__name__)


class HintChannel(redis.Channel):
    """A channel that writes nothing to Redis but the messages that it sends."""

    do_restore = False
    """Hints of a worker that ends are found to be lost, or it has given their jobs back."""

    def _size(self, queue: str) -> int:
        """Return how many messages wait. Celery's own way is a transaction, which needs memory."""
        list_of: Callable[[str, int], str] = self._q_for_pri
        with self.conn_or_acquire() as client:
            return sum(client.llen(list_of(queue, step)) for step in self.priority_steps)

    def _queue_bind(self, exchange: str, *args: Any) -> None:
        """Note that messages to an exchange go to a queue, for those that send some."""
        try:
            super()._queue_bind(exchange, *args)  # type: ignore[no-untyped-call]
        except OutOfMemoryError as error:
            _log.warning("the exchange %s could not be noted: %s", exchange, error)


class HintTransport(redis.Transport):
    """The transport with these channels."""

    Channel = HintChannel


def use() -> None:
    """Have this process connect to Redis by this transport."""
    for scheme in ("redis", "rediss"):
        transport.TRANSPORT_ALIASES[scheme] = f"{__name__}:{HintTransport.__name__}"
