"""OpenRLHF's own loaders and executors run our reward functions, release by release."""

import argparse
import ast
import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import repeat
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from grader.rewards.core import forget_shared_core, shared_core
from grader.rewards.openrlhf import rewards_for
from grader.rewards.sample import LOG_KEYS
from tests.openrlhf_client import (
    SamplingParams,
    ScriptedEngine,
    client,
    make_experiences,
    make_llama_tokenizer,
    make_tokenizer,
    release,
    samples_generator,
)
from tests.releases import Span, cells, installed, order

if TYPE_CHECKING:
    from grader.sandbox.native.backend import NativeSandbox

torch = installed("torch", "transformers", "aiohttp", "cloudpickle", "tqdm")

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.filterwarnings("default"),  # theirs, not ours
]

EXECUTORS = Span(first="0.9.1", differing=("0.9.1", "0.10.2", "0.11.2"))
ACTORS = Span(first="0.8.3", last="0.9.0", differing=("0.8.3", "0.9.0"))
OLDEST = Span(last="0.8.2", differing=("0.8.0",))
FUNCTION = "reward function"

WRONG = "    return 'no such value'\n"


@pytest.fixture(scope="module", autouse=True)
def _reward_environment(native_sandbox: "NativeSandbox") -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADER_SANDBOX", native_sandbox.name)
        patch.setenv("GRADER_SLOTS", "2")
        patch.setenv("GRADER_REWARD_DEADLINE_S", "60")
        forget_shared_core()
        yield
        forget_shared_core()


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return make_tokenizer()


@pytest.fixture(scope="module")
def reward_file(repo_dir: Path) -> str:
    return str(repo_dir / "grader" / "reward_func.py")


class Row:
    """A prompt with its label, a response, and what that is worth."""

    def __init__(self, prompt: str, response: str, label: Any, reward: float, score: float) -> None:
        self.prompt, self.response, self.label = prompt, response, label
        self.reward, self.score = reward, score


def jsonl(path: Path, count: int) -> list[dict[str, Any]]:
    with path.open() as lines:
        return [json.loads(line) for line, _ in zip(lines, range(count), strict=False)]


def mixed_rows(data: Path) -> list[Row]:
    """Return real problems of several formats, right and wrong answers to them in chat."""
    rows = []
    for problem in jsonl(data / "humaneval.jsonl", 4):
        prompt = f"<s>[INST] Complete:\n{problem['prompt']} [/INST]"
        label = json.dumps(problem)
        for body, reward in ((problem["canonical_solution"], 1.0), (WRONG, None)):
            text = f" Here it is:\n```python\n{problem['prompt']}{body}```\n</s>"
            rows.append(Row(prompt, text, label, 1.0 if reward else 0.0, float(bool(reward))))
    for problem in jsonl(data / "mbpp.jsonl", 3):
        prompt = f"<s>[INST] {problem['text']} [/INST]"
        rows.append(
            Row(prompt, f" ```python\n{problem['code']}\n```</s>", json.dumps(problem), 1, 1)
        )
    for problem in jsonl(data / "apps_coderl_graded5.jsonl", 2):
        prompt = f"<s>[INST] {problem['question'][:300]} [/INST]"
        label = json.dumps(problem["input_output"])
        code = problem["solutions"][0]
        rows.append(Row(prompt, f" ```python\n{code}\n```</s>", label, 1, 1))
        rows.append(Row(prompt, " ```python\nprint(\n```</s>", label, -1, 0))
    question = "<s>[INST] What is 3/4 of 56? [/INST]"
    rows += [
        Row(question, " 56 / 4 * 3 = 42, so \\boxed{42}.</s>", '{"math": "42"}', 1, 1),
        Row(question, " It is \\boxed{41}.</s>", '{"math": "42"}', 0, 0),
        Row(question, " I cannot tell.</s>", '{"math": "42"}', -0.5, 0),
    ]
    return rows


def execute_all(executor: Any, rows: list[Row], tokenizer: Any) -> list[dict[str, Any]]:
    """Have OpenRLHF generate and reward all rows at once, as one rollout engine does."""

    async def one(row: Row) -> Any:
        engine = ScriptedEngine(tokenizer, [row.response])
        return await executor.execute(
            row.prompt, row.label, SamplingParams(), 4096, tokenizer, engine
        )

    async def everything() -> list[Any]:
        return await asyncio.gather(*(one(row) for row in rows))

    return asyncio.run(everything())


