"""OpenRLHF's executor with a reward function that has a real service grade: alive, and gone."""

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from grader.rewards.core import forget_shared_core
from grader.rewards.sample import LOG_KEYS
from tests.openrlhf_client import SamplingParams, ScriptedEngine, client, make_tokenizer
from tests.releases import installed
from tests.serving import Service, serving

torch = installed("torch", "transformers", "aiohttp", "cloudpickle", "tqdm")

pytestmark = [
    pytest.mark.usefixtures("native_sandbox"),
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("default"),  # theirs, not ours
]

CALLS = 60
ENGINE_THREADS = 32
"""As an engine has on 28 cores or more; on this machine it would have few."""
LABEL = json.dumps({"assert_case": ["assert f(1) == 2"]})

Reward = Callable[[], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("service"), token=TOKEN) as running:
        yield running


TOKEN = "s3cret"  # noqa: S105 - of a service that lives as long as a test


@pytest.fixture
def reward(service: Service, repo_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reward]:
    """Returns what the executor gets for right and wrong code in turn, all calls at once."""
    monkeypatch.setenv("GRADER_URL", f"http://any:{TOKEN}@127.0.0.1:{service.port}")
    monkeypatch.setenv("GRADER_REWARD_DEADLINE_S", "2")
    monkeypatch.setenv("GRADER_REWARD_NEUTRAL", "-0.25")
    monkeypatch.setenv("GRADER_REWARD_CHECK", "0")
    forget_shared_core()
    tokenizer = make_tokenizer()
    texts = [f"```python\ndef f(x):\n    return x + {n % 2}  # {n}\n```</s>" for n in range(CALLS)]

    async def everything(executor: Any) -> list[Any]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(ENGINE_THREADS))
        engines = [ScriptedEngine(tokenizer, [text]) for text in texts]
        return await asyncio.gather(
            *(executor.execute("Q", LABEL, SamplingParams(), 999, tokenizer, e) for e in engines)
        )

    def get() -> list[dict[str, Any]]:
        with client("0.11.2") as imported:
            file = str(repo_dir / "grader/reward_func.py")
            executor = imported("openrlhf.utils.agent").SingleTurnAgentExecutor(file)
            return asyncio.run(everything(executor))

    yield get
    forget_shared_core()


def logged(results: list[dict[str, Any]], key: str) -> list[float]:
    assert all(set(result["extra_logs"]) == set(LOG_KEYS) for result in results)
    values: list[float] = torch.cat([result["extra_logs"][key] for result in results]).tolist()
    return values


def test_each_of_sixty_calls_gets_its_reward(
    reward: Reward, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADER_REWARD_DEADLINE_S", "60")
    results = reward()
    assert [result["reward"].item() for result in results] == [0, 1] * (CALLS // 2)
    assert logged(results, "graded") == [1] * CALLS


def test_service_that_is_gone_costs_the_deadline_and_gives_neutral_rewards(
    reward: Reward, service: Service
) -> None:
    service.process.kill()
    service.process.wait()
    results = reward()
    assert [result["reward"].item() for result in results] == [-0.25] * CALLS
    assert logged(results, "graded") == [0] * CALLS
