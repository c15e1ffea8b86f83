"""An upgrade of workers and clients, one by one, while both of them grade."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.queueing import names
from tests.deployment import REPO, Deployment, Place, wait_until
from tests.faults.conftest import SUBMISSIONS, TIMEOUT_S, Batch, assert_nothing_is_left

pytestmark = [pytest.mark.redis, pytest.mark.slow, pytest.mark.timeout(TIMEOUT_S)]

AS_OLDER = (sys.executable, "-m", "tests.older")


def wait_for_versions(deployment: Deployment, count: int) -> None:
    """Wait until so many workers serve, of whatever version."""
    with deployment.redis.connect() as client:
        wait_until(
            lambda: int(client.zcard(names.Key.VERSIONS)) == count, 60, f"{count} workers serve"
        )


def test_upgrade_worker_by_worker_and_back_loses_nothing(
    deployment: Deployment, start_batch: Callable[..., Batch], tmp_path: Path
) -> None:
    older = [deployment.add_worker(Place(prefix=AS_OLDER)) for _ in range(2)]
    wait_for_versions(deployment, 2)
    mark = tmp_path / "mark"
    command = [*AS_OLDER, sys.executable, "-m", "tests.faults.mortal_client"]
    command += [deployment.redis.url, str(SUBMISSIONS), str(mark)]
    with subprocess.Popen(command, cwd=REPO, stdout=subprocess.PIPE, text=True) as older_client:
        wait_until(mark.exists, 120, "the older client has reports")
        newer = deployment.add_worker()
        wait_for_versions(deployment, 3)
        batch = start_batch()
        batch.wait_for(0.2)
        older[0].stop()
        deployment.add_worker()
        wait_for_versions(deployment, 3)
        batch.wait_for(0.5)
        # And back: the older client's last jobs go to a worker of its version.
        newer.stop()
        older[0].start()
        wait_for_versions(deployment, 3)
        batch.finish()
        assert older_client.communicate(timeout=TIMEOUT_S)[0] == ""
    assert older_client.returncode == 0
    assert_nothing_is_left(deployment)