def assert_rewarded(result: dict[str, Any], row: Row) -> None:
    assert result["reward"] is not None
    assert result["reward"].dtype == torch.float32
    assert result["reward"].shape == (1,)
    assert result["reward"].item() == pytest.approx(row.reward), row.response
    assert set(result["extra_logs"]) == set(LOG_KEYS)
    assert all(torch.isfinite(value).all() for value in result["extra_logs"].values())


@pytest.mark.parametrize("version", cells("OpenRLHF", FUNCTION, EXECUTORS))
def test_executor_gets_right_rewards_for_mixed_real_rows(
    version: str, reward_file: str, tokenizer: Any, shared_dir: Path
) -> None:
    rows = mixed_rows(shared_dir / "data")
    with client(version) as imported:
        executor = imported("openrlhf.utils.agent").SingleTurnAgentExecutor(reward_file)
        results = execute_all(executor, rows, tokenizer)
    for result, row in zip(results, rows, strict=True):
        assert_rewarded(result, row)
        # Up to 0.10.0 a score of 0 is taken for missing, and the reward for the score.
        lost = not row.score and order(version) <= order("0.10.0")
        assert result["scores"].item() == pytest.approx(row.reward if lost else row.score)
    assert {result["extra_logs"]["graded"].item() for result in results} == {1.0}


@pytest.mark.parametrize("version", cells("OpenRLHF", FUNCTION, EXECUTORS))
def test_trainer_makes_experiences_of_what_the_executor_got(
    version: str, reward_file: str, tokenizer: Any
) -> None:
    label = json.dumps({"assert_case": ["assert add(1, 2) == 3", "assert add(2, 2) == 5"]})
    row = Row("Q: add?", "```python\ndef add(a, b): return a + b\n```</s>", label, 0.3, 0)
    bad = Row("Q: add?", "nothing</s>", None, 0, 0)
    with client(version) as imported:
        executor = imported("openrlhf.utils.agent").SingleTurnAgentExecutor(reward_file)
        results = execute_all(executor, [row, bad], tokenizer)
        maker = samples_generator(version, imported)
        made = [maker._process_response_into_experience(each, max_len=4096) for each in results]
    assert [round(each.rewards.item(), 3) for each in made] == [0.3, 0]
    assert all(each.info.keys() == made[0].info.keys() for each in made)
    assert made[0].info["cases_passed"].tolist() == [1]
    assert made[0].info["graded"].tolist() == [1]
    assert made[1].info["graded"].tolist() == [0]


@pytest.mark.parametrize("version", cells("OpenRLHF", FUNCTION, OLDEST))
def test_experience_maker_of_old_releases_gets_rewards_alone(
    version: str, reward_file: str, shared_dir: Path
) -> None:
    rows = mixed_rows(shared_dir / "data")
    with client(version) as imported:
        experiences = make_experiences(imported, rows, reward_file)
    rewards = [experience.info["reward"].tolist() for experience in experiences]
    assert rewards == [[pytest.approx(row.reward)] for row in rows]


@pytest.mark.parametrize("version", cells("OpenRLHF", FUNCTION, ACTORS))
def test_reward_actor_gets_right_rewards_in_micro_batches(
    version: str, reward_file: str, shared_dir: Path
) -> None:
    rows = mixed_rows(shared_dir / "data")
    with client(version) as imported:
        actor = imported("openrlhf.utils.remote_rm_utils").RemoteRewardModel
        model = actor.remote(SimpleNamespace(micro_rollout_batch_size=4), [reward_file])
        batches = model.get_rewards.remote(
            [row.prompt + row.response for row in rows],
            [row.prompt for row in rows],
            [row.label for row in rows],
        )
        maker = imported("openrlhf.trainer.ppo_utils.experience_maker")
        # One row a sample, as these releases generate them.
        samples = [SimpleNamespace(sequences=[0], info={}) for _ in rows]
        maker.update_samples_with_rewards(batches, samples)
    rewards = torch.cat([sample.rewards for sample in samples]).tolist()
    scores = torch.cat([sample.scores for sample in samples]).tolist()
    assert rewards == pytest.approx([row.reward for row in rows])
    assert scores == pytest.approx([row.score for row in rows])
    assert all(set(sample.info) == {*LOG_KEYS, "reward", "score"} for sample in samples)


