"""The `grader` command seen from outside: seconds to its first verdict, and its memory."""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.workloads import REPO

DEADLINE_S = 1800.0


def first_verdict_s(backend: str, *, rounds: int) -> list[float]:
    """Return, per start of the command, the seconds until its first row is on disk."""
    return [_first_verdict_s(backend) for _ in range(rounds)]


def _first_verdict_s(backend: str) -> float:
    with tempfile.TemporaryDirectory() as name:
        out = Path(name, "out.jsonl")
        samples, problems = REPO / "examples/samples.jsonl", REPO / "examples/problems.jsonl"
        started = time.perf_counter()
        with _grade(samples, out, "--problems", str(problems), "--sandbox", backend) as command:
            while not (out.is_file() and b"\n" in out.read_bytes()):
                assert command.poll() in (None, 0), f"the command ended with {command.returncode}"
                assert time.perf_counter() - started < DEADLINE_S, "no verdict came"
                time.sleep(0.002)
            return time.perf_counter() - started


def peak_memory_bytes(backend: str, *, rows: int) -> int:
    """Return the most resident memory of the command itself while it grades many rows."""
    with tempfile.TemporaryDirectory() as name:
        samples, out = Path(name, "samples.jsonl"), Path(name, "out.jsonl")
        with samples.open("w") as file:
            file.writelines(_synthetic_rows(rows))
        with _grade(samples, out, "--sandbox", backend) as command:
            peak = 0
            while command.poll() is None:
                peak = max(peak, _high_water_mark_bytes(command.pid))
                time.sleep(0.05)
        assert command.returncode == 0, f"the command ended with {command.returncode}"
        with out.open() as file:
            graded = sum(json.loads(line)["report"]["verdict"] == "passed" for line in file)
        assert graded == rows, f"{graded} of {rows} rows passed"
        return peak


def _synthetic_rows(rows: int) -> Iterator[str]:
    for number in range(rows):
        code = f"def add(a, b):\n    return a + b  # {number}\n"
        tests = [f"assert add({number}, {n}) == {number + n}" for n in range(3)]
        row = {"id": f"add/{number}", "completion": f"```python\n{code}```\n", "label": tests}
        yield json.dumps(row) + "\n"


def _high_water_mark_bytes(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0  # it ended while we looked
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    return int(fields.get("VmHWM", "0 kB").split()[0]) * 1024


@contextmanager
def _grade(samples: Path, out: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "grader", "grade", str(samples)]
    with subprocess.Popen(
        [*command, "-o", str(out), *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield process
        finally:
            process.terminate()  # like Ctrl-C: it removes its slots; nothing to do if it has ended


def describe_s(values: list[float]) -> str:
    """Return a median with its range, in seconds."""
    return f"{statistics.median(values):.2f} s ({min(values):.2f}-{max(values):.2f})"
