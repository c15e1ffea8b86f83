"""Slots in containers: their engine dies, their disk fills up, or they are removed."""

import random
import time
from collections.abc import Callable, Iterator

import pytest

from grader.config.loading import load_settings
from tests.conftest import missing
from tests.deployment import Deployment, Worker, wait_until
from tests.faults.conftest import SUBMISSIONS, TIMEOUT_S, Batch, assert_nothing_is_left, shares
from tests.faults.engine import Engine, obstacle

pytestmark = [pytest.mark.redis, pytest.mark.docker, pytest.mark.timeout(TIMEOUT_S)]

AWAY_S = 3.0
RESTARTS = 2 if SUBMISSIONS >= 300 else 1
KILLS = 10 if SUBMISSIONS >= 300 else 2


@pytest.fixture(scope="module")
def engine(
    docker_sandbox: object,  # noqa: ARG001 - skips if the image does not match
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Engine]:
    reason = obstacle()
    if reason is not None:
        missing("A Docker engine of its own", reason)
    with Engine(tmp_path_factory.mktemp("engine")) as started:
        started.load(load_settings().settings.images.python)
        yield started


@pytest.fixture
def worker(deployment: Deployment, engine: Engine) -> Worker:
    """One worker with slots of that engine."""
    image = load_settings().settings.images.python
    added = deployment.add_worker(
        sandbox="docker", docker_host=engine.address, images_python=image, slots=2
    )
    deployment.wait_for_workers(1)
    return added


def assert_nothing_is_left_in(engine: Engine, deployment: Deployment) -> None:
    assert deployment.redis.stats().get("internal_errors", 0) == 0
    assert_nothing_is_left(deployment)
    wait_until(lambda: engine.containers() == [], 20, "the containers are gone")
    wait_until(lambda: engine.shims() == [], 20, "their processes are gone")


@pytest.mark.usefixtures("worker")
def test_batch_survives_an_engine_that_is_killed_and_restarted(
    deployment: Deployment, start_batch: Callable[..., Batch], engine: Engine
) -> None:
    batch = start_batch()
    for share in shares(RESTARTS):
        batch.wait_for(share)
        assert not batch.is_over
        engine.kill()
        time.sleep(AWAY_S)
        engine.start()
    batch.finish()
    assert_nothing_is_left_in(engine, deployment)


@pytest.mark.slow
@pytest.mark.usefixtures("worker")
def test_batch_survives_containers_removed_behind_its_back(
    deployment: Deployment, start_batch: Callable[..., Batch], engine: Engine
) -> None:
    batch = start_batch()
    for share in shares(2):
        batch.wait_for(share)
        assert not batch.is_over
        engine.docker("rm", "--force", *engine.containers())
    batch.finish()
    assert_nothing_is_left_in(engine, deployment)


@pytest.mark.slow
def test_batch_survives_workers_killed_with_their_containers_open(
    deployment: Deployment, start_batch: Callable[..., Batch], engine: Engine, worker: Worker
) -> None:
    """Their containers end as their input does, and are removed."""
    batch = start_batch()
    chance = random.Random(6)  # noqa: S311 - moments, not secrets
    for share in shares(KILLS, chance):
        batch.wait_for(share)
        assert not batch.is_over
        worker.kill()
        wait_until(lambda: engine.containers() == [], 20, "the containers are gone without it")
        worker.start()
    batch.finish()
    assert_nothing_is_left_in(engine, deployment)


@pytest.mark.slow
@pytest.mark.usefixtures("worker")
def test_batch_survives_a_full_disk_of_the_engine(
    deployment: Deployment, start_batch: Callable[..., Batch], engine: Engine
) -> None:
    """No container can be made while it is full; submissions wait for one."""
    batch = start_batch()
    batch.wait_for(0.3)
    assert not batch.is_over
    engine.fill_disk()
    engine.docker("rm", "--force", *engine.containers())
    time.sleep(AWAY_S)
    engine.free_disk()
    batch.finish()
    assert_nothing_is_left_in(engine, deployment)
