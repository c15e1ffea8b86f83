"""The reward function for OpenRLHF that has a model judge conversations.

As `grader/reward_func.py` with `GRADER_TASK=conversation`: `--remote_rm_url
grader/reward_conversation.py`, and `GRADER_CONVERSATION_MODEL` names the model.
docs/trainers/openrlhf.md has its settings.
"""

from pathlib import Path
from runpy import run_path
from typing import Any

_load = run_path(str(Path(__file__).resolve().parent / "process/checkout.py"))["load"]


def reward_func(queries: list[str], prompts: list[str], labels: list[str], **_: Any) -> Any:
    """Return the rewards of samples, as `grader/reward_func.py` does."""
    adapter = _load("grader.rewards.openrlhf")
    return adapter.rewards_for(queries, prompts, labels, task="conversation")


# Checked now, because a failure of the reward function would show only some steps later.
_load("grader.rewards.openrlhf").check("conversation")
