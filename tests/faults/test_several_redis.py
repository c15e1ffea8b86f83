"""A queue that lies in two Redis, of which one is away for a while."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from grader.config.settings import Settings
from grader.queueing.diagnosis import diagnose
from grader.queueing.status import QueueStatus, read_status
from tests.deployment import Deployment, RedisServer, wait_until
from tests.faults.conftest import SUBMISSIONS, TIMEOUT_S, Batch, assert_nothing_is_left

pytestmark = [pytest.mark.redis, pytest.mark.timeout(TIMEOUT_S)]


@pytest.fixture
def other(deployment: Deployment, tmp_path: Path) -> Iterator[RedisServer]:
    """A second Redis. Each of the two has a worker, and both workers got both addresses."""
    with closing(Deployment(tmp_path / "other")) as second:
        deployment.broker = f"{deployment.redis.url} {second.redis.url}"
        deployment.add_worker()
        wait_until(lambda: len(status(deployment).workers) == 1, 60, "the first one serves")
        # It sees the first, and so serves the other Redis.
        deployment.add_worker()
        for each in (deployment, second):
            each.wait_for_workers(1)
        yield second.redis
        for worker in deployment.workers:
            worker.stop()
        assert second.leftovers() == set()


def status(deployment: Deployment) -> QueueStatus:
    return read_status(Settings(broker=deployment.broker))


def test_batch_survives_one_of_two_redis_that_is_away_for_a_while(
    deployment: Deployment, other: RedisServer, begin: Callable[..., Batch]
) -> None:
    batch = begin(deployment, count=max(24, SUBMISSIONS // 2))
    batch.wait_for(0.2)
    shares = [server.stats().get("submitted", 0) for server in (deployment.redis, other)]
    assert all(shares), shares
    assert not batch.is_over
    other.kill()
    found = status(deployment)
    assert found.away == (f"127.0.0.1:{other.port}/0",)
    assert f"Redis at 127.0.0.1:{other.port}/0 does not answer" in diagnose(found).text
    batch.wait_for(0.9)
    other.start()
    batch.finish()
    # No worker of a Redis that was away counts as dead.
    assert status(deployment).counts.get("workers_lost", 0) == 0
    assert_nothing_is_left(deployment)


@pytest.mark.slow
def test_batch_survives_one_of_two_redis_whose_workers_end(
    deployment: Deployment, other: RedisServer, begin: Callable[..., Batch]
) -> None:
    batch = begin(deployment)
    batch.wait_for(0.2)
    assert not batch.is_over
    deployment.workers[0].stop()
    batch.finish()
    assert other.stats()["submitted"] > 0
    assert_nothing_is_left(deployment)
