"""However a process ends that has the reward function in it, it ends soon and leaves nothing.

Behind each are submissions that never end, more than there are slots.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from grader.grading.hosts import SLOTS_PER_PROCESS
from grader.queueing import names
from tests.deployment import Deployment, wait_until
from tests.endings import NAME
from tests.serving import Service, serving
from tests.traces import family, living

pytestmark = [pytest.mark.usefixtures("native_sandbox"), pytest.mark.timeout(120)]

SOON_S = 20.0
"""Docs say two seconds; a busy machine that runs other tests meanwhile takes longer."""
SLOTS = 2
COUNT = 16

ORDERLY = ["return", "exit", "exception", "exception-in-thread", "SIGINT", "SIGINT-twice"]
KILLED = ["SIGTERM", "SIGHUP", "SIGKILL", "os._exit"]
EACH_KIND = ["exception-in-thread", "SIGINT", "SIGKILL"]
"""By the interpreter, by a signal that Python acts on, and by the kernel."""
OTHERS = [ending for ending in (*ORDERLY, *KILLED) if ending not in EACH_KIND]


TRAINERS = ["openrlhf", "openrlhf-loop", "openrlhf-agent", "verl", "rllm", "areal", "trl"]


def slow(*cells: tuple[str, ...]) -> list[Any]:
    """Return cells of a table whose row and whose column other tests have, as parameters."""
    return [pytest.param(*cell, marks=pytest.mark.slow) for cell in cells]


@dataclass(kw_only=True)
class Trainer:
    """A process with calls under way."""

    process: "subprocess.Popen[str]"
    grading: int
    """Whose descendants the submissions are."""

    def end(self) -> float:
        """Have it end; returns the seconds that it took."""
        began = time.monotonic()
        self.say()
        self.process.wait(SOON_S)
        return time.monotonic() - began

    def say(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@contextmanager
def calling(
    caller: str, ending: str, kind: str, *, grading: int | None = None, **settings: object
) -> Iterator[Trainer]:
    """Start a trainer and wait until as many of its submissions run as there are slots."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith("GRADER_")}
    values: dict[str, object] = {"sandbox": "native", "slots": SLOTS, "reward_check": 0}
    values |= {"reward_deadline_s": 300, "limits_wall_time_s": 200, "limits_cpu_time_s": 200}
    values |= settings
    environ |= {f"GRADER_{key.upper()}": str(value) for key, value in values.items()}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.endings", caller, ending, kind, str(COUNT)],
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    trainer = Trainer(process=process, grading=process.pid if grading is None else grading)
    try:
        assert trainer.read() == "open"
        wait_until(lambda: running(trainer.grading) == values["slots"], 60, "submissions run")
        yield trainer
    finally:
        process.kill()
        process.communicate()


def running(pid: int) -> int:
    """Return how many submissions run below a process."""
    return sum(comm_of(member) == NAME for member, _ in family(pid))


def comm_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    except OSError:
        return ""


# ---------------------------------------------------------------- in the process itself


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        *product([*ORDERLY, *KILLED], ["sleeping"]),
        *product(EACH_KIND, ["spinning"]),
        *slow(*product(OTHERS, ["spinning"])),
    ],
)
def test_process_with_slots_ends_soon_and_takes_them_along(ending: str, kind: str) -> None:
    with calling("library", ending, kind) as trainer:
        known = family(trainer.process.pid)
        trainer.end()
        wait_until(lambda: not living(known), SOON_S, "nothing of it is left")


@pytest.mark.parametrize("ending", [*EACH_KIND, *slow(*((each,) for each in OTHERS))])
def test_process_with_host_processes_ends_soon_and_takes_them_along(ending: str) -> None:
    with calling("library", ending, "sleeping", slots=SLOTS_PER_PROCESS + 2) as trainer:
        known = family(trainer.process.pid)
        trainer.end()
        wait_until(lambda: not living(known), SOON_S, "nothing of it is left")


