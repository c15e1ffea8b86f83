"""OpenRLHF's own clients ask a real service for rewards over HTTP, release by release."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from grader.rewards.sample import LOG_KEYS
from tests.openrlhf_client import (
    SamplingParams,
    ScriptedEngine,
    client,
    make_experiences,
    make_tokenizer,
    samples_generator,
)
from tests.releases import Span, cells, installed
from tests.serving import Service, serving

torch = installed("torch", "transformers", "aiohttp", "cloudpickle", "tqdm")

pytestmark = [
    pytest.mark.usefixtures("native_sandbox"),
    pytest.mark.timeout(120),
    pytest.mark.filterwarnings("default"),  # theirs, not ours
]

HTTP = "HTTP"
OLDEST = Span(last="0.8.2", differing=("0.8.0",))
LABEL = json.dumps({"assert_case": ["assert f(1) == 2", "assert f(2) == 3"]})
ROWS = [
    SimpleNamespace(prompt="Q", response=text, label=label)
    for text, label in (
        ("```python\ndef f(x):\n    return x + 1\n```</s>", LABEL),
        ("```python\ndef f(x):\n    return 2\n```</s>", LABEL),
        ("I do not know.</s>", LABEL),
        ("```python\ndef f(x):\n    return x + 1\n```</s>", "no tests"),
    )
]
REWARDS, SCORES, GRADED = [1.0, 0.3, -1.0, 0.0], [1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("service"), policy="graded") as running:
        yield running


def address(service: Service) -> str:
    return f"{service.url}/get_reward"


@pytest.mark.parametrize("version", cells("OpenRLHF", HTTP, OLDEST))
def test_experience_maker_of_old_releases_gets_rewards(version: str, service: Service) -> None:
    with client(version) as imported:
        experiences = make_experiences(imported, ROWS, address(service))
    rewards = [experience.info["reward"].item() for experience in experiences]
    assert rewards == pytest.approx(REWARDS)


def ask(imported: Any, service: Service, more: str = "") -> tuple[Callable[[], Any], list[Any]]:
    """Have the actor of 0.8.3 to 0.9.0 fetch rewards; returns what reads them, and into what."""
    actor = imported("openrlhf.utils.remote_rm_utils").RemoteRewardModel
    model = actor.remote(SimpleNamespace(micro_rollout_batch_size=4), [address(service) + more])
    answers = model.get_rewards.remote(
        [row.prompt + row.response for row in ROWS],
        [row.prompt for row in ROWS],
        [row.label for row in ROWS],
    )
    samples = [SimpleNamespace(sequences=[0], info={}) for _ in ROWS]
    maker = imported("openrlhf.trainer.ppo_utils.experience_maker")
    return lambda: maker.update_samples_with_rewards(answers, samples), samples


LISTS = "it hands the lists of any HTTP answer to torch.cat: use reward_func.py with GRADER_URL"
MIDDLE = Span(first="0.8.3", last="0.8.9", differing=("0.8.9",))


@pytest.mark.parametrize("version", cells("OpenRLHF", HTTP, MIDDLE, cannot=LISTS))
def test_releases_that_cannot_read_lists_are_told_so_in_the_log_of_the_service(
    version: str, service: Service, eventually: Callable[[Callable[[], bool], float], None]
) -> None:
    with client(version) as imported:
        update, _ = ask(imported, service)
        with pytest.raises(TypeError, match=r"expected Tensor as element 0 .* but got list"):
            update()

    def told() -> list[str]:
        return [line["event"] for line in service.log() if "0.8.3 to 0.8.9" in line["event"]]

    eventually(lambda: len(told()) == 1, 20)
    assert "GRADER_URL" in told()[0]


LAST_ACTORS = Span(first="0.8.10", last="0.9.0", differing=("0.8.11", "0.9.0"))


@pytest.mark.parametrize("version", cells("OpenRLHF", HTTP, LAST_ACTORS))
def test_reward_actor_gets_rewards_and_scores(version: str, service: Service) -> None:
    with client(version) as imported:
        update, samples = ask(imported, service)
        update()
    assert torch.cat([sample.rewards for sample in samples]).tolist() == pytest.approx(REWARDS)
    assert torch.cat([sample.scores for sample in samples]).tolist() == SCORES
    assert all(set(sample.info) == {"reward", "score"} for sample in samples)


def test_the_last_reward_actor_gets_logs_where_its_address_asks_for_them(service: Service) -> None:
    with client("0.9.0") as imported:
        update, samples = ask(imported, service, "?logs=1")
        update()
    assert [sample.info["graded"].item() for sample in samples] == GRADED
    assert all(set(sample.info) == {*LOG_KEYS, "reward", "score"} for sample in samples)


NEWEST = Span(first="0.9.1", differing=("0.9.1", "0.10.2", "0.11.2"))


@pytest.mark.parametrize("version", cells("OpenRLHF", HTTP, NEWEST))
def test_executor_gets_what_the_trainer_makes_one_batch_of(version: str, service: Service) -> None:
    tokenizer = make_tokenizer()

    async def execute(executor: Any, row: Any) -> Any:
        engine = ScriptedEngine(tokenizer, [row.response])
        return await executor.execute(
            row.prompt, row.label, SamplingParams(), 4096, tokenizer, engine
        )

    async def everything(executor: Any) -> list[Any]:
        return await asyncio.gather(*(execute(executor, row) for row in ROWS))

    with client(version) as imported:
        executor = imported("openrlhf.utils.agent").SingleTurnAgentExecutor(address(service))
        results = asyncio.run(everything(executor))
        maker = samples_generator(version, imported)
        made = [maker._process_response_into_experience(each, max_len=4096) for each in results]
        batch = type(made[0]).concat_experiences(made, pad_token_id=0)
    assert batch.rewards.flatten().tolist() == pytest.approx(REWARDS)
    assert batch.scores.flatten().tolist() == SCORES
    assert batch.info["graded"].flatten().tolist() == GRADED
    assert set(LOG_KEYS) <= set(batch.info)


def test_ungraded_sample_has_a_score_that_no_filter_keeps_where_that_is_set(
    tmp_path: Path,
) -> None:
    with serving(tmp_path, reward__drop_ungraded="true") as service:
        body = {"query": ["", ""], "prompts": ["", ""], "labels": [LABEL, "no tests"]}
        answer = service.post("/get_reward", body).text
    assert '"scores":[0.0,NaN]' in answer
    assert '"rewards":[-1.0,0.0]' in answer
