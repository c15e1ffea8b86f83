"""The rubrics of verifiers up to 0.3 score rollouts with our reward."""

import asyncio
import importlib
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from grader.trainers.verifiers import rubric_reward
from tests.releases import Span, cells, installed, release
from tests.stand_ins import Anything

datasets = installed("datasets", "openai", "rich")

pytestmark = [
    pytest.mark.timeout(90),
    pytest.mark.filterwarnings("default"),  # theirs, not ours
    pytest.mark.usefixtures("native_rewards"),
]

DOUBLE = "```python\ndef double(n):\n    return 2 * n\n```"
RIGHT, WRONG = "assert double(2) == 4", "assert double(2) == 5"
RUBRICS = Span(last="0.3.1", differing=("0.1.5", "0.3.1"))


@contextmanager
def imported(version: str) -> Iterator[Any]:
    """Make a release importable for a while, instead of one that is installed."""
    kept = {name: sys.modules.pop(name) for name in [*sys.modules] if is_theirs(name)}
    path, finders = [*sys.path], [*sys.meta_path]
    sys.path.insert(0, str(release("verifiers", version)))
    sys.modules.setdefault("agents.function_schema", Anything("agents.function_schema"))
    try:
        yield importlib.import_module("verifiers")
    finally:
        sys.path[:], sys.meta_path[:] = path, finders
        for name in [*sys.modules]:
            if is_theirs(name):
                del sys.modules[name]
        sys.modules.update(kept)


def is_theirs(name: str) -> bool:
    return name.partition(".")[0] in ("verifiers", "agents")


def scored(rubric: Any, states: list[dict[str, Any]]) -> list[float]:
    """Have a rubric score rollouts, all at once, as its environments do."""

    async def one(state: dict[str, Any]) -> float:
        wanted = inspect.signature(rubric.score_rollout).parameters
        if "completion" in wanted:
            names = ("prompt", "completion", "answer", "info", "task")
            told = {name: state[name] for name in names}
            found: float = (await rubric.score_rollout(**told, state=state)).reward
            return found
        limit = {"score_sem": asyncio.Semaphore(8)} if "score_sem" in wanted else {}
        await rubric.score_rollout(state, **limit)
        reward: float = state["reward"]
        return reward

    async def everything() -> list[float]:
        return [*await asyncio.gather(*(one(state) for state in states))]

    return asyncio.run(everything())


def state(answer: str, info: dict[str, Any] | None = None, reply: str = DOUBLE) -> dict[str, Any]:
    row = {
        "prompt": [{"role": "user", "content": "Double it."}],
        "answer": answer,
        "task": "default",
    }
    completion = [{"role": "assistant", "content": reply}]
    timing = {"scoring_ms": 0.0, "total_ms": 0.0}
    return {**row, "info": info or {}, "completion": completion, "input": row, "timing": timing}


@pytest.mark.parametrize("version", cells("verifiers", "rubric", RUBRICS))
def test_rubric_awaits_rewards_by_answer_or_info(version: str) -> None:
    with imported(version) as vf:
        assert version in vf.__version__
        rubric = vf.Rubric(funcs=[rubric_reward], weights=[0.5])
        rewards = scored(
            rubric,
            [
                state(RIGHT),
                state(WRONG),
                state("no tests"),
                state("", {"test_list": [RIGHT]}),
                state("", {"label": '{"math": "42"}'}, "It is \\boxed{42}."),
            ],
        )
    assert rewards == [0.5, 0.0, 0.0, 0.5, 0.5]


def test_event_loop_goes_on_while_a_rubric_waits() -> None:
    async def ticks_meanwhile() -> int:
        slow = "import time; time.sleep(0.5); assert double(2) == 4"
        grading = asyncio.create_task(rubric_reward(DOUBLE, answer=slow))
        ticks = 0
        while not grading.done():
            await asyncio.sleep(0.01)
            ticks += 1
        assert await grading == 1.0
        return ticks

    assert asyncio.run(ticks_meanwhile()) > 10
