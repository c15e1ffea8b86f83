"""OpenRLHF's own agent loops drive our agents over scripted outputs, tokens checked one by one."""

import asyncio
import importlib.util
import io
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from grader.model.errors import ConfigurationError
from grader.rewards.agents.episode import AGENT_LOG_KEYS
from grader.rewards.core import forget_shared_core
from tests.openrlhf_client import (
    SamplingParams,
    ScriptedEngine,
    StreamingEngine,
    client,
    make_tokenizer,
)
from tests.releases import Span, cells, installed

if TYPE_CHECKING:
    from grader.sandbox.native.backend import NativeSandbox

torch = installed("torch", "transformers", "aiohttp", "cloudpickle", "tqdm")

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.filterwarnings("default"),  # theirs, not ours
]

LOOPS = Span(first="0.9.1", differing=("0.9.1", "0.10.2", "0.11.2"))
ACTORS = Span(first="0.8.7", last="0.9.0", differing=("0.8.7", "0.9.0"))
AGENTS = "agents"
FILES = ("agent_func.py", "agent_math.py", "agent_tool.py")

LABEL = json.dumps({"inputs": ["2 3\n", "4 4\n"], "outputs": ["5\n", "8\n"]})
WRONG = "```python\na, b = map(int, input().split())\nprint(a * b - 1)\n```"
RIGHT = "```python\na, b = map(int, input().split())\nprint(a + b)\n```"

PROMPTS = {
    "llama2": ("<s>[INST] Print the sum of two numbers. [/INST]", "</s>"),
    "chatml": (
        "<|im_start|>user\nPrint the sum of two numbers.<|im_end|>\n<|im_start|>assistant\n",
        "<|im_end|>",
    ),
    "llama3": (
        "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nPrint the sum.<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
        "<|eot_id|>",
    ),
}
NEXT_TURNS = {
    "llama2": ("<s>[INST] ", " [/INST]"),
    "chatml": ("\n<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"),
    "llama3": (
        "<|start_header_id|>user<|end_header_id|>\n\n",
        "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
    ),
}


@pytest.fixture(scope="module", autouse=True)
def _agent_environment(native_sandbox: "NativeSandbox") -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADER_SANDBOX", native_sandbox.name)
        patch.setenv("GRADER_SLOTS", "2")
        forget_shared_core()
        yield
        forget_shared_core()


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return make_tokenizer()


def ids(tokenizer: Any, text: str) -> list[int]:
    found: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return found


def load_module(path: Path) -> Any:
    """Load an agent file as OpenRLHF does, from 0.8.7 on."""
    spec = importlib.util.spec_from_file_location("agent_module", str(path))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_executor(path: Path) -> Any:
    return load_module(path).AgentExecutor


def play(executor: Any, prompt: str, label: Any, tokenizer: Any, engine: ScriptedEngine) -> Any:
    return asyncio.run(executor.execute(prompt, label, SamplingParams(64), 4096, tokenizer, engine))


def assert_tokens_are_what_was_sampled(
    result: dict[str, Any], prompt: str, engine: ScriptedEngine, tokenizer: Any
) -> list[str]:
    """Check an episode's tokens and ranges; return the feedback between its answers."""
    tokens = result["observation_tokens"]
    assert tokens[: len(ids(tokenizer, prompt))] == ids(tokenizer, prompt)
    assert len(result["action_ranges"]) == len(engine.sampled)
    feedback = []
    for number, (start, end) in enumerate(result["action_ranges"]):
        assert tokens[start:end] == engine.sampled[number]
        assert tokens[:start] == engine.asked[number]
        following = [*result["action_ranges"][number + 1 :], (len(tokens), None)][0][0]
        between = tokens[end:following]
        text = tokenizer.decode(between)
        assert ids(tokenizer, text) == between
        feedback.append(text)
    return feedback


@pytest.mark.parametrize("version", cells("OpenRLHF", AGENTS, LOOPS))
@pytest.mark.parametrize("template", PROMPTS)
def test_repair_agent_is_told_what_failed_and_tries_again(
    version: str, template: str, tokenizer: Any, repo_dir: Path
) -> None:
    prompt, end = PROMPTS[template]
    engine = ScriptedEngine(tokenizer, [WRONG + end, RIGHT + end])
    with client(version):
        executor = load_executor(repo_dir / "grader/agent_func.py")()
        result = play(executor, prompt, LABEL, tokenizer, engine)
    first, last = assert_tokens_are_what_was_sampled(result, prompt, engine, tokenizer)
    before, after = NEXT_TURNS[template]
    assert first.startswith(f"{before}Your code passed 1 of 2 tests.")
    assert first.endswith(after)
    assert 'expected "8", got "15"; input: "4 4\\n"' in first
    assert last == ""
    assert result["reward"] == 1
    assert float(result["scores"]) == 1
    assert set(result["extra_logs"]) == set(AGENT_LOG_KEYS)
    assert result["extra_logs"]["steps"].item() == 2
    assert result["extra_logs"]["solved"].item() == 1
    assert len(result["rollout_log_probs"]) == len(result["observation_tokens"])