def test_sixty_calls_at_once_each_get_their_own_reward(reward_file: str, tokenizer: Any) -> None:
    rows = []
    for number in range(60):
        label = json.dumps({"assert_case": [f"assert f(1) == {number}"]})
        answer = number if number % 2 else -1
        code = f"```python\ndef f(x):\n    return {answer}\n```</s>"
        rows.append(Row(f"Q {number}", code, label, 1.0 if number % 2 else 0.0, number % 2))
    with client("0.11.2") as imported:
        executor = imported("openrlhf.utils.agent").SingleTurnAgentExecutor(reward_file)
        results = execute_all(executor, rows, tokenizer)
    for result, row in zip(results, rows, strict=True):
        assert_rewarded(result, row)


BAD_LABELS: list[object] = [
    None,
    "",
    {},
    [],
    True,
    "no tests",
    '{"assert_case": [',
    '{"combine": []}',
    "null",
    '"x"',
]


@pytest.mark.parametrize("version", EXECUTORS.differing)
def test_bad_labels_give_a_neutral_reward_that_says_so(
    version: str, reward_file: str, tokenizer: Any
) -> None:
    rows = [Row("Q", "```python\nx = 1\n```</s>", label, 0.0, 0.0) for label in BAD_LABELS]
    with client(version) as imported:
        executor = imported("openrlhf.utils.agent").SingleTurnAgentExecutor(reward_file)
        results = execute_all(executor, rows, tokenizer)
    for result, row in zip(results, rows, strict=True):
        assert_rewarded(result, row)
        assert result["extra_logs"]["graded"].item() == 0
        assert result["extra_logs"]["verdict_internal_error"].item() == 1


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        pytest.param((None, None, None), 0, id="nothing"),
        pytest.param(([], [], []), 0, id="empty"),
        pytest.param(("def f(): pass", "Q", "label"), 1, id="no lists"),
        pytest.param(([None], [None], [None]), 1, id="nulls"),
        pytest.param(([1, 2], [3], [4]), 2, id="numbers"),
        pytest.param((["x", "y", "z"], ["p"], None), 3, id="too few labels"),
        pytest.param(([b"x", ["x"], {"x": 1}], None, [object(), float("nan"), {1}]), 3, id="odd"),
        pytest.param((["\ud800x"], ["\udfff"], ['{"math": "\ud800"}']), 1, id="surrogates"),
        pytest.param((["\\boxed{nan}"], ["p"], ['{"math": NaN}']), 1, id="NaN"),
    ],
)
def test_whatever_the_arguments_are_each_query_gets_a_finite_reward(
    arguments: tuple[Any, Any, Any], count: int
) -> None:
    result = rewards_for(*arguments)
    columns = [result["rewards"], result["scores"], *result["extra_logs"].values()]
    assert set(result["extra_logs"]) == set(LOG_KEYS)
    for column in columns:
        assert (column.dtype, column.shape) == (torch.float32, (count,))
        assert torch.isfinite(column).all()


@pytest.mark.parametrize("version", EXECUTORS.differing)
@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param("<s>[INST] As 2 + 3: the answer is 5. What is 1 + 4? [/INST]", id="chat"),
        pytest.param("Q: 2 + 3?\nA: The answer is 5.\nQ: 1 + 4?\nA:", id="plain"),
    ],
)
def test_answer_of_the_prompt_is_not_the_models_whatever_the_tokenizer_does_to_blanks(
    version: str, prompt: str, reward_file: str
) -> None:
    label = '{"math": "5"}'
    rows = [
        Row(prompt, " I cannot tell.</s>", label, -0.5, 0),
        # The engine cuts in the middle; this tokenizer would put a blank there.
        Row(prompt, " I add them up: 5 The answer is 5.</s>", label, 1, 1),
    ]
    llama = make_llama_tokenizer(*(row.prompt + row.response for row in rows))
    decoded = llama.decode(llama(f"<s>{prompt}", add_special_tokens=False)["input_ids"])
    assert not decoded.removeprefix("<s>").startswith(prompt.removeprefix("<s>"))
    with client(version) as imported:
        executor = imported("openrlhf.utils.agent").SingleTurnAgentExecutor(reward_file)
        results = execute_all(executor, rows, llama)
    for result, row in zip(results, rows, strict=True):
        assert_rewarded(result, row)