@pytest.mark.parametrize(
    ("caller", "ending"),
    [
        *product(TRAINERS, ["SIGINT"]),
        *(("openrlhf", "exception"), ("areal", "SIGKILL")),
        *slow(
            *product([each for each in TRAINERS if each not in ("openrlhf", "trl")], ["exception"]),
            *product([each for each in TRAINERS if each != "trl"], ["return"]),
            ("trl", "SIGINT-twice"),
        ),
    ],
)
def test_trainer_ends_soon_whatever_calls_the_reward_function(caller: str, ending: str) -> None:
    with calling(caller, ending, "sleeping") as trainer:
        known = family(trainer.process.pid)
        trainer.end()
        wait_until(lambda: not living(known), SOON_S, "nothing of it is left")


def test_forked_process_that_ends_leaves_the_slots_to_its_parent() -> None:
    with calling("library", "fork-ends", "sleeping") as trainer:
        known = family(trainer.process.pid)
        trainer.say()
        assert trainer.read() == "open"  # Again, once the forked one has ended.
        assert living(known) == known
        trainer.end()
        wait_until(lambda: not living(known), SOON_S, "nothing of it is left")


def test_slots_of_a_killed_process_end_though_a_fork_of_it_lives_on() -> None:
    with calling("library", "fork-stays", "sleeping") as trainer:
        known = family(trainer.process.pid)
        trainer.say()
        child = int(trainer.read())
        try:
            wait_until(lambda: not living(known), SOON_S, "nothing of it is left")
            os.kill(child, 0)  # It is there all the time.
        finally:
            os.kill(child, signal.SIGKILL)


# ---------------------------------------------------------------- over a queue


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    running = Deployment(tmp_path_factory.mktemp("endings"))
    try:
        running.add_worker(slots=SLOTS)
        running.wait_for_workers(1)
        yield running
    finally:
        running.close()


@pytest.mark.redis
@pytest.mark.parametrize(
    ("caller", "ending"),
    [
        *product(["library"], ["exception-in-thread", "SIGINT"]),
        ("verl", "SIGINT"),
        *slow(
            *product(["library"], [each for each in ORDERLY if each in OTHERS]),
            ("openrlhf", "exception"),
            ("openrlhf-loop", "SIGINT"),
        ),
    ],
)
def test_process_at_a_queue_ends_soon_and_takes_its_jobs_along(
    deployment: Deployment, caller: str, ending: str
) -> None:
    worker = deployment.workers[0].pid
    broker = deployment.redis.url
    with calling(caller, ending, "sleeping", grading=worker, broker=broker) as trainer:
        trainer.end()
        wait_until(lambda: not jobs(deployment), SOON_S, "its jobs are gone")
        wait_until(lambda: not running(worker), SOON_S, "its submissions were stopped")


@pytest.mark.redis
@pytest.mark.parametrize(
    "ending", ["SIGKILL", *slow(*((each,) for each in KILLED if each in OTHERS))]
)
def test_process_at_a_queue_that_is_killed_ends_at_once(
    deployment: Deployment, ending: str
) -> None:
    worker, broker = deployment.workers[0].pid, deployment.redis.url
    with calling("library", ending, "sleeping", grading=worker, broker=broker) as trainer:
        trainer.end()
        # Its jobs go when its lease ends, a minute later: tests/faults has that.
        with deployment.redis.connect() as client:
            client.delete(*jobs(deployment))
        wait_until(lambda: not running(worker), 2 * SOON_S, "its submissions were stopped")


def jobs(deployment: Deployment) -> list[str]:
    return [key for key in deployment.redis.key_names() if key.startswith(names.Key.JOB)]


# ---------------------------------------------------------------- at a service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("service"), slots=SLOTS) as running:
        yield running


@pytest.mark.parametrize(
    ("caller", "ending"),
    [
        *product(["library"], EACH_KIND),
        ("verl", "SIGINT"),
        *slow(
            *product(["library"], OTHERS), ("openrlhf", "exception"), ("openrlhf-loop", "SIGINT")
        ),
    ],
)
def test_process_at_a_service_ends_soon_and_takes_its_submissions_along(
    service: Service, caller: str, ending: str
) -> None:
    grading = service.process.pid
    with calling(caller, ending, "sleeping", grading=grading, url=service.url) as trainer:
        trainer.end()
        wait_until(lambda: not running(grading), SOON_S, "its submissions were stopped")
