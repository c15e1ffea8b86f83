"""The HTTP service against slots of this process: many connections, and one request for all."""

import itertools
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.connections import post_all
from benchmarks.workloads import REPO, find_recorded
from grader.config.settings import SandboxChoice, Settings
from grader.grading.engine import GradingEngine
from grader.grading.futures import FutureGrader
from grader.grading.stopping import StopHandle
from grader.model import Submission, TestSuite
from grader.model.verdict import Verdict
from grader.opening import open_grader
from grader.sandbox.contract import Program, RunBatch
from grader.suites import parse_label

CONNECTIONS = 512
"""As many as verl holds open to its sandbox."""

_START_TIMEOUT_S = 60.0
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A problem as a client sends it, and as this process takes it."""

    label: dict[str, Any]
    suite: TestSuite
    solution: str

    def completion(self, number: int) -> str:
        """Return a right completion that is like no other."""
        return f"```python\n# {number}\n{self.solution}\n```"

    def program(self, number: int) -> str:
        """Return a program of the completion and the tests, as verl makes one."""
        return f"# {number}\n{self.solution}\n{self.label['test']}\ncheck({self.suite.entry_point})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Medians over the rounds of one way to have the service work."""

    way: str
    local_per_second: float
    served_per_second: float
    ratio: float
    """Median of the rounds' ratios, each of two runs next to each other."""
    service_cpu_s: float
    """What one submission took of the service's own process, slots not counted."""
    local_cpu_s: float
    """The same of this process, if this process has the slots."""
    p50_s: float
    p99_s: float


Take = Callable[[Sequence[tuple[int, Problem]]], list[float]]
"""Has all be graded and returns the seconds that each request took; none in this process."""


def compare(*, rows: int, rounds: int, slots: int) -> list[Found]:
    """Let the service and this process grade so many submissions in turns, each a new one."""
    problems = _problems()
    numbers = itertools.count()

    def fresh(count: int) -> list[tuple[int, Problem]]:
        return [(n, problems[n % len(problems)]) for n in itertools.islice(numbers, count)]

    settings = Settings(sandbox=SandboxChoice.NATIVE, slots=slots)
    found = []
    with (
        _service(slots) as (port, pid),
        open_grader(settings) as local,
        GradingEngine(settings) as programs,
    ):
        graded = partial(_grade_here, local)
        run = partial(_run_here, programs, slots)
        ways: list[tuple[str, Take, Take]] = [
            (f"/v1/grade, {CONNECTIONS} connections", partial(_grade, port), graded),
            ("/v1/grade, one request", partial(_grade_many, port), graded),
            (f"/get_reward, {CONNECTIONS} connections", partial(_get_reward, port), graded),
            (f"/run_code, {CONNECTIONS} connections", partial(_run_code, port), run),
        ]
        for way, served, here in ways:
            for take in (served, here):
                take(fresh(8 * slots))
            found.append(_compare_way(way, served, here, lambda: fresh(rows), rounds, pid))
    return found


def _compare_way(
    way: str,
    served: Take,
    here: Take,
    fresh: Callable[[], list[tuple[int, Problem]]],
    rounds: int,
    pid: int,
) -> Found:
    rates: dict[int, list[float]] = {pid: [], os.getpid(): []}
    cpu: dict[int, list[float]] = {pid: [], os.getpid(): []}
    waits: list[float] = []
    for _ in range(rounds):
        for process, take in ((os.getpid(), here), (pid, served)):
            samples = fresh()
            started, cpu_before = time.perf_counter(), _cpu_s(process)
            waits += take(samples)
            rates[process].append(len(samples) / (time.perf_counter() - started))
            cpu[process].append((_cpu_s(process) - cpu_before) / len(samples))
    mine, other = rates[pid], rates[os.getpid()]
    hundredths = statistics.quantiles(waits, n=100) if len(waits) > 1 else waits * 100
    return Found(
        way=way,
        local_per_second=statistics.median(other),
        served_per_second=statistics.median(mine),
        ratio=statistics.median(a / b for a, b in zip(mine, other, strict=True)),
        service_cpu_s=statistics.median(cpu[pid]),
        local_cpu_s=statistics.median(cpu[os.getpid()]),
        p50_s=hundredths[49],
        p99_s=hundredths[98],
    )


# ---------------------------------------------------------------- at the service


