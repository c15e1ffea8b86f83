"""The reward function for OpenRLHF for labels that are answers to math problems.

As `grader/reward_func.py` with `GRADER_TASK=math`: `--remote_rm_url grader/reward_math.py
--label_key answer`. docs/math.md says how answers are found and compared.
"""

from pathlib import Path
from runpy import run_path
from typing import Any

_load = run_path(str(Path(__file__).resolve().parent / "process/checkout.py"))["load"]


def reward_func(queries: list[str], prompts: list[str], labels: list[str], **_: Any) -> Any:
    """Return the rewards of samples, as `grader/reward_func.py` does."""
    return _load("grader.rewards.openrlhf").rewards_for(queries, prompts, labels, task="math")


# Checked now, because a failure of the reward function would show only some steps later.
_load("grader.rewards.openrlhf").check("math")
