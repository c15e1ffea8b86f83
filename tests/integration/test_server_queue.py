"""The service in front of a real queue: a Redis and a worker with native slots."""

import base64
import contextlib
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from grader.config.settings import Settings
from grader.process.release import build_id
from grader.queueing import names
from grader.queueing.status import read_status
from tests.deployment import Deployment, wait_until
from tests.serving import BAD, GOOD, Service, serving, sleeper

pytestmark = [
    pytest.mark.redis,
    pytest.mark.usefixtures("native_sandbox"),
    pytest.mark.timeout(120),
]

Eventually = Callable[[Callable[[], bool], float], None]


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    deployed = Deployment(tmp_path_factory.mktemp("queue"))
    deployed.add_worker()
    deployed.wait_for_workers(1)
    yield deployed
    deployed.close()


@pytest.fixture(scope="module")
def service(deployment: Deployment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("service"), broker=deployment.redis.url) as running:
        yield running


def test_submissions_are_graded_by_workers(service: Service) -> None:
    assert service.grade(GOOD)["verdict"] == "passed"
    assert service.grade(BAD)["passed"] == 1
    answer = service.post("/get_reward", {"query": [GOOD], "labels": ['["assert add(1, 2) == 3"]']})
    assert answer.json()["rewards"] == [1.0]


def test_metrics_tell_of_workers_and_of_the_cache(service: Service, eventually: Eventually) -> None:
    code = f"{GOOD}\n# sent twice"
    hits = service.metric('grader_cache_total{outcome="hit"}')
    assert [service.grade(code)["verdict"] for _ in range(2)] == ["passed", "passed"]
    eventually(lambda: service.metric('grader_cache_total{outcome="hit"}') > hits, 30)
    assert service.metric("grader_queue_up") == 1
    assert service.metric("grader_workers") == 1
    states = ("busy", "idle", "stopping", "sick")
    slots = [service.metric(f'grader_slots{{state="{s}",where="workers"}}') for s in states]
    assert (sum(slots[:2]), slots[2:]) == (2, [0, 0])
    text = service.get("/metrics").text
    assert f'build="{build_id()}"' in text
    for event in names.Counter:
        assert f'grader_queue_events_total{{event="{event}"}}' in text
    assert service.metric('grader_queue_events_total{event="graded"}') >= 1
    assert service.metric("grader_redis_memory_bytes") > 0
    assert "grader_redis_memory_limit_bytes 0.0" in text


def test_worker_logs_the_ids_of_the_service(service: Service, deployment: Deployment) -> None:
    """One search through all logs finds what became of a request."""
    secret = "find_me_in_no_log"  # noqa: S105
    code = f"{GOOD}\n# {secret}"
    label = ["assert add(1, 2) == 3", f"assert add(1, 2) == 4, {secret!r}"]
    body = {"completion": code, "label": label, "id": "sample/7"}
    service.post("/v1/grade", body, headers={"X-Request-ID": "trace-77"})
    program = {"code": f"print({secret!r})", "language": "python"}
    service.post("/run_code", program, headers={"X-Request-ID": "trace-78"})
    (worker,) = deployment.workers

    def logged(request: str) -> list[dict[str, Any]]:
        lines = [line for line in worker.log_lines() if line.get("request") == request]
        return [line for line in lines if line["event"] in ("graded", "ran")]

    wait_until(lambda: bool(logged("trace-77") and logged("trace-78")), 30, "both are logged")
    (line,) = logged("trace-77")
    assert (line["submission"], line["verdict"], line["level"]) == ("sample/7", "failed", "info")
    assert {"job", "took_s", "timestamp", "logger"} <= line.keys()
    assert secret not in worker.log()


def test_programs_run_on_the_workers(service: Service) -> None:
    """As in slots of this process: exact output, files in and out, limits."""
    answer = service.run_code(
        "import sys\nprint(input(), open('given.txt').read(), flush=True)\n"
        "open('made.txt', 'w').write('out')\n"
        "sys.stdout.buffer.write(bytes([0, 255]))",
        stdin="line\n",
        files={"given.txt": base64.b64encode(b"content").decode()},
        fetch_files=["made.txt"],
    )
    assert answer["status"] == "Success"
    assert answer["run_result"]["stdout"] == "line content\n\0\ufffd"
    assert base64.b64decode(answer["files"]["made.txt"]) == b"out"
    late = service.run_code("while True: pass", run_timeout=1)
    assert late["run_result"]["status"] == "TimeLimitExceeded"
    assert service.run_code("def")["compile_result"]["return_code"] == 1
    assert service.run_code("raise SystemExit(3)")["run_result"]["return_code"] == 3
    assert 'where="here"' not in service.get("/metrics").text


