"""A real `grader serve`, as a process of its own that a test may treat badly."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests

REPO = Path(__file__).resolve().parent.parent
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0

GOOD = "```python\ndef add(a, b):\n    return a + b\n```"
BAD = "```python\ndef add(a, b):\n    return 3\n```"
ASSERTS = ["assert add(1, 2) == 3", "assert add(0, 0) == 0"]


def sleeper(seconds: float) -> str:
    """Return a right completion that takes so long."""
    return f"```python\nimport time\ntime.sleep({seconds})\ndef add(a, b):\n    return a + b\n```"


class Service:
    """A running service."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path, token: str | None) -> None:
        self.process = process
        self._log = log
        self.port = 0
        self._session = requests.Session()
        if token is not None:
            self._session.headers["Authorization"] = f"Bearer {token}".encode()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, **more: Any) -> requests.Response:
        return self._session.get(self.url + path, timeout=30, **more)

    def post(self, path: str, body: Any, **more: Any) -> requests.Response:
        return self._session.post(self.url + path, json=body, **{"timeout": 60, **more})

    def delete(self, path: str) -> requests.Response:
        return self._session.delete(self.url + path, timeout=30)

    def grade(self, completion: str = GOOD, **fields: Any) -> dict[str, Any]:
        """Return the report of one submission."""
        body = {"completion": completion, "label": ASSERTS, **fields}
        response = self.post("/v1/grade", body)
        assert response.status_code == 200, response.text
        report: dict[str, Any] = response.json()["report"]
        return report

    def run_code(self, code: str, **fields: Any) -> dict[str, Any]:
        """Return the answer to a program."""
        response = self.post("/run_code", {"code": code, "language": "python", **fields})
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        return answer

    def metric(self, name: str) -> float:
        """Return a metric by its full name with labels; 0 if it is missing."""
        lines = self.get("/metrics").text.splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{name} "))

    def log(self) -> list[dict[str, Any]]:
        """Return the log's lines so far; each must be an object."""
        whole = self._log.read_text().rpartition("\n")[0]  # It may be writing the last one.
        return [json.loads(line) for line in whole.splitlines()]

    def text(self) -> str:
        return self._log.read_text()

    def stop(self) -> int:
        """Stop it in order and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_TIMEOUT_S)


@contextmanager
def serving(folder: Path, *, token: str | None = None, **settings: Any) -> Iterator[Service]:
    """Start a service and wait until it can grade.

    Args:
        folder: For its log.
        token: That it asks for and that the client shows.
        settings: By key, with two underscores for the dot.
    """
    environ = {k: v for k, v in os.environ.items() if not k.startswith("GRADER_")}
    values = {"sandbox": "native", "slots": 2, "server__port": 0, **settings}
    if token is not None:
        values["server__token"] = token
    environ |= {f"GRADER_{k.replace('__', '_').upper()}": str(v) for k, v in values.items()}
    log = folder / "service.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "grader", "serve"],
            cwd=REPO,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    service = Service(process, log, token)
    try:
        _wait_until_ready(service)
        yield service
        if process.poll() is None:
            assert service.stop() == 0, service.text()[-3000:]
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _wait_until_ready(service: Service) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        assert service.process.poll() is None, service.text()
        if not service.port:
            told = [line for line in service.log() if line["event"] == "listening"]
            service.port = told[0]["port"] if told else 0
        elif service.get("/readyz").status_code == 200:
            return
        time.sleep(0.05)
    message = f"not ready within {START_TIMEOUT_S} s: {service.text()[-3000:]}"
    raise AssertionError(message)
