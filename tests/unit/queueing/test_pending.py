"""The jobs of a client: those that wait to be sent, and those that were sent."""

import time
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from grader.config.settings import Settings
from grader.queueing.jobs import JobMaker, QueuedJob
from grader.queueing.pending import PendingJobs
from tests.factories import make_submission


def make_job(code: str) -> QueuedJob:
    job = JobMaker(Settings()).make(make_submission(code))
    assert job is not None
    return job


def test_thread_that_waits_for_a_sent_job_wakes_up_when_one_is_taken() -> None:
    job = make_job("x = 1")
    with ThreadPoolExecutor(1) as threads:
        # Which of the threads runs first is up to the machine, so this is tried several times.
        for _ in range(20):
            pending = PendingJobs(1)
            pending.add(job, Future(), time.monotonic() + 60, is_bulk=False)
            waiting = threads.submit(pending.wait_for_sent, 60)
            pending.take_unsent(1, 1000)
            try:
                assert waiting.result(10)
            finally:
                pending.close()


@pytest.mark.parametrize(
    ("tried", "order"),
    [
        pytest.param(1, ["x = 1", "x = 2", "x = 0"], id="alone, so it may be the cause"),
        pytest.param(2, ["x = 0", "x = 1", "x = 2"], id="with others"),
    ],
)
def test_jobs_that_could_not_be_sent_keep_their_place_unless_tried_alone(
    tried: int, order: list[str]
) -> None:
    pending = PendingJobs(3)
    for number in range(3):
        job = make_job(f"x = {number}")
        pending.add(job, Future(), time.monotonic() + 60, is_bulk=True)
    refused, _ = pending.take_unsent(tried, 1000)
    pending.unsend(refused, [])
    taken, _ = pending.take_unsent(3, 1000)
    assert [each.job.code.strip() for each in taken] == order
