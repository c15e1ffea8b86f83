"""Submissions that kill workers, and clients that die."""

import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from grader.client import QueueGrader
from grader.queueing import names
from grader.queueing.jobs import JobMaker
from grader.queueing.ledger import Ledger
from grader.verdict import Verdict
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


def kill_whoever_runs(marker: str, deployment: Deployment, over: threading.Event) -> None:
    """Stand in for a submission that kills its worker; restart workers as a supervisor does."""
    with deployment.redis.connect() as client:
        while not over.wait(0.002):
            for key in client.scan_iter(names.JOB + "*", count=1000):
                state, owner, code = client.hmget(key, "state", "owner", "code")
                if state == "running" and code.startswith(marker):
                    pid = int(owner.split(":")[1])
                    for worker in deployment.workers:
                        if worker.is_running and worker.pid == pid:
                            worker.kill()
            for worker in deployment.workers:
                if not worker.is_running:
                    worker.start()


@pytest.mark.slow
def test_submission_that_kills_its_workers_is_reported_and_takes_no_neighbour_along(
    deployment: Deployment,
) -> None:
    for _ in range(2):
        deployment.add_worker()
    deployment.wait_for_workers(2)
    batch = [submission for submission, _ in mixture(40)]
    expected = [verdict for _, verdict in mixture(40)]
    killer = 13
    over = threading.Event()
    thread = threading.Thread(
        target=kill_whoever_runs, args=(f"# {killer}\n", deployment, over), daemon=True
    )
    thread.start()
    try:
        with QueueGrader(client_settings(deployment)) as grader:
            reports = grader.grade_batch(batch)
    finally:
        over.set()
        thread.join()
    expected[killer] = Verdict.INTERNAL_ERROR
    assert [report.verdict for report in reports] == expected
    assert "2 workers died" in reports[killer].feedback
    assert not reports[killer].graded
    assert 2 <= deployment.redis.stats()["workers_lost"] <= 4
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
    # What the dead client had begun was not begun again.
    assert stats["cache_hits"] + stats["joined"] >= 10
    assert stats["graded"] <= SUBMISSIONS + 10
    with deployment.redis.connect() as connection:
        connection.zadd(names.CLIENTS, dict.fromkeys(connection.zrange(names.CLIENTS, 0, -1), 0))
    wait_until(lambda: not streams(deployment), 20, "the dead client's answers are gone")
    assert_nothing_is_left(deployment)


def streams(deployment: Deployment) -> list[str]:
    return [key for key in deployment.redis.key_names() if key.startswith(names.OUT)]


@pytest.mark.slow
def test_jobs_of_a_dead_client_are_not_run(deployment: Deployment) -> None:
    deployment.add_worker()
    deployment.wait_for_workers(1)
    settings = client_settings(deployment)
    maker, ledger = JobMaker(settings), Ledger(settings)
    jobs = [job for submission, _ in mixture(20) if (job := maker.make(submission)) is not None]
    ledger.store_suite(jobs[0].suite.digest, jobs[0].suite.message)
    submitted = ledger.submit("dead", [job.ticket(60) for job in jobs])
    assert all(each.is_new for each in submitted)
    with deployment.redis.connect() as client:
        client.zadd(names.CLIENTS, {"dead": 1})
    wait_until(lambda: deployment.redis.stats().get("expired") == 20, 60, "they are dropped")
    assert "graded" not in deployment.redis.stats()
    ledger.close()
    assert_nothing_is_left(deployment)
