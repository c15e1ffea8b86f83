"""The reward function in the actors of a real Ray: it grades, and ends with them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deployment import wait_until
from tests.endings import NAME
from tests.integration.test_endings import SLOTS, comm_of
from tests.releases import installed
from tests.traces import family, living

installed("ray", "torch")

pytestmark = [pytest.mark.usefixtures("native_sandbox"), pytest.mark.timeout(240)]

START_S = 120.0
SOON_S = 30.0
"""A machine that is busy with other tests takes long to start and end a Ray."""


@pytest.mark.parametrize("ending", ["kill", "return", "exception"])
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
