"""What the queue itself costs: Redis's CPU time for a job, and how long a single call waits.

The workers' sandboxes answer at once (`benchmarks/instant_worker.py`), so nothing else is measured.
"""

import multiprocessing
import os
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from multiprocessing.synchronize import Barrier
from typing import Any

from benchmarks.queued import deployment
from benchmarks.workloads import check_samples
from grader.config.settings import QueueSettings, Settings
from grader.model import Submission
from grader.model.verdict import Verdict
from grader.opening import open_grader
from grader.queueing.broker import connect, each_broker
from grader.queueing.status import read_status

_WORKER = ("benchmarks.instant_worker",)
_PER_SUITE = 8
"""Submissions with the same tests, if each problem has some of its own."""
_START_TIMEOUT_S = 60.0
_CALL_EVERY_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What Redis did for the jobs of one batch."""

    way: str
    jobs: int
    cpu_us: float
    """Redis's CPU time for a job, in microseconds."""
    commands: float
    """Commands that Redis executed for a job, those inside scripts included."""
    per_second: float
    """As seen here; client, workers and Redis share the machine."""

    @property
    def most_per_second(self) -> float:
        """Jobs a second that keep one core busy with Redis."""
        return 1e6 / self.cpu_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """What several clients, Redis and workers reach together."""

    servers: int
    workers: int
    clients: int
    jobs: int
    per_second: float
    busy: tuple[float, ...]
    """The share of one core that each Redis used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """How long one client's single calls take."""

    beside: str
    calls: int
    p50_s: float
    p99_s: float


