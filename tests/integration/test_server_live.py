"""The endpoints of the live page, used like its scripts do, on a real service."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.serving import ASSERTS, BAD, GOOD, Service, serving, sleeper

pytestmark = [pytest.mark.usefixtures("native_sandbox"), pytest.mark.timeout(120)]

TOKEN = "a-secret"  # noqa: S105
EXIT = "```python\nimport os\nos._exit(0)\ndef add(a, b): return 3\n```"

Eventually = Callable[[Callable[[], bool], float], None]
Event = tuple[str, dict[str, Any]]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("service"), token=TOKEN) as running:
        yield running


@contextmanager
def watching(service: Service, **headers: str) -> Iterator[Iterator[Event]]:
    """Follow the events of a service."""
    shown = {"Authorization": f"Bearer {TOKEN}", **headers}
    with requests.get(
        f"{service.url}/live/events", headers=shown, stream=True, timeout=20
    ) as response:
        assert response.status_code == 200, response.text
        assert response.headers["Content-Type"].startswith("text/event-stream")
        yield events_of(response)


def events_of(response: requests.Response) -> Iterator[Event]:
    name = ""
    for line in response.iter_lines(chunk_size=1):
        if line.startswith(b"event: "):
            name = line.removeprefix(b"event: ").decode()
        elif line.startswith(b"data: "):
            yield name, json.loads(line.removeprefix(b"data: "))


def kept(service: Service, **params: Any) -> list[dict[str, Any]]:
    samples: list[dict[str, Any]] = service.get("/live/samples", params=params).json()["samples"]
    return samples


# ---------------------------------------------------------------- access


@pytest.mark.parametrize(
    "path",
    ["/live/events", "/live/charts", "/live/samples", "/live/samples/x-1", "/live/examples"],
)
def test_nothing_is_shown_without_the_token(service: Service, path: str) -> None:
    assert requests.get(service.url + path, timeout=10).status_code == 401
    assert requests.post(f"{service.url}/live/try", json={}, timeout=10).status_code == 401


def test_page_and_its_files_are_open_and_tell_nothing(service: Service) -> None:
    service.grade(BAD, id="not-on-the-bare-page")
    page = requests.get(f"{service.url}/", timeout=10)
    assert page.status_code == 200
    assert "not-on-the-bare-page" not in page.text
    files = [part.partition('"')[0] for part in page.text.split('"assets/')[1:]]
    assert {"main.js", "live.css", "report.css", "icon.svg"} <= set(files)
    for name in [*files, "events.js", "charts.js"]:
        answer = requests.get(f"{service.url}/assets/{name}", timeout=10)
        assert answer.status_code == 200
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for name in ("x.js", "../metrics", "%2e%2e%2fmetrics", "..%2f..%2froutes.py", ""):
        assert requests.get(f"{service.url}/assets/{name}", timeout=10).status_code in (401, 404)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_other_sites_get_nothing(service: Service, site: str) -> None:
    headers = {"Sec-Fetch-Site": site}
    for path in ("/live/events", "/live/samples", "/live/charts"):
        assert service.get(path, headers=headers).status_code == 403
    trial = {"completion": GOOD, "label": json.dumps(ASSERTS)}
    for path in ("/live/try", "/v1/grade", "/get_reward", "/run_code"):
        assert service.post(path, trial, headers=headers).status_code == 403
    own = {"Sec-Fetch-Site": "same-origin"}
    assert service.post("/live/try", trial, headers=own).status_code == 200


def test_name_that_somebody_else_gave_this_machine_gets_nothing(tmp_path: Path) -> None:
    with serving(tmp_path, keep__samples="none") as open_service:
        rebound = {"Host": f"evil.test:{open_service.port}"}
        for path in ("/live/samples", "/metrics"):
            assert open_service.get(path, headers=rebound).status_code == 403
        sent = open_service.post("/run_code", {"code": "1", "language": "python"}, headers=rebound)
        assert sent.status_code == 403
        assert open_service.get("/healthz", headers=rebound).status_code == 200
        assert open_service.get("/live/samples").status_code == 200
        by_name = open_service.get("/live/samples", headers={"Host": "localhost:1"})
        assert by_name.status_code == 200
        open_service.grade(BAD)
        assert kept(open_service) == []


# ---------------------------------------------------------------- events


def test_events_begin_with_a_snapshot_and_go_on_with_changes(service: Service) -> None:
    service.grade(BAD, id="before")
    with watching(service) as events:
        name, snapshot = next(events)
        assert name == "snapshot"
        assert snapshot["keep"]["samples"] == "failed"
        assert "before" in [sample["name"] for sample in snapshot["samples"]]
        passed = snapshot["totals"]["verdicts"]["passed"]
        service.grade(GOOD)
        service.grade(EXIT, id="after")
        seen: list[dict[str, Any]] = []
        samples: dict[str, Any] = {}
        # A sample is told of at once, and counted with the interval that comes after it.
        while "after" not in samples or _total(seen, "suspicious") < 1:
            name, interval = next(events)
            assert name == "interval"
            seen.append(interval)
            samples.update((sample["name"], sample) for sample in interval["samples"])
        assert seen[-1]["totals"]["verdicts"]["passed"] == passed + 1
        intervals = [*snapshot["intervals"], *(interval["interval"] for interval in seen)]
        assert sum(interval["verdicts"].get("passed", 0) for interval in intervals) == passed + 1
        after = samples["after"]
        assert (after["kind"], after["signs"]) == ("attack", ["early_exit"])
        assert seen[-1]["state"]["usable"] == 2


def test_submission_before_the_first_interval_is_counted(tmp_path: Path) -> None:
    with serving(tmp_path, token=TOKEN) as young:
        for _ in range(3):
            young.grade(EXIT)
        with watching(young) as events:
            intervals = [
                interval
                for _, data in (next(events), next(events))
                for interval in _intervals(data)
            ]
    assert _total([{"interval": interval} for interval in intervals], "suspicious") == 3


def _intervals(data: dict[str, Any]) -> list[dict[str, Any]]:
    return data["intervals"] if "intervals" in data else [data["interval"]]


def _total(intervals: list[dict[str, Any]], name: str) -> int:
    return sum(interval["interval"][name] for interval in intervals)


def test_waiting_submission_is_shown_as_waiting(service: Service) -> None:
    with watching(service) as events:
        next(events)
        threads = [threading.Thread(target=service.grade, args=(sleeper(1.5),)) for _ in range(8)]
        for thread in threads:
            thread.start()
        states = (data["state"] for _, data in events)
        # A slot that has just ended one program and not begun the next is not busy.
        full = next(state for state in states if state["waiting"] >= 2 and state["busy"] == 2)
        for thread in threads:
            thread.join()
    assert full["oldest_s"] > 0


def test_many_look_at_once_and_then_no_more(service: Service, eventually: Eventually) -> None:
    from grader.server.live.subscribers import MOST

    before = service.metric("grader_http_open_requests")
    sessions = []
    try:
        for _ in range(MOST):
            sessions.append(
                requests.get(
                    f"{service.url}/live/events",
                    headers={"Authorization": f"Bearer {TOKEN}"},
                    stream=True,
                    timeout=20,
                )
            )
        assert {session.status_code for session in sessions} == {200}
        refused = service.get("/live/events")
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "10")
        for session in sessions:
            events = events_of(session)
            assert [next(events)[0], next(events)[0]] == ["snapshot", "interval"]
        assert service.grade()["verdict"] == "passed"
    finally:
        for session in sessions:
            session.close()
    eventually(lambda: service.metric("grader_http_open_requests") <= before, 20)
    with watching(service) as again:
        assert next(again)[0] == "snapshot"


def test_client_that_reads_nothing_does_not_delay_others(service: Service) -> None:
    head = f"GET /live/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", service.port)) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        deaf.sendall(head.encode())
        with watching(service) as events:
            assert [name for name, _ in (next(events) for _ in range(3))][-1] == "interval"


def test_events_end_when_the_service_stops(tmp_path: Path) -> None:
    with serving(tmp_path, token=TOKEN) as stopping, watching(stopping) as events:
        next(events)
        assert stopping.stop() == 0
        names = [name for name, _ in events]
    assert names[-1] == "end"


# ---------------------------------------------------------------- samples and charts


def test_samples_can_be_listed_by_kind_and_read_down_to_their_cases(service: Service) -> None:
    service.grade(BAD, id="wrong/1")
    service.grade(EXIT, id="exits/1")
    assert "wrong/1" in [sample["name"] for sample in kept(service, kind="failed")]
    assert "wrong/1" not in [sample["name"] for sample in kept(service, kind=["attack", "limit"])]
    wrong = next(sample for sample in kept(service) if sample["name"] == "wrong/1")
    answer = service.get(f"/live/samples/{wrong['key']}")
    assert answer.headers["Cache-Control"] == "no-store"
    assert "assert add(0, 0) == 0" in answer.text
    assert "Reward" in answer.text
    assert service.get("/live/samples/0-0").status_code == 404
    assert service.get("/live/samples", params={"kind": "odd"}).status_code == 422


def test_tests_that_cannot_be_read_are_a_sample_too(service: Service) -> None:
    body = {"submissions": [{"id": "unreadable", "completion": GOOD, "label": "no tests"}]}
    assert service.post("/v1/grade", body).json()["results"][0]["report"]["graded"] is False
    found = [sample["name"] for sample in kept(service, kind="ungraded")]
    assert "unreadable" in found


def test_sample_of_a_trainer_is_kept_with_its_endpoint(service: Service) -> None:
    query = f"Add two numbers.{BAD}\n# of a trainer"
    body = {"query": [query], "prompts": ["Add two numbers."], "labels": [json.dumps(ASSERTS)]}
    assert service.post("/get_reward?logs=1", body).json()["extra_logs"]["graded"] == [1.0]
    (sample,) = [each for each in kept(service) if each["endpoint"] == "/get_reward"]
    assert (sample["verdict"], sample["passed"]) == ("failed", 1)
    assert "# of a trainer" in service.get(f"/live/samples/{sample['key']}").text


def test_charts_are_drawn_for_both_spans(service: Service) -> None:
    service.grade(GOOD)
    for span in ("minutes", "hours"):
        html = service.get("/live/charts", params={"span": span}).text
        assert html.count("<svg ") == 7
        assert "style=" not in html
        assert "<script" not in html
    assert service.get("/live/charts", params={"span": "years"}).status_code == 422


def test_endpoints_of_samples_are_counted_as_one(service: Service) -> None:
    for number in range(3):
        service.get(f"/live/samples/none-{number}")
    name = 'grader_http_requests_total{endpoint="/live/samples/{key}",status="404"}'
    assert service.metric(name) >= 3


# ---------------------------------------------------------------- playground


def test_every_example_of_the_playground_passes_as_it_is(service: Service) -> None:
    examples = service.get("/live/examples").json()
    assert len(examples) > 25
    failed = []
    for example in examples:
        trial = {name: example[name] for name in ("completion", "label")}
        answer = service.post("/live/try", trial)
        if answer.status_code != 200 or "badge v-passed" not in answer.text:
            failed.append((example["name"], answer.status_code, answer.text[:300]))
    # Its tests need modules of the science image, which a plain machine lacks.
    assert [name for name, *_ in failed if name != "ds1000"] == [], failed


def test_playground_names_the_error_in_a_label(service: Service) -> None:
    for label, reason in (
        ("nothing", "neither JSON nor test source"),
        ('{"x": 1}', "no known format"),
    ):
        answer = service.post("/live/try", {"completion": GOOD, "label": label})
        assert answer.status_code == 422
        assert reason in answer.json()["detail"]
    assert service.post("/live/try", {"completion": GOOD}).status_code == 422


def test_playground_stays_under_the_limits_of_the_service(service: Service) -> None:
    label = {"assert_case": ASSERTS, "suite": {"limits": {"memory_bytes": 10**12}}}
    hungry = "```python\nx = bytearray(3 * 2**30)\ndef add(a, b): return a + b\n```"
    answer = service.post("/live/try", {"completion": hungry, "label": json.dumps(label)})
    assert answer.status_code == 200
    assert "badge v-passed" not in answer.text
