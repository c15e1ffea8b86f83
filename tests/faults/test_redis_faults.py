"""Redis that dies, hangs or loses data, without any effect on the batch."""

import itertools
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from redis.exceptions import OutOfMemoryError

from grader.config.settings import QueueSettings
from grader.model import MiB
from grader.queueing import names
from tests.deployment import Deployment, wait_until
from tests.faults.conftest import SUBMISSIONS, TIMEOUT_S, Batch, assert_nothing_is_left, shares

if TYPE_CHECKING:
    from redis import Redis

pytestmark = [pytest.mark.redis, pytest.mark.timeout(TIMEOUT_S)]

GONE_S = 20.0 if SUBMISSIONS >= 3000 else 1.0
"""How long its port is closed, the first time."""
FULL_S = 20.0 if SUBMISSIONS >= 3000 else 3.0
ROOM_BYTES = 16 * MiB


def test_batch_survives_redis_killed_and_restarted_from_its_file(
    deployment: Deployment, start_batch: Callable[..., Batch]
) -> None:
    deployment.add_workers(2)
    batch = start_batch()
    for share, gone_s in ((0.1, GONE_S), (0.4, 1.0)):
        batch.wait_for(share)
        assert not batch.is_over
        deployment.redis.kill()
        time.sleep(gone_s)
        deployment.redis.start()
    batch.finish()
    assert_nothing_is_left(deployment)


@pytest.mark.slow
def test_batch_survives_redis_that_cannot_be_reached_for_a_while(
    deployment: Deployment, start_batch: Callable[..., Batch]
) -> None:
    deployment.add_workers(2)
    batch = start_batch()
    batch.wait_for(0.2)
    deployment.redis.send(signal.SIGSTOP)
    time.sleep(20)
    deployment.redis.send(signal.SIGCONT)
    batch.finish()
    # No lease ran out while Redis was silent.
    assert deployment.redis.stats().get("workers_lost", 0) == 0
    assert_nothing_is_left(deployment)


@pytest.mark.slow
def test_batch_survives_a_redis_that_forgot_everything(
    deployment: Deployment, start_batch: Callable[..., Batch]
) -> None:
    deployment.add_workers(2)
    batch = start_batch()
    batch.wait_for(0.2)
    with deployment.redis.connect() as client:
        client.flushall()
    batch.finish()
    assert_nothing_is_left(deployment)


@pytest.mark.slow
def test_batch_survives_a_redis_that_comes_back_from_an_older_file(
    deployment: Deployment, start_batch: Callable[..., Batch], tmp_path: Path
) -> None:
    """The file says that workers run what they have handed in since."""
    deployment.add_workers(2)
    batch = start_batch()
    batch.wait_for(0.1)
    file, copy = tmp_path / "redis/appendonlydir", tmp_path / "older"
    deployment.redis.kill()
    shutil.copytree(file, copy)
    deployment.redis.start()
    batch.wait_for(0.5)
    assert not batch.is_over
    deployment.redis.kill()
    shutil.rmtree(file)
    shutil.copytree(copy, file)
    deployment.redis.start()
    batch.finish()
    wait_until(lambda: no_job_is_left(deployment), 60, "no worker holds a job for ever")
    assert_nothing_is_left(deployment)


def no_job_is_left(deployment: Deployment) -> bool:
    return not [key for key in deployment.redis.key_names() if key.startswith(names.Key.JOB)]


def test_lost_messages_are_made_up_for(
    deployment: Deployment, start_batch: Callable[..., Batch]
) -> None:
    """Hints vanish from Celery's queue, and answers from the client's stream."""
    deployment.add_workers(2)
    batch = start_batch()
    lost_hints = lost_answers = 0
    with deployment.redis.connect() as client:
        for share in (0.1, 0.3, 0.5):
            batch.wait_for(share)
            lost_hints += client.llen(names.queue_name("python"))
            client.delete(names.queue_name("python"))
            deadline = time.monotonic() + 10
            while not lost_answers and time.monotonic() < deadline and not batch.is_over:
                for stream in client.scan_iter(names.Key.OUT + "*"):
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
    """No worker ends of it, and one that starts meanwhile joins them."""
    deployment.add_workers(2)
    batch = start_batch()
    with deployment.redis.connect() as client:
        for share in shares(3):
            batch.wait_for(share)
            is_over = batch.is_over
            client.config_set("maxmemory", 1)
            wait_until(lambda: refuses(client), 10, "it is full")
            if len(deployment.workers) == 2:
                # Later it may be over: what was sent before is graded while Redis is full.
                assert not is_over
                deployment.add_worker()
                deployment.wait_for_workers(3)
            time.sleep(FULL_S)
            client.config_set("maxmemory", 0)
        batch.finish()
    assert all(worker.is_running for worker in deployment.workers)
    assert_nothing_is_left(deployment)


def refuses(client: "Redis") -> bool:
    try:
        client.set(names.Key.REAPED, 0)
    except OutOfMemoryError:
        return True
    return False


@pytest.mark.slow
def test_redis_that_is_too_small_for_what_clients_send_goes_on(
    deployment: Deployment, start_batch: Callable[..., Batch]
) -> None:
    """They are refused while there is still memory for the workers."""
    limit_memory(deployment)
    deployment.add_workers(2)
    count = max(SUBMISSIONS, 300)
    in_flight = min(count, QueueSettings().in_flight)
    start_batch(count=count, padding=2 * ROOM_BYTES // in_flight).finish()
    assert all(worker.is_running for worker in deployment.workers)
    assert_nothing_is_left(deployment)


@pytest.mark.slow
def test_redis_full_of_what_can_be_made_again_takes_new_submissions(
    deployment: Deployment, start_batch: Callable[..., Batch]
) -> None:
    """Finished verdicts are dropped, oldest first, then suites that were not used for a while."""
    limit_memory(deployment)
    piece = b"x" * (ROOM_BYTES // 64)
    with deployment.redis.connect() as client:
        for number in itertools.count():
            key = f"{number:064}"
            if number % 8:
                client.set(names.Key.SUITE + key, piece)
                client.zadd(names.Key.SUITES_USED, {key: number})
            else:
                client.hset(names.Key.VERDICTS, key, piece)
                client.zadd(names.Key.VERDICTS_AGE, {key: number})
                client.incrby(names.Key.VERDICTS_BYTES, len(piece))
            memory = client.info("memory")
            if memory["used_memory"] > 0.95 * memory["maxmemory"]:
                break
    deployment.add_workers(2)
    start_batch().finish()
    with deployment.redis.connect() as client:
        assert client.zcount(names.Key.VERDICTS_AGE, 0, number) == 0
    assert_nothing_is_left(deployment)


def limit_memory(deployment: Deployment) -> None:
    """Leave Redis a little room beyond what it takes when it is empty."""
    with deployment.redis.connect() as client:
        client.config_set("maxmemory", client.info("memory")["used_memory"] + ROOM_BYTES)
