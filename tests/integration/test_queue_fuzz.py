"""Malformed tasks and jobs: each job is answered with the reason, and the worker goes on."""

import itertools
import json
import os
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from redis import Redis

from grader.config.settings import QueueSettings, Settings
from grader.model import Submission, wire
from grader.model.verdict import Verdict
from grader.queueing import names
from grader.queueing.dispatch import Dispatcher, make_app
from grader.queueing.grader import QueueGrader
from grader.queueing.jobs import JobMaker
from grader.queueing.ledger import Ledger
from grader.queueing.ledger_values import Hint, LedgerEntry
from grader.queueing.programs import decode_result, make_program_job
from grader.queueing.status import read_status
from grader.sandbox.contract import Program, RunBatch
from sandbox_images.harness.wire import values
from tests.deployment import Deployment, wait_until
from tests.factories import make_submission

pytestmark = [pytest.mark.redis, pytest.mark.timeout(900)]

FEW = settings(
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "3")),
    deadline=None,
    database=None,
    derandomize="FUZZ_EXAMPLES" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
"""Each example is a batch, whose members are tried at once; `make fuzz` sets more."""

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
GOOD = "def add(a, b):\n    return a + b\n"
_numbers = itertools.count()


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    deployed = Deployment(tmp_path_factory.mktemp("fuzz"))
    deployed.add_worker()
    deployed.wait_for_workers(1)
    yield deployed
    deployed.close()


@pytest.fixture(scope="module")
def where(deployment: Deployment) -> Settings:
    return Settings(broker=deployment.redis.url, queue=QueueSettings(deadline_s=30, lease_s=2))


@pytest.fixture(scope="module")
def ledger(where: Settings) -> Iterator[Ledger]:
    opened = Ledger(where)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def dispatcher(where: Settings) -> Iterator[Dispatcher]:
    opened = Dispatcher(make_app(where))
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def healthy(deployment: Deployment, where: Settings) -> Iterator[None]:
    """Afterwards the worker is the same, idle, and grades."""
    (worker,) = deployment.workers
    pid = worker.pid
    yield
    with QueueGrader(where) as grader:
        after = make_submission(f"# after {next(_numbers)}\n{GOOD}")
        assert grader.grade(after).verdict is Verdict.PASSED
    assert (worker.is_running, worker.pid) == (True, pid)
    assert deployment.redis.stats().get("redelivered", 0) == 0
    wait_until(lambda: not open_jobs(deployment), 10, "no job is stuck")


def open_jobs(deployment: Deployment) -> list[str]:
    return [key for key in deployment.redis.key_names() if key.startswith(names.Key.JOB)]


def answers(
    ledger: Ledger, dispatcher: Dispatcher, payloads: list[tuple[bytes, str, bytes]]
) -> dict[int, bytes]:
    """Put jobs of suites, settings and codes into the ledger as they are; return the answers."""
    client = f"fuzz-{next(_numbers)}"
    entries = []
    for number, (suite, given_settings, code) in enumerate(payloads):
        digest = f"{client}-suite-{number}"
        ledger.store_suite(digest, suite)
        entries.append(
            LedgerEntry(
                key=f"{client}-{number}",
                suite=digest,
                image="python",
                timeout_s=60,
                settings=given_settings,
                code=code,
            )
        )
    entered = ledger.submit(client, entries)
    assert all(submitted.is_new for submitted in entered.jobs)
    dispatcher.send(entered.hints)
    found: dict[int, bytes] = {}
    end = time.monotonic() + 60
    while len(found) < len(payloads) and time.monotonic() < end:
        for message in ledger.read(client, block_s=0.5):
            assert message.kind is names.AnswerKind.REPORT
            found[int(message.key.rpartition("-")[2])] = message.body
            ledger.acknowledge(client, message.id)
    assert len(found) == len(payloads), "some got no answer"
    ledger.leave(client)
    return found


def good_job(submission: Submission) -> tuple[dict[str, Any], dict[str, Any], str]:
    job = JobMaker(Settings()).make(submission)
    assert job is not None
    return json.loads(job.suite.message), json.loads(job.settings), job.code


@FEW
@given(batch=st.lists(st.tuples(JSON, JSON, st.binary(max_size=40)), min_size=10, max_size=20))
def test_any_json_is_answered_with_why_it_is_no_job(
    where: Settings, ledger: Ledger, dispatcher: Dispatcher, batch: list[tuple[Any, Any, bytes]]
) -> None:
    payloads = [(json.dumps(a).encode(), json.dumps(b), c) for a, b, c in batch]
    for body in answers(ledger, dispatcher, payloads).values():
        report = wire.decode_report(body)
        assert report.verdict is Verdict.INTERNAL_ERROR
        assert "cannot be decoded" in report.feedback
    status = read_status(where)
    assert "cannot be decoded" in status.errors[0].text
    assert status.errors[0].text.startswith(status.workers[0].id)


