"""Workers that die, stop, sleep or lose their slots, without any effect on the batch."""

import random
import signal
import time
from collections.abc import Callable

import pytest

from grader.config.settings import Settings
from grader.queueing.status import read_status
from tests.deployment import Deployment, wait_until
from tests.faults.conftest import SUBMISSIONS, TIMEOUT_S, Batch, assert_nothing_is_left, shares

pytestmark = [pytest.mark.redis, pytest.mark.timeout(TIMEOUT_S)]

KILLS = 10 if SUBMISSIONS >= 300 else 3
SLEEP_S = 60.0 if SUBMISSIONS >= 3000 else 2.0


def test_batch_survives_workers_killed_at_random_moments(
    deployment: Deployment, start_batch: Callable[..., Batch]
) -> None:
    chance = random.Random(5)  # noqa: S311 - moments, not secrets
    workers = [deployment.add_worker() for _ in range(2)]
    deployment.wait_for_workers(2)
    batch = start_batch()
    for share in shares(KILLS, chance):
        batch.wait_for(share)
        assert not batch.is_over
        victim = chance.choice(workers)
        victim.kill()
        victim.start()
    batch.finish()
    assert_nothing_is_left(deployment)


def test_workers_that_end_while_one_starts_leave_nothing(deployment: Deployment) -> None:
    """One was killed, and its successor is told to end before it could clean up."""
    killed, _ = deployment.add_worker(), deployment.add_worker()
    deployment.wait_for_workers(2)
    killed.kill()
    killed.start()
    wait_until(lambda: killed.slots() != [], 30, "it opens its first slot")
    killed.stop()
    assert_nothing_is_left(deployment)
    assert killed.wait(0) == 0


@pytest.mark.slow
def test_batch_survives_a_worker_whose_sandbox_fails_for_a_while(
    deployment: Deployment, start_batch: Callable[..., Batch]
) -> None:
    """It takes no jobs meanwhile, and then does again."""
    victim, _ = (deployment.add_worker() for _ in range(2))
    deployment.wait_for_workers(2)
    batch = start_batch()
    batch.wait_for(0.1)
    with victim.without_sandbox():
        wait_until(lambda: set(states(deployment)) == {"sick", "serving"}, 60, "it is sick")
        batch.finish()
    wait_until(lambda: set(states(deployment)) == {"serving"}, 60, "it serves again")
    assert deployment.redis.stats().get("internal_errors", 0) == 0
    assert_nothing_is_left(deployment)


def states(deployment: Deployment) -> list[str]:
    return [worker.state for worker in read_status(Settings(broker=deployment.redis.url)).workers]


@pytest.mark.slow
def test_batch_survives_a_graceful_restart_of_every_worker(
    deployment: Deployment, start_batch: Callable[..., Batch]
) -> None:
    workers = [deployment.add_worker() for _ in range(2)]
    deployment.wait_for_workers(2)
    batch = start_batch()
    with deployment.supervised():
        for share, worker in zip((0.1, 0.4), workers, strict=True):
            batch.wait_for(share)
            assert not batch.is_over
            worker.send(signal.SIGTERM)
        batch.finish()
    stats = deployment.redis.stats()
    assert stats.get("redelivered", 0) == 0
    assert stats.get("workers_lost", 0) == 0
    assert_nothing_is_left(deployment)


@pytest.mark.slow
def test_worker_that_slept_through_its_lease_changes_nothing(
    deployment: Deployment, start_batch: Callable[..., Batch]
) -> None:
    sleeper, _ = deployment.add_worker(), deployment.add_worker()
    deployment.wait_for_workers(2)
    batch = start_batch()
    batch.wait_for(0.1)
    sleeper.send(signal.SIGSTOP)
    wait_until(lambda: deployment.redis.stats().get("workers_lost", 0) > 0, 20, "it is missed")
    time.sleep(SLEEP_S)  # its work goes to the other
    sleeper.send(signal.SIGCONT)
    batch.finish()
    assert_nothing_is_left(deployment)
    # Only now: the batch may have been over before the sleeper handed in what it had slept on.
    assert deployment.redis.stats()["graded"] == deployment.redis.stats()["submitted"]


@pytest.mark.slow
def test_killed_slots_are_replaced(
    deployment: Deployment, start_batch: Callable[..., Batch]
) -> None:
    worker = deployment.add_worker()
    deployment.wait_for_workers(1)
    batch = start_batch()
    # Twice, so that even a slow submission is not hit more often than it is tried again.
    for share in shares(2):
        batch.wait_for(share)
        assert worker.slots()
        worker.kill_slots()
    batch.finish()
    assert_nothing_is_left(deployment)
