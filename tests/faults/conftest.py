"""A deployment per test, and one mixed batch that must come through whatever happens to it."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from grader.client import QueueGrader
from grader.model import GradeReport, Submission
from grader.settings import QueueSettings, Settings
from grader.verdict import Verdict
from tests.conftest import missing
from tests.deployment import Deployment, redis_program, wait_until
from tests.mixture import mixture

SUBMISSIONS = int(os.environ.get("SOAK_SUBMISSIONS", "300"))
"""How many a batch has; `make soak` sets it to 3000."""


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    """A real Redis; the test starts the workers."""
    if redis_program() is None:
        missing("Redis", "there is no redis-server")
    deployed = Deployment(tmp_path)
    yield deployed
    deployed.close()


def client_settings(deployed: Deployment, **queue: float) -> Settings:
    """Return the settings of a client of the deployment, which waits long and keeps nothing."""
    values = {"deadline_s": max(240.0, SUBMISSIONS), "lease_s": 2.0, **queue}
    return Settings(broker=deployed.redis.url, queue=QueueSettings(**values))  # type: ignore[arg-type]


class Batch:
    """A mixed batch that is being graded in the background, while the test does its worst."""

    def __init__(self, deployed: Deployment, count: int = SUBMISSIONS) -> None:
        self._deployed = deployed
        self._expected = mixture(count)
        self._results: list[tuple[Submission, GradeReport]] = []
        self._grader = QueueGrader(client_settings(deployed))
        self._threads = ThreadPoolExecutor(1)
        self._future = self._threads.submit(self._run)

    def _run(self) -> None:
        for each in self._grader.as_completed(submission for submission, _ in self._expected):
            self._results.append(each)

    @property
    def done(self) -> int:
        """How many reports are there."""
        return len(self._results)

    @property
    def is_over(self) -> bool:
        return self._future.done()

    def wait_for(self, share: float) -> None:
        """Wait until this share of the batch is done."""
        wanted = int(share * len(self._expected))
        wait_until(lambda: self.done >= wanted or self.is_over, 120, f"{wanted} reports")

    def finish(self, timeout_s: float = max(300.0, 2 * SUBMISSIONS)) -> None:
        """Wait for the end, and compare: every submission once, with the verdict of a quiet run."""
        try:
            self._future.result(timeout_s)
        finally:
            self._grader.close()
            self._threads.shutdown()
        verdicts = {submission.id: report for submission, report in self._results}
        assert len(self._results) == len(verdicts) == len(self._expected)
        wrong = {
            submission.id: (
                verdict,
                verdicts[submission.id].verdict,
                verdicts[submission.id].feedback,
            )
            for submission, verdict in self._expected
            if verdicts[submission.id].verdict is not verdict
        }
        assert wrong == {}


@pytest.fixture
def start_batch(deployment: Deployment) -> Iterator[Callable[..., Batch]]:
    """Begin a batch."""
    batches: list[Batch] = []

    def start(count: int = SUBMISSIONS) -> Batch:
        batches.append(Batch(deployment, count))
        return batches[-1]

    yield start
    for batch in batches:
        batch._grader.close()
        batch._threads.shutdown()


def assert_nothing_is_left(deployed: Deployment) -> None:
    """Stop every worker; then only the keys that docs/operations.md names may be there."""
    for worker in deployed.workers:
        worker.stop()
    assert deployed.leftovers() == set()
    assert not [t for t in threading.enumerate() if t.name.startswith("grader-")]


class Repeatedly:
    """Does something again and again until the batch is over."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch

    def every(self, pause_s: Callable[[], float], times: int) -> Iterator[int]:
        """Count up to `times`, with a pause before each, while the batch goes on."""
        for number in range(times):
            end = time.monotonic() + pause_s()
            while time.monotonic() < end and not self._batch.is_over:
                time.sleep(0.02)
            if self._batch.is_over:
                return
            yield number


__all__ = ["SUBMISSIONS", "Batch", "Repeatedly", "Verdict", "assert_nothing_is_left"]
