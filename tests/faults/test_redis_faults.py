"""Redis that dies, hangs, or loses what it was told: the batch must not show it."""

import signal
import time
from collections.abc import Callable

import pytest

from grader.queueing import names
from tests.deployment import Deployment
from tests.faults.conftest import TIMEOUT_S, Batch, assert_nothing_is_left

pytestmark = [pytest.mark.redis, pytest.mark.timeout(TIMEOUT_S)]


def test_batch_survives_redis_killed_and_restarted_from_its_file(
    deployment: Deployment, start_batch: Callable[..., Batch]
) -> None:
    for _ in range(2):
        deployment.add_worker()
    deployment.wait_for_workers(2)
    batch = start_batch()
    for share in (0.1, 0.4):
        batch.wait_for(share)
        assert not batch.is_over
        deployment.redis.kill()
        time.sleep(1)
        deployment.redis.start()
    batch.finish()
    assert_nothing_is_left(deployment)


@pytest.mark.slow
def test_batch_survives_redis_that_cannot_be_reached_for_a_while(
    deployment: Deployment, start_batch: Callable[..., Batch]
) -> None:
    for _ in range(2):
        deployment.add_worker()
    deployment.wait_for_workers(2)
    batch = start_batch()
    batch.wait_for(0.2)
    deployment.redis.send(signal.SIGSTOP)
    time.sleep(20)
    deployment.redis.send(signal.SIGCONT)
    batch.finish()
    # Silence was not held against anybody.
    assert deployment.redis.stats().get("workers_lost", 0) == 0
    assert_nothing_is_left(deployment)


@pytest.mark.slow
def test_batch_survives_a_redis_that_forgot_everything(
    deployment: Deployment, start_batch: Callable[..., Batch]
) -> None:
    for _ in range(2):
        deployment.add_worker()
    deployment.wait_for_workers(2)
    batch = start_batch()
    batch.wait_for(0.2)
    with deployment.redis.connect() as client:
        client.flushall()
    batch.finish()
    assert_nothing_is_left(deployment)


def test_lost_messages_are_made_up_for(
    deployment: Deployment, start_batch: Callable[..., Batch]
) -> None:
    """Hints vanish from Celery's queue, and answers from the client's stream."""
    for _ in range(2):
        deployment.add_worker()
    deployment.wait_for_workers(2)
    batch = start_batch()
    lost_hints = lost_answers = 0
    with deployment.redis.connect() as client:
        for share in (0.1, 0.3, 0.5):
            batch.wait_for(share)
            lost_hints += sum(client.llen(queue) for queue in names.queue_keys("python"))
            client.delete(*names.queue_keys("python"))
            deadline = time.monotonic() + 10
            while not lost_answers and time.monotonic() < deadline and not batch.is_over:
                for stream in client.scan_iter(names.OUT + "*"):
                    entries = client.xrange(stream)
                    lost_answers += client.xdel(stream, *[e for e, _ in entries]) if entries else 0
    batch.finish()
    assert lost_hints > 0
    assert lost_answers > 0
    assert deployment.redis.stats()["hinted_again"] > 0
    assert_nothing_is_left(deployment)


@pytest.mark.slow
def test_full_redis_delays_and_loses_nothing(
    deployment: Deployment, start_batch: Callable[..., Batch]
) -> None:
    """Celery ends a worker whose message cannot be acknowledged; its supervisor restarts it."""
    deployment.add_worker()
    deployment.wait_for_workers(1)
    batch = start_batch(60)
    batch.wait_for(0.1)
    with deployment.supervised():
        with deployment.redis.connect() as client:
            client.config_set("maxmemory", 1)
            time.sleep(3)
            client.config_set("maxmemory", 0)
        batch.finish()
    assert_nothing_is_left(deployment)
