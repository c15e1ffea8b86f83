"""The client over a real Redis and a real worker with native slots."""

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from grader.cli.app import run
from grader.config.settings import QueueSettings, SandboxChoice, Settings
from grader.grading.futures import FutureGrader
from grader.grading.grader import Grader
from grader.model import GradeReport, LimitOverrides, Submission, Usage
from grader.model.errors import QueueUnavailableError
from grader.model.verdict import Verdict
from grader.opening import open_grader
from grader.process.release import build_id
from grader.queueing import names
from grader.queueing.broker import connect
from grader.queueing.grader import QueueGrader
from grader.queueing.status import read_status
from tests.deployment import REPO, Deployment, RedisServer, wait_until
from tests.factories import make_submission, make_suite
from tests.mixture import mixture

pytestmark = [pytest.mark.redis, pytest.mark.timeout(120)]

GRACE_S = 15.0
"""Far from any other deadline here; a busy machine may need some of it."""


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    deployed = Deployment(tmp_path_factory.mktemp("queue"))
    deployed.add_worker()
    deployed.wait_for_workers(1)
    yield deployed
    deployed.close()


@pytest.fixture
def settings(deployment: Deployment) -> Settings:
    return Settings(
        broker=deployment.redis.url, queue=QueueSettings(deadline_s=60, lease_s=2, in_flight=64)
    )


@pytest.fixture
def grader(settings: Settings) -> Iterator[QueueGrader]:
    with QueueGrader(settings) as opened:
        yield opened


def sleeper(name: str, seconds: float = 30) -> Submission:
    suite = make_suite(limits=LimitOverrides(wall_time_s=60.0))
    code = f"# {name}\nimport time\ndef add(a, b):\n    time.sleep({seconds})\n    return a + b\n"
    return make_submission(code, suite=suite)


def fresh(name: object) -> Submission:
    return make_submission(f"# {name}\ndef add(a, b):\n    return a + b\n", id=str(name))


def test_reports_are_those_of_the_grader_in_this_process(grader: QueueGrader) -> None:
    batch = [submission for submission, _ in mixture(50)]
    with Grader(Settings(sandbox=SandboxChoice.NATIVE, slots=2)) as local:
        here = local.grade_batch(batch)
    there = grader.grade_batch(batch)

    def comparable(report: GradeReport) -> GradeReport:
        """Leave out what is measured."""
        cases = tuple(
            replace(case, usage=None, feedback="" if report.limit_hit else case.feedback)
            for case in report.cases
        )
        feedback = "" if report.limit_hit else report.feedback
        return replace(report, usage=Usage(), cases=cases, feedback=feedback)

    assert [comparable(report) for report in there] == [comparable(report) for report in here]
    assert [report.verdict for report in there] == [verdict for _, verdict in mixture(50)]


def test_text_without_code_is_reported_without_the_queue(settings: Settings) -> None:
    nowhere = replace(settings, broker="redis://127.0.0.1:1/0")
    with QueueGrader(nowhere) as grader:
        report = grader.grade(make_submission("I do not know."))
    assert report.verdict is Verdict.NO_CODE
    assert report.total == 1


def test_same_code_in_other_words_is_graded_once(grader: QueueGrader) -> None:
    code = "```python\n# once\ndef add(a, b):\n    return a + b\n```"
    first = grader.grade(make_submission(f"Here you are:\n\n{code}\n"))
    second = grader.grade(make_submission(f"I think this is right.\n\n{code}\n"))
    assert first == second
    assert first.verdict is Verdict.PASSED
    assert grader.counts().hits == 1
    assert grader.counts().hit_rate == 0.5


def test_same_submission_in_flight_is_graded_once(
    deployment: Deployment, settings: Settings
) -> None:
    before = deployment.redis.stats().get("graded", 0)
    with QueueGrader(settings) as one, QueueGrader(settings) as other:
        futures = [g.submit(sleeper("shared", 2)) for g in (one, one, other)]
        assert [future.result(30).verdict for future in futures] == [Verdict.PASSED] * 3
    assert deployment.redis.stats()["graded"] == before + 1


