"""The reward function for OpenRLHF: `--remote_rm_url grader/reward_func.py`.

OpenRLHF (0.8.3 to 0.11.2) loads this file by its path and calls `reward_func`, from many
threads. The label of a sample says what grades it; `GRADER_*` variables set everything else.
docs/trainers/openrlhf.md has the labels, the flags and what the logs mean.

Up to 0.9.0 the function travels to other processes by cloudpickle: so this file holds nothing
but functions and text, and imports the rest where it runs.
"""

from pathlib import Path
from runpy import run_path
from typing import Any

_load = run_path(str(Path(__file__).resolve().parent / "process/checkout.py"))["load"]


def reward_func(queries: list[str], prompts: list[str], labels: list[str], **_: Any) -> Any:
    """Return the rewards of samples; never raises, whatever it is given.

    Args:
        queries: Prompts and responses together, special tokens and all.
        prompts: The prompts alone.
        labels: What the dataset has in its label column.

    Returns:
        `rewards`, `scores` and `extra_logs`; see `grader.rewards.openrlhf.rewards_for`.
    """
    return _load("grader.rewards.openrlhf").rewards_for(queries, prompts, labels)


# Checked now, because a failure of the reward function would show only some steps later.
_load("grader.rewards.openrlhf").check()
