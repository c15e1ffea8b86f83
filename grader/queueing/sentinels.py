"""A client of the Redis that sentinels name at the moment. Importing it needs redis."""

from collections.abc import Mapping
from typing import Any

from redis import Redis
from redis.sentinel import Sentinel, SentinelConnectionPool

from grader.queueing.broker import Broker


class SentinelRedis(Redis):
    """Asks the sentinels before each new connection, so it follows a failover."""

    connection_pool: SentinelConnectionPool

    @classmethod
    def open(cls, broker: Broker, options: Mapping[str, Any]) -> "SentinelRedis":
        """Return a client; nothing is sent yet.

        Args:
            broker: Names the sentinels.
            options: How to connect to Redis, apart from what the broker says.
        """
        known = {
            name: value for name, value in broker.options.items() if name != "sentinel_password"
        }
        sentinel = Sentinel(  # type: ignore[no-untyped-call]
            broker.sentinels,
            sentinel_kwargs=broker.of_sentinels,
            **{**options, **known, **({"ssl": True, **broker.tls} if broker.has_tls else {})},
        )
        return sentinel.master_for(broker.service, cls)  # type: ignore[no-untyped-call,no-any-return]

    def close(self) -> None:
        """Close the connections, those to the sentinels, too."""
        super().close()
        for each in self.connection_pool.sentinel_manager.sentinels:
            each.close()
