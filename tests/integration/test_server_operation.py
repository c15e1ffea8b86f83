"""Operating a real service: tokens, sizes, many clients, metrics, logs, stopping."""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from grader.model.verdict import Verdict
from grader.report.index import GradedFile
from tests.serving import ASSERTS, BAD, GOOD, Service, serving, sleeper

pytestmark = [pytest.mark.usefixtures("native_sandbox"), pytest.mark.timeout(120)]

TOKEN = "a-secret"  # noqa: S105
METRICS_TOKEN = "for-prometheus"  # noqa: S105
OPEN_PATHS = ["/healthz", "/readyz", "/v1/ping", "/docs", "/openapi.json"]
SECRET = "find_me_in_no_log"  # noqa: S105

Eventually = Callable[[Callable[[], bool], float], None]


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("record")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, record: Path) -> Iterator[Service]:
    more = {
        "server__body_bytes": "1MiB",
        "server__held_bytes": "2MiB",
        "server__metrics_token": METRICS_TOKEN,
    }
    folder = tmp_path_factory.mktemp("service")
    with serving(folder, token=TOKEN, record=str(record), **more) as running:
        yield running


# ---------------------------------------------------------------- tokens


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="none"),
        pytest.param({"Authorization": "Bearer wrong"}, id="wrong"),
        pytest.param({"Authorization": f"Bearer {TOKEN}x"}, id="longer"),
        pytest.param({"Authorization": "Bearer "}, id="empty"),
        pytest.param({"Authorization": TOKEN}, id="no scheme"),
        pytest.param({"Authorization": "Basic %%%"}, id="no base64"),
        pytest.param({"Authorization": "Basic YS1zZWNyZXQ="}, id="user without password"),
    ],
)
def test_request_without_the_token_is_refused(service: Service, headers: dict[str, str]) -> None:
    for path in ("/v1/grade", "/get_reward", "/run_code"):
        response = requests.post(service.url + path, data=b"{", headers=headers, timeout=10)
        assert response.status_code == 401
        assert response.headers["WWW-Authenticate"] == "Bearer"
        assert "a token is needed" in response.json()["detail"]
    assert requests.get(f"{service.url}/metrics", headers=headers, timeout=10).status_code == 401


def test_token_opens_as_bearer_and_as_password(service: Service) -> None:
    bearer = requests.get(
        f"{service.url}/metrics", headers={"Authorization": f"bearer {TOKEN}"}, timeout=10
    )
    basic = requests.get(f"http://x:{TOKEN}@127.0.0.1:{service.port}/metrics", timeout=10)
    assert (bearer.status_code, basic.status_code) == (200, 200)


def test_token_for_metrics_opens_nothing_else(service: Service) -> None:
    headers = {"Authorization": f"Bearer {METRICS_TOKEN}"}
    spec = requests.get(f"{service.url}/openapi.json", timeout=10).json()
    for path, methods in spec["paths"].items():
        for method in methods:
            response = requests.request(method, service.url + path, headers=headers, timeout=10)
            if path == "/metrics":
                assert response.status_code == 200
            elif path not in OPEN_PATHS:
                assert response.status_code == 403, path


@pytest.mark.parametrize("path", OPEN_PATHS)
def test_paths_without_data_need_no_token(service: Service, path: str) -> None:
    assert requests.get(service.url + path, timeout=10).status_code == 200