OLD = "its agents are functions of another form, from before `openrlhf.utils.agent`"


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("version", cells("OpenRLHF", AGENTS, Span(last="0.8.6"), cannot=OLD))
def test_releases_without_agent_classes_say_so_when_a_file_is_loaded(
    version: str, name: str, repo_dir: Path
) -> None:
    with (
        client(version),
        pytest.raises(ConfigurationError, match=r"agents need OpenRLHF 0\.8\.7 or later"),
    ):
        load_module(repo_dir / "grader" / name)


def play_in_actors(
    executor: type, tokenizer: Any, rollouts: list[tuple[str, Any, StreamingEngine]]
) -> list[Any]:
    """Have rollouts played as up to 0.9.0: an executor an engine, an actor a rollout."""

    async def run() -> list[Any]:
        results: asyncio.Queue[Any] = asyncio.Queue()
        engine = executor(
            max_steps=10,
            max_length=4096,
            llm_engine=None,
            hf_tokenizer=tokenizer,
            result_queue=results,
        )

        async def one(prompt: str, label: Any, model: StreamingEngine) -> Any:
            # An engine is one model; a test's are scripted for a rollout each.
            engine.llm_engine = model
            await engine.execute(prompt, label, SamplingParams(64))
            return await results.get()

        return [await one(*rollout) for rollout in rollouts]

    return asyncio.run(run())


@pytest.mark.parametrize("version", cells("OpenRLHF", AGENTS, ACTORS))
def test_repair_agent_is_played_for_rollouts_in_actors_of_their_own(
    version: str, tokenizer: Any, repo_dir: Path
) -> None:
    prompt, end = PROMPTS["llama2"]
    engines = [
        StreamingEngine(tokenizer, [WRONG + end] * wrong + [RIGHT + end]) for wrong in (1, 0, 2)
    ]
    with client(version):
        executor = load_executor(repo_dir / "grader/agent_func.py")
        results = play_in_actors(
            executor, tokenizer, [(prompt, LABEL, engine) for engine in engines]
        )
    for result, engine in zip(results, engines, strict=True):
        assert_tokens_are_what_was_sampled(result, prompt, engine, tokenizer)
    assert [result["reward"] for result in results] == [1, 1, 1]
    assert [result["extra_logs"]["steps"].item() for result in results] == [2, 1, 3]


@pytest.mark.parametrize("version", cells("OpenRLHF", AGENTS, ACTORS))
def test_math_agent_is_played_for_rollouts_in_actors_of_their_own(
    version: str, tokenizer: Any, repo_dir: Path
) -> None:
    prompt, end = PROMPTS["chatml"]
    engine = StreamingEngine(tokenizer, [f"It is \\boxed{{{n}}}.{end}" for n in (41, 42)])
    with client(version):
        executor = load_executor(repo_dir / "grader/agent_math.py")
        (result,) = play_in_actors(executor, tokenizer, [(prompt, "42", engine)])
    first, _ = assert_tokens_are_what_was_sampled(result, prompt, engine, tokenizer)
    assert "41 is not the right answer" in first
    assert result["reward"] == 1


@pytest.mark.parametrize("version", cells("OpenRLHF", AGENTS, ACTORS))
def test_tool_agent_is_played_for_rollouts_in_actors_of_their_own(
    version: str, tokenizer: Any, repo_dir: Path
) -> None:
    prompt, end = PROMPTS["chatml"]
    texts = [run_block("print(2 + 3)"), "It is <answer>5</answer>"]
    engine = StreamingEngine(tokenizer, [text + end for text in texts])
    with client(version):
        executor = load_executor(repo_dir / "grader/agent_tool.py")
        (result,) = play_in_actors(executor, tokenizer, [(prompt, '{"math": "5"}', engine)])
    first, _ = assert_tokens_are_what_was_sampled(result, prompt, engine, tokenizer)
    assert "Output:\n5\n" in first
    assert result["reward"] == 1


