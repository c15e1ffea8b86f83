"""A driver with real Ray actors that hold the reward function, as trainers have them.

    python -m tests.on_ray kill|return|exception

It prints a line of JSON with what was graded, then the ids of its actors' processes once they
grade what never ends; waits for a line on standard input, and ends.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from runpy import run_path
from typing import Any

import ray

from tests.endings import COMPLETION, KINDS, LABEL, NAME, fail, told

RIGHT, WRONG = (f"```python\ndef f():\n    return {value}\n```" for value in (1, 2))
# With SIGINT blocked, as Ray has it in its workers, no exception would come of it.
SIGNALLED = """```python
import signal
def f():
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        return 1
```"""
ENDLESS = [
    COMPLETION.format(number=number, name=NAME, act=KINDS["sleeping"]) for number in range(8)
]


class OpenRLHF:
    """Loads the reward file by its path, and calls it in threads."""

    def __init__(self) -> None:
        path = Path(__file__).resolve().parent.parent / "grader" / "reward_func.py"
        self._reward_func = run_path(str(path))["reward_func"]

    def rate(self, texts: list[str]) -> list[float]:
        rewards = self._reward_func(texts, [""] * len(texts), [LABEL] * len(texts))
        return [float(each) for each in rewards["rewards"]]

    def pid(self) -> int:
        return os.getpid()


class Verl:
    """Awaits the reward function, in the event loop of an async actor."""

    async def rate(self, texts: list[str]) -> list[float]:
        from grader.trainers.verl import compute_score

        found = await asyncio.gather(
            *(compute_score(solution_str=text, ground_truth=LABEL) for text in texts)
        )
        return [result["score"] for result in found]

    async def pid(self) -> int:
        return os.getpid()


def main() -> None:
    """Grade, begin what never ends, and end."""
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    actors: list[Any] = [
        ray.remote(cls).options(num_cpus=1, max_concurrency=4).remote() for cls in (OpenRLHF, Verl)
    ]
    texts = [RIGHT, WRONG, SIGNALLED]
    print(json.dumps(ray.get([actor.rate.remote(texts) for actor in actors])), flush=True)  # noqa: T201
    pids = ray.get([actor.pid.remote() for actor in actors])
    calls = [actor.rate.remote(ENDLESS) for actor in actors]
    print(json.dumps(pids), flush=True)  # noqa: T201
    told()
    if sys.argv[1] == "kill":
        for actor in actors:
            ray.kill(actor)
        sys.stdin.readline()
    elif sys.argv[1] == "exception":
        fail()
    del calls


if __name__ == "__main__":
    main()
