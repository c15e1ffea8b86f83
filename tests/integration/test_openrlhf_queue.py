"""OpenRLHF's executor over a real queue: with workers, with dead ones, and with a dead broker."""

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from grader.rewards.core import forget_shared_core
from grader.rewards.sample import LOG_KEYS
from tests.deployment import Deployment
from tests.openrlhf_client import SamplingParams, ScriptedEngine, client, make_tokenizer
from tests.releases import installed

torch = installed("torch", "transformers", "aiohttp", "cloudpickle", "tqdm")

pytestmark = [
    pytest.mark.redis,
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("default"),  # theirs, not ours
]

CALLS = 24
ENGINE_THREADS = 32
"""As an engine has on 28 cores or more; on this machine it would have few."""
LABEL = json.dumps({"assert_case": ["assert f(1) == 2"]})


@pytest.fixture
def deployment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    """A real Redis that the reward function is told of; the test starts the workers."""
    deployed = Deployment(tmp_path)
    monkeypatch.setenv("GRADER_BROKER", deployed.redis.url)
    monkeypatch.setenv("GRADER_QUEUE_LEASE_S", "2")
    monkeypatch.setenv("GRADER_REWARD_DEADLINE_S", "60")
    monkeypatch.setenv("GRADER_REWARD_CHECK", "0")
    forget_shared_core()
    yield deployed
    forget_shared_core()
    deployed.close()


def rewarded(reward_file: Path) -> list[dict[str, Any]]:
    """Have OpenRLHF's executor reward right and wrong code in turn, all calls at once."""
    tokenizer = make_tokenizer()

    async def everything(executor: Any) -> list[Any]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(ENGINE_THREADS))
        texts = [
            f"```python\ndef f(x):\n    return x + {n % 2}  # {n}\n```</s>" for n in range(CALLS)
        ]
        engines = [ScriptedEngine(tokenizer, [text]) for text in texts]
        return await asyncio.gather(
            *(executor.execute("Q", LABEL, SamplingParams(), 999, tokenizer, e) for e in engines)
        )

    with client("0.11.2") as imported:
        executor = imported("openrlhf.utils.agent").SingleTurnAgentExecutor(str(reward_file))
        return asyncio.run(everything(executor))


def logged(results: list[dict[str, Any]], key: str) -> list[float]:
    assert all(set(result["extra_logs"]) == set(LOG_KEYS) for result in results)
    values: list[float] = torch.cat([result["extra_logs"][key] for result in results]).tolist()
    return values


def test_workers_give_each_call_its_reward(deployment: Deployment, repo_dir: Path) -> None:
    deployment.add_worker()
    deployment.wait_for_workers(1)
    results = rewarded(repo_dir / "grader/reward_func.py")
    assert [result["reward"].item() for result in results] == [0, 1] * (CALLS // 2)
    assert logged(results, "graded") == [1] * CALLS


@pytest.mark.usefixtures("deployment")
def test_dead_workers_cost_the_deadline_and_give_neutral_rewards(
    repo_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADER_REWARD_DEADLINE_S", "2")
    results = rewarded(repo_dir / "grader/reward_func.py")
    assert [result["reward"].item() for result in results] == [0] * CALLS
    assert logged(results, "graded") == [0] * CALLS


def test_broker_that_dies_costs_the_deadline_and_gives_neutral_rewards(
    deployment: Deployment, repo_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADER_REWARD_DEADLINE_S", "2")
    deployment.redis.kill()
    results = rewarded(repo_dir / "grader/reward_func.py")
    assert [result["reward"].item() for result in results] == [0] * CALLS
    assert logged(results, "graded") == [0] * CALLS
    deployment.redis.start()
