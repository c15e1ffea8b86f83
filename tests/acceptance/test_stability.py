"""The same submissions get the same verdicts on an idle machine and on an overloaded one.

Among them are programs that take more than half of their CPU time limit, that run into it, that
sleep, and that end for every other reason, and recorded reference solutions if there are any.
"""

import os
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from grader.config.settings import Settings
from grader.grading.grader import Grader
from grader.model import (
    CallCase,
    CallTests,
    Limits,
    MiB,
    PytestTests,
    ScriptCase,
    ScriptTests,
    StdinCase,
    StdinTests,
    Submission,
    SuiteFile,
    Tests,
    TestSuite,
)
from grader.model.verdict import Verdict
from grader.sandbox.native.backend import NativeSandbox
from tests.acceptance.data import read_problems

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

SUBMISSIONS = int(os.environ.get("STABILITY_SUBMISSIONS", "1000"))
RECORDED = 0.3
"""The share of recorded reference solutions, if there are any."""
BUSY = 8
CORES = 2

LIMITS = Limits(cpu_time_s=0.6, wall_time_s=6.0, memory_bytes=128 * MiB, output_bytes=64 * 1024)

BURN = "import time\nend = time.process_time() + {}\nwhile time.process_time() < end:\n    pass\n"
SQUARE = "def f(x):\n    return x * x\n"
MODULE = b"from solution import f\n\ndef test_f():\n    assert f(3) == 9\n"

STDIN = StdinTests(cases=(StdinCase(id="0", stdin="3\n", expected="9\n"),))
CALL = CallTests(entry_point="f", cases=(CallCase(id="0", args=(3,), expected=9),))
SCRIPT = ScriptTests(cases=(ScriptCase(id="0", source="assert f(3) == 9"),))
PYTEST = PytestTests(
    files=(SuiteFile(path="test_f.py", content=MODULE),),
    test_paths=("test_f.py",),
    solution_path="solution.py",
)

PROGRAMS: Mapping[str, tuple[Tests, str, Verdict]] = {
    "right call": (CALL, SQUARE, Verdict.PASSED),
    "right script": (SCRIPT, SQUARE, Verdict.PASSED),
    "right pytest": (PYTEST, SQUARE, Verdict.PASSED),
    "right output": (STDIN, "print(int(input()) ** 2)\n", Verdict.PASSED),
    "wrong call": (CALL, "def f(x):\n    return x + x\n", Verdict.FAILED),
    "wrong script": (SCRIPT, "def f(x):\n    return x + x\n", Verdict.FAILED),
    "wrong pytest": (PYTEST, "def f(x):\n    return x + x\n", Verdict.FAILED),
    "crash": (CALL, "def f(x):\n    return x / 0\n", Verdict.RUNTIME_ERROR),
    "early exit": (SCRIPT, "import os\nos._exit(0)\n", Verdict.RUNTIME_ERROR),
    "no Python": (SCRIPT, "def f(x)\n", Verdict.COMPILE_ERROR),
    "slow and right": (STDIN, BURN.format(0.35) + "print(9)\n", Verdict.PASSED),
    "slow and right, in a test": (PYTEST, BURN.format(0.35) + SQUARE, Verdict.PASSED),
    "slow and right, in children": (
        STDIN,
        "import os\nfor _ in range(3):\n    if os.fork() == 0:\n"
        + "".join(f"        {line}\n" for line in BURN.format(0.12).splitlines())
        + "        os._exit(0)\n    os.wait()\nprint(9)\n",
        Verdict.PASSED,
    ),
    "too slow": (CALL, "def f(x):\n    while True:\n        pass\n", Verdict.TIME_LIMIT),
    "too slow script": (SCRIPT, "while True:\n    pass\n", Verdict.TIME_LIMIT),
    "sleeps a little": (STDIN, "import time\ntime.sleep(0.5)\nprint(9)\n", Verdict.PASSED),
    "waits for ever": (STDIN, "import time\ntime.sleep(60)\n", Verdict.TIME_LIMIT),
    "memory": (CALL, "def f(x):\n    return len(bytearray(1 << 30))\n", Verdict.MEMORY_LIMIT),
    "flood": (STDIN, "while True:\n    print('x' * 4096)\n", Verdict.OUTPUT_LIMIT),
}

