"""Celery's transport over Redis, without what a full Redis refuses, and with a check of messages.

A refused command would end the worker, or keep a new one from starting. So would an entry of a
queue that is not a message.
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
    """Do nothing: an ending worker gives its jobs back, and lost hints are sent again."""

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

    def _brpop_read(self, **options: Any) -> bool:
        """Take an entry of a queue, and deliver it or drop it."""
        self.connection.has_delivered = False
        try:
            return bool(super()._brpop_read(**options))  # type: ignore[no-untyped-call]
        except ValueError as error:
            if self.connection.has_delivered:
                raise
            _log.error("dropped an entry of a queue that is not JSON: %s", error)
            return True


class SentinelHintChannel(HintChannel, redis.SentinelChannel):
    """Such a channel to the Redis that sentinels name."""


class HintTransport(redis.Transport):
    """The transport with these channels."""

    Channel = HintChannel
    has_delivered = False
    """Whether the entry that was taken last was JSON, and was delivered or dropped."""

    def _deliver(self, message: Any, queue: str) -> None:
        """Hand an entry of a queue to its consumer, or drop it if it is not a message."""
        self.has_delivered = True
        try:
            make: Callable[..., Any] = self.Channel.Message
            hash(make(message, channel=self.channels[0]).delivery_tag)
        except Exception as error:  # noqa: BLE001 - the entry may have any shape
            _log.error(
                "dropped an entry of a queue that is not a message: %s: %s",
                type(error).__name__,
                error,
            )
            return
        super()._deliver(message, queue)  # type: ignore[no-untyped-call]


class SentinelHintTransport(HintTransport):
    """The transport over sentinels."""

    Channel = SentinelHintChannel


def use() -> None:
    """Have this process connect to Redis by these transports."""
    for scheme, used in (("redis", HintTransport), ("sentinel", SentinelHintTransport)):
        transport.TRANSPORT_ALIASES[scheme] = f"{__name__}:{used.__name__}"
