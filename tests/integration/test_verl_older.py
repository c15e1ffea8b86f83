"""verl's older loaders and reward managers run our functions, release by release."""

from pathlib import Path
from typing import Any

import pytest

from grader.rewards.sample import LOG_KEYS
from grader.trainers import verl as ours
from tests.releases import Span, cells, installed, order
from tests.verl_client import TOKENIZER, Config, OlderBatch, imported

torch = installed("torch", "transformers", "psutil")

pytestmark = [
    pytest.mark.timeout(180),
    pytest.mark.usefixtures("native_rewards"),
    pytest.mark.filterwarnings("default"),  # theirs, not ours
]

FILE = str(Path(ours.__file__))
PACKAGE = "pkg://grader.trainers.verl"
REAL = ("torch", "transformers", "psutil")

ADD = "```python\ndef add(a, b):\n    return a + b\n```"
ROWS = [
    ("apps", ADD, "assert add(1, 2) == 3", 1.0),
    ("apps", ADD, "assert add(1, 2) == 4", 0.0),
    ("openai/gsm8k", "So it is 40 + 2.\n#### 42", "42", 1.0),
    ("my/answers", "So \\boxed{41}.", "42", 0.0),
    ("apps", ADD, "no tests", -0.25),
]
OPTIONS = {"sources": {"my/answers": "math"}}


def config(manager: str, path: str, name: str) -> Config:
    """Return the part of the configuration that is about rewards, as each release has it."""
    function = {"path": path, "name": name, "reward_kwargs": OPTIONS}
    return Config(
        {
            "custom_reward_function": function,
            "reward_model": {"reward_manager": manager},
            "reward_manager": {"source": "register", "name": manager},
            "data": {"reward_fn_key": "data_source"},
        }
    )


def rewarded(version: str, manager: str, name: str) -> tuple[list[float], dict[str, list[float]]]:
    """Have a release load a function and reward a step's responses; returns rewards and logs."""
    sources, responses, labels, _ = zip(*ROWS, strict=True)
    columns = {
        "data_source": sources,
        "reward_model": [{"ground_truth": label} for label in labels],
    }
    # Up to 0.6.1 a path is that of a file, whatever it begins with.
    path = FILE if order(version) < order("0.7.0") else PACKAGE
    with imported(version, real=REAL) as get:
        load = get("verl.trainer.ppo.reward").load_reward_manager
        overlong = {
            "overlong_buffer_cfg": Config({"enable": False, "len": 1}),
            "max_resp_len": 4096,
        }
        options = overlong if manager == "dapo" else {}
        found = load(config(manager, path, name), TOKENIZER, 0, **options)
        result = found(OlderBatch(responses, columns), return_dict=True)
    last = [len(response) - 1 for response in responses]
    rewards = result["reward_tensor"][range(len(last)), last].tolist()
    return rewards, dict(result.get("reward_extra_info", {}))


@pytest.fixture(autouse=True)
def _neutral(native_rewards: pytest.MonkeyPatch) -> Any:
    from grader.rewards.core import forget_shared_core

    with native_rewards.context() as patch:
        patch.setenv("GRADER_REWARD_NEUTRAL", "-0.25")
        patch.setenv("GRADER_SLOTS", "1")
        forget_shared_core()
        yield
    forget_shared_core()


LAST = Span(last="0.7.0", differing=("0.5.0", "0.7.0"))


@pytest.mark.parametrize(
    ("version", "manager"),
    [
        pytest.param(*cell.values, manager, marks=cell.marks, id=f"{manager} {cell.values[0]}")
        for manager in ("naive", "dapo")
        for cell in cells("verl", manager, LAST)
    ],
)
def test_managers_that_take_one_sample_after_the_other(version: str, manager: str) -> None:
    rewards, logs = rewarded(version, manager, "compute_score_sync")
    assert rewards == [row[3] for row in ROWS]
    assert set(LOG_KEYS) <= set(logs)
    assert logs["graded"] == [1, 1, 1, 1, 0]
    assert logs["acc"] == [1, 0, 1, 0, 0]


@pytest.mark.parametrize("version", cells("verl", "batch", LAST))
def test_batch_manager_gets_a_whole_step(version: str) -> None:
    rewards, logs = rewarded(version, "batch", "compute_score_batch")
    assert rewards == [row[3] for row in ROWS]
    assert logs["graded"] == [1, 1, 1, 1, 0]


@pytest.mark.parametrize("version", cells("verl", "prime", LAST))
def test_prime_manager_gets_numbers_from_its_processes(version: str) -> None:
    rewards, _ = rewarded(version, "prime", "compute_score_prime")
    assert rewards == [row[3] for row in ROWS]
    # That nothing of their slots outlives this session, the fixture of all tests sees.


@pytest.mark.parametrize("version", ["0.5.0", "0.6.1"])
def test_package_is_no_path_to_releases_before_0_7(version: str) -> None:
    with imported(version, real=REAL) as get:
        load = get("verl.trainer.ppo.reward").get_custom_reward_fn
        with pytest.raises(FileNotFoundError, match="pkg://"):
            load(config("naive", PACKAGE, "compute_score_sync"))
