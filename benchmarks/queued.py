"""The queue against slots of this process: a batch, and single calls from 64 threads."""

import itertools
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType

from benchmarks.workloads import REPO, Sample
from grader.config.settings import SandboxChoice, Settings
from grader.grading.futures import FutureGrader
from grader.model import Submission
from grader.model.errors import GraderError
from grader.model.verdict import Verdict
from grader.opening import open_grader

THREADS = 64
"""Each sends one submission at a time, as a trainer's rollout threads do."""

_START_TIMEOUT_S = 60.0

Way = Callable[[FutureGrader, Sequence[Submission]], list[float]]
"""Grades all, and returns the seconds that each waited, as far as that means something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Medians over the rounds of one way to grade."""

    way: str
    local_per_second: float
    queued_per_second: float
    ratio: float
    """Median of the rounds' ratios, each of two runs next to each other."""
    queued_p50_s: float | None
    """Of single calls, from the call to its report."""
    queued_p99_s: float | None


def compare(samples: Sequence[Sample], *, rounds: int, slots: int) -> list[Found]:
    """Let both grade the same samples in turns, every submission a new one.

    Raises:
        GraderError: There is no Redis here, or the worker does not serve.
    """
    numbers = itertools.count()

    def fresh() -> list[Submission]:
        # Another text each time, since a verdict that is known already is not graded again.
        return [
            replace(s.submission, id=str(n), completion=f"# {n}\n{s.submission.suite.reference}")
            for s, n in zip(samples, numbers, strict=False)
        ]

    with ExitStack() as stack:
        broker = stack.enter_context(deployment(slots))
        local = stack.enter_context(
            open_grader(Settings(sandbox=SandboxChoice.NATIVE, slots=slots))
        )
        queued = stack.enter_context(open_grader(Settings(broker=broker)))
        for grader in (local, queued):
            _batch(grader, fresh()[: 4 * slots])
        return [
            _compare_way(name, way, local, queued, fresh, rounds)
            for name, way in (("batch", _batch), (f"single calls, {THREADS} threads", _singles))
        ]


def _compare_way(
    name: str,
    way: Way,
    local: FutureGrader,
    queued: FutureGrader,
    fresh: Callable[[], list[Submission]],
    rounds: int,
) -> Found:
    rates: dict[str, list[float]] = {"local": [], "queued": []}
    waits: list[float] = []
    for _ in range(rounds):
        for kind, grader in (("local", local), ("queued", queued)):
            submissions = fresh()
            started = time.perf_counter()
            waited = way(grader, submissions)
            rates[kind].append(len(submissions) / (time.perf_counter() - started))
            waits += waited if kind == "queued" else []
    pairs = zip(rates["queued"], rates["local"], strict=True)
    hundredths = statistics.quantiles(waits, n=100) if waits else None
    return Found(
        way=name,
        local_per_second=statistics.median(rates["local"]),
        queued_per_second=statistics.median(rates["queued"]),
        ratio=statistics.median(mine / other for mine, other in pairs),
        queued_p50_s=hundredths[49] if hundredths else None,
        queued_p99_s=hundredths[98] if hundredths else None,
    )


def _batch(grader: FutureGrader, submissions: Sequence[Submission]) -> list[float]:
    verdicts = [report.verdict for _, report in grader.as_completed(submissions)]
    assert verdicts == [Verdict.PASSED] * len(submissions), verdicts
    return []


def _singles(grader: FutureGrader, submissions: Sequence[Submission]) -> list[float]:
    def call(submission: Submission) -> float:
        started = time.perf_counter()
        report = grader.grade(submission)
        assert report.verdict is Verdict.PASSED, report
        return time.perf_counter() - started

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(call, submissions))


@contextmanager
def deployment(
    slots: int,
    *,
    workers: int = 1,
    servers: int = 1,
    module: Sequence[str] = ("grader", "worker"),
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[str]:
    """Run Redis and workers with native slots, and lend the broker's addresses.

    Args:
        slots: Of each worker.
        workers: How many; they serve the Redis in turns.
        servers: How many Redis.
        module: The module that is a worker's program, and its arguments.
        environment: Further variables of the workers.

    Raises:
        GraderError: There is no Redis here.
    """
    program = shutil.which("redis-server")
    if program is None:
        message = "the queue is measured with a Redis: install redis-server"
        raise GraderError(message)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:

        def start(command: Sequence[str], **variables: str) -> None:
            process = subprocess.Popen(
                command,
                cwd=REPO,
                env={**os.environ, **variables},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)

        ports = [_free_port() for _ in range(servers)]
        for port in ports:
            start([program, "--port", str(port), "--save", "", "--dir", folder])
            _await_port(port)
        brokers = [f"redis://127.0.0.1:{port}/0" for port in ports]
        for number in range(workers):
            start(
                [sys.executable, "-m", *module],
                GRADER_BROKER=brokers[number % servers],
                GRADER_SANDBOX=SandboxChoice.NATIVE.value,
                GRADER_SLOTS=str(slots),
                **environment,
            )
        yield " ".join(brokers)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await_port(port: int) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return
