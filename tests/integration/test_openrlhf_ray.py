"""Agents up to OpenRLHF 0.9.0 in Ray itself: its engine is an actor, and so is each rollout."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.openrlhf_client import release
from tests.releases import Span, cells, installed

if TYPE_CHECKING:
    from grader.sandbox.native.backend import NativeSandbox

ray = installed("ray", "torch", "transformers")

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("default"),  # theirs, not ours
]

ROLLOUTS = 3
VLLM = "TokensPrompt = lambda prompt_token_ids: prompt_token_ids\nrandom_uuid = lambda: 'request'\n"


@pytest.fixture
def in_ray(
    native_sandbox: "NativeSandbox",
    repo_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    eventually: Callable[[Callable[[], bool], float], None],
) -> Iterator[Any]:
    """Starts Ray with a release on the path of its processes, and ends it with the test."""
    for name in ("inputs", "utils"):
        # The inference engine, of which an agent's executor takes no more than this.
        (tmp_path / "vllm").mkdir(exist_ok=True)
        (tmp_path / "vllm" / f"{name}.py").write_text(VLLM)
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # else it leaves a token in the home folder
    variables = {
        "GRADER_SANDBOX": native_sandbox.name,
        "GRADER_SLOTS": "2",
        "OMP_NUM_THREADS": "1",
    }

    def start(version: str) -> None:
        path = [str(tmp_path), str(release(version)), str(repo_dir)]
        ray.init(
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            object_store_memory=100 * 1024 * 1024,
            runtime_env={"env_vars": {**variables, "PYTHONPATH": ":".join(path)}},
        )

    yield start
    ray.shutdown()
    # Its workers end when they notice that it is gone.
    eventually(lambda: not workers(), 30)


def workers() -> list[int]:
    """Return the processes of Ray's actors."""
    return [
        int(folder.name)
        for folder in Path("/proc").iterdir()
        if folder.name.isdigit() and command(folder.name)[0].startswith(b"ray::")
    ]


def command(process: str) -> list[bytes]:
    """Return the words by which a process was started; one empty word if it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return [b""]


class Engine:
    """Stands in for the actor of a rollout engine: loads an agent's file, and plays rollouts."""

    def __init__(self, file: str) -> None:
        from tests.integration.test_openrlhf_agents import load_executor
        from tests.openrlhf_client import make_tokenizer

        self._executor, self._tokenizer = load_executor(Path(file)), make_tokenizer()

    async def play(self, count: int) -> tuple[list[float], list[int]]:
        """Return the rewards of rollouts at once, and how many slots which processes had then."""
        import asyncio

        from tests.integration.test_openrlhf_agents import LABEL, PROMPTS, RIGHT, WRONG
        from tests.openrlhf_client import SamplingParams, StreamingEngine

        prompt, end = PROMPTS["llama2"]
        results: asyncio.Queue[Any] = asyncio.Queue()
        texts = [WRONG + end, RIGHT + end]
        executor = self._executor(
            max_steps=10,
            max_length=4096,
            llm_engine=_Models([StreamingEngine(self._tokenizer, texts) for _ in range(count)]),
            hf_tokenizer=self._tokenizer,
            result_queue=results,
        )
        prompts = [f"Task {number}. {prompt}" for number in range(count)]
        await asyncio.gather(*(executor.execute(p, LABEL, SamplingParams(64)) for p in prompts))
        rewards = [(await results.get())["reward"] for _ in range(count)]
        return rewards, slots_by_process()


class _Models:
    """One engine for all rollouts, which it tells apart by the first prompt that each sends."""

    def __init__(self, engines: list[Any]) -> None:
        self._free = engines
        self._of: dict[tuple[int, ...], Any] = {}

    def generate(self, tokens: list[int], *rest: Any) -> Any:
        known = next((key for key in self._of if tuple(tokens[: len(key)]) == key), None)
        if known is None:
            known = tuple(tokens)
            self._of[known] = self._free.pop()
        return self._of[known].generate(tokens, *rest)


def slots_by_process() -> list[int]:
    """Return how many slots those of Ray's processes have that have any."""
    jails = [pid.name for pid in Path("/proc").iterdir() if b"jail" in command(pid.name)[:6]]
    parents = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1] for pid in jails]
    return [parents.count(str(worker)) for worker in workers() if str(worker) in parents]


@pytest.mark.parametrize(
    "version",
    cells("OpenRLHF", "agents", Span(first="0.9.0", last="0.9.0")),
)
def test_rollouts_of_an_engine_share_the_slots_of_one_process(
    version: str, in_ray: Any, repo_dir: Path
) -> None:
    in_ray(version)
    engine = ray.remote(Engine).remote(str(repo_dir / "grader" / "agent_func.py"))
    rewards, slots = ray.get(engine.play.remote(ROLLOUTS), timeout=200)
    assert rewards == [1.0] * ROLLOUTS
    assert slots == [2]
