"""A worker's machine that misbehaves: its clock jumps, its disks are full."""

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from redis.exceptions import ResponseError

from tests.conftest import missing
from tests.deployment import REPO, Deployment, Place, RedisServer, wait_until
from tests.faults.conftest import SUBMISSIONS, TIMEOUT_S, Batch, assert_nothing_is_left

pytestmark = [pytest.mark.redis, pytest.mark.timeout(TIMEOUT_S)]


# ---------------------------------------------------------------- the clock


HOUR_S = 3600
YEAR_S = 365 * 24 * HOUR_S


def test_batch_survives_clocks_that_jump(
    deployment: Deployment, start_batch: Callable[..., Batch]
) -> None:
    """The time of day of one worker; what the kernel calls monotonic never jumps."""
    clock = deployment.folder / "clock"
    clock.write_text("0")
    sets_clock = {"PYTHONPATH": str(REPO / "tests/faults/clock"), "CLOCK_OFFSET": str(clock)}
    jumper, _ = deployment.add_worker(Place(environ=sets_clock)), deployment.add_worker()
    deployment.wait_for_workers(2)
    batch = start_batch()
    for share, offset_s in ((0.1, 3 * HOUR_S), (0.3, -YEAR_S), (0.5, 10 * YEAR_S), (0.7, 0)):
        batch.wait_for(share)
        assert not batch.is_over
        clock.write_text(str(offset_s))
    batch.finish()
    stats = deployment.redis.stats()
    assert stats.get("workers_lost", 0) == 0
    assert stats["graded"] == stats["submitted"]
    clock.write_text(str(10 * YEAR_S))
    assert_nothing_is_left(deployment)
    # It really was another time there.
    assert Path(f"{clock}.{jumper.pid}").read_text() == str(10 * YEAR_S)


# ---------------------------------------------------------------- disks


DISK_MIB = 32 + SUBMISSIONS // 20
"""Enough for the append-only file of a batch."""


class Disk:
    """A small file system of its own, which can be filled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self) -> None:
        with contextlib.suppress(OSError), self._filler.open("wb", buffering=0) as filler:
            while True:
                filler.write(b"\0" * 4096)
        assert os.statvfs(self.folder).f_bavail == 0

    def free(self) -> None:
        self._filler.unlink()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    if os.geteuid() != 0 or shutil.which("mount") is None:
        missing("A file system to fill", "it needs root")
    folder = tmp_path / "disk"
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={DISK_MIB}m"]
    subprocess.run(["mount", *options, "tmpfs", str(folder)], check=True)
    yield Disk(folder)
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
def test_full_disk_of_a_worker_changes_nothing(
    deployment: Deployment, start_batch: Callable[..., Batch], disk: Disk
) -> None:
    """Work areas are in memory and bounded; the worker itself needs no file."""
    disk.fill()
    place = Place(environ={"TMPDIR": str(disk.folder), "HOME": str(disk.folder)})
    deployment.add_worker(place)
    deployment.wait_for_workers(1)
    batch = start_batch()
    batch.finish()
    assert deployment.redis.stats().get("internal_errors", 0) == 0
    assert_nothing_is_left(deployment)


@pytest.mark.slow
def test_full_disk_of_redis_delays_and_loses_nothing(
    disk: Disk, deploy: Callable[..., Deployment], begin: Callable[..., Batch]
) -> None:
    """It refuses to change anything until it can write again, and forgets nothing."""
    deployed = deploy(redis_folder=disk.folder / "redis")
    deployed.add_workers(2)
    batch = begin(deployed)
    batch.wait_for(0.2)
    disk.fill()
    wait_until(lambda: refuses(deployed.redis), 30, "it cannot write")
    time.sleep(3)
    disk.free()
    batch.finish()
    assert all(worker.is_running for worker in deployed.workers)
    assert_nothing_is_left(deployed)


def refuses(redis: RedisServer) -> bool:
    with redis.connect() as client:
        try:
            client.persist("no such key")
        except ResponseError as error:
            return "MISCONF" in str(error)
        return False
