"""A client of the Redis that sentinels name at the moment. Importing it needs redis."""

from redis import Redis
from redis.sentinel import SentinelConnectionPool


class SentinelRedis(Redis):
    """Asks the sentinels before each new connection, so it follows a failover."""

    connection_pool: SentinelConnectionPool

    def close(self) -> None:
        """Close the connections, those to the sentinels, too."""
        super().close()
        for each in self.connection_pool.sentinel_manager.sentinels:
            each.close()
