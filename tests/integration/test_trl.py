"""TRL's own GRPOTrainer trains with our reward function; its rows come through Arrow."""

from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from grader.model.errors import ConfigurationError, GraderError
from grader.trainers.trl import code_reward, with_code_reward
from tests.releases import installed, order
from tests.tools import load_file

trl = installed("trl", "datasets", "torch", "transformers")
VERSION = version("trl")

FUNCTIONS = pytest.mark.trainer("TRL", VERSION, "reward_funcs", "")
IS_SKIPPED = order(VERSION) >= order("1.6.0")
"""Whether this TRL leaves out a completion for which every function returned None."""
NONE_IS_0 = "up to 1.5 a completion without any reward is compared with its group as one worth 0"
LEFT_OUT = pytest.mark.trainer(
    "TRL", VERSION, "leaving out (None)", "" if IS_SKIPPED else NONE_IS_0
)

pytestmark = [
    pytest.mark.timeout(90),
    pytest.mark.filterwarnings("default"),  # theirs, not ours
    pytest.mark.usefixtures("native_rewards"),
]

DOUBLE = "```python\ndef double(n):\n    return 2 * n\n```"


@pytest.fixture(scope="module")
def toy(repo_dir: Path) -> ModuleType:
    """The example, as a module."""
    return load_file(repo_dir / "examples/trl/toy_grpo.py")


@FUNCTIONS
@pytest.mark.skipif(
    VERSION.startswith("1.15."), reason="the loss of TRL 1.15 needs a GPU's kernels"
)
def test_grpo_trainer_trains_twenty_steps_on_real_rewards(
    toy: ModuleType, tmp_path: Path, native_rewards: pytest.MonkeyPatch
) -> None:
    from grader.rewards.core import forget_shared_core

    with native_rewards.context() as patch:
        patch.setenv("GRADER_POLICY", "ladder")  # whose first step is to compile
        forget_shared_core()
        history = toy.train(20, folder=str(tmp_path), batch=8)
    forget_shared_core()
    assert len(history) == 20
    for entry in history:
        assert -1 <= entry["rewards/code_reward/mean"] <= 1
        assert entry["reward"] == pytest.approx(entry["rewards/code_reward/mean"])
        assert entry["grader/code_reward"] == pytest.approx(entry["reward"])
        assert entry["grader/graded"] == 1
        verdicts = [value for key, value in entry.items() if key.startswith("grader/verdict_")]
        assert sum(verdicts) == pytest.approx(1)
    # Groups of two: if their rewards differ, the trainer had something to learn.
    assert any(entry["reward_std"] > 0 and entry["grad_norm"] > 0 for entry in history)


def scored(trainer: Any, rows: list[dict[str, Any]], completions: list[Any]) -> list[float]:
    """Have the trainer reward what a test wrote in place of what a model sampled."""
    prompts, ids = [row["prompt"] for row in rows], [[1, 2]] * len(rows)
    found: list[float] = trainer._calculate_rewards(rows, prompts, completions, ids)[:, 0].tolist()
    return found


@pytest.fixture
def trainer(toy: ModuleType, tmp_path: Path) -> Any:
    from datasets import Dataset

    tokenizer = toy.make_tokenizer()
    return trl.GRPOTrainer(
        model=toy.make_model(tokenizer),
        processing_class=tokenizer,
        reward_funcs=code_reward,
        args=trl.GRPOConfig(output_dir=str(tmp_path), report_to="none", use_cpu=True, bf16=False),
        train_dataset=Dataset.from_list(toy.rows()),
    )