def test_verdicts_near_a_limit_are_not_kept(grader: QueueGrader) -> None:
    suite = make_suite(limits=LimitOverrides(wall_time_s=1.0))
    slow = make_submission("# slow\nimport time\ntime.sleep(9)\n", suite=suite)
    assert [grader.grade(slow).verdict for _ in range(2)] == [Verdict.TIME_LIMIT] * 2
    assert grader.counts().hits == 0


def test_deadline_is_kept_and_reaches_the_sandbox(
    deployment: Deployment, grader: QueueGrader
) -> None:
    start = time.monotonic()
    report = grader.grade(sleeper("late"), timeout_s=1.5)
    assert time.monotonic() - start < 1.5 + GRACE_S
    assert report.verdict is Verdict.INTERNAL_ERROR
    assert not report.graded
    assert "within 1.5 s" in report.feedback
    wait_until(lambda: no_slot_is_busy(deployment), 30, "the slot is free")


def no_slot_is_busy(deployment: Deployment) -> bool:
    status = read_status(Settings(broker=deployment.redis.url))
    return status.running == 0 and status.queued == 0


def test_worker_that_stops_telling_of_itself_is_silent_at_once(settings: Settings) -> None:
    # Its status and its lease expire at the same time, and this may look just then.
    client = connect(settings)
    client.zadd(names.Key.WORKERS, {"ghost": 1000 * (time.time() + 60)})
    try:
        status = read_status(settings)
    finally:
        client.zrem(names.Key.WORKERS, "ghost")
        client.close()
    assert "ghost" in status.silent
    assert len(status.workers) == 1


def test_deadline_is_kept_without_a_broker_that_answers(settings: Settings) -> None:
    with QueueGrader(replace(settings, broker="redis://127.0.0.1:1/0")) as grader:
        start = time.monotonic()
        report = grader.grade(fresh("nowhere"), timeout_s=1)
        assert time.monotonic() - start < 1 + GRACE_S
    assert report.verdict is Verdict.INTERNAL_ERROR
    assert report.feedback.startswith("no report within 1 s: Redis failed at ")
    assert "Connection refused" in report.feedback


def test_cancelled_future_frees_the_slot(deployment: Deployment, grader: QueueGrader) -> None:
    future = grader.submit(sleeper("cancelled"))
    wait_until(
        lambda: read_status(Settings(broker=deployment.redis.url)).running == 1, 30, "it runs"
    )
    assert future.cancel()
    wait_until(lambda: no_slot_is_busy(deployment), 30, "the slot is free")
    said = "was not graded: the grading was stopped"
    lines = [line for line in deployment.workers[0].log_lines() if said in line["event"]]
    # Cancelling is not an error.
    assert {line["level"] for line in lines} == {"info"}


