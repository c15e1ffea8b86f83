"""The broker's password and the service's token: used everywhere, and shown nowhere."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.config.settings import Settings
from grader.queueing.status import read_status
from tests.deployment import REPO, Deployment, free_port, wait_until

pytestmark = [pytest.mark.redis, pytest.mark.timeout(120)]

PASSWORD = "s3cret-of-redis"  # noqa: S105
TOKEN = "s3cret-of-the-service"  # noqa: S105


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    deployed = Deployment(tmp_path_factory.mktemp("locked"), password=PASSWORD)
    yield deployed
    deployed.close()


def environ(broker: str) -> dict[str, str]:
    ours = {k: v for k, v in os.environ.items() if not k.startswith("GRADER_")}
    return {**ours, "GRADER_BROKER": broker, "GRADER_SERVER_TOKEN": TOKEN}


def said(broker: str, *arguments: str, stdin: str = "") -> str:
    """Return all that a command prints."""
    done = subprocess.run(
        [sys.executable, "-m", "grader", *arguments],
        cwd=REPO,
        env=environ(broker),
        capture_output=True,
        text=True,
        timeout=60,
        input=stdin,
    )
    return done.stdout + done.stderr


def said_of_a_sample(broker: str) -> str:
    """Return what is printed if there is a sample to grade, and 2 s for it."""
    sample = '{"completion": "def f(): return 1", "label": "assert f() == 1"}'
    return said(broker, "grade", "-", "-o", "-", "--set", "queue.deadline_s=2", stdin=sample)


def assert_hidden(text: str) -> None:
    assert "s3cret" not in text


def test_look_tells_who_is_missing(deployment: Deployment) -> None:
    assert "waiting: the queue has no worker" in said_of_a_sample(deployment.redis.url)
    wrong = deployment.redis.url.replace(PASSWORD, "s3cret-of-another")
    refused = said_of_a_sample(wrong)
    assert "error: Redis does not answer: invalid username-password pair" in refused
    assert_hidden(refused)


def test_worker_that_gets_in_writes_no_password(deployment: Deployment) -> None:
    worker = deployment.add_worker()
    settings = Settings(broker=deployment.redis.url)
    wait_until(lambda: read_status(settings).slots == 2, 60, "it serves")
    assert_hidden(said(deployment.redis.url, "status", "--json"))
    worker.stop()
    assert "redis://:**@" in worker.log()
    assert_hidden(worker.log())


def test_worker_that_is_not_let_in_writes_no_password(deployment: Deployment) -> None:
    wrong = deployment.redis.url.replace(PASSWORD, "s3cret-of-another")
    worker = deployment.add_worker(broker=wrong)
    wait_until(lambda: "invalid username-password pair" in worker.log(), 60, "it is refused")
    worker.kill()
    assert_hidden(worker.log())


@pytest.mark.parametrize("fault", ["none", "refused", "gone", "not encoded"])
@pytest.mark.parametrize("command", ["config", "config --json", "status"])
def test_command_prints_no_secret(deployment: Deployment, command: str, fault: str) -> None:
    right = deployment.redis.url
    broker = {
        "none": right,
        "refused": right.replace(PASSWORD, "s3cret-of-another"),
        "gone": f"redis://:{PASSWORD}@127.0.0.1:1/0",
        "not encoded": f"redis://:{PASSWORD}/s3cret:s3cret@127.0.0.1:port/0",
    }[fault]
    text = said(broker, *command.split())
    assert text
    assert_hidden(text)


def test_service_prints_no_secret(deployment: Deployment, tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = [sys.executable, "-m", "grader", "serve", "--set", f"server.port={free_port()}"]
    with (
        log.open("wb") as file,
        subprocess.Popen(
            [*command, "--set", "server.verbose=true"],
            cwd=REPO,
            env=environ(deployment.redis.url),
            stdout=file,
            stderr=file,
        ) as service,
    ):
        wait_until(lambda: "listening" in log.read_text(), 60, "it listens")
        service.send_signal(signal.SIGTERM)
        assert service.wait(60) == 0
    assert_hidden(log.read_text())
