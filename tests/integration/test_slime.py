"""slime's calls of a reward, as its source of November 2026 makes them: it is on no index."""

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from grader.rewards.sample import LOG_KEYS
from grader.trainers import slime
from tests.releases import PUBLISHED
from tests.serving import serving

pytestmark = [pytest.mark.timeout(60), pytest.mark.usefixtures("native_rewards")]

DOUBLE = "```python\ndef double(n):\n    return 2 * n\n```<|im_end|>"
RIGHT, WRONG = "assert double(2) == 4", "assert double(2) == 5"


@dataclass
class Sample:
    """What slime's own has of the fields that a reward sees."""

    prompt: Any = "Double it."
    response: str = DOUBLE
    label: str | None = None
    reward: Any = None
    remove_sample: bool = False
    response_length: int = 20
    loss_mask: list[int] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


async def async_rm(args: Any, sample: Any) -> Any:
    """As slime's `async_rm` calls a function that `--custom-rm-path` names."""
    return await slime.code_reward(args, sample)


@pytest.mark.trainer("slime", PUBLISHED, "custom-rm-path", "")
def test_samples_at_once_get_their_rewards_and_logs() -> None:
    samples = [Sample(label=label) for label in (RIGHT, WRONG) * 5]
    args = SimpleNamespace(custom_rm_path="grader.trainers.slime.code_reward", reward_key=None)

    async def everything() -> list[Any]:
        return await asyncio.gather(*(async_rm(args, sample) for sample in samples))

    assert asyncio.run(everything()) == [1.0, 0.0] * 5
    assert set(samples[0].metadata["grader"]) == {*LOG_KEYS, "note"}
    assert not any(sample.remove_sample for sample in samples)


@pytest.mark.trainer("slime", PUBLISHED, "group-rm", "")
def test_group_gets_a_reward_for_each_sample() -> None:
    group = [Sample(label=label) for label in (RIGHT, WRONG)]
    assert asyncio.run(slime.code_reward(SimpleNamespace(group_rm=True), group)) == [1.0, 0.0]


@pytest.mark.trainer("slime", PUBLISHED, "leaving out (remove_sample)", "")
def test_what_could_not_be_graded_is_masked() -> None:
    lost, right = Sample(label="no tests"), Sample(label=RIGHT)
    for sample in (lost, right):
        sample.reward = asyncio.run(async_rm(SimpleNamespace(), sample))
    assert (lost.reward, lost.remove_sample) == (0.0, True)
    assert (right.reward, right.remove_sample) == (1.0, False)
    assert lost.metadata["grader"]["graded"] == 0
    assert lost.metadata["grader"]["note"].startswith("not graded: LabelError: ")


def test_row_without_a_label_is_one_itself_and_messages_are_a_prompt() -> None:
    messages = [{"role": "user", "content": "Double it."}]
    sample = Sample(prompt=messages, metadata={"test_list": [RIGHT]})
    assert asyncio.run(async_rm(SimpleNamespace(), sample)) == 1.0


@pytest.mark.trainer("slime", PUBLISHED, "remote_rm", "")
def test_service_answers_a_remote_rm_with_a_number(tmp_path: Path) -> None:
    async def remote_rm(url: str, sample: Sample) -> Any:
        payload = {"prompt": sample.prompt, "response": sample.response, "label": sample.label}
        async with aiohttp.ClientSession() as session, session.post(url, json=payload) as answer:
            answer.raise_for_status()
            return await answer.json()

    with serving(tmp_path, reward__neutral=-0.25) as service:
        url = f"{service.url}/remote_rm"
        labels = [json.dumps([RIGHT]), json.dumps([WRONG]), "no tests", None]
        rewards = [asyncio.run(remote_rm(url, Sample(label=label))) for label in labels]
        said = service.post("/remote_rm", {"prompt": 7, "response": DOUBLE})
    assert rewards == [1.0, 0.0, -0.25, -0.25]
    assert said.status_code == 422
    assert "body.prompt" in said.json()["detail"]
