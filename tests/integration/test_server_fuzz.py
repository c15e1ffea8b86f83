"""Malformed requests get a response with a reason: never a 500, never no response."""

import contextlib
import json
import os
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.queueing import names
from tests.deployment import Deployment, wait_until
from tests.serving import Service, serving

FUZZ_S = int(os.environ.get("FUZZ_S", "0"))
"""For how many seconds a fuzzer makes new requests; `make fuzz` sets it.

0: it makes a fixed number of requests, and the same in every run.
"""
HOW_MANY = ["--max-time", str(FUZZ_S)] if FUZZ_S else ["--max-examples", "20", "--seed", "1"]

pytestmark = [pytest.mark.usefixtures("native_sandbox"), pytest.mark.timeout(120 + 3 * FUZZ_S)]


@pytest.fixture(
    scope="module",
    params=["slots", pytest.param("queue", marks=[pytest.mark.redis, pytest.mark.slow])],
)
def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """One with slots of its own, and one with a queue."""
    # Programs that fuzzing makes may ask for the longest time there is.
    settings: dict[str, Any] = {"server__max_time_s": 2}
    # It opens sessions and closes none; a service that has no room for more answers with 503.
    settings |= {"sessions__most": 64, "sessions__idle_s": 1}
    folder = tmp_path_factory.mktemp("service")
    with contextlib.ExitStack() as held:
        if request.param == "queue":
            settings["broker"] = held.enter_context(working_queue(folder))
        with serving(folder, **settings) as running:
            yield running
            assert not [line for line in running.log() if "exception" in line]


@contextlib.contextmanager
def working_queue(folder: Path) -> Iterator[str]:
    """Run a Redis and a worker; check at the end that the worker survived and nothing is stuck."""
    deployed = Deployment(folder)
    try:
        worker = deployed.add_worker(queue_images="python,science")
        deployed.wait_for_workers(1)
        pid = worker.pid
        yield deployed.redis.url
        assert (worker.is_running, worker.pid) == (True, pid)
        # The service has left, and what it waited for with it.
        wait_until(lambda: not open_jobs(deployed), 30, "no job is stuck")
        assert deployed.redis.stats().get("redelivered", 0) == 0
    finally:
        deployed.close()


def open_jobs(deployed: Deployment) -> list[str]:
    return [key for key in deployed.redis.key_names() if key.startswith(names.Key.JOB)]


SANDBOX_FUSION = "^/run_(code|jupyter)$"
# Like SandboxFusion, they take "10" for 10, so not all that contradicts the schema is refused.
SANDBOX_FUSION_CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_schema_conformance,missing_required_header,unsupported_method"
)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--exclude-path-regex", SANDBOX_FUSION, "--checks", "all"], id="own"),
        pytest.param(
            ["--include-path-regex", SANDBOX_FUSION, "--checks", SANDBOX_FUSION_CHECKS],
            id="SandboxFusion",
        ),
    ],
)
def test_schemathesis_finds_nothing(service: Service, tmp_path: Path, options: list[str]) -> None:
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{service.url}/openapi.json"]
    command += ["--max-response-time", "20", "--no-color", *HOW_MANY, *options]
    # A body may fit its schema, but have tests that cannot be read.
    command += ["--exclude-checks", "positive_data_acceptance"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:]
    assert "generated" in done.stdout


def test_bytes_that_are_no_request_are_answered_or_hung_up_on(service: Service) -> None:
    chance = random.Random(7)  # noqa: S311
    for _ in range(100):
        with socket.create_connection(("127.0.0.1", service.port), timeout=10) as client:
            client.sendall(chance.randbytes(chance.randint(1, 300)) + b"\r\n\r\n")
            answer = client.recv(1000)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 4"), answer
    assert service.get("/healthz").status_code == 200


@pytest.mark.parametrize("path", ["/v1/grade", "/get_reward", "/run_code"])
def test_damaged_bodies_are_refused_with_a_reason(service: Service, path: str) -> None:
    chance = random.Random(path)  # noqa: S311
    whole = json.dumps(
        {
            "completion": "x = 1",
            "label": {"inputs": ["1"], "outputs": [1.5, None]},
            "query": ["a", "b"],
            "prompts": [None, ""],
            "labels": [{}, "[]"],
            "code": "print(1)",
            "language": "python",
            "files": {"a": "YQ=="},
        }
    ).encode()
    headers = {"Content-Type": "application/json"}
    for _ in range(60):
        body = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(len(body))
            match chance.randrange(3):
                case 0:
                    body[place] = chance.randrange(256)
                case 1:
                    del body[place : place + chance.randint(1, 20)]
                case _:
                    body[place:place] = chance.choice([b"[" * 2000, b"1e999", b"\x00", b"NaN"])
        response = service.post(path, None, data=bytes(body), headers=headers)
        assert response.status_code in (200, 400, 422), response.text
        assert response.status_code == 200 or response.json()["detail"]
