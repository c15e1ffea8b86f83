"""The jobs of a client: those that wait to be sent, and those that were sent."""

import time
from concurrent.futures import Future, ThreadPoolExecutor

from grader.config.settings import Settings
from grader.queueing.jobs import JobMaker
from grader.queueing.pending import PendingJobs
from tests.factories import make_submission


def test_thread_that_waits_for_a_sent_job_wakes_up_when_one_is_taken() -> None:
    job = JobMaker(Settings()).make(make_submission("x = 1"))
    assert job is not None
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
