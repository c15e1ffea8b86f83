"""`POST /v1/grade` of a real service over the real native sandbox."""

import base64
import json
import pickle
import re
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.serving import ASSERTS, BAD, GOOD, Service, serving, sleeper

pytestmark = [pytest.mark.usefixtures("native_sandbox"), pytest.mark.timeout(90)]

Eventually = Callable[[Callable[[], bool], float], None]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("service")
    problems = folder / "problems.jsonl"
    problems.write_text(json.dumps({"task_id": "add", "test_list": ASSERTS, "text": "add"}) + "\n")
    with serving(folder, problems=problems, server__submissions=50) as running:
        yield running


def in_background(work: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    return thread, results


def test_one_submission_gets_a_whole_report(service: Service) -> None:
    response = service.post("/v1/grade", {"id": "a", "completion": BAD, "label": ASSERTS})
    assert response.headers["content-type"] == "application/json"
    assert set(response.json()) == {"id", "report"}
    report = response.json()["report"]
    assert (report["verdict"], report["passed"], report["total"]) == ("failed", 1, 2)
    assert report["sandbox"] in ("native", "native-reduced")
    assert report["code"].startswith("def add")
    assert [case["verdict"] for case in report["cases"]] == ["passed", "failed"]


def test_many_submissions_keep_their_order(service: Service) -> None:
    completions = [GOOD, BAD, "no code at all", sleeper(0.3), GOOD]
    submissions = [
        {"id": str(number), "completion": completion, "label": ASSERTS}
        for number, completion in enumerate(completions)
    ]
    results = service.post("/v1/grade", {"submissions": submissions}).json()["results"]
    assert [result["id"] for result in results] == ["0", "1", "2", "3", "4"]
    verdicts = [result["report"]["verdict"] for result in results]
    assert verdicts == ["passed", "failed", "no_code", "passed", "passed"]


def test_no_submissions_give_no_results(service: Service) -> None:
    assert service.post("/v1/grade", {"submissions": []}).json() == {"results": []}


def test_problem_is_found_by_its_id(service: Service) -> None:
    assert service.grade(problem_id="add", label=None)["verdict"] == "passed"


def test_one_bad_label_among_many_costs_only_its_own(service: Service) -> None:
    submissions = [
        {"id": "bad", "completion": GOOD, "label": {"what": 1}},
        {"id": "good", "completion": GOOD, "label": ASSERTS},
    ]
    results = service.post("/v1/grade", {"submissions": submissions}).json()["results"]
    assert [result["report"]["graded"] for result in results] == [False, True]
    assert "LabelError: the label is in no known format" in results[0]["report"]["feedback"]


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        pytest.param('{"completion": ', 400, "JSON", id="cut off"),
        pytest.param("[" * 100_000, 400, "", id="too deep for anybody"),
        pytest.param('{"label": 1}', 422, "body.completion: Field required", id="no completion"),
        pytest.param('{"completion": 1, "label": 1}', 422, "a valid string", id="number"),
        pytest.param('{"completion": "", "labels": 1}', 422, "body.labels", id="misspelt"),
        pytest.param('{"completion": "x"}', 422, "no label", id="no tests"),
        pytest.param('{"completion": "x", "label": {"a": 1}}', 422, "known format", id="unknown"),
        pytest.param('{"completion": "x", "deadline_s": 0}', 422, "deadline_s", id="no time"),
        pytest.param('{"completion": "x", "deadline_s": NaN}', 422, "deadline_s", id="nan"),
        pytest.param('{"submissions": [{}]}', 422, "body.submissions.0.completion", id="in many"),
        pytest.param('{"submissions": {}}', 422, "a valid list", id="no list"),
        pytest.param("3", 422, "body", id="no object"),
        pytest.param("null", 422, "body", id="null"),
        pytest.param("", 422, "body", id="empty"),
        pytest.param(
            json.dumps({"submissions": [{"completion": "x"}] * 51}), 422, "at most 50", id="many"
        ),
    ],
)
def test_bad_request_is_refused_with_a_reason(
    service: Service, body: str, status: int, reason: str
) -> None:
    headers = {"Content-Type": "application/json"}
    response = service.post("/v1/grade", None, data=body, headers=headers)
    assert response.status_code == status, response.text
    assert reason in response.json()["detail"]


def test_lone_surrogates_are_graded_like_any_text(service: Service) -> None:
    completion = r"def add(a, b):\n    return a + b  # \udc00"
    body = f'{{"completion": "{completion}", "label": ["assert add(1, 2) == 3"]}}'
    headers = {"Content-Type": "application/json"}
    response = service.post("/v1/grade", None, data=body, headers=headers)
    assert response.status_code == 200, response.text
    assert response.json()["report"]["graded"] is True


def test_body_of_another_type_is_refused(service: Service) -> None:
    response = service.post("/v1/grade", None, data={"completion": "x"})
    assert (response.status_code, "application/json" in response.text) == (415, True)


# ---------------------------------------------------------------- time