@pytest.mark.parametrize("drop", [False, True])
@pytest.mark.parametrize("version", cells("OpenRLHF", "leaving out (filter)", EXECUTORS))
def test_dynamic_filtering_drops_groups_with_ungraded_samples_where_that_is_set(
    version: str, drop: bool, reward_file: str, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADER_REWARD_DROP_UNGRADED", str(drop))
    monkeypatch.setenv("GRADER_POLICY", "binary")
    monkeypatch.setenv("GRADER_REWARD_UNIT", "1")
    forget_shared_core()
    label = '{"assert_case": ["assert f() == 1"]}'
    right = Row("Q", "```python\ndef f(): return 1\n```</s>", label, 1, 1)
    wrong = Row("Q", "```python\ndef f(): return 2\n```</s>", label, 0, 0)
    lost = Row("Q", "```python\ndef f(): return 1\n```</s>", "no tests", 0, 0)
    groups = [[right, wrong], [right, lost], [right, right], [wrong, lost], [right, wrong]]
    with client(version) as imported:
        executor = imported("openrlhf.utils.agent").SingleTurnAgentExecutor(reward_file)
        answers = [execute_all(executor, group, tokenizer) for group in groups]
        generator = samples_generator(version, imported)
        algo = SimpleNamespace(dynamic_filtering_range=(0.0, 1.0))
        generator.args = SimpleNamespace(dynamic_filtering_reward_range=(0.0, 1.0), algo=algo)
        # In place of the engines: what these have answered, then a good group each time.
        generator._dispatch_prompts_to_vllm = lambda prompts, *_, **__: [
            answers.pop(0) if len(answers) > 1 else answers[0] for _ in prompts
        ]
        images = [[None]] if order(version) >= order("0.10.0") else []
        data = repeat(("source", ["Q"], [label], *images))
        made, *_ = generator._generate_vllm(data, 4, True, max_len=4096)
    forget_shared_core()
    graded = [experience.info["graded"].item() for experience in made]
    assert len(graded) == 8
    assert graded.count(0) == (0 if drop else 1)


class _Failing:
    """A sandbox whose slots do not open."""

    name = "failing"

    def open_slot(self, **_: Any) -> Any:
        from grader.model.errors import SandboxUnavailableError

        message = "no slot to be had"
        raise SandboxUnavailableError(message)

    def layers(self) -> dict[str, str]:
        return {}

    def environment(self, image: str) -> str:
        return image

    def close(self) -> None:
        pass


@pytest.fixture
def failing_core() -> Iterator[Callable[[], None]]:
    """Gives this process a core without anything that can run code, and takes it away again."""
    from grader.grading.engine import GradingEngine
    from grader.grading.grader import Grader

    def fail() -> None:
        forget_shared_core()
        shared_core().code._open_grader = lambda settings: Grader(
            settings, engine=GradingEngine(settings, sandbox=_Failing())
        )

    yield fail
    forget_shared_core()


def test_failing_engine_gives_neutral_rewards(
    reward_file: str, tokenizer: Any, failing_core: Callable[[], None]
) -> None:
    label = json.dumps({"assert_case": ["assert f(1) == 1"]})
    rows = [Row("Q", "```python\ndef f(x): return x\n```</s>", label, 0.0, 0.0)] * 8
    with client("0.11.2") as imported:
        executor = imported("openrlhf.utils.agent").SingleTurnAgentExecutor(reward_file)
        failing_core()
        results = execute_all(executor, rows, tokenizer)
    for result, row in zip(results, rows, strict=True):
        assert_rewarded(result, row)
        assert result["extra_logs"]["graded"].item() == 0


def run_elsewhere(
    program: str, folder: Path, *, check: bool = True, **environment: str
) -> "subprocess.CompletedProcess[str]":
    """Run a program as a trainer would: our package is neither installed nor on the path."""
    return subprocess.run(
        [sys.executable, "-I", "-c", program],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), **environment},
        capture_output=True,
        text=True,
        timeout=100,
        check=check,
    )


LOAD = """
import importlib.util
spec = importlib.util.spec_from_file_location("reward_func", "checkout/grader/reward_func.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
"""


@pytest.fixture
def checkout(repo_dir: Path, tmp_path: Path) -> Path:
    """A copy of the sources that is not installed; returns its folder."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("grader", "sandbox_images"):
        shutil.copytree(repo_dir / name, tmp_path / "checkout" / name, ignore=ignored)
    return tmp_path


def test_broker_that_is_not_there_gives_a_neutral_reward_at_the_deadline(checkout: Path) -> None:
    pytest.importorskip("celery")
    program = f"""{LOAD}
