"""Values that trainers pass although no signature says so: arrays, messages, NaN, other arguments.

No trainer is needed here; each trainer's own code is in the tests that have its name.
"""

import asyncio
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from grader.rewards.openrlhf import rewards_for
from grader.trainers import ms_swift, slime, trl
from grader.trainers.verl import compute_score_batch, compute_score_sync

pytestmark = [pytest.mark.timeout(90), pytest.mark.usefixtures("native_rewards")]

RIGHT = "```python\ndef f(a): return a + 1\n```"
LABEL = ["assert f(1) == 2"]
TURNS = [{"role": "assistant", "content": RIGHT}]

ANY_RESPONSE = pytest.mark.parametrize(
    ("response", "reward"),
    [
        pytest.param(RIGHT, 1.0, id="text"),
        pytest.param(RIGHT.encode(), 1.0, id="bytes"),
        pytest.param(np.str_(RIGHT), 1.0, id="numpy text"),
        pytest.param(TURNS, 1.0, id="messages"),
        pytest.param(np.array(TURNS, dtype=object), 1.0, id="array of messages"),
        pytest.param(None, -1.0, id="nothing"),
        pytest.param("", -1.0, id="empty"),
    ],
)


@ANY_RESPONSE
def test_openrlhf_takes_any_response(response: Any, reward: float) -> None:
    found = rewards_for([response], [[{"role": "user", "content": "q"}]], [LABEL])
    assert (float(found["rewards"][0]), float(found["extra_logs"]["graded"][0])) == (reward, 1)


@ANY_RESPONSE
def test_verl_takes_any_response(response: Any, reward: float) -> None:
    found = compute_score_sync("code", response, LABEL)
    assert (found["score"], found["graded"]) == (reward, 1)


@pytest.mark.parametrize("source", [None, float("nan"), 5])
def test_verl_takes_rows_without_a_source(source: Any) -> None:
    found = compute_score_batch([source, "openai/gsm8k"], [RIGHT, "#### 72"], [LABEL, "72"])
    assert [each["score"] for each in found] == [1, 1]


@ANY_RESPONSE
def test_trl_takes_any_response(response: Any, reward: float) -> None:
    assert trl.code_reward(["q"], [response], label=np.array([LABEL])) == [reward]


@ANY_RESPONSE
def test_slime_takes_any_response(response: Any, reward: float) -> None:
    sample = SimpleNamespace(prompt="q", response=response, label=LABEL, metadata=None)
    assert asyncio.run(slime.code_reward(None, sample)) == reward


def test_arguments_that_are_no_columns_are_left_out() -> None:
    others: dict[str, Any] = {"device": "cuda", "seed": None, "step": 3, "config": {"a": 1}}
    assert trl.code_reward(["q"], [RIGHT], label=[LABEL], **others) == [1]
    assert ms_swift.code_reward([RIGHT], label=[LABEL], **others) == [1]