def test_label_that_unfolds_costs_only_its_own_submission(service: Service) -> None:
    # Some 30 kB that unfold to a Python literal of 10 million numbers.
    unfolded = pickle.dumps(f"['', {'1,' * 10_000_000}1]")
    bomb = base64.b64encode(zlib.compress(unfolded)).decode()
    items = [{"completion": GOOD, "label": label} for label in (bomb, ASSERTS)]
    grading, answers = in_background(
        lambda: service.post("/v1/grade", {"submissions": items}).json()["results"]
    )
    for _ in range(5):
        assert requests.get(f"{service.url}/healthz", timeout=30).status_code == 200
    assert grading.is_alive()
    grading.join()
    (results,) = answers
    assert "takes more than 2." in results[0]["report"]["feedback"]
    assert results[1]["report"]["verdict"] == "passed"
    refused = service.post("/v1/grade", items[0])
    assert (refused.status_code, "not tried again" in refused.json()["detail"]) == (422, True)


def test_deadline_is_kept(service: Service) -> None:
    report = service.grade(sleeper(15), deadline_s=1.0)
    assert (report["verdict"], report["graded"]) == ("internal_error", False)
    assert "within" in report["feedback"]
    assert service.grade()["verdict"] == "passed"


def test_limit_of_a_label_is_capped(tmp_path: Path) -> None:
    label = {"assert_case": ASSERTS, "suite": {"limits": {"cpu_time_s": 600, "wall_time_s": 600}}}
    with serving(tmp_path, server__max_time_s=1) as service:
        report = service.grade(sleeper(30), label=label)
    assert (report["verdict"], report["limit_hit"]) == ("time_limit", "wall_time")


def test_submissions_of_a_client_that_left_are_not_graded(
    service: Service, eventually: Eventually
) -> None:
    submissions = [{"completion": sleeper(1), "label": ASSERTS} for _ in range(30)]
    body = json.dumps({"submissions": submissions}).encode()
    before = service.metric("grader_cancelled_submissions_total")
    with socket.create_connection(("127.0.0.1", service.port)) as client:
        head = f"POST /v1/grade HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        client.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
        eventually(lambda: service.metric("grader_queue_depth") >= 20, 20)
        assert service.metric("grader_queue_oldest_seconds") > 0
    eventually(lambda: service.metric("grader_queue_depth") == 0, 20)
    assert service.metric("grader_cancelled_submissions_total") - before >= 20
    assert service.grade()["verdict"] == "passed"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_memory_of_a_flood_is_given_back(tmp_path: Path) -> None:
    words = "1 " * 10_000_000
    with serving(tmp_path) as service:
        status = Path(f"/proc/{service.process.pid}/status")

        def grade_large_row(number: int) -> str:
            label = json.dumps({"inputs": [f"{words}{number}"], "outputs": ["1"]})
            return str(service.grade("print(1)", label=label)["verdict"])

        with ThreadPoolExecutor(8) as threads:
            assert set(threads.map(grade_large_row, range(8))) == {"passed"}
        for number in range(50):
            service.grade(label=[f"assert add(1, 2) == {number}"])
        found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text())
    # What is kept is caches of some 150 MiB at most.
    assert found is not None
    assert int(found[1]) < 300 * 1024


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_memory_of_large_bodies_that_come_at_once_is_given_back(tmp_path: Path) -> None:
    words = "x" * 18_000_000
    with serving(tmp_path) as service:
        status = Path(f"/proc/{service.process.pid}/status")
        with ThreadPoolExecutor(16) as threads:
            reports = threads.map(lambda n: service.grade(f"{n}{words}"), range(24))
            assert {report["verdict"] for report in reports} == {"no_code"}
        found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text())
    assert found is not None
    assert int(found[1]) < 130 * 1024


# ---------------------------------------------------------------- idempotency


def test_same_key_gets_the_same_answer_without_a_second_grading(service: Service) -> None:
    body = {"completion": GOOD, "label": ASSERTS, "id": "replayed"}
    headers = {"Idempotency-Key": "key-1"}
    first = service.post("/v1/grade", body, headers=headers)
    graded = service.metric('grader_submissions_total{verdict="passed"}')
    second = service.post("/v1/grade", body, headers=headers)
    assert first.content == second.content
    assert "Idempotency-Replayed" not in first.headers
    assert second.headers["Idempotency-Replayed"] == "true"
    assert service.metric('grader_submissions_total{verdict="passed"}') == graded
    assert service.metric("grader_idempotent_replays_total") >= 1


def test_same_key_at_once_is_graded_once(service: Service) -> None:
    body = {"completion": sleeper(1), "label": ASSERTS}
    headers = {"Idempotency-Key": "key-2"}
    before = service.metric('grader_submissions_total{verdict="passed"}')
    started = [
        in_background(lambda: service.post("/v1/grade", body, headers=headers).content)
        for _ in range(4)
    ]
    for thread, _ in started:
        thread.join()
    assert len({results[0] for _, results in started}) == 1
    assert service.metric('grader_submissions_total{verdict="passed"}') == before + 1


def test_key_of_another_request_is_refused(service: Service) -> None:
    headers = {"Idempotency-Key": "key-3"}
    service.post("/v1/grade", {"completion": GOOD, "label": ASSERTS}, headers=headers)
    other = service.post("/v1/grade", {"completion": BAD, "label": ASSERTS}, headers=headers)
    assert (other.status_code, "Idempotency-Key" in other.text) == (409, True)


def test_failure_of_ours_is_not_kept(service: Service) -> None:
    headers = {"Idempotency-Key": "key-4"}
    body = {"completion": sleeper(0.5), "label": ASSERTS, "deadline_s": 0.1}
    first = service.post("/v1/grade", body, headers=headers).json()
    assert first["report"]["graded"] is False
    again = service.post("/v1/grade", body, headers=headers)
    assert "Idempotency-Replayed" not in again.headers