def _grade(port: int, samples: Sequence[tuple[int, Problem]]) -> list[float]:
    answers = _post(port, "/v1/grade", [_sample(*each) for each in samples])
    verdicts = [answer["report"]["verdict"] for answer, _ in answers]
    assert verdicts == ["passed"] * len(samples), verdicts
    return [took_s for _, took_s in answers]


def _grade_many(port: int, samples: Sequence[tuple[int, Problem]]) -> list[float]:
    body = {"submissions": [_sample(*each) for each in samples]}
    ((answer, took_s),) = _post(port, "/v1/grade", [body])
    verdicts = [result["report"]["verdict"] for result in answer["results"]]
    assert verdicts == ["passed"] * len(samples), verdicts
    return [took_s]


def _get_reward(port: int, samples: Sequence[tuple[int, Problem]]) -> list[float]:
    bodies = [{"query": [p.completion(n)], "labels": [p.label]} for n, p in samples]
    answers = _post(port, "/get_reward", bodies)
    rewards = [reward for answer, _ in answers for reward in answer["rewards"]]
    assert rewards == [1.0] * len(samples), rewards
    return [took_s for _, took_s in answers]


def _run_code(port: int, samples: Sequence[tuple[int, Problem]]) -> list[float]:
    bodies = [{"code": p.program(n), "language": "python"} for n, p in samples]
    answers = _post(port, "/run_code", bodies)
    statuses = [answer["status"] for answer, _ in answers]
    assert statuses == ["Success"] * len(samples), statuses
    return [took_s for _, took_s in answers]


def _sample(number: int, problem: Problem) -> dict[str, Any]:
    completion = problem.completion(number)
    return {"id": str(number), "completion": completion, "label": problem.label}


def _post(port: int, path: str, bodies: Sequence[object]) -> list[tuple[Any, float]]:
    encoded = [json.dumps(body).encode() for body in bodies]
    connections = min(CONNECTIONS, len(encoded))
    answers = post_all(port, path, encoded, connections=connections)
    assert all(answer.status == 200 for answer in answers), answers
    return [(json.loads(answer.body), answer.took_s) for answer in answers]


# ---------------------------------------------------------------- in this process


def _grade_here(grader: FutureGrader, samples: Sequence[tuple[int, Problem]]) -> list[float]:
    submissions = [
        Submission(id=str(number), completion=problem.completion(number), suite=problem.suite)
        for number, problem in samples
    ]
    verdicts = [report.verdict for _, report in grader.as_completed(submissions)]
    assert verdicts == [Verdict.PASSED] * len(samples), verdicts
    return []


def _run_here(
    grader: GradingEngine, slots: int, samples: Sequence[tuple[int, Problem]]
) -> list[float]:
    limits = Settings().limits

    def run(sample: tuple[int, Problem]) -> None:
        number, problem = sample
        source = problem.program(number)
        batch = RunBatch(program=Program.STDIN, source=source, runs=(b"",), limits=limits)
        outcome = grader.run_program(batch, StopHandle(), image="python")
        assert outcome.exit_code == 0, outcome

    with ThreadPoolExecutor(slots) as threads:
        list(threads.map(run, samples))
    return []


# ---------------------------------------------------------------- what both need


def _problems() -> list[Problem]:
    file = find_recorded("humaneval.jsonl")
    assert file is not None, "../shared/data/humaneval.jsonl is not there"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return [
        Problem(
            label=row, suite=parse_label(row), solution=row["prompt"] + row["canonical_solution"]
        )
        for row in rows
    ]


@contextmanager
def _service(slots: int) -> Iterator[tuple[int, int]]:
    """Run a service with native slots; yields its port and its process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GRADER_")} | {
        "GRADER_SANDBOX": SandboxChoice.NATIVE.value,
        "GRADER_SLOTS": str(slots),
        "GRADER_SERVER_PORT": str(port),
    }
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "grader", "serve"],
            cwd=REPO,
            env=environment,
            stdout=log,
            stderr=log,
        )
        try:
            _await_ready(port)
            yield port, process.pid
        finally:
            process.terminate()
            process.wait()


def _await_ready(port: int) -> None:
    from urllib.request import urlopen

    deadline = time.monotonic() + _START_TIMEOUT_S
    while True:
        try:
            with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=30):
                return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