def test_equal_programs_run_each_time(service: Service) -> None:
    code = "import os\nprint(os.urandom(8).hex())"
    printed = {service.run_code(code)["run_result"]["stdout"] for _ in range(3)}
    assert len(printed) == 3


def test_programs_stay_in_redis_no_longer_than_they_run(
    service: Service, deployment: Deployment, eventually: Eventually
) -> None:
    service.run_code("print(1)", stdin="marker of this test")
    eventually(lambda: not any("job:" in key for key in deployment.redis.key_names()), 30)
    with deployment.redis.connect() as client:
        assert client.get(f"{names.Key.SUITE}program") == "program"


def test_program_that_finds_no_free_worker_in_time_is_a_504(
    service: Service, deployment: Deployment, tmp_path: Path
) -> None:
    program = {"code": "print(1)", "language": "python", "run_timeout": 1}
    sleeping = {**program, "code": "import time\ntime.sleep(60)", "run_timeout": 90}
    busy = [HTTPConnection(urlsplit(service.url).netloc) for _ in range(2)]
    with serving(tmp_path, broker=deployment.redis.url, server__run_wait_s=0) as impatient:
        for client in busy:
            kind = {"Content-Type": "application/json"}
            client.request("POST", "/run_code", json.dumps(sleeping), kind)
        where = Settings(broker=deployment.redis.url)
        wait_until(lambda: read_status(where).running == 2, 30, "both slots are busy")
        assert impatient.post("/run_code", program).status_code == 504
        for client in busy:
            client.close()  # which stops its program
    assert service.post("/run_code", program).status_code == 200


def test_client_that_leaves_frees_the_worker(
    service: Service, deployment: Deployment, eventually: Eventually
) -> None:
    body = {"completion": sleeper(18), "label": ["assert add(1, 2) == 3"]}
    with pytest.raises(requests.Timeout):
        requests.post(f"{service.url}/v1/grade", json=body, timeout=2)
    eventually(lambda: deployment.redis.stats().get("cancelled", 0) >= 1, 30)


def test_redis_that_is_gone_makes_the_service_unready(tmp_path: Path) -> None:
    deployed = Deployment(tmp_path / "queue")
    try:
        deployed.add_worker()
        deployed.wait_for_workers(1)
        with serving(tmp_path, broker=deployed.redis.url) as service:
            deployed.redis.kill()
            report = service.grade(GOOD, deadline_s=3)
            assert (report["verdict"], report["graded"]) == ("internal_error", False)
            answer = service.get("/readyz")
            assert (answer.status_code, answer.json()["reason"]) == (503, "Redis does not answer")
            assert service.metric("grader_queue_up") == 0
            assert service.get("/healthz").status_code == 200
            deployed.redis.start()
            assert service.grade(GOOD, deadline_s=30)["verdict"] == "passed"
    finally:
        deployed.close()


def test_each_caller_of_the_service_has_a_lane_while_it_waits(
    deployment: Deployment, tmp_path: Path, eventually: Eventually
) -> None:
    """A caller is an address, with the name in the login in front of it."""
    where, token = Settings(broker=deployment.redis.url), "s3cret"

    def lanes() -> set[str]:
        return {lane.client.partition("/")[2] for lane in read_status(where).lanes}

    with (
        serving(tmp_path, token=token, broker=deployment.redis.url) as running,
        ThreadPoolExecutor(2) as threads,
    ):

        def ask(name: str) -> None:
            items = [
                {"completion": sleeper(n), "label": [f"assert add(1, 2) == 3, {name!r}"]}
                for n in (5, 6, 7, 8)
            ]
            login = base64.b64encode(f"{name}:{token}".encode()).decode()
            with contextlib.suppress(requests.RequestException):
                requests.post(
                    f"{running.url}/v1/grade",
                    json={"submissions": items},
                    headers={"Authorization": f"Basic {login}"},
                    timeout=60,
                )

        for name in ("ann", "b o/b"):
            threads.submit(ask, name)
        eventually(lambda: lanes() == {"ann@127.0.0.1", "b_o_b@127.0.0.1"}, 30)
        # In order, it would finish what it has begun.
        running.process.kill()
        running.process.wait()
