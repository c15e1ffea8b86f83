"""docker compose: workers through the socket and without, started, scaled and stopped."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.client import QueueGrader
from grader.queueing.status import read_status
from grader.settings import QueueSettings, Settings
from tests.conftest import missing
from tests.deployment import REPO, free_port, wait_until
from tests.mixture import mixture

pytestmark = [pytest.mark.docker, pytest.mark.slow]

Compose = Callable[..., str]


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def compose(port: int) -> Iterator[Compose]:
    """Run docker compose with a project and a port of this test's own."""
    environ = {**os.environ, "REDIS_PORT": str(port), "DOCKER_BUILDKIT": "0"}

    def run(*arguments: str) -> str:
        command = ["docker", "compose", "--project-name", f"grader-test-{port}", *arguments]
        done = subprocess.run(command, cwd=REPO, env=environ, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    if subprocess.run(["docker", "compose", "version"], capture_output=True).returncode:
        missing("Docker compose", "`docker compose version` fails")
    if not any(Path(REPO, "deploy/worker/wheels").glob("*.whl")):
        missing("The worker image", "scripts/worker-wheels has not been run")
    run("build", "--quiet", "redis", "workers")
    yield run
    run("--profile", "native", "down", "--volumes", "--timeout", "60")


def settings(compose: Compose, port: int) -> Settings:
    password = compose("exec", "-T", "redis", "cat", "/run/grader/redis-password").strip()
    broker = f"redis://:{password}@127.0.0.1:{port}/0"
    return Settings(broker=broker, queue=QueueSettings(deadline_s=240))


def sandboxes() -> set[str]:
    """Return the containers that graders of any process own."""
    listing = ["docker", "ps", "-aq", "--no-trunc", "--filter", "label=grader.owner"]
    return set(subprocess.run(listing, capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.timeout(900)
@pytest.mark.parametrize("service", ["workers", "workers-native"])
def test_workers_grade_scale_and_stop_without_a_trace(
    request: pytest.FixtureRequest, compose: Compose, port: int, service: str
) -> None:
    if service == "workers":
        request.getfixturevalue("docker_sandbox")  # skips where the image does not match
    before = sandboxes()
    compose("up", "--detach", "--wait", service)
    where = settings(compose, port)
    batch = mixture(60)
    with QueueGrader(where) as grader:
        results = grader.as_completed(submission for submission, _ in batch)
        verdicts = {}
        for submission, report in results:
            verdicts[submission.id] = report.verdict
            if len(verdicts) == 10:
                compose("up", "--detach", "--scale", f"{service}=2", service)
                wait_until(lambda: len(read_status(where).workers) == 2, 60, "two workers serve")
                compose("restart", service)
    assert verdicts == {submission.id: verdict for submission, verdict in batch}
    compose("stop", service)
    assert read_status(where).workers == ()
    assert read_status(where).counts.get("workers_lost", 0) == 0
    assert sandboxes() <= before