@FEW
@given(batch=st.lists(st.tuples(st.integers(0), JSON), min_size=10, max_size=20))
def test_job_with_one_wrong_part_is_answered(
    ledger: Ledger, dispatcher: Dispatcher, batch: list[tuple[int, Any]]
) -> None:
    """Some are still valid jobs, and are graded. In any case, no client waits for ever."""
    payloads = []
    for place, value in batch:
        suite, given_settings, code = good_job(
            make_submission("def add(a, b):\n    return a + b\n")
        )
        spots: list[tuple[dict[str, Any], str]] = [
            *((suite, key) for key in suite),
            *((suite["submission"], key) for key in suite["submission"]),
            *((suite["submission"]["suite"], key) for key in suite["submission"]["suite"]),
            *((given_settings, key) for key in given_settings),
        ]
        spot, key = spots[place % len(spots)]
        spot[key] = value
        payloads.append((json.dumps(suite).encode(), json.dumps(given_settings), code.encode()))
    for body in answers(ledger, dispatcher, payloads).values():
        report = wire.decode_report(body)
        assert report.graded or report.feedback


@FEW
@given(batch=st.lists(st.tuples(st.integers(0), JSON), min_size=10, max_size=20))
def test_program_with_one_wrong_part_is_answered(
    ledger: Ledger, dispatcher: Dispatcher, batch: list[tuple[int, Any]]
) -> None:
    limits = Settings().limits
    program = RunBatch(program=Program.STDIN, source="print(1)", runs=(b"",), limits=limits)
    payloads = []
    for place, value in batch:
        job = make_program_job(program, "python", 60)
        order = values.decode(json.loads(job.code))
        told = order if place % 2 else order["batch"]
        told[sorted(told)[place // 2 % len(told)]] = value
        payloads.append((b"program", job.settings, json.dumps(values.encode(order)).encode()))
    for body in answers(ledger, dispatcher, payloads).values():
        if b'"v":' in body[:8]:
            assert "cannot be decoded" in wire.decode_report(body).feedback
        else:
            result = decode_result(body)
            assert result.outcome is not None or result.reason


def headers() -> dict[str, Any]:
    return {"task": names.GRADE_TASK, "id": f"fuzz-{next(_numbers)}", "lang": "py"}


@FEW
@given(batch=st.lists(JSON, min_size=5, max_size=10))
@example(batch=["abc", {"a": [], "b": {}, "c": None}, ["a", {}, {"chain": [{}]}]])
def test_hints_of_any_shape_do_no_harm(where: Settings, batch: list[Any]) -> None:
    publish(
        where,
        [
            ((args, {}, {}) if isinstance(args, list) else args, headers())
            for value in batch
            for args in (value, [value], [[value]], [value, value])
        ],
    )


HEADERS = (
    "argsrepr", "compression", "eta", "expires", "group", "group_index", "id", "kwargsrepr", "lang",
    "meth", "origin", "parent_id", "retries", "root_id", "shadow", "stamped_headers", "stamps",
    "task", "timelimit",
)  # fmt: skip


@FEW
@given(batch=st.lists(st.tuples(st.sampled_from(HEADERS), JSON), min_size=10, max_size=20))
@example(batch=[(name, value) for name in ("eta", "expires") for value in ("9999-01-01", 1e9)])
@example(batch=[("timelimit", value) for value in ("abc", [0.1, 0.1], [{}, 1], 7)])
def test_hints_with_any_header_do_no_harm(where: Settings, batch: list[tuple[str, Any]]) -> None:
    publish(where, [(([], {}, {}), headers() | {name: value}) for name, value in batch])


def publish(where: Settings, messages: list[tuple[Any, dict[str, Any]]]) -> None:
    """Send bodies with headers as they are."""
    app = make_app(where)
    with app.connection_for_write() as connection:
        for body, its_headers in messages:
            app.amqp.Producer(connection).publish(
                body,
                routing_key=names.queue_name("python"),
                serializer="json",
                headers=its_headers,
            )


WRAPPED = st.fixed_dictionaries(
    {"properties": st.fixed_dictionaries({"delivery_tag": JSON, "delivery_info": JSON})},
    optional={"body": JSON, "headers": JSON, "content-type": JSON, "content-encoding": JSON},
)
ENTRIES = st.binary() | (JSON | WRAPPED).map(lambda value: json.dumps(value).encode())


@FEW
@given(batch=st.lists(ENTRIES, min_size=20, max_size=40))
@example(batch=[b"not JSON", b"\xff", b"[]", b"{}", b'{"properties": 1}', b"9" * 5000])
def test_entries_of_a_queue_that_are_not_messages_do_no_harm(
    deployment: Deployment, batch: list[bytes]
) -> None:
    with Redis.from_url(deployment.redis.url) as client:
        client.rpush(names.queue_name("python"), *batch)
        wait_until(lambda: not client.llen(names.queue_name("python")), 30, "all are taken")


def test_hints_do_no_harm_if_no_job_waits(dispatcher: Dispatcher) -> None:
    dispatcher.send([Hint(image="python", number=20)])


@pytest.mark.parametrize("content_type", ["application/x-python-serialize", "text/plain", "x/y"])
def test_other_content_than_json_is_not_even_read(where: Settings, content_type: str) -> None:
    app = make_app(where)
    with app.connection_for_write() as connection:
        app.amqp.Producer(connection).publish(
            b"cos\nsystem\n(S'touch /tmp/pwned'\ntR.",
            routing_key=names.queue_name("python"),
            content_type=content_type,
            content_encoding="binary",
            headers=headers(),
        )
