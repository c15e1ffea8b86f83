"""Each alert, fired by its fault: metrics of a real service, rated by promtool of Prometheus."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families

from grader.config.settings import ServiceClass, Settings
from grader.queueing.grader import QueueGrader
from grader.queueing.ledger import Ledger
from grader.queueing.ledger_values import Handover, LedgerEntry, Wanted
from grader.queueing.names import queue_name
from grader.queueing.status import read_status
from tests.deployment import (
    REPO,
    Deployment,
    Place,
    RedisServer,
    Worker,
    wait_until,
)
from tests.factories import make_submission, make_suite
from tests.serving import GOOD, Service, serving, sleeper
from tests.tools import tool

ALERTS = REPO / "deploy/prometheus/alerts.yaml"
DASHBOARD = REPO / "deploy/grafana/dashboard.json"
RUNBOOK = REPO / "docs/runbook.md"

NAMES = re.findall(r"^ *- alert: (\w+)$", ALERTS.read_text(), re.MULTILINE)
METRIC = re.compile(r"\b(?:grader|process|python)_\w+|\bup\b")

Samples = Mapping[str, float]
"""A scrape: the value of each series by its name with labels."""


@dataclass
class Stack:
    """Redis, a service and a worker, and what was scraped last."""

    deployment: Deployment
    service: Service
    folder: Path

    @property
    def settings(self) -> Settings:
        return Settings(broker=self.deployment.redis.url)

    def start_worker(self, place: Place | None = None) -> Worker:
        known = {each.id for each in read_status(self.settings).serving}
        worker = self.deployment.add_worker(place, queue_worker_deaths=1)
        wait_until(
            lambda: {each.id for each in read_status(self.settings).serving} - known != set(),
            60,
            "one more worker serves",
        )
        return worker

    def scrape(self) -> Samples:
        """Return the metrics as Prometheus sees them, with its own `up`."""
        up = 'up{instance="here",job="grader"}'
        try:
            text = self.service.get("/metrics").text
        except requests.ConnectionError:
            return {up: 0.0}
        found = {up: 1.0}
        for family in text_string_to_metric_families(text):
            for name, labels, value, *_ in family.samples:
                words = ",".join(f"{key}={json.dumps(text)}" for key, text in labels.items())
                found[f"{name}{{{words}}}"] = value
        return found

    def scrape_until(
        self, condition: Callable[[Samples], bool], what: str, timeout_s: float = 30
    ) -> Samples:
        """Return the first metrics that fulfil a condition."""
        found: list[Samples] = []

        def holds() -> bool:
            found.append(self.scrape())
            return condition(found[-1])

        wait_until(holds, timeout_s, what)
        return found[-1]

    def scrape_at_rest(self) -> Samples:
        """Return the metrics once they show one worker, and nothing of an earlier fault."""
        self.service.grade(GOOD)
        return self.scrape_until(
            lambda found: (
                found.get("grader_queue_up{}") == found.get("grader_workers{}") == 1
                and found["grader_redis_memory_limit_bytes{}"] == 0
                and not any(series(found, "grader_queue_waiting").values())
            ),
            "the metrics of a queue at rest",
        )

    def scrape_after_change(self, before: Samples, name: str) -> Samples:
        """Return the metrics once the series that `name` begins have changed."""
        return self.scrape_until(
            lambda found: series(found, name) != series(before, name), f"{name} changes"
        )


def series(samples: Samples, beginning: str) -> dict[str, float]:
    return {name: value for name, value in samples.items() if name.startswith(beginning)}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("alerts")
    with ExitStack() as held:
        deployment = Deployment(folder / "queue")
        held.callback(deployment.close)
        deployment.add_worker(queue_worker_deaths=1)
        service = held.enter_context(serving(folder, broker=deployment.redis.url))
        yield Stack(deployment, service, folder)


@pytest.mark.redis
@pytest.mark.usefixtures("native_sandbox")
@pytest.mark.timeout(120)
def test_every_query_is_valid_and_names_metrics_that_exist(tmp_path: Path, stack: Stack) -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    queries = [target["expr"] for panel in panels for target in panel["targets"]]
    used = {name for text in (*queries, ALERTS.read_text()) for name in METRIC.findall(text)}
    exist = {name.partition("{")[0] for name in stack.scrape_at_rest()}
    assert used - exist == set()
    rules = [
        {"record": f"query:{number}", "expr": query.replace("$__rate_interval", "5m")}
        for number, query in enumerate(queries)
    ]
    file = tmp_path / "queries.yaml"
    file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    for checked in (file, ALERTS):
        command = [tool("promtool"), "check", "rules", str(checked)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


# ---------------------------------------------------------------- faults


def redis_ends(stack: Stack, before: Samples) -> Samples:
    stack.deployment.redis.kill()
    try:
        return stack.scrape_after_change(before, "grader_queue_up")
    finally:
        stack.deployment.redis.start()
        stack.deployment.wait_for_workers(1)


def one_of_two_redis_ends(stack: Stack, before: Samples) -> Samples:
    other = RedisServer(stack.folder / "other redis")
    other.start()
    try:
        with serving(stack.folder, broker=f"{stack.deployment.redis.url} {other.url}") as service:
            other.kill()
            return replace(stack, service=service).scrape_after_change(before, "grader_redis_away")
    finally:
        other.kill()


def sandbox_of_the_worker_fails(stack: Stack, _: Samples) -> Samples:
    (worker,) = (worker for worker in stack.deployment.workers if worker.is_running)
    with ThreadPoolExecutor(1) as client, worker.without_sandbox():
        client.submit(stack.service.grade, sleeper(0.1))
        expected = {
            'grader_slots{state="sick",where="workers"}': 2,
            'grader_queue_waiting{image="python"}': 1,
        }
        return stack.scrape_until(
            lambda found: expected.items() <= found.items(), "it has given the job back"
        )


def every_worker_stops(stack: Stack, before: Samples) -> Samples:
    for worker in stack.deployment.workers:
        worker.stop()
    try:
        return stack.scrape_after_change(before, "grader_workers")
    finally:
        stack.start_worker()


def worker_of_another_build_joins(stack: Stack, before: Samples) -> Samples:
    other = stack.folder / "other"
    other.mkdir()
    for package in ("grader", "sandbox_images", "worker"):
        subprocess.run(["cp", "-r", str(REPO / package), str(other / package)], check=True)
    with (other / "grader/__init__.py").open("a") as source:
        source.write("# A change.\n")
    worker = stack.start_worker(Place(prefix=("env", "-C", str(other), "-u", "PYTHONPATH")))
    found = stack.scrape_after_change(before, "grader_worker_info")
    worker.stop()
    return found


def worker_is_killed_in_a_job(stack: Stack, before: Samples) -> Samples:
    (killed,) = (worker for worker in stack.deployment.workers if worker.is_running)
    with ThreadPoolExecutor(1) as client:
        client.submit(stack.service.grade, sleeper(5))
        wait_until(lambda: read_status(stack.settings).running == 1, 30, "it runs")
        killed.kill()
        stack.start_worker()
    return stack.scrape_after_change(before, 'grader_queue_events_total{event="killed"}')


def submission_misses_its_deadline(stack: Stack, before: Samples) -> Samples:
    assert stack.service.grade(sleeper(5), deadline_s=0.3)["graded"] is False
    return stack.scrape_after_change(before, "grader_internal_errors_total")


def submission_ends_its_judge(stack: Stack, before: Samples) -> Samples:
    stack.service.grade("import os\nos._exit(0)\ndef add(a, b): return 3")
    return stack.scrape_after_change(before, "grader_suspicious_submissions_total")


def submission_needs_an_image_without_worker(stack: Stack, before: Samples) -> Samples:
    with waiting_for_ever(stack):
        return stack.scrape_after_change(before, 'grader_queue_waiting{image="science"}')


def submission_waits_for_two_minutes(stack: Stack, _: Samples) -> Samples:
    oldest = "grader_queue_oldest_seconds{}"
    with waiting_for_ever(stack):
        return stack.scrape_until(lambda found: found[oldest] > 120, "it waits", timeout_s=180)


@contextmanager
def waiting_for_ever(stack: Stack) -> Iterator[None]:
    """Have a submission wait for a worker of another image meanwhile."""
    with QueueGrader(stack.settings) as grader:
        submission = make_submission(suite=make_suite(image="science"))
        future = grader.submit(submission, timeout_s=600)
        yield
        future.cancel()
    with stack.deployment.redis.connect() as client:
        client.delete(queue_name("science"))


def report_comes_too_late(stack: Stack, before: Samples) -> Samples:
    """A worker hands in a job that it no longer holds."""
    worker, token, client = "late worker", "token", "client"
    entry = LedgerEntry(
        key="late",
        suite="suite",
        image="science",  # so that no other worker takes it
        timeout_s=60,
        settings="{}",
        code=b"",
        service_class=ServiceClass.TRAINING,
    )
    late = Handover(token=token, key="late", report=b"r", error="", keep=False, edition="e")
    with closing(Ledger(stack.settings)) as ledger:
        ledger.store_suite("suite", b"suite")
        ledger.submit(client, [entry])
        (taken,) = ledger.step(worker, [], [Wanted(token=token, images=["science"])]).taken
        assert taken is not None
        ledger.leave_worker(worker)
        assert ledger.step(worker, [late], []).in_time == (False,)
        ledger.leave_worker(worker)
        ledger.cancel(client, ["late"])
        ledger.leave(client)
    return stack.scrape_after_change(before, 'grader_queue_events_total{event="stale"}')


def redis_is_full(stack: Stack, before: Samples) -> Samples:
    with stack.deployment.redis.connect() as client:
        client.config_set("maxmemory", 1)
        found = stack.scrape_after_change(before, "grader_redis_memory_limit_bytes")
        client.config_set("maxmemory", 0)
    return found


def service_ends(stack: Stack, _: Samples) -> Samples:
    assert stack.service.stop() == 0
    return stack.scrape()


Fault = Callable[[Stack, Samples], Samples]
FAULTS: Mapping[Fault, set[str]] = {
    redis_ends: {"GraderRedisDown"},
    one_of_two_redis_ends: {"GraderRedisAway"},
    sandbox_of_the_worker_fails: {
        "GraderWorkersSick",
        "GraderNothingGraded",
        "GraderImageUnserved",
    },
    submission_misses_its_deadline: {"GraderInternalErrors"},
    submission_ends_its_judge: {"GraderAttacks"},
    submission_needs_an_image_without_worker: {"GraderImageUnserved"},
    submission_waits_for_two_minutes: {"GraderWaitingLong", "GraderImageUnserved"},
    redis_is_full: {"GraderRedisMemory"},
    report_comes_too_late: {"GraderStaleReports"},
    worker_of_another_build_joins: {"GraderMixedBuilds"},
    worker_is_killed_in_a_job: {
        "GraderWorkersLost",
        "GraderSubmissionKilled",
        "GraderInternalErrors",
    },
    every_worker_stops: {"GraderNothingGraded"},
    service_ends: {"GraderServiceDown"},
}
"""The faults in their order, and the alerts that each of them fires."""


@pytest.mark.redis
@pytest.mark.usefixtures("native_sandbox")
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(
            fault,
            id=fault.__name__,
            marks=[pytest.mark.slow] if fault is submission_waits_for_two_minutes else [],
        )
        for fault in FAULTS
    ],
)
def test_fault_fires_its_alerts_and_no_others(fault: Fault, stack: Stack, tmp_path: Path) -> None:
    before = stack.scrape_at_rest()
    after = fault(stack, before)
    assert_alerts(before, after, FAULTS[fault], tmp_path)


def assert_alerts(before: Samples, after: Samples, expected: set[str], folder: Path) -> None:
    """Assert which alerts fire if 20 minutes of `before` are followed by some of `after`."""
    firing = 'count by (alertname) (ALERTS{alertstate="firing"})'
    fired = [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in sorted(expected)]
    known = {
        "rule_files": [str(ALERTS)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [
                    {"series": name, "values": _values(before.get(name), after.get(name))}
                    for name in sorted({*before, *after})
                ],
                "promql_expr_test": [
                    {"expr": firing, "eval_time": "19m", "exp_samples": []},
                    {"expr": firing, "eval_time": "32m", "exp_samples": fired},
                ],
            }
        ],
    }
    file = folder / "rated.yaml"
    file.write_text(json.dumps(known))  # JSON is YAML, too.
    command = [tool("promtool"), "test", "rules", str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def _values(before: float | None, after: float | None) -> str:
    first = "_x19" if before is None else f"{before}+0x19"
    return f"{first} {'stale _x19' if after is None else f'{after}+0x20'}"


# ---------------------------------------------------------------- files


def test_every_alert_has_a_fault() -> None:
    assert {name for names in FAULTS.values() for name in names} == set(NAMES)


def test_every_alert_has_its_entry_in_the_runbook() -> None:
    text = RUNBOOK.read_text()
    assert re.findall(r"^### (\w+)$", text, re.MULTILINE) == NAMES
    assert text.count("- **Symptom**: ") == len(NAMES)
    assert text.count("- **Cause**: ") == len(NAMES)
    assert text.count("- **What to do**: ") == len(NAMES)
    links = re.findall(r"^ *runbook: (.*)$", ALERTS.read_text(), re.MULTILINE)
    assert links == [f"docs/runbook.md#{name.lower()}" for name in NAMES]