def test_trainer_makes_an_experience_of_an_episode(tokenizer: Any, repo_dir: Path) -> None:
    prompt, end = PROMPTS["chatml"]
    engine = ScriptedEngine(tokenizer, [WRONG + end, RIGHT + end])
    with client("0.11.2") as imported:
        executor = load_executor(repo_dir / "grader/agent_func.py")()
        result = play(executor, prompt, LABEL, tokenizer, engine)
        generator = imported("openrlhf.trainer.ppo_utils.samples_generator").SamplesGenerator
        made = generator.__new__(generator)._process_response_into_experience(result, max_len=4096)
    assert made.rewards.item() == 1
    # What is trained on is what was sampled, and nothing else.
    trained = made.sequences[0][1:][made.action_mask[0].bool()].tolist()
    assert trained == [token for sampled in engine.sampled for token in sampled]
    assert made.info["solved_at_once"].tolist() == [0]


def test_rollouts_that_share_an_instance_keep_their_episodes_apart(
    tokenizer: Any, repo_dir: Path
) -> None:
    """As in 0.9.1: all rollouts of an engine go through one instance."""
    prompt, end = PROMPTS["llama2"]

    async def run(executor: Any) -> list[Any]:
        engines = [
            ScriptedEngine(tokenizer, [WRONG + end] * wrong + [RIGHT + end])
            for wrong in (0, 1, 2, 1, 0)
        ]
        return await asyncio.gather(
            *(
                executor.execute(prompt, LABEL, SamplingParams(64), 4096, tokenizer, engine)
                for engine in engines
            )
        )

    with client("0.9.1"):
        executor = load_executor(repo_dir / "grader/agent_func.py")()
        results = asyncio.run(run(executor))
    assert [result["extra_logs"]["steps"].item() for result in results] == [1, 2, 3, 2, 1]
    assert [result["reward"] for result in results] == [1] * 5


def test_episode_ends_after_the_steps_that_are_set(tokenizer: Any, repo_dir: Path) -> None:
    prompt, end = PROMPTS["llama2"]
    engine = ScriptedEngine(tokenizer, [WRONG + end] * 9)
    with client("0.11.2"):
        executor = load_executor(repo_dir / "grader/agent_func.py")()
        result = play(executor, prompt, LABEL, tokenizer, engine)
    assert len(engine.sampled) == 3
    assert result["reward"] == pytest.approx(0.3)
    assert float(result["scores"]) == 0
    assert result["extra_logs"]["solved"].item() == 0


@pytest.mark.parametrize("label", [None, "", "{", "no tests", True])
def test_episode_with_a_bad_label_ends_at_once_and_is_not_graded(
    label: Any, tokenizer: Any, repo_dir: Path
) -> None:
    prompt, end = PROMPTS["llama2"]
    engine = ScriptedEngine(tokenizer, [RIGHT + end] * 3)
    with client("0.11.2"):
        executor = load_executor(repo_dir / "grader/agent_func.py")()
        result = play(executor, prompt, label, tokenizer, engine)
    assert len(engine.sampled) == 1
    assert result["reward"] == 0
    assert result["extra_logs"]["graded"].item() == 0


@pytest.mark.parametrize("version", cells("OpenRLHF", AGENTS, LOOPS))
def test_math_agent_tries_again_and_is_not_told_the_answer(
    version: str, tokenizer: Any, repo_dir: Path
) -> None:
    prompt, end = PROMPTS["chatml"]
    answers = ["I do not know.", "It is \\boxed{41}.", "So \\boxed{\\frac{84}{2}}."]
    engine = ScriptedEngine(tokenizer, [answer + end for answer in answers])
    with client(version):
        executor = load_executor(repo_dir / "grader/agent_math.py")()
        result = play(executor, prompt, "42", tokenizer, engine)
    first, second, last = assert_tokens_are_what_was_sampled(result, prompt, engine, tokenizer)
    assert "No final answer was found" in first
    assert "41 is not the right answer" in second
    assert "42" not in first + second
    assert last == ""
    assert result["reward"] == 1


def test_results_are_what_the_executors_ask_for(tokenizer: Any, repo_dir: Path) -> None:
    del tokenizer
    with client("0.11.2") as imported:
        load_executor(repo_dir / "grader/agent_func.py")
        from grader.rewards.agents.openrlhf import session

        assert imported("openrlhf.utils.agent").AgentInstanceBase

        async def one() -> dict[str, Any]:
            played = session("code")
            state = SimpleNamespace()
            assert await played.reset({"observation": "Q", "label": LABEL}) == {"observation": "Q"}
            return await played.step(
                {
                    "observation_text": "Q",
                    "action_text": WRONG,
                    "label": LABEL,
                    "sampling_params": state,
                }
            )

        result = asyncio.run(one())
    assert result["rewards"].item() == 0
    assert result["rewards"].dtype == torch.float32
    assert result["done"] is False
    assert set(result["extra_logs"]) == set(AGENT_LOG_KEYS)