result = module.reward_func(["def f(): pass"], [""], ['{{"assert_case": ["assert f() == 1"]}}'])
print(result["rewards"].tolist(), result["extra_logs"]["graded"].tolist())
"""
    done = run_elsewhere(
        program,
        checkout,
        GRADER_BROKER="redis://127.0.0.1:1/0",
        GRADER_REWARD_CHECK="0",
        GRADER_REWARD_DEADLINE_S="2",
        GRADER_REWARD_NEUTRAL="-0.25",
    )
    assert done.stdout.strip() == "[-0.25] [0.0]"


def test_file_of_a_checkout_finds_its_own_package(checkout: Path) -> None:
    program = f"""{LOAD}
import sys
import cloudpickle
label = '{{"assert_case": ["assert f() == 1"]}}'
travelled = cloudpickle.loads(cloudpickle.dumps(module.reward_func))
print(travelled(["def f(): return 1"], [""], [label])["rewards"].tolist())
import grader.grading.grader
print(grader.grading.grader.__file__)
print("reward_func" in sys.modules, any("checkout" in path for path in sys.path))
"""
    done = run_elsewhere(program, checkout, GRADER_SANDBOX="native", GRADER_SLOTS="1")
    rewards, origin, leaks = done.stdout.splitlines()
    assert rewards == "[1.0]"
    assert Path(origin) == checkout / "checkout" / "grader" / "grading" / "grader.py"
    assert leaks == "False False"


def test_loading_without_a_sandbox_says_so_in_one_line(checkout: Path) -> None:
    done = run_elsewhere(
        LOAD,
        checkout,
        check=False,
        GRADER_SANDBOX="docker",
        GRADER_DOCKER_HOST="unix:///nowhere.sock",
    )
    assert done.returncode
    last = done.stderr.strip().splitlines()[-1]
    assert "nothing could be graded here: " in last
    assert "the Docker engine did not co" in last


def test_loading_with_a_misspelt_setting_names_it(checkout: Path) -> None:
    done = run_elsewhere(LOAD, checkout, check=False, GRADER_REWARD_NEUTRL="1")
    assert "did you mean GRADER_REWARD_NEUTRAL?" in done.stderr.strip().splitlines()[-1]


OPTIONS = Span(differing=("0.8.0", "0.8.1", "0.9.0", "0.9.8", "0.10.2", "0.11.2"))


@pytest.mark.parametrize("version", cells("OpenRLHF", "example command", OPTIONS))
@pytest.mark.parametrize("agent", ["0", "1"])
def test_training_script_gives_options_that_the_release_accepts(
    version: str, agent: str, repo_dir: Path, tmp_path: Path
) -> None:
    # Stands in for the trainer's Python: tells the release, and prints what it is started with.
    program = tmp_path / "python3"
    program.write_text(f'#!/bin/sh\n[ "$1" = -c ] && echo {version} || printf "%s\\n" "$@"\n')
    program.chmod(0o755)
    started = subprocess.run(
        [repo_dir / "examples/openrlhf/train_codellama.sh", "prompts.jsonl", "out"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin", "AGENT": agent},
        capture_output=True,
        text=True,
        check=False,
    )
    if agent == "1" and order(version) < order("0.8.7"):
        assert started.returncode == 2
        assert started.stderr == f"agents need OpenRLHF 0.8.7; this is {version}\n"
        return
    module, *words = started.stdout.splitlines()[1:]
    assert module == "openrlhf.cli.train_ppo_ray"
    accepted = vars(accepted_options(version, words))
    shown = json.dumps(accepted, default=vars)
    assert ("agent_func.py" in shown) is (agent == "1")
    assert ("reward_func.py" in shown) is (agent == "0")
    assert ('"dynamic_filtering' in shown) is (order(version) > order("0.8.0"))
    assert " 1024" in f"{shown}".replace(":", "")


def accepted_options(version: str, words: list[str]) -> Any:
    """Return what a release makes of its command line, all of its checks included."""
    source = (release(version) / "openrlhf/cli/train_ppo_ray.py").read_text()
    main = next(node for node in ast.parse(source).body if isinstance(node, ast.If))
    *checks, train = main.body
    assert ast.unparse(train) == "train(args)"
    names: dict[str, Any] = {"argparse": argparse, "os": os, "datetime": datetime}
    with client(version), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["train_ppo_ray", *words])
        # Their own code, of a release that pip fetched.
        exec(compile(ast.Module(checks, []), "train_ppo_ray", "exec"), names)  # noqa: S102
    return names["args"]
