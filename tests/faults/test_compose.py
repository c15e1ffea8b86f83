"""docker compose: everything that docs/deploy.md starts with it, really started."""

import ipaddress
import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from grader.config.settings import QueueSettings, Settings
from grader.queueing.grader import QueueGrader
from grader.queueing.status import read_status
from grader.sandbox.docker.backend import OWNER_LABEL
from grader.sandbox.owner import Owner
from tests.conftest import missing
from tests.deployment import REPO, free_port, wait_until
from tests.mixture import mixture

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]


@dataclass(kw_only=True)
class Project:
    """One docker compose project, as one host has it."""

    name: str
    environ: dict[str, str] = field(default_factory=dict)

    def __call__(self, *arguments: str) -> str:
        command = ["docker", "compose", "--project-name", self.name, *arguments]
        environ = {**os.environ, "DOCKER_BUILDKIT": "0", **self.environ}
        done = subprocess.run(command, cwd=REPO, env=environ, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def down(self) -> None:
        self("--profile", "native", "down", "--volumes", "--timeout", "60")


@pytest.fixture(scope="module")
def built() -> None:
    """Build the two images."""
    if subprocess.run(["docker", "compose", "version"], capture_output=True).returncode:
        missing("Docker compose", "`docker compose version` fails")
    if not any(Path(REPO, "deploy/image/wheels").glob("*.whl")):
        missing("The wheels of the image", "scripts/image-wheels has not been run")
    Project(name="grader-test-build")("build", "--quiet", "redis", "workers")


@pytest.fixture
def projects(built: None) -> Iterator[Callable[..., Project]]:  # noqa: ARG001
    """Make projects whose ports are this test's own."""
    made: list[Project] = []

    def make(**environ: str) -> Project:
        ports = {name: str(free_port()) for name in ("REDIS_PORT", "SERVER_PORT", "FLOWER_PORT")}
        name = f"grader-test-{ports['REDIS_PORT']}"
        made.append(Project(name=name, environ={**ports, **environ}))
        return made[-1]

    yield make
    for project in reversed(made):
        project.down()


def secret(project: Project, service: str, path: str) -> str:
    return project("exec", "-T", service, "cat", path).strip()


def settings(project: Project, address: str = "127.0.0.1") -> Settings:
    password = secret(project, "redis", "/run/grader/redis-password")
    broker = f"redis://:{password}@{address}:{project.environ['REDIS_PORT']}/0"
    return Settings(broker=broker, queue=QueueSettings(deadline_s=240))


def sandboxes() -> set[str]:
    """Return the containers of graders in containers; others may run on this machine meanwhile."""
    listing = ["docker", "ps", "--all", "--filter", f"label={OWNER_LABEL}", "--no-trunc"]
    listing += ["--format", f'{{{{.ID}}}} {{{{.Label "{OWNER_LABEL}"}}}}']
    lines = subprocess.run(listing, capture_output=True, text=True, check=True).stdout.splitlines()
    owners = {line.partition(" ")[0]: Owner.parse(line.partition(" ")[2]) for line in lines}
    here = Owner.current().machine
    return {container for container, owner in owners.items() if owner and owner.machine != here}


def fetch(port: str, path: str, body: object = None, token: str = "") -> bytes:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {token}"},
    )
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        return bytes(answer.read())


def grade_while(where: Settings, meanwhile: Callable[[], None]) -> None:
    """Grade a mixed batch, and do something once it is under way: nothing must show it."""
    batch = mixture(60)
    verdicts = {}
    with QueueGrader(where) as grader:
        for submission, report in grader.as_completed(submission for submission, _ in batch):
            verdicts[submission.id] = report.verdict
            if len(verdicts) == 10:
                meanwhile()
    assert verdicts == {submission.id: verdict for submission, verdict in batch}


def workers_serving(where: Settings) -> int:
    return len(read_status(where).workers)


@pytest.mark.usefixtures("docker_sandbox")  # skips if the image does not match
def test_everything_serves_scales_and_stops_without_a_trace(
    projects: Callable[..., Project],
) -> None:
    before = sandboxes()
    project = projects()
    project("up", "--detach", "--wait")
    where = settings(project)

    def scale() -> None:
        project("up", "--detach", "--no-recreate", "--scale", "workers=2", "workers")
        wait_until(lambda: workers_serving(where) == 2, 60, "two workers serve")
        assert sandboxes() - before

    grade_while(where, scale)

    token = secret(project, "server", "/run/grader-server/token")

    def grade_over_http() -> str:
        # A new one each time, which reaches a worker.
        completion = f"# {time.monotonic()}\ndef add(a, b): return a + b"
        body = {"completion": completion, "label": ["assert add(1, 2) == 3"], "deadline_s": 60}
        answer = json.loads(fetch(project.environ["SERVER_PORT"], "/v1/grade", body, token))
        return str(answer["report"]["verdict"])

    def flower_sees_tasks() -> bool:
        assert grade_over_http() == "passed"
        shown = json.loads(fetch(project.environ["FLOWER_PORT"], "/workers?json=1"))["data"]
        return len(shown) == 2 and any(worker.get("task-received") for worker in shown)

    # It has to find a worker first, and tell it that a client looks.
    wait_until(flower_sees_tasks, 30, "Flower sees tasks of two workers")

    project("stop", "workers")
    assert workers_serving(where) == 0
    assert read_status(where).counts.get("workers_lost", 0) == 0
    assert sandboxes() <= before


def test_native_workers_restart_in_the_middle_of_a_batch(
    projects: Callable[..., Project],
) -> None:
    # Left over from how programs of this host reach it.
    project = projects(GRADER_BROKER="redis://:secret@127.0.0.1:6379/0")
    project("up", "--detach", "--wait", "workers-native")
    where = settings(project)

    def restart() -> None:
        project("restart", "workers-native")

    grade_while(where, restart)
    project("stop", "workers-native")
    assert workers_serving(where) == 0
    assert read_status(where).counts.get("workers_lost", 0) == 0


def test_another_host_joins_with_one_variable(projects: Callable[..., Project]) -> None:
    """Another project stands in for the other host: it has its own networks and volumes."""
    bridge = address_of_this_host()
    here = projects(REDIS_ADDRESS=bridge)
    here("up", "--detach", "--wait", "redis")
    where = settings(here, bridge)
    there = projects(GRADER_BROKER=str(where.broker))
    there("up", "--detach", "--wait", "--no-deps", "workers-native")
    grade_while(where, lambda: None)
    # Without the profile compose would stop everything else and leave them at work.
    there("--profile", "native", "stop")
    assert there("ps", "--quiet") == ""
    assert workers_serving(where) == 0
    assert read_status(where).counts.get("workers_lost", 0) == 0


def address_of_this_host() -> str:
    """Return where containers of any project reach it.

    An engine that was started for the first time names no gateway; it is the first address then.
    """
    command = ["docker", "network", "inspect", "bridge", "--format", "{{json .IPAM.Config}}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (config, *_) = json.loads(done.stdout)
    return str(config.get("Gateway") or ipaddress.ip_network(config["Subnet"])[1])
