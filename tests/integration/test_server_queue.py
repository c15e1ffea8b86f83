"""The service in front of a real queue: a Redis and a worker with native slots."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests

from tests.conftest import missing
from tests.deployment import Deployment, redis_program
from tests.serving import BAD, GOOD, Service, serving, sleeper

pytestmark = [
    pytest.mark.redis,
    pytest.mark.usefixtures("native_sandbox"),
    pytest.mark.timeout(120),
]

Eventually = Callable[[Callable[[], bool], float], None]


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    if redis_program() is None:
        missing("Redis", "there is no redis-server")
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
    eventually(lambda: service.metric('grader_cache_total{outcome="hit"}') > hits, 10)
    assert service.metric("grader_queue_up") == 1
    assert service.metric("grader_workers") == 1
    states = ("busy", "idle")
    slots = [service.metric(f'grader_slots{{state="{s}",where="workers"}}') for s in states]
    assert sum(slots) == 2


def test_programs_run_in_slots_of_this_process(service: Service) -> None:
    assert service.run_code("print(1)")["run_result"]["stdout"] == "1\n"
    assert service.metric('grader_slots{state="idle",where="here"}') == 1


def test_client_who_leaves_frees_the_worker(
    service: Service, deployment: Deployment, eventually: Eventually
) -> None:
    body = {"completion": sleeper(18), "label": ["assert add(1, 2) == 3"]}
    with pytest.raises(requests.Timeout):
        requests.post(f"{service.url}/v1/grade", json=body, timeout=2)
    eventually(lambda: deployment.redis.stats().get("cancelled", 0) >= 1, 10)


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
