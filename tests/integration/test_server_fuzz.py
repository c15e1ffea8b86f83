"""Requests that no client means: an answer with a reason, never a 500, never none at all."""

import json
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving import Service, serving

pytestmark = [pytest.mark.usefixtures("native_sandbox"), pytest.mark.timeout(120)]

FUZZ_S = 5


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    # Programs that fuzzing makes may ask for the longest time there is.
    with serving(tmp_path_factory.mktemp("service"), server__max_time_s=2) as running:
        yield running
        assert not [line for line in running.log() if "exception" in line]


# Like SandboxFusion, /run_code takes "10" for 10.
RUN_CODE_CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_schema_conformance,missing_required_header,unsupported_method"
)


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["--exclude-path", "/run_code", "--checks", "all"], id="own"),
        pytest.param(["--include-path", "/run_code", "--checks", RUN_CODE_CHECKS], id="run_code"),
    ],
)
def test_schemathesis_finds_nothing(service: Service, tmp_path: Path, options: list[str]) -> None:
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{service.url}/openapi.json"]
    command += ["--max-time", str(FUZZ_S), "--max-response-time", "20", "--no-color", *options]
    # A body may fit its schema and hold tests that nobody can read.
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