def test_cancelled_task_frees_the_slot(deployment: Deployment, grader: QueueGrader) -> None:
    async def begin_and_stop() -> None:
        task = asyncio.create_task(grader.agrade(sleeper("task")))
        await asyncio.sleep(1.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(begin_and_stop())
    wait_until(lambda: no_slot_is_busy(deployment), 30, "the slot is free")


def test_many_threads_share_one_client(grader: QueueGrader) -> None:
    with ThreadPoolExecutor(64) as threads:
        reports = list(threads.map(grader.grade, [fresh(f"thread {n}") for n in range(128)]))
    assert {report.verdict for report in reports} == {Verdict.PASSED}


def test_async_twins_give_what_the_others_give(grader: QueueGrader) -> None:
    async def grade() -> tuple[list[Verdict], set[str]]:
        batch = [fresh(f"async {n}") for n in range(20)]
        reports = await grader.agrade_batch(batch)
        done = {submission.id async for submission, _ in grader.as_completed(batch)}
        return [report.verdict for report in reports], done

    verdicts, done = asyncio.run(grade())
    assert verdicts == [Verdict.PASSED] * 20
    assert done == {f"async {n}" for n in range(20)}


def test_forked_child_has_a_connection_of_its_own(grader: QueueGrader) -> None:
    assert grader.grade(fresh("parent")).verdict is Verdict.PASSED
    pid = os.fork()
    if pid == 0:
        report = grader.grade(fresh("child"), timeout_s=20)
        grader.close()
        os._exit(0 if report.verdict is Verdict.PASSED else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert grader.grade(fresh("parent again")).verdict is Verdict.PASSED


def test_reading_ahead_is_bounded(settings: Settings) -> None:
    taken = 0

    def endless() -> Iterator[Submission]:
        nonlocal taken
        while True:
            taken += 1
            yield fresh(f"endless {taken}")

    with QueueGrader(settings) as grader:
        results = iter(grader.as_completed(endless()))
        for _ in range(5):
            next(results)
        results.close()  # type: ignore[attr-defined]
    assert taken < 5 + 3 * settings.queue.in_flight


def test_error_while_reading_submissions_is_raised(grader: QueueGrader) -> None:
    def broken() -> Iterator[Submission]:
        yield fresh("before")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(grader.as_completed(broken()))


def test_closed_client_settles_what_is_open(settings: Settings) -> None:
    grader = QueueGrader(settings)
    future = grader.submit(sleeper("closed"))
    threading.Timer(0.5, grader.close).start()
    assert future.result(10).feedback == "the client was closed"
    assert grader.grade(fresh("after")).verdict is Verdict.INTERNAL_ERROR


def test_factory_chooses_by_the_broker(settings: Settings) -> None:
    with open_grader(settings) as queued, open_grader(Settings()) as local:
        assert isinstance(queued, QueueGrader)
        assert isinstance(local, Grader)
        assert isinstance(queued, FutureGrader)


def test_status_shows_the_worker(settings: Settings, grader: QueueGrader) -> None:
    grader.grade(fresh("status"))
    status = read_status(settings)
    (worker,) = status.workers
    assert worker.sandbox == "native"
    assert worker.slots == 2
    assert worker.build == build_id()
    assert status.counts["graded"] >= 1
    assert status.errors == ()
    assert status.memory.used_bytes > 0


def test_status_is_json_for_programs(
    settings: Settings, grader: QueueGrader, capsys: pytest.CaptureFixture[str]
) -> None:
    grader.grade(fresh("status for programs"))
    assert settings.broker is not None
    assert run(["status", "--broker", settings.broker, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (worker,) = told["workers"]
    assert datetime.fromisoformat(worker["started"]) < datetime.now(UTC)
    assert told["silent"] == []
    assert told["diagnosis"]["can_grade"] is True
    assert told["counts"]["graded"] >= 1


def test_status_counts_one_worker_in_the_singular(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert settings.broker is not None
    assert run(["status", "--broker", settings.broker]) == 0
    assert " idle; 1 worker, " in capsys.readouterr().out


def test_status_says_first_that_no_worker_serves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    redis = RedisServer(tmp_path)
    redis.start()
    try:
        assert run(["status", "--broker", redis.url]) == 3
    finally:
        redis.kill()
    first, *others = capsys.readouterr().out.splitlines()
    assert first == "Nothing is graded: the queue has no worker."
    assert "slots    0 busy, 0 idle; 0 workers, 0.0 submissions/s" in others


def test_status_without_redis_says_so() -> None:
    with pytest.raises(QueueUnavailableError, match="does not answer"):
        read_status(Settings(broker="redis://127.0.0.1:1/0"))


def test_command_grades_over_the_broker(deployment: Deployment, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    command = [sys.executable, "-m", "grader", "grade", "examples/samples.jsonl", "-o", str(out)]
    command += ["--problems", "examples/problems.jsonl", "--broker", deployment.redis.url]
    command += ["--limit", "8", "--set", "cpu_time_s=1"]
    environ = {k: v for k, v in os.environ.items() if not k.startswith("GRADER_")}
    done = subprocess.run(command, cwd=REPO, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert out.read_text().count('"sandbox":"native"') == 7  # and one without code


def test_worker_refuses_to_start_where_it_cannot_grade(
    deployment: Deployment, tmp_path: Path
) -> None:
    from tests.deployment import Worker

    worker = Worker(
        "unable", tmp_path, broker=deployment.broker, queue_images="fortran", sandbox="docker"
    )
    worker.start()
    assert worker.wait(30) == 3
    assert "cannot grade" in worker.log()
