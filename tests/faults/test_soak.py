"""The whole deployment at work for a long time: what it takes must not grow.

`SOAK_S` says for how long; `make soak` sets half an hour.
"""

import contextlib
import itertools
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from grader.config.settings import QueueSettings, Settings
from grader.model import MiB, Submission
from grader.model.verdict import Verdict
from grader.queueing.grader import QueueGrader
from grader.queueing.status import read_status
from tests.deployment import Deployment
from tests.faults.conftest import assert_nothing_is_left
from tests.mixture import mixture
from tests.serving import ASSERTS, Service, serving
from tests.traces import cgroups_of, family

SOAK_S = float(os.environ.get("SOAK_S", "60"))

pytestmark = [pytest.mark.redis, pytest.mark.slow, pytest.mark.timeout(SOAK_S + 300)]

_LOOKS = 60
_CACHE_BYTES = 1 * MiB
"""Of finished verdicts, full before the first third is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """What one part of the deployment takes at a moment."""

    memory_bytes: int
    descriptors: int
    threads: int
    processes: int = 1
    cgroups: int = 0


def of_process(pid: int) -> Footprint:
    return Footprint(
        memory_bytes=memory_of(pid),
        descriptors=sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir()),
        threads=sum(1 for _ in Path(f"/proc/{pid}/task").iterdir()),
    )


def of_slots(worker: int) -> Footprint:
    """Return what all that descends from a worker takes."""
    known = family(worker)
    memory = 0
    for pid, _ in known:
        if pid != worker:
            with contextlib.suppress(OSError):  # Runs end all the time.
                memory += memory_of(pid)
    return Footprint(
        memory_bytes=memory,
        descriptors=0,
        threads=0,
        processes=len(known) - 1,
        cgroups=len(cgroups_of(known)),
    )


def memory_of(pid: int) -> int:
    """Return the resident bytes of a process, those that it shares divided by who has them."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024


def rounds() -> Iterator[list[tuple[Submission, Verdict]]]:
    """Return batches without end, none like another, each with tests of its own."""
    for number in itertools.count():
        batch = []
        for submission, verdict in mixture(100):
            suite = replace(submission.suite, problem_id=f"add/{number}")
            completion = f"# round {number}\n{submission.completion}"
            batch.append((replace(submission, completion=completion, suite=suite), verdict))
        yield batch


class Load:
    """A client with batches and one with single requests, until it is over."""

    def __init__(self, where: Settings, service: Service) -> None:
        self._where = where
        self._service = service
        self._over = threading.Event()
        self.graded = 0
        self.served = 0
        self._threads = ThreadPoolExecutor(2)
        self._futures = [self._threads.submit(each) for each in (self._grade, self._post)]

    def _grade(self) -> None:
        with QueueGrader(self._where) as grader:
            for batch in rounds():
                verdicts = {
                    submission.id: report.verdict
                    for submission, report in grader.as_completed(each for each, _ in batch)
                }
                assert verdicts == {submission.id: verdict for submission, verdict in batch}
                self.graded += len(batch)
                if self._over.is_set():
                    return

    def _post(self) -> None:
        while not self._over.is_set():
            completion = f"# {self.served}\ndef add(a, b):\n    return a + b\n"
            body = {"completion": completion, "label": ASSERTS, "deadline_s": 60}
            answer = self._service.post("/v1/grade", body).json()
            assert answer["report"]["verdict"] == "passed", answer
            self.served += 1

    def check(self) -> None:
        """Raise what a client met."""
        for future in self._futures:
            if future.done():
                future.result()

    def end(self) -> None:
        self._over.set()
        for future in self._futures:
            future.result(120)
        self._threads.shutdown()


def test_what_it_takes_does_not_grow(deployment: Deployment, tmp_path: Path) -> None:
    worker = deployment.add_worker(queue_cache_bytes=_CACHE_BYTES)
    deployment.wait_for_workers(1)
    where = Settings(broker=deployment.redis.url, queue=QueueSettings(deadline_s=120, lease_s=2))
    with serving(tmp_path, broker=deployment.redis.url) as service:
        parts: dict[str, Callable[[], Footprint]] = {
            "client": lambda: of_process(os.getpid()),
            "service": lambda: of_process(service.process.pid),
            "worker": lambda: of_process(worker.pid),
            "slots": lambda: of_slots(worker.pid),
            "Redis": lambda: of_process(deployment.redis.pid),
        }
        load = Load(where, service)
        looks: dict[str, list[Footprint]] = {part: [] for part in parts}
        try:
            for _ in range(_LOOKS):
                time.sleep(SOAK_S / _LOOKS)
                load.check()
                for part, look in parts.items():
                    looks[part].append(look())
        finally:
            load.end()
        status = read_status(where)
    # What this test is run for; pytest shows it with -s.
    print(f"\n{load.graded} in batches, {load.served} over HTTP")  # noqa: T201
    growth = {part: show_growth(part, found) for part, found in looks.items()}
    assert status.counts.get("workers_lost", 0) == 0
    assert status.counts.get("internal_errors", 0) == 0
    assert {part: grown for part, grown in growth.items() if grown} == {}
    assert_nothing_is_left(deployment)


def show_growth(part: str, found: list[Footprint]) -> list[str]:
    """Print what a part took; return what grew from the second third to the last, if anything."""
    third = len(found) // 3
    grown = []
    for name in ("memory_bytes", "descriptors", "threads", "processes", "cgroups"):
        early, late = (
            statistics.median(getattr(each, name) for each in looks)
            for looks in (found[third : 2 * third], found[2 * third :])
        )
        # Half a dozen of anything come and go with what is under way.
        slack = max(2 * MiB, 0.05 * early) if name == "memory_bytes" else 6
        if late > early + slack:
            grown.append(f"{name}: {early} to {late}")
        if early or late:
            print(f"{part:8} {name:13} {early:12.0f} {late:12.0f}")  # noqa: T201
    return grown
