"""The network between a worker and Redis is cut, briefly and for longer than a lease."""

import os
import shutil
import time
from collections.abc import Callable, Iterator

import pytest

from grader.config.settings import Settings
from grader.queueing.status import read_status
from tests.conftest import missing
from tests.deployment import Deployment, wait_until
from tests.faults.conftest import SUBMISSIONS, TIMEOUT_S, Batch, assert_nothing_is_left
from tests.faults.network import Cable

pytestmark = [pytest.mark.redis, pytest.mark.timeout(TIMEOUT_S)]

CUTS_S = (0.5, 5.0, 20.0) if SUBMISSIONS >= 300 else (0.5, 5.0)
"""The lease of a worker is 2 s."""

DRAIN_S = 3.0


@pytest.fixture
def cable() -> Iterator[Cable]:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        missing("A network namespace", "it needs root and the program ip")
    with Cable() as plugged:
        yield plugged


def test_batch_survives_cuts_between_a_worker_and_redis(
    deploy: Callable[..., Deployment], begin: Callable[..., Batch], cable: Cable
) -> None:
    deployed = deploy(address=cable.address)
    broker = deployed.redis.url.replace("127.0.0.1", cable.address)
    deployed.add_worker(cable.place, broker=broker)
    deployed.add_worker()
    deployed.wait_for_workers(2)
    batch = begin(deployed)
    for number, cut_s in enumerate(CUTS_S):
        batch.wait_for((number + 1) / (len(CUTS_S) + 2))
        cable.cut()
        time.sleep(cut_s)
        cable.mend()
    batch.finish()
    where = Settings(broker=deployed.redis.url)
    wait_until(lambda: len(read_status(where).workers) == 2, 60, "it serves again")
    assert deployed.redis.stats()["graded"] == deployed.redis.stats()["submitted"]
    assert_nothing_is_left(deployed)


@pytest.mark.slow
def test_worker_that_was_cut_off_for_good_stops_in_order(
    deploy: Callable[..., Deployment], begin: Callable[..., Batch], cable: Cable
) -> None:
    """Its submissions go to the other worker, and it stops although Redis is silent."""
    deployed = deploy(address=cable.address)
    broker = deployed.redis.url.replace("127.0.0.1", cable.address)
    lost = deployed.add_worker(cable.place, broker=broker, queue_drain_s=DRAIN_S)
    deployed.add_worker()
    deployed.wait_for_workers(2)
    batch = begin(deployed)
    batch.wait_for(0.2)
    cable.cut()
    # Less than what compose, systemd and Kubernetes allow, which is 40 s beyond the drain.
    lost.stop(within_s=DRAIN_S + 40)
    batch.finish()
    assert_nothing_is_left(deployed)