def arrow(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows as a dataset gives them: every field of every row there, many of them null."""
    from datasets import Dataset

    found: list[dict[str, Any]] = Dataset.from_list(rows).to_list()
    return found


def short(completions: list[Any], **_: Any) -> list[float]:
    """Another reward: of the third completion of each four, whatever it says."""
    return [float(index % 4 == 2) for index, _ in enumerate(completions)]


async def short_soon(completions: list[Any], **more: Any) -> list[float]:
    return short(completions, **more)


def advantages(toy: ModuleType, folder: Path, functions: list[Any]) -> list[float]:
    """Have TRL sample, reward and compare a group of four, of which the third is not graded."""
    from datasets import Dataset

    tokenizer = toy.make_tokenizer()
    config = trl.GRPOConfig(
        output_dir=str(folder),
        per_device_train_batch_size=4,
        num_generations=4,
        max_completion_length=2,
        report_to="none",
        use_cpu=True,
        bf16=False,
    )
    made = trl.GRPOTrainer(
        model=toy.make_model(tokenizer),
        processing_class=tokenizer,
        reward_funcs=functions,
        args=config,
        train_dataset=Dataset.from_list(toy.rows()),
    )
    row = {"prompt": toy.rows()[0]["prompt"], "label": "assert True"}
    group = [{**row, "label": "no tests"} if index == 2 else row for index in range(4)]
    found: list[float] = made._generate_and_score_completions(group)["advantages"].tolist()
    return found


@LEFT_OUT
@pytest.mark.parametrize("other", [short, short_soon])
def test_ungraded_sample_is_trained_on_for_other_rewards_unless_these_are_masked(
    other: Any, toy: ModuleType, tmp_path: Path
) -> None:
    assert advantages(toy, tmp_path, [code_reward, other])[2] > 0.1
    masked = advantages(toy, tmp_path, with_code_reward(other))
    assert (masked[2] == 0) is IS_SKIPPED
    assert sum(masked) == pytest.approx(0, abs=1e-4)


def test_functions_beside_the_code_reward_keep_their_names_and_rewards(trainer: Any) -> None:
    trainer.reward_funcs = with_code_reward(short)
    names = [function.__name__ for function in trainer.reward_funcs]
    assert names == ["code_reward", "short"]
    code, other = trainer.reward_funcs
    completions = [DOUBLE] * 3
    labels = ["assert double(2) == 4", "assert double(2) == 5", "no tests"]
    assert code(["p"] * 3, completions, label=labels) == [1.0, 0.0, None]
    assert other(prompts=["p"] * 3, completions=completions) == [0.0, 0.0, None]
    with pytest.raises(GraderError, match="other completions than the code reward"):
        other(prompts=["p"] * 3, completions=[*completions])


@pytest.mark.parametrize("other", ["a-model/of-rewards", None])
def test_what_is_no_function_is_refused_beside_the_code_reward(other: Any) -> None:
    with pytest.raises(ConfigurationError, match="is not a function"):
        with_code_reward(other)


def test_model_is_refused_beside_the_code_reward(toy: ModuleType) -> None:
    with pytest.raises(ConfigurationError, match="is not a function"):
        with_code_reward(toy.make_model(toy.make_tokenizer()))


@FUNCTIONS
def test_what_could_not_be_graded_is_none_to_trl(trainer: Any) -> None:
    import math

    rows = arrow(
        [
            {"prompt": "p", "label": "assert double(2) == 4"},
            {"prompt": "p", "label": "no tests"},
            {"prompt": "p", "label": "assert double(2) == 5"},
        ]
    )
    right, lost, wrong = scored(trainer, rows, [DOUBLE] * 3)
    assert (right, wrong) == (1.0, 0.0)
    assert math.isnan(lost)


@FUNCTIONS
def test_columns_of_open_r1_through_arrow_are_read(trainer: Any) -> None:
    call = {"type": "function_call", "fn_name": "double", "input": "2", "output": "4"}
    more = {"input": "3\n", "output": "6\n", "points": 2.0}
    rows = arrow(
        [
            {"prompt": "p", "verification_info": {"language": "python", "test_cases": cases}}
            for cases in ([call], [{"input": "2\n", "output": "4\n"}, more])
        ]
    )
    program = "```python\nprint(2 * int(input()))\n```"
    assert rows[1]["verification_info"]["test_cases"][0]["fn_name"] is None
    assert scored(trainer, rows, [DOUBLE, program]) == [1.0, 1.0]


def test_a_correct_prefix_of_the_output_does_not_pass(trainer: Any) -> None:
    case = {"type": "stdin_stdout", "input": "", "output": "1\n2\n3\n"}
    info = {"language": "python", "test_cases": [case]}
    rows = arrow([{"prompt": "p", "verification_info": info}] * 2)
    short, whole = "```python\nprint(1)\n```", "```python\nprint(1, 2, 3, sep='\\n')\n```"
    assert scored(trainer, rows, [short, whole]) == [0.0, 1.0]


@FUNCTIONS
def test_messages_are_read_as_their_last_answer(trainer: Any) -> None:
    user = {"role": "user", "content": "Double it."}
    tool = {"role": "tool", "content": "def double(n): return 3 * n"}
    rows = [{"prompt": [user], "label": "assert double(2) == 4"}] * 2
    turns = [
        [{"role": "assistant", "content": DOUBLE}],
        [
            {"role": "assistant", "content": "Let me see."},
            tool,
            {"role": "assistant", "content": DOUBLE},
        ],
    ]
    assert scored(trainer, rows, turns) == [1.0, 1.0]


def test_trl_gets_verdicts_for_its_table_and_means_for_its_logs(trainer: Any) -> None:
    rows = [{"prompt": "p", "label": f"assert double(2) == {n}"} for n in (4, 5)]
    scored(trainer, rows, [DOUBLE] * 2)
    verdicts = trainer._pending_extra_logs["grader"]
    assert verdicts[0].startswith("passed 1/1: ")
    assert verdicts[1].startswith("failed 0/1: ")
    assert trainer._pending_metrics["grader/verdict_passed"] == [0.5]
    assert trainer._pending_metrics["grader/cases_total"] == [1.0]
    assert "grader/math_reward" not in trainer._pending_metrics
