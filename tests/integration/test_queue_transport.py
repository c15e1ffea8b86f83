"""A worker's connection for hints, over a Redis that is full or was away."""

from collections.abc import Iterator
from typing import Any

import pytest
from redis.exceptions import OutOfMemoryError

from grader.config.settings import Settings
from grader.queueing.dispatch import make_app
from grader.queueing.names import Key, queue_name
from tests.deployment import Deployment
from worker.transport import HintTransport

pytestmark = [pytest.mark.redis, pytest.mark.timeout(120)]

QUEUE = queue_name("python")


@pytest.fixture
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    deployed = Deployment(tmp_path_factory.mktemp("transport"))
    yield deployed
    deployed.close()


@pytest.fixture
def app(deployment: Deployment) -> Any:
    return make_app(Settings(broker=deployment.redis.url))


@pytest.fixture
def connection(app: Any) -> Iterator[Any]:
    """A connection like that of a worker's consumer."""
    with app.connection_for_read(transport=HintTransport) as opened:
        yield opened


def send(app: Any) -> None:
    """Send a message as a client does."""
    with app.connection_for_write() as opened:
        opened.SimpleQueue(QUEUE).put(["a key"])


def fill(deployment: Deployment) -> None:
    with deployment.redis.connect() as client:
        client.config_set("maxmemory", 1)
        with pytest.raises(OutOfMemoryError):
            client.set("any", "thing")


def receive(connection: Any) -> Any:
    message = connection.default_channel.basic_get(QUEUE)
    assert message is not None
    return message


def waiting(deployment: Deployment) -> int:
    with deployment.redis.connect() as client:
        return int(client.llen(Key.HINTS + "python"))


def test_full_redis_takes_acknowledgements_and_new_consumers(
    deployment: Deployment, app: Any, connection: Any
) -> None:
    for _ in range(2):
        send(app)
    fill(deployment)
    receive(connection).ack()
    with app.connection_for_read(transport=HintTransport) as another:
        app.amqp.queues[QUEUE].bind(another.default_channel).declare()
        assert another.default_channel.queue_declare(QUEUE).message_count == 1
        receive(another).reject()
    assert waiting(deployment) == 0


def test_message_is_acknowledged_though_redis_is_gone(
    deployment: Deployment, app: Any, connection: Any
) -> None:
    for _ in range(2):
        send(app)
    acknowledged, rejected = receive(connection), receive(connection)
    deployment.redis.kill()
    # As Celery's consumer does when it finds out.
    connection.collect()
    acknowledged.ack()
    rejected.reject()
    deployment.redis.start()
    assert waiting(deployment) == 0
    assert not [key for key in deployment.redis.key_names() if key.startswith("unacked")]
