"""Submissions that kill workers, and clients that die."""

import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from grader.model.verdict import Verdict
from grader.queueing import names
from grader.queueing.grader import QueueGrader
from grader.queueing.jobs import JobMaker
from grader.queueing.ledger import Ledger
from tests.deployment import REPO, Deployment, wait_until
from tests.faults.conftest import (
    SUBMISSIONS,
    TIMEOUT_S,
    Batch,
    assert_nothing_is_left,
    client_settings,
)
from tests.mixture import mixture

pytestmark = [pytest.mark.redis, pytest.mark.timeout(TIMEOUT_S)]


KILLERS = 5 if SUBMISSIONS >= 300 else 1
KILLER = "# killer {}\nimport time\ntime.sleep(1)\ndef add(a, b):\n    return a + b\n"
"""Right, and slow enough to be seen running."""


def kill_whoever_runs_killers(deployment: Deployment, over: threading.Event) -> None:
    """Kill workers in place of the submissions, and restart them as a supervisor would."""
    with deployment.redis.connect() as client:
        while not over.wait(0.01):
            for worker in client.zrange(names.Key.WORKERS, 0, -1):
                held = [
                    client.hmget(names.Key.JOB + key, "code", "suspect", "alone")
                    for key in client.hvals(names.Key.HELD + worker)
                ]
                some_run_alone = any(alone == "1" for *_, alone in held)
                for code, suspect, alone in held:
                    # A job that waits for one that runs alone, or to run alone, kills nothing.
                    runs = alone == "1" or not (some_run_alone or suspect == "1")
                    if runs and code is not None and code.startswith("# killer"):
                        kill(deployment, pid=int(worker.split(":")[1]))
            for process in deployment.workers:
                if not process.is_running:
                    process.start()


def kill(deployment: Deployment, *, pid: int) -> None:
    for worker in deployment.workers:
        if worker.is_running and worker.pid == pid:
            worker.kill()


@pytest.mark.slow
def test_submissions_that_kill_their_workers_are_reported_and_take_no_neighbour_along(
    deployment: Deployment,
) -> None:
    deployment.add_workers(2)
    batch = mixture(SUBMISSIONS)
    killers = [(number + 1) * SUBMISSIONS // (KILLERS + 1) for number in range(KILLERS)]
    for killer in killers:
        submission = replace(batch[killer][0], completion=KILLER.format(killer))
        batch[killer] = (submission, Verdict.INTERNAL_ERROR)
    over = threading.Event()
    thread = threading.Thread(target=kill_whoever_runs_killers, args=(deployment, over))
    thread.start()
    try:
        with QueueGrader(client_settings(deployment)) as grader:
            reports = grader.grade_batch(submission for submission, _ in batch)
    finally:
        over.set()
        thread.join()
    assert [report.verdict for report in reports] == [verdict for _, verdict in batch]
    for killer in killers:
        assert "2 workers died" in reports[killer].feedback
        assert not reports[killer].graded
    assert 2 * KILLERS <= deployment.redis.stats()["workers_lost"] <= 4 * KILLERS
    assert_nothing_is_left(deployment)


def test_client_that_died_resumes(
    deployment: Deployment, start_batch: Callable[..., Batch]
) -> None:
    deployment.add_worker()
    deployment.wait_for_workers(1)
    mark = deployment.folder / "started"
    command = [sys.executable, "-m", "tests.faults.mortal_client"]
    command += [deployment.redis.url, str(SUBMISSIONS), str(mark)]
    with subprocess.Popen(command, cwd=REPO) as client:
        wait_until(mark.exists, 60, "ten reports")
        client.kill()
    batch = start_batch()
    batch.finish()
    stats = deployment.redis.stats()
    # Jobs of the dead client were not started again.
    assert stats["cache_hits"] + stats["joined"] >= 10
    assert stats["graded"] <= SUBMISSIONS + 10
    with deployment.redis.connect() as connection:
        # With a longer batch the workers would have seen this already.
        for client in connection.zrange(names.Key.CLIENTS, 0, -1):
            connection.zadd(names.Key.CLIENTS, {client: 0})
    wait_until(lambda: not streams(deployment), 20, "the dead client's answers are gone")
    assert_nothing_is_left(deployment)


def streams(deployment: Deployment) -> list[str]:
    return [key for key in deployment.redis.key_names() if key.startswith(names.Key.OUT)]


@pytest.mark.slow
def test_jobs_of_a_dead_client_are_not_run(deployment: Deployment) -> None:
    deployment.add_worker()
    deployment.wait_for_workers(1)
    settings = client_settings(deployment)
    maker, ledger = JobMaker(settings), Ledger(settings)
    jobs = [job for submission, _ in mixture(20) if (job := maker.make(submission)) is not None]
    ledger.store_suite(jobs[0].suite.digest, jobs[0].suite.message)
    submitted = ledger.submit("dead", [job.ledger_entry(60) for job in jobs])
    assert all(each.is_new for each in submitted.jobs)
    with deployment.redis.connect() as client:
        client.zadd(names.Key.CLIENTS, {"dead": 1})
    wait_until(lambda: deployment.redis.stats().get("expired") == 20, 60, "they are dropped")
    assert "graded" not in deployment.redis.stats()
    ledger.close()
    assert_nothing_is_left(deployment)