@pytest.fixture
def eight_steps(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("GRADER_AGENT_MAX_STEPS", "8")
    forget_shared_core()
    yield
    forget_shared_core()


def run_block(code: str) -> str:
    return f"Let me see.\n```python\n{code}\n```"


@pytest.mark.usefixtures("eight_steps")
@pytest.mark.parametrize("version", cells("OpenRLHF", AGENTS, LOOPS))
def test_tool_agent_keeps_its_session_and_hands_in_an_answer(
    version: str, tokenizer: Any, repo_dir: Path
) -> None:
    prompt, end = PROMPTS["chatml"]
    texts = [
        run_block("total = sum(range(10))\nprint('quiet')"),
        run_block("total - 3"),
        run_block("undefined_name"),
        run_block("import os\nos._exit(0)"),
        run_block("total"),
        "I wonder.",
        "It is <answer>42</answer>",
    ]
    engine = ScriptedEngine(tokenizer, [text + end for text in texts])
    with client(version):
        executor = load_executor(repo_dir / "grader/agent_tool.py")()
        result = play(executor, prompt, '{"math": "42"}', tokenizer, engine)
    told = assert_tokens_are_what_was_sampled(result, prompt, engine, tokenizer)
    assert "Output:\nquiet\n" in told[0]
    assert "Output:\n42\n" in told[1]
    assert "NameError" in told[2]
    assert "<cell 3>" in told[2].replace("< cell", "<cell")
    assert "Nothing of this code was kept" in told[3]
    assert "Output:\n45\n" in told[4]
    assert "hand in your final answer" in told[5]
    assert result["reward"] == 1
    assert result["extra_logs"]["steps"].item() == 7


def test_tool_agent_hands_in_code(tokenizer: Any, repo_dir: Path) -> None:
    prompt, end = PROMPTS["llama2"]
    texts = [run_block("print(2 + 3)"), f"<answer>\n{RIGHT}\n</answer>"]
    engine = ScriptedEngine(tokenizer, [text + end for text in texts])
    with client("0.11.2"):
        executor = load_executor(repo_dir / "grader/agent_tool.py")()
        result = play(executor, prompt, LABEL, tokenizer, engine)
    assert result["reward"] == 1
    assert result["extra_logs"]["cases_passed"].item() == 2


def test_tool_agent_without_an_answer_is_graded_as_if_it_gave_none(
    tokenizer: Any, repo_dir: Path
) -> None:
    prompt, end = PROMPTS["llama2"]
    engine = ScriptedEngine(tokenizer, [run_block("1") + end] * 5)
    with client("0.11.2"):
        executor = load_executor(repo_dir / "grader/agent_tool.py")()
        result = play(executor, prompt, '{"math": "42"}', tokenizer, engine)
    assert len(engine.sampled) == 3
    assert result["reward"] == -0.5


class _Names(pickle.Unpickler):
    """Notes the modules of all that a pickle names instead of holding it."""

    def __init__(self, blob: bytes) -> None:
        super().__init__(io.BytesIO(blob))
        self.modules: set[str] = set()

    def find_class(self, module: str, name: str, /) -> Any:
        self.modules.add(module)
        return super().find_class(module, name)


@pytest.mark.parametrize("version", ACTORS.differing)
@pytest.mark.parametrize("name", FILES)
def test_classes_travel_to_processes_that_do_not_know_this_package(
    version: str, name: str, repo_dir: Path
) -> None:
    import cloudpickle

    with client(version):
        module = load_module(repo_dir / f"grader/{name}")
        executor = module.AgentExecutor(10, 4096, None, None, None)
        for travelling in (module.AgentInstance, executor.rollout):
            names = _Names(cloudpickle.dumps(travelling))
            names.load()
            packages = {found.partition(".")[0] for found in names.modules}
            assert packages & {"grader", "openrlhf"} == {"openrlhf"}


def test_sessions_keep_episodes_apart_and_forget_those_that_ended() -> None:
    from grader.rewards.agents.openrlhf import AgentSessions

    async def run() -> Any:
        sessions = AgentSessions("math")
        for key, label in (("a", "1"), ("b", "2")):
            await sessions.reset(key, {"observation": f"Q{key}", "label": label})
        step = {"action_text": "\\boxed{2}", "label": "2"}
        wrong = await sessions.step("a", {"observation_text": "Qa", **step})
        right = await sessions.step("b", {"observation_text": "Qb", **step})
        return wrong, right, [*sessions._open]

    wrong, right, left = asyncio.run(run())
    assert (wrong["done"], right["done"], left) == (False, True, ["a"])
    assert right["rewards"].item() == 1