RARE = {"waits for ever": 40}
"""Slow programs, each taken once while others are taken many times."""


def make_submissions(shared: Path | None) -> dict[str, tuple[Submission, Verdict]]:
    """Return submissions with the verdicts that are right, by their ids, in a mixed order."""
    names = [name for name in PROGRAMS for _ in range(1 if name in RARE else max(RARE.values()))]
    drawing = random.Random(7)  # noqa: S311 - not for security
    recorded = _recorded(shared, round(SUBMISSIONS * RECORDED))
    mixed = recorded + [
        _generated(drawing.choice(names)) for _ in range(SUBMISSIONS - len(recorded))
    ]
    drawing.shuffle(mixed)
    return {
        str(i): (replace(submission, id=str(i)), verdict)
        for i, (submission, verdict) in enumerate(mixed)
    }


def _generated(name: str) -> tuple[Submission, Verdict]:
    tests, code, verdict = PROGRAMS[name]
    suite = TestSuite(tests=tests, format=name, entry_point="f")
    return Submission(id=name, completion=f"```python\n{code}```", suite=suite), verdict


def _recorded(shared: Path | None, count: int) -> list[tuple[Submission, Verdict]]:
    if shared is None:
        return []
    problems = read_problems(shared / "data" / "humaneval.jsonl")
    found = []
    for problem in (problems * (count // len(problems) + 1))[:count]:
        # Their own time limits: what these need was not chosen to be near ours.
        suite = replace(problem.suite, limits=replace(problem.suite.limits, cpu_time_s=10.0))
        code = f"```python\n{suite.reference}\n```"
        found.append((Submission(id=problem.id, completion=code, suite=suite), Verdict.PASSED))
    return found


@contextmanager
def busy_machine(processes: int) -> Iterator[None]:
    """Keep some processes computing."""
    command = [sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(command) for _ in range(processes)]
    try:
        yield
        assert all(process.poll() is None for process in running)
    finally:
        for process in running:
            process.kill()
            process.wait()


@contextmanager
def two_cores() -> Iterator[None]:
    """Keep this process and what it starts to a few cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:CORES])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def grade_all(submissions: dict[str, tuple[Submission, Verdict]]) -> dict[str, str]:
    """Return the verdicts that are not right, with what is said of them, by the format."""
    wrong = {}
    settings = Settings(slots=CORES, limits=LIMITS, retries=0)
    with Grader(settings, sandbox=NativeSandbox(settings)) as grader:
        every = (submission for submission, _ in submissions.values())
        for submission, report in grader.as_completed(every):
            expected = submissions[submission.id][1]
            if report.verdict is not expected:
                what = f"{submission.suite.format} {submission.id}"
                wrong[what] = f"{report.verdict}, not {expected}: {report.feedback}"
    return wrong


@pytest.fixture(scope="module")
def submissions(request: pytest.FixtureRequest) -> dict[str, tuple[Submission, Verdict]]:
    """The submissions, with recorded ones if there are any."""
    shared = request.config.rootpath.parent / "shared"
    return make_submissions(shared if (shared / "data").is_dir() else None)


@pytest.mark.usefixtures("native_sandbox")
@pytest.mark.parametrize("busy", [pytest.param(0, id="idle"), pytest.param(BUSY, id="overloaded")])
def test_verdicts_are_right_however_busy_the_machine(
    submissions: dict[str, tuple[Submission, Verdict]], busy: int
) -> None:
    assert len(submissions) == SUBMISSIONS
    with two_cores(), busy_machine(busy):
        assert grade_all(submissions) == {}
