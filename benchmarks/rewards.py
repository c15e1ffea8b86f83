"""Single calls of the reward function against `grader grade`, over the same rows.

Both are processes of their own, and their time on the CPU is taken with that of all they started:
on a busy machine it tells more than the clock. Slots are killed in the end, and what they took
with them, so it is read from `/proc` all along.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.workloads import REPO, find_recorded

_LOOK_S = 0.2
_TICKS = os.sysconf("SC_CLK_TCK")
_THREADS = 32
"""As a rollout engine of OpenRLHF has on 28 cores or more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What grading all rows took, the start of the process left out."""

    wall_s: float
    cpu_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Medians over the rounds."""

    rows: int
    command: Cost
    single_calls: Cost

    @property
    def wall_ratio(self) -> float:
        """The rate of single calls as a share of the command's, by the clock."""
        return self.command.wall_s / self.single_calls.wall_s

    @property
    def cpu_ratio(self) -> float:
        """The same by time on the CPU."""
        return self.command.cpu_s / self.single_calls.cpu_s


def compare(*, rows: int, rounds: int, backend: str, slots: int) -> Comparison:
    """Let both grade `rows` completions, in turns."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GRADER_")},
        "GRADER_SANDBOX": backend,
        "GRADER_SLOTS": str(slots),
    }
    commands: list[Cost] = []
    singles: list[Cost] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole, first = folder / "rows.jsonl", folder / "first.jsonl"
        lines = [json.dumps(row) + "\n" for row in completions(rows)]
        whole.write_text("".join(lines))
        first.write_text(lines[0])
        for _ in range(rounds):
            commands.append(_less(_command(whole, environment), _command(first, environment)))
            singles.append(
                _less(_singles(whole, slots, environment), _singles(first, slots, environment))
            )
    return Comparison(rows=rows, command=_median(commands), single_calls=_median(singles))


def threads_for(slots: int) -> int:
    """Return how many threads make single calls, so that no slot waits for one."""
    return max(_THREADS, 2 * slots)


def completions(count: int) -> list[dict[str, str]]:
    """Return completions of HumanEval's problems, each a text of its own, one in three wrong."""
    file = find_recorded("humaneval.jsonl")
    assert file is not None, "../shared/data/humaneval.jsonl is not there"
    problems = [json.loads(line) for line in file.read_text().splitlines()]
    rows = []
    for number in range(count):
        problem = problems[number % len(problems)]
        body = "    return None\n" if number % 3 == 2 else problem["canonical_solution"]
        answer = f" Here:\n```python\n{problem['prompt']}{body}# {number}\n```\n</s>"
        prompt = f"<s>[INST] Complete this:\n{problem['prompt']} [/INST]"
        rows.append({"query": prompt + answer, "prompt": prompt, "label": json.dumps(problem)})
    return rows


def _command(rows: Path, environment: dict[str, str]) -> tuple[Cost, list[float]]:
    out = rows.with_suffix(".out")
    words = [sys.executable, "-m", "grader", "grade", str(rows), "-o", str(out), "--force"]
    cost, _ = _timed(words, environment)
    graded = [json.loads(line) for line in out.read_text().splitlines()]
    graded.sort(key=lambda row: row["_grader"]["line"])
    return cost, [row["report"]["reward"] for row in graded]


def _singles(rows: Path, slots: int, environment: dict[str, str]) -> tuple[Cost, list[float]]:
    threads = str(threads_for(slots))
    words = [sys.executable, "-m", "benchmarks.single_calls", str(rows), threads]
    cost, printed = _timed(words, environment)
    rewards: list[float] = json.loads(printed)["rewards"]
    return cost, rewards


def _timed(words: list[str], environment: dict[str, str]) -> tuple[Cost, str]:
    began = time.perf_counter()
    cpu_s = 0.0
    with (
        tempfile.TemporaryFile("w+") as printed,
        subprocess.Popen(words, cwd=REPO, env=environment, stdout=printed) as process,
    ):
        while process.poll() is None:
            cpu_s = max(cpu_s, _cpu_s(process.pid))
            time.sleep(_LOOK_S)
        wall_s = time.perf_counter() - began
        printed.seek(0)
        text = printed.read()
    assert process.returncode == 0, f"{words} ended with {process.returncode}"
    return Cost(wall_s=wall_s, cpu_s=cpu_s), text


def _cpu_s(root: int) -> float:
    """Return the CPU time of a process, of its descendants, and of those that they waited for."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:
                continue  # it ended while we looked
            parents[int(entry.name)] = int(fields[1])
            ticks[int(entry.name)] = sum(int(field) for field in fields[11:15])
    return sum(t for pid, t in ticks.items() if _is_below(pid, root, parents)) / _TICKS


def _is_below(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    while pid != ancestor and pid in parents:
        pid = parents[pid]
    return pid == ancestor


def _less(whole: tuple[Cost, list[float]], start: tuple[Cost, list[float]]) -> Cost:
    """Return what the rows cost beyond the first, for which the process had to start."""
    (cost, rewards), (started, _) = whole, start
    wrong = [number for number, reward in enumerate(rewards) if (reward == 1) != (number % 3 != 2)]
    assert not wrong, f"wrong rewards for the rows {wrong[:10]}"
    return Cost(wall_s=cost.wall_s - started.wall_s, cpu_s=cost.cpu_s - started.cpu_s)


def _median(costs: list[Cost]) -> Cost:
    return Cost(
        wall_s=statistics.median(cost.wall_s for cost in costs),
        cpu_s=statistics.median(cost.cpu_s for cost in costs),
    )
