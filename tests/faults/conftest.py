"""A deployment per test, and one mixed batch that must come through whatever happens to it."""

import contextlib
import functools
import os
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from grader.config.settings import QueueSettings, Settings
from grader.model import GradeReport, Submission
from grader.model.verdict import Verdict
from grader.queueing.grader import QueueGrader
from grader.queueing.names import Key
from tests.deployment import Deployment, wait_until
from tests.mixture import mixture
from tests.traces import cgroups_of, living, mounts

SUBMISSIONS = int(os.environ.get("FAULT_SUBMISSIONS", "60"))
"""How many a batch has; `make faults` sets it to 300, `make soak` to 3000."""

TIMEOUT_S = max(300, 2 * SUBMISSIONS)


@pytest.fixture
def deploy(tmp_path: Path) -> Iterator[Callable[..., Deployment]]:
    """Start a real Redis, somewhere."""
    with contextlib.ExitStack() as held:

        def start(**where: Any) -> Deployment:
            deployed = Deployment(tmp_path, **where)
            held.callback(deployed.close)
            return deployed

        yield start


@pytest.fixture
def deployment(deploy: Callable[..., Deployment]) -> Deployment:
    """A real Redis; the test starts the workers."""
    return deploy()


def client_settings(deployed: Deployment, **queue: float) -> Settings:
    """Return the settings of a client of the deployment, which waits long and keeps nothing."""
    values = {"deadline_s": max(240.0, SUBMISSIONS), "lease_s": 2.0, **queue}
    return Settings(broker=deployed.broker, queue=QueueSettings(**values))  # type: ignore[arg-type]


class Batch:
    """A mixed batch that is being graded in the background, while the test does its worst."""

    def __init__(self, deployed: Deployment, count: int = SUBMISSIONS, padding: int = 0) -> None:
        self._deployed = deployed
        self._expected = mixture(count, padding)
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
        patience_s = max(120.0, SUBMISSIONS)
        wait_until(lambda: self.done >= wanted or self.is_over, patience_s, f"{wanted} reports")

    def close(self) -> None:
        """Give up what is not done. Repeats harmlessly."""
        self._grader.close()
        self._threads.shutdown()

    def finish(self, timeout_s: float = max(300.0, 2 * SUBMISSIONS)) -> None:
        """Wait for the end, and compare: every submission once, with the verdict of a quiet run."""
        try:
            self._future.result(timeout_s)
        finally:
            self.close()
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
def begin(deploy: Callable[..., Deployment]) -> Iterator[Callable[..., Batch]]:  # noqa: ARG001
    """Begin a batch over a deployment; it ends before that does."""
    batches: list[Batch] = []

    def start(deployed: Deployment, **batch: int) -> Batch:
        batches.append(Batch(deployed, **batch))
        return batches[-1]

    yield start
    for batch in batches:
        batch.close()


@pytest.fixture
def start_batch(deployment: Deployment, begin: Callable[..., Batch]) -> Callable[..., Batch]:
    """Begin a batch over the deployment of this test."""
    return functools.partial(begin, deployment)


def assert_nothing_is_left(deployed: Deployment) -> None:
    """Stop every worker; then only what docs/operations.md says may be there."""
    before = leases(deployed)
    wait_until(
        lambda: all(until != before.get(member) for member, until in leases(deployed).items()),
        60,
        "all workers that the ledger knows renew their leases",  # it forgets those that were killed
    )
    for worker in deployed.workers:
        worker.stop()
    assert deployed.leftovers() == set()
    known = set().union(*(worker.family for worker in deployed.workers))
    wait_until(lambda: not living(known), 10, "the processes of all workers have ended")
    assert cgroups_of(known) == set()
    # Those of other mount namespaces have ended with the processes.
    assert mounts() <= deployed.mounts_before
    assert list(deployed.temporary_files.iterdir()) == []
    # One waits for this process to end (grader.process.exits). Tests of other files may have left
    # a grader open for those that follow.
    ours = {t for t in threading.enumerate() if t.name.startswith("grader-")}
    assert {t.name for t in ours - deployed.threads_before} <= {"grader-exit"}


def leases(deployed: Deployment) -> dict[str, float]:
    """Return the ledger's entries of workers, two of each, with the end of its lease."""
    with deployed.redis.connect() as client:
        return {
            f"{key} {member}": until
            for key in (Key.WORKERS, Key.VERSIONS)
            for member, until in client.zrange(key, 0, -1, withscores=True)
        }


def shares(count: int, chance: random.Random | None = None) -> list[float]:
    """Return moments of a batch, as shares of it that are done: spread evenly, or by chance."""
    if chance is None:
        return [(number + 1) / (count + 1) for number in range(count)]
    return sorted(chance.uniform(0.02, 0.9) for _ in range(count))


__all__ = ["SUBMISSIONS", "Batch", "Verdict", "assert_nothing_is_left", "shares"]