def costs(*, rows: int, workers: int, slots: int) -> list[Cost]:
    """Send batches of `rows` jobs through workers that answer at once.

    Raises:
        GraderError: There is no Redis here, or no worker serves.
    """
    with _served(workers=workers, slots=slots) as settings, open_grader(settings) as grader:
        found = []
        for way, suites in (("one suite", 1), ("a suite for 8", rows // _PER_SUITE)):
            _grade(grader, _submissions(4 * slots))
            batch = _submissions(rows, suites=suites)
            before, started = _usage(settings), time.perf_counter()
            _grade(grader, batch)
            taken_s, after = time.perf_counter() - started, _usage(settings)
            found.append(
                Cost(
                    way=way,
                    jobs=rows,
                    cpu_us=1e6 * (after["cpu_s"] - before["cpu_s"]) / rows,
                    commands=(after["commands"] - before["commands"]) / rows,
                    per_second=rows / taken_s,
                )
            )
        return found


def rates(*, rows: int, servers: int, workers: int, clients: int, slots: int) -> Rate:
    """Have several processes send `rows` jobs each, all at once, through several Redis.

    Raises:
        GraderError: There is no Redis here, or no worker serves.
    """
    context = multiprocessing.get_context("spawn")
    with (
        _served(servers=servers, workers=workers, slots=slots) as settings,
        ExitStack() as stack,
    ):
        together = context.Barrier(clients + 1)
        for _ in range(clients):
            process = context.Process(target=_send, args=(settings, rows, slots, together))
            process.start()
            stack.callback(process.join)
        together.wait()
        before, started = _usages(settings), time.perf_counter()
        together.wait()
        taken_s, after = time.perf_counter() - started, _usages(settings)
    return Rate(
        servers=servers,
        workers=workers,
        clients=clients,
        jobs=clients * rows,
        per_second=clients * rows / taken_s,
        busy=tuple(
            (late["cpu_s"] - early["cpu_s"]) / taken_s
            for early, late in zip(before, after, strict=True)
        ),
    )


def _send(settings: Settings, rows: int, slots: int, together: Barrier) -> None:
    with open_grader(settings) as grader:
        _grade(grader, _submissions(4 * slots))
        batch = _submissions(rows)
        together.wait()
        _grade(grader, batch)
        together.wait()


def waits(*, calls: int, slots: int, run_s: float) -> list[Wait]:
    """Make single calls on an idle queue, then beside a client whose queue is always full.

    Args:
        calls: How many in either case.
        slots: Of the only worker.
        run_s: Seconds that every run takes.

    Raises:
        GraderError: There is no Redis here, or no worker serves.
    """
    found = []
    with _served(workers=1, slots=slots, run_s=run_s) as settings:
        with open_grader(settings) as grader:
            _call(grader)
            found.append(_measured("nothing", [_call(grader) for _ in range(calls)]))
        with _full(settings), open_grader(settings) as grader:
            _call(grader)
            found.append(_measured("a full queue", [_call(grader) for _ in range(calls)]))
    return found


@contextmanager
def _full(settings: Settings) -> Iterator[None]:
    """Have another client keep as many jobs in flight as it may."""
    most, over = settings.queue.in_flight, threading.Event()

    def endless() -> Iterator[Submission]:
        while not over.is_set():
            yield from _submissions(64)

    def keep_full() -> None:
        with open_grader(settings) as grader:
            for _ in grader.as_completed(endless()):
                if over.is_set():
                    return

    thread = threading.Thread(target=keep_full, name="batch")
    thread.start()
    try:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while read_status(settings).queued < most // 2:
            assert time.monotonic() < deadline, "the queue did not fill"
            time.sleep(0.1)
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def _served(
    *, workers: int, slots: int, run_s: float = 0.0, servers: int = 1
) -> Iterator[Settings]:
    environment = {"BENCHMARK_RUN_S": str(run_s)}
    with deployment(
        slots, workers=workers, servers=servers, module=_WORKER, environment=environment
    ) as broker:
        settings = Settings(broker=broker, queue=QueueSettings())
        deadline = time.monotonic() + _START_TIMEOUT_S
        while len(read_status(settings).workers) < workers:
            assert time.monotonic() < deadline, "the workers did not start"
            time.sleep(0.1)
        yield settings


_numbers = count()


def _submissions(rows: int, *, suites: int = 1) -> list[Submission]:
    """Return submissions that were never graded before, of as many suites in turns."""
    template = _template()
    first = f"{os.getpid()} {next(_numbers)}"
    kinds = [
        replace(template.suite, reference=f"# {first} {n}\n{template.suite.reference}")
        for n in range(suites)
    ]
    return [
        replace(
            template,
            id=str(n),
            suite=kinds[n % suites],
            completion=f"# {first} {n}\n{template.suite.reference}",
        )
        for n in range(rows)
    ]


@cache
def _template() -> Submission:
    return check_samples()[1][0].submission


def _grade(grader: Any, submissions: Sequence[Submission]) -> None:
    verdicts = {report.verdict for _, report in grader.as_completed(submissions)}
    assert verdicts == {Verdict.PASSED}, verdicts


def _call(grader: Any) -> float:
    (submission,) = _submissions(1)
    time.sleep(_CALL_EVERY_S)
    started = time.perf_counter()
    report = grader.grade(submission)
    taken_s = time.perf_counter() - started
    assert report.verdict is Verdict.PASSED, report
    return taken_s


def _measured(beside: str, taken_s: Sequence[float]) -> Wait:
    hundredths = statistics.quantiles(taken_s, n=100)
    return Wait(beside=beside, calls=len(taken_s), p50_s=hundredths[49], p99_s=hundredths[98])


def _usages(settings: Settings) -> list[dict[str, float]]:
    return [_usage(each) for each in each_broker(settings)]


def _usage(settings: Settings) -> dict[str, float]:
    """Return Redis's own count of its CPU seconds and of the commands that it got."""
    with connect(settings) as client:
        cpu, commands = client.info("cpu"), client.info("commandstats")
    from_outside = ("cmdstat_client", "cmdstat_info")
    return {
        "cpu_s": cpu["used_cpu_user"] + cpu["used_cpu_sys"],
        "commands": sum(
            each["calls"] for name, each in commands.items() if not name.startswith(from_outside)
        ),
    }
