"""Run workers on CPUs of a Ray cluster, such as the one that OpenRLHF or verl brings.

    GRADER_BROKER=redis://:PASSWORD@HOST:6379/0 python deploy/ray/workers.py --workers 4 --cpus 8

Each worker is an actor that reserves its CPUs and has a slot on each. A worker that crashes is
started again, also on another node if its own is lost. If an actor is killed, Ray kills its worker,
whose jobs go to others. At SIGTERM or Ctrl-C all workers finish what
runs and give the rest back. Every node needs this checkout under the same path, and Python packages
as for `grader worker`. GRADER_SANDBOX is native unless it is set.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import ray

REPO = Path(__file__).resolve().parents[2]
SETTINGS_CANNOT_WORK = 2
RESTART_S = 2.0
STOP_S = 60.0
"""More than queue.drain_s."""


@ray.remote(max_restarts=-1, max_task_retries=-1, max_concurrency=2)
class WorkerActor:
    """One worker, as a child of this actor's process."""

    def __init__(self, repo: str, environ: dict[str, str]) -> None:
        self._repo = repo
        self._environ = environ
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopping = False

    def run(self) -> int:
        """Run the worker, again and again if it crashes; return its last exit code."""
        while True:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "grader", "worker"],
                cwd=self._repo,
                env={**os.environ, **self._environ},
            )
            code = self._process.wait()
            if self._is_stopping or code in (0, SETTINGS_CANNOT_WORK):
                return code
            time.sleep(RESTART_S)

    def stop(self) -> None:
        """Have the worker finish what runs. Does not wait."""
        self._is_stopping = True
        if self._process is not None:
            self._process.terminate()


def main() -> int:
    """Run workers until told to stop; return 0 if all of them ended in order."""
    parser = argparse.ArgumentParser(description="Run workers in a Ray cluster.")
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--cpus", type=int, required=True, help="and slots, of each worker")
    options = parser.parse_args()
    environ = {key: text for key, text in os.environ.items() if key.startswith("GRADER_")}
    if "GRADER_BROKER" not in environ:
        parser.error("GRADER_BROKER is not set; expected redis://:PASSWORD@HOST:6379/0")
    environ = {"GRADER_SANDBOX": "native", **environ, "GRADER_SLOTS": str(options.cpus)}
    ray.init()
    placed = WorkerActor.options(num_cpus=options.cpus)
    actors = [placed.remote(str(REPO), environ) for _ in range(options.workers)]
    runs = [actor.run.remote() for actor in actors]

    def stop(*_: Any) -> None:
        for actor in actors:
            actor.stop.remote()

    # After ray.init, which has handlers of its own.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    codes = ray.get(runs)
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
