"""Hints that are acknowledged late, over connections that were lost meanwhile."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from grader.config.settings import Settings
from grader.queueing.dispatch import make_app
from grader.queueing.names import queue_name
from tests.conftest import missing
from tests.deployment import Deployment, redis_program
from worker.consumer import forget_with_channel

pytestmark = [pytest.mark.redis, pytest.mark.timeout(120)]

QUEUE = queue_name("python")


@pytest.fixture
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    if redis_program() is None:
        missing("Redis", "there is no redis-server")
    deployed = Deployment(tmp_path_factory.mktemp("acknowledging"))
    yield deployed
    deployed.close()


@pytest.fixture
def connection(deployment: Deployment) -> Iterator[Any]:
    """A connection like that of a worker's consumer."""
    with make_app(Settings(broker=deployment.redis.url)).connection_for_read() as opened:
        yield opened


def receive(connection: Any) -> Any:
    """Send a message and return it as it arrives."""
    connection.SimpleQueue(QUEUE).put(["a key"])
    message = connection.default_channel.basic_get(QUEUE)
    assert message is not None
    forget_with_channel(message)
    return message


def unacknowledged(deployment: Deployment) -> int:
    with deployment.redis.connect() as client:
        return int(client.hlen("unacked"))


def settle(connection: Any, message: Any, how: str) -> None:
    getattr(message, how)(logging.getLogger(), connection.connection_errors)


@pytest.mark.parametrize("how", ["ack_log_error", "reject_log_error"])
def test_message_of_a_connection_that_was_lost_is_let_go(
    deployment: Deployment, connection: Any, how: str
) -> None:
    message = receive(connection)
    deployment.redis.kill()
    # As Celery's consumer does when it finds out.
    connection.collect()
    settle(connection, message, how)
    deployment.redis.start()
    settle(connection, message, how)
    assert message._state == "RECEIVED"


@pytest.mark.parametrize("how", ["ack_log_error", "reject_log_error"])
def test_message_of_an_open_connection_is_settled(
    deployment: Deployment, connection: Any, how: str
) -> None:
    message = receive(connection)
    assert unacknowledged(deployment) == 1
    settle(connection, message, how)
    assert unacknowledged(deployment) == 0
