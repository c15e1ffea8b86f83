"""The reward function in the actors of a real Ray: it grades, and ends with them."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from grader.config.settings import Settings
from grader.model.verdict import Verdict
from grader.queueing.grader import QueueGrader
from grader.queueing.status import read_status
from tests.deployment import REPO, Deployment, wait_until
from tests.endings import NAME
from tests.factories import make_submission
from tests.integration.test_endings import SLOTS, comm_of
from tests.releases import installed
from tests.serving import sleeper
from tests.traces import family, living

installed("ray", "torch")

pytestmark = [pytest.mark.usefixtures("native_sandbox"), pytest.mark.timeout(240)]

START_S = 120.0
SOON_S = 30.0
"""A machine that is busy with other tests takes long to start and end a Ray."""


@pytest.mark.parametrize(
    "ending", ["kill", pytest.param("return", marks=pytest.mark.slow), "exception"]
)
def test_actors_grade_and_leave_nothing_when_they_end(ending: str, tmp_path: Path) -> None:
    environ = {k: v for k, v in os.environ.items() if not k.startswith("GRADER_")}
    settings = {"sandbox": "native", "slots": SLOTS, "reward_deadline_s": 120}
    settings |= {"limits_wall_time_s": 200, "limits_cpu_time_s": 200}
    environ |= {f"GRADER_{key.upper()}": str(value) for key, value in settings.items()}
    with (tmp_path / "stderr").open("wb") as stderr:
        driver = subprocess.Popen(
            [sys.executable, "-m", "tests.on_ray", ending],
            env={**environ, "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    assert driver.stdin is not None
    assert driver.stdout is not None
    known = set()
    try:
        graded = driver.stdout.readline()
        assert graded, (tmp_path / "stderr").read_text()[-3000:]
        assert json.loads(graded) == [[1.0, 0.0, 1.0]] * 2
        pids = json.loads(driver.stdout.readline())
        assert driver.stdout.readline() == "open\n"
        wait_until(lambda: all(running(pid) == SLOTS for pid in pids), START_S, "they run")
        known = family(driver.pid)
        slots = set().union(*(family(pid) for pid in pids))
        # A second line is for the driver that kills its actors and lives on.
        driver.stdin.write("\n" if ending != "kill" else "\n\n")
        driver.stdin.flush()
        wait_until(lambda: not living(slots), SOON_S, "the actors and all of theirs are gone")
        driver.wait(SOON_S)
        wait_until(lambda: not living(known), SOON_S, "Ray is gone")
    finally:
        driver.kill()
        driver.communicate()
        for pid, _ in living(known):
            os.kill(pid, 9)


def running(pid: int) -> int:
    return sum(comm_of(member) == NAME for member, _ in family(pid))


@pytest.mark.redis
def test_workers_run_in_actors_that_are_replaced_and_end_in_order(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path / "queue")
    where = Settings(broker=deployment.redis.url)
    environ = {k: v for k, v in os.environ.items() if not k.startswith("GRADER_")}
    environ |= {"GRADER_BROKER": deployment.redis.url}
    environ |= {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
    command = [sys.executable, str(REPO / "deploy/ray/workers.py"), "--workers", "2", "--cpus", "1"]
    try:
        with (tmp_path / "output").open("wb") as output:
            driver = subprocess.Popen(command, env=environ, stdout=output, stderr=output)
        wait_until(
            lambda: [worker.slots for worker in read_status(where).serving] == [1, 1],
            START_S,
            "two workers serve",
        )
        known = family(driver.pid)
        with QueueGrader(where) as grader:
            futures = [grader.submit(make_submission(sleeper(n / 10))) for n in range(6)]
            assert {future.result(60).verdict for future in futures} == {Verdict.PASSED}
        before = {worker.id for worker in read_status(where).serving}
        pid = int(min(before).split(":")[1])
        actor = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(actor, signal.SIGKILL)
        wait_until(
            lambda: len({worker.id for worker in read_status(where).serving} - before) == 1,
            START_S,
            "a lost actor is replaced",
        )
        wait_until(lambda: len(read_status(where).workers) == 2, SOON_S, "its worker has left")
        known |= family(driver.pid)
        driver.send_signal(signal.SIGTERM)
        assert driver.wait(60) == 0, (tmp_path / "output").read_text()[-3000:]
        wait_until(lambda: not living(known), SOON_S, "all have ended")
        assert read_status(where).workers == ()
        # Ray killed the worker of the lost actor.
        assert deployment.redis.stats()["workers_lost"] == 1
    finally:
        driver.kill()
        deployment.close()
