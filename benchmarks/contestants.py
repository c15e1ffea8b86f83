"""Ways to run the same samples; each takes samples and returns the seconds that they took.

Every contestant checks that all of its samples passed: a fast wrong answer does not count.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks.workloads import Sample
from grader.grading.grader import Grader
from grader.model.verdict import Verdict

Contestant = Callable[[Sequence[Sample]], float]

TIMEOUT_S = 60.0
PLAIN_PYTEST = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""Plugins of this project's own tests would triple what pytest costs to start."""


def ours(grader: Grader) -> Contestant:
    """Return the grader itself; its slots are warm, as they are in all but the first second."""

    def run(samples: Sequence[Sample]) -> float:
        started = time.perf_counter()
        verdicts = [
            report.verdict
            for _, report in grader.as_completed(sample.submission for sample in samples)
        ]
        elapsed_s = time.perf_counter() - started
        assert verdicts == [Verdict.PASSED] * len(samples), verdicts
        return elapsed_s

    return run


def usual_pytest(jobs: int) -> Contestant:
    """Return the usual reward function: `python -m pytest` on temporary files, no sandbox."""
    return partial(_each_in_a_folder, jobs=jobs, command=_pytest_command)


def docker_run(jobs: int, image: str) -> Contestant:
    """Return one `docker run --rm` with pytest per sample, without a network."""
    return partial(_each_in_a_folder, jobs=jobs, command=partial(_docker_command, image=image))


def _pytest_command(folder: Path) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", str(folder)]


def _docker_command(folder: Path, *, image: str) -> list[str]:
    options = ["--rm", "--network=none", "--entrypoint=python3", f"--volume={folder}:/tests:ro"]
    pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "/tests"]
    return ["docker", "run", *options, "--workdir=/tests", image, *pytest]


def _each_in_a_folder(
    samples: Sequence[Sample], *, jobs: int, command: Callable[[Path], list[str]]
) -> float:
    started = time.perf_counter()
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(partial(_run_in_a_folder, command=command), samples))
    return time.perf_counter() - started


def _run_in_a_folder(sample: Sample, *, command: Callable[[Path], list[str]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # the image's user is another one
        for path, text in sample.files.items():
            (folder / path).write_text(text)
        done = subprocess.run(
            command(folder),
            cwd=folder,
            env=PLAIN_PYTEST,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
    assert done.returncode == 0, done.stdout + done.stderr


def bare_fork(jobs: int) -> Contestant:
    """Return the limit, `bare_fork.py`: no sandbox, no limits, nothing but fork and exec."""

    def run(samples: Sequence[Sample]) -> float:
        programs = [program for sample in samples for program in sample.programs]
        script = Path(__file__).with_name("bare_fork.py")
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(script), str(jobs)],
            input=json.dumps(programs),
            capture_output=True,
            text=True,
            check=True,
        )
        answer = json.loads(done.stdout)
        assert answer["passed"] == len(programs), f"{answer['passed']} of {len(programs)} passed"
        return float(answer["elapsed_s"])

    return run