def serve_once(**settings: str) -> "subprocess.CompletedProcess[str]":
    environ = {k: v for k, v in os.environ.items() if not k.startswith("GRADER_")}
    command = [sys.executable, "-m", "grader", "serve"]
    return subprocess.run(
        command,
        env={**environ, **settings},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_it_does_not_listen_to_others_without_a_token() -> None:
    done = serve_once(GRADER_SERVER_HOST="0.0.0.0", GRADER_SERVER_PORT="0")  # noqa: S104
    assert done.returncode == 2
    assert "set GRADER_SERVER_TOKEN" in done.stderr
    assert "Traceback" not in done.stderr


def test_service_listens_beyond_loopback_if_set(tmp_path: Path) -> None:
    with serving(tmp_path, server__host="0.0.0.0", server__anonymous=True) as open_service:  # noqa: S104
        assert open_service.grade()["verdict"] == "passed"


def test_taken_port_gets_a_message(service: Service) -> None:
    done = serve_once(GRADER_SERVER_PORT=str(service.port))
    assert done.returncode == 2
    assert "cannot listen" in done.stderr
    assert "Traceback" not in done.stderr


# ---------------------------------------------------------------- sizes and numbers


def test_body_that_is_too_large_is_refused(service: Service) -> None:
    response = service.post("/v1/grade", {"completion": "x" * 2_000_000})
    assert (response.status_code, "server.body_bytes" in response.text) == (413, True)


def test_body_of_unknown_size_is_refused_once_it_is_too_large(service: Service) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(64):
            yield b"x" * 65536

    try:
        response = service.post("/run_code", None, data=chunks())
        assert (response.status_code, "server.body_bytes" in response.text) == (413, True)
    except requests.ConnectionError:
        pass  # It hung up before all was sent, as it may.
    assert service.get("/healthz").status_code == 200


def test_more_bodies_than_there_is_room_for_wait(service: Service) -> None:
    completion = f"{GOOD}\n{'x' * 700_000}"
    answers: list[str] = []
    threads = [
        threading.Thread(target=lambda: answers.append(service.grade(completion)["verdict"]))
        for _ in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["passed"] * 12


def test_promised_bodies_keep_no_room_from_others(service: Service) -> None:
    head = f"Host: localhost\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 1000000\r\n\r\n"
    with contextlib.ExitStack() as held:
        for _ in range(8):
            client = socket.create_connection(("127.0.0.1", service.port))
            held.enter_context(client).sendall(f"POST /v1/grade HTTP/1.1\r\n{head}{{".encode())
        assert service.grade(f"{GOOD}\n{'x' * 900_000}")["verdict"] == "passed"


def test_512_connections_are_all_answered(service: Service) -> None:
    head = f"Host: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"

    async def run_program(number: int, everybody: asyncio.Barrier) -> bool:
        reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
        await everybody.wait()
        program = {"code": "print(input())", "stdin": str(number), "language": "python"}
        body = json.dumps({**program, "compile_timeout": 100}).encode()
        writer.write(
            f"POST /run_code HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        )
        status = await reader.readline()
        headers = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.partition(b":")[2])
            for line in headers.lower().split(b"\r\n")
            if line.startswith(b"content-length")
        )
        answer = json.loads(await reader.readexactly(length))
        writer.close()
        return b" 200 " in status and answer["run_result"]["stdout"] == f"{number}\n"

    async def all_at_once() -> list[bool]:
        everybody = asyncio.Barrier(512)
        return await asyncio.gather(*(run_program(number, everybody) for number in range(512)))

    assert all(asyncio.run(all_at_once()))
    assert service.metric('grader_programs_total{outcome="Success"}') >= 512


# ---------------------------------------------------------------- metrics and logs


def test_metrics_count_requests_and_submissions(service: Service) -> None:
    names = {
        "passed": 'grader_submissions_total{verdict="passed"}',
        "failed": 'grader_submissions_total{verdict="failed"}',
        "internal": "grader_internal_errors_total",
        "early exit": 'grader_suspicion_total{sign="early_exit"}',
        "run": 'grader_submission_phase_seconds_count{phase="run"}',
        "wait": 'grader_submission_phase_seconds_count{phase="wait"}',
        "refused": 'grader_http_requests_total{endpoint="/v1/grade",status="422"}',
        "unknown": 'grader_http_requests_total{endpoint="none",status="404"}',
        "request": 'grader_http_request_seconds_count{endpoint="/v1/grade"}',
    }
    before = {key: service.metric(name) for key, name in names.items()}
    service.grade(GOOD)
    service.grade(BAD)
    service.grade("import os\nos._exit(0)\ndef add(a, b): return 3")
    service.grade(sleeper(5), deadline_s=0.3)
    assert service.post("/v1/grade", {"completion": "x"}).status_code == 422
    assert service.get("/no/such/page").status_code == 404
    change = {key: service.metric(name) - before[key] for key, name in names.items()}
    assert change == {
        "passed": 1,
        "failed": 1,
        "internal": 1,
        "early exit": 1,
        "run": 4,
        "wait": 4,
        "refused": 1,
        "unknown": 1,
        "request": 5,
    }
    states = ("busy", "idle", "unopened")
    slots = [service.metric(f'grader_slots{{state="{state}",where="here"}}') for state in states]
    assert sum(slots) == 2
    assert service.metric("grader_http_open_requests") == 1
    assert service.metric("process_resident_memory_bytes") > 0


def test_log_names_submissions_and_shows_nothing_of_them(
    service: Service, eventually: Eventually
) -> None:
    code = f"{GOOD}\n# {SECRET}"
    service.grade(code, id="logged/1")
    service.grade(BAD, id="logged/2", label=[f"assert add(1, 2) == 4, {SECRET!r}"])
    service.grade(f"def add(a, b): raise ValueError({SECRET!r})", id="logged/3")
    service.post("/v1/grade", {"submissions": [{"completion": SECRET, "label": SECRET}]})
    service.post("/v1/grade", {"completion": SECRET, "label": SECRET})
    service.post("/v1/grade", {SECRET: SECRET})
    service.post("/v1/grade", {"completion": GOOD, "label": [f"assert ({SECRET}"]})
    checker = {"source": f"def check(*_): raise ValueError({SECRET!r})"}
    cases = {"inputs": [""], "outputs": [""], "suite": {"comparison": {"checker": checker}}}
    service.grade(f"print({SECRET!r})", id="logged/4", label=cases)
    service.post("/get_reward", {"query": [code], "prompts": [SECRET], "labels": [SECRET]})
    service.run_code(f"print({SECRET!r}); raise ValueError({SECRET!r})", stdin=SECRET)
    service.run_code(SECRET, language=SECRET)
    service.grade(code, id="logged/5")
    # Lines are written in their order, soon after they are logged.
    eventually(lambda: any(line.get("submission") == "logged/5" for line in service.log()), 20)
    logged = {line.get("submission"): line for line in service.log()}
    assert logged["logged/1"]["verdict"] == "passed"
    assert logged["logged/2"]["verdict"] == "failed"
    assert logged["logged/3"]["endpoint"] == "/v1/grade"
    assert logged["logged/4"]["event"] == "not graded"
    assert logged["logged/4"]["error"] == "SuiteError"
    assert {"took_s", "request", "timestamp", "level", "event"} <= logged["logged/3"].keys()
    assert SECRET not in service.text()
    assert "\\u001b" not in service.text()  # uvicorn's colours
    assert TOKEN not in service.text()


def test_request_id_comes_back_and_stands_in_the_log(
    service: Service, eventually: Eventually
) -> None:
    body = {"completion": GOOD, "label": ASSERTS}
    response = service.post("/v1/grade", body, headers={"X-Request-ID": "trace-77"})
    assert response.headers["X-Request-ID"] == "trace-77"
    eventually(lambda: any(line.get("request") == "trace-77" for line in service.log()), 20)
    assert len(service.get("/healthz").headers["X-Request-ID"]) == 16


# ---------------------------------------------------------------- the end


def test_stopping_service_finishes_running_requests_and_refuses_the_rest(
    tmp_path: Path, eventually: Eventually
) -> None:
    answers: list[requests.Response] = []
    with serving(tmp_path) as service:

        def grade() -> None:
            body = {"completion": sleeper(3), "label": ASSERTS}
            answers.append(requests.post(f"{service.url}/v1/grade", json=body, timeout=60))

        threads = [threading.Thread(target=grade) for _ in range(8)]
        for thread in threads:
            thread.start()
        eventually(lambda: service.metric("grader_queue_depth") == 6, 20)
        assert service.stop() == 0
        for thread in threads:
            thread.join()
        stopped = [line["event"] for line in service.log()]
    finished = [answer.json() for answer in answers if answer.status_code == 200]
    sent_away = [answer for answer in answers if answer.status_code == 503]
    assert [answer["report"]["verdict"] for answer in finished] == ["passed", "passed"]
    assert len(sent_away) == 6
    assert all("Retry-After" in answer.headers for answer in sent_away)
    assert stopped[-1] == "stopped"


def test_stopping_service_waits_no_longer_than_the_drain(
    tmp_path: Path, eventually: Eventually
) -> None:
    answers: list[Any] = []
    with serving(tmp_path, server__drain_s=1) as service:
        program = {"code": "import time; time.sleep(50)", "language": "python", "run_timeout": 60}
        thread = threading.Thread(
            target=lambda: answers.append(service.post("/run_code", program).status_code)
        )
        thread.start()
        busy = 'grader_slots{state="busy",where="here"}'
        eventually(
            lambda: requests.get(f"{service.url}/metrics", timeout=5).text.find(f"{busy} 1") > 0, 20
        )
        assert service.stop() == 0
        thread.join()
    assert answers == [504]


def test_service_records_what_clients_send(service: Service, record: Path) -> None:
    label = {"id": "recorded", "assert_case": ASSERTS}
    service.grade(BAD, label=label)
    body = {"query": [GOOD], "prompts": [""], "labels": [label]}
    assert service.post("/get_reward", body).status_code == 200
    # While the service runs, as if it was killed now.
    found = [each for each in GradedFile(record).entries if each.name == "recorded"]
    assert [(e.verdict, e.reward) for e in found] == [(Verdict.FAILED, 0.3), (Verdict.PASSED, 1.0)]
