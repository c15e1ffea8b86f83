"""The adapters to AReaL, in its own wrapper of reward functions, and to rLLM."""

import asyncio
import importlib
import json
import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from grader.model.errors import GraderError
from grader.rewards.sample import LOG_KEYS
from grader.trainers import areal, rllm
from tests.releases import PUBLISHED, release
from tests.stand_ins import Anything

pytestmark = [pytest.mark.timeout(60), pytest.mark.usefixtures("native_rewards")]

DOUBLE = "```python\ndef double(n):\n    return 2 * n\n```"
RIGHT, WRONG = "assert double(2) == 4", "assert double(2) == 5"


@pytest.fixture
def modules() -> Iterator[dict[str, ModuleType]]:
    """`sys.modules`, which is afterwards without the trainers."""
    yield sys.modules
    for name in [*sys.modules]:
        if name.partition(".")[0] in ("areal", "rllm"):
            del sys.modules[name]


# ---------------------------------------------------------------- AReaL


@pytest.fixture
def wrapper(modules: dict[str, ModuleType]) -> Iterator[Any]:
    """AReaL's own wrapper of reward functions, which runs them in the processes of a pool."""
    root = release("areal", "1.0.4") / "areal"
    for name in ("areal", "areal.api", "areal.utils"):
        modules[name] = ModuleType(name)
        modules[name].__path__ = [str(root.joinpath(*name.split(".")[1:]))]
    # Theirs needs colorlog, for colours.
    vars(modules["areal.utils"])["logging"] = logging
    wrapper = importlib.import_module("areal.api.reward_api").AsyncRewardWrapper
    yield wrapper
    wrapper._atexit_shutdown_all()


@pytest.mark.trainer("AReaL", "1.0.4", "reward_fn", "")
def test_areal_gets_rewards_from_the_processes_of_its_pool(wrapper: Any) -> None:
    async def everything() -> list[float]:
        call = wrapper(areal.code_reward, max_workers=2)
        calls = (call("p", DOUBLE, [1], [2], label=label) for label in (RIGHT, WRONG, RIGHT))
        return [*await asyncio.gather(*calls)]

    assert asyncio.run(everything()) == [1.0, 0.0, 1.0]
    # That nothing of the pool's slots outlives this session, the fixture of all tests sees.


@pytest.mark.trainer("AReaL", "1.0.4", "leaving out (raise)", "")
def test_areal_is_given_no_number_for_what_could_not_be_graded(wrapper: Any) -> None:
    async def one() -> float:
        found: float = await wrapper(areal.code_reward, max_workers=1, max_retries=0)(
            "p", DOUBLE, [1], [2], messages=[{"role": "user", "content": "?"}], label="no tests"
        )
        return found

    with pytest.raises(GraderError, match="not graded: LabelError: "):
        asyncio.run(one())


def test_areal_rows_without_a_label_are_labels_themselves() -> None:
    assert areal.code_reward("p", DOUBLE, [1], [2], test_list=[RIGHT], text="Double.") == 1.0


# ---------------------------------------------------------------- rLLM


@pytest.fixture
def _rllm(modules: dict[str, ModuleType]) -> None:
    """What is used of rLLM, which is on no package index."""

    @dataclass(slots=True, kw_only=True)
    class RewardOutput:
        reward: float
        metadata: dict[str, Any] = field(default_factory=dict)
        is_correct: bool | None = None

    for name in ("rllm", "rllm.rewards", "rllm.rewards.reward_types"):
        modules[name] = Anything(name)
    vars(modules["rllm.rewards.reward_types"])["RewardOutput"] = RewardOutput


@pytest.mark.trainer("rLLM", PUBLISHED, "reward function", "")
@pytest.mark.usefixtures("_rllm")
def test_rllm_fixtures_get_the_verdicts_that_rllm_gives_them(shared_dir: Path) -> None:
    rows = [
        row
        for line in (shared_dir / "data" / "rl_label_fixtures.jsonl").read_text().splitlines()
        if (row := json.loads(line))["framework"] == "rllm" and row["ground_truth"] is not None
    ]
    found = [
        rllm.code_reward({"ground_truth": row["ground_truth"]}, row["model_response"])
        for row in rows
    ]
    assert len(found) > 5
    assert [output.is_correct for output in found] == [expected(row) for row in rows]
    assert all(set(output.metadata) == {*LOG_KEYS, "note"} for output in found)


def expected(row: dict[str, Any]) -> bool:
    # rLLM refuses right code for not standing in a fence; here form has a term of its own.
    return "assert output.is_correct" in row["asserts"] or "format_error" in row["source"]


@pytest.mark.usefixtures("_rllm")
def test_rllm_rows_read_by_pandas_and_actions_are_understood() -> None:
    @dataclass
    class Action:
        action: str

    cases = np.array([{"input": "2\n", "output": "4\n"}], dtype=object)
    row = {"question": "Double.", "ground_truth": cases, "data_source": "taco"}
    output = rllm.code_reward(row, Action("```python\nprint(2 * int(input()))\n```"))
    assert (output.reward, output.is_correct) == (1.0, True)


@pytest.mark.usefixtures("_rllm")
def test_rllm_is_told_what_could_not_be_graded() -> None:
    output = rllm.code_reward({"ground_truth": "no tests"}, DOUBLE)
    assert (output.reward, output.is_correct, output.metadata["graded"]) == (0.0, False, 0.0)
    assert output.metadata["note"].startswith("not graded: LabelError: ")
