"""ms-swift's reward function, for `swift rlhf --rlhf_type grpo`.

In a plugin, as `examples/ms_swift/plugin.py` is one, which goes to `--external_plugins`:

    from grader.trainers.ms_swift import register

    register("grader_code")

Then `--reward_funcs grader_code`. For ms-swift 3 and 4; docs/trainers/ms-swift.md has more.
"""

from collections.abc import Sequence
from typing import Any

from grader.trainers import trl

_OWN_COLUMNS = ("messages", "prompt_id", "request_id", "trajectory_inputs")
"""What ms-swift passes beside the dataset's columns and what TRL passes, too."""


def code_reward(completions: Sequence[object], **columns: Any) -> list[float | None]:
    """Return the reward of each completion; all are graded at once.

    Args:
        completions: What the model answered.
        columns: The dataset's, one value for each completion, and what else ms-swift passes.

    Returns:
        One for each completion. None where it could not be graded. ms-swift logs no None, but
        adds it up as 0; see docs/trainers/ms-swift.md.

    Raises:
        ConfigurationError: Nothing can be graded in this process; only in its first call.
    """
    prompts = columns.get("messages") or [""] * len(completions)
    rows = {name: values for name, values in columns.items() if name not in _OWN_COLUMNS}
    return trl.code_reward(
        prompts=[_asked(each) for each in prompts], completions=completions, **rows
    )


def register(name: str = "grader_code") -> None:
    """Make a reward function known to ms-swift by a name."""
    orm = _rewards()

    class CodeReward(orm.ORM):  # type: ignore[name-defined, misc]
        def __call__(self, completions: Sequence[object], **columns: Any) -> list[float | None]:
            return code_reward(completions, **columns)

    CodeReward.__name__ = name  # what it is called in logs
    orm.orms[name] = CodeReward


def _rewards() -> Any:
    """Return the module with ms-swift's table of reward functions."""
    try:
        from swift.rewards import orm  # from 4.0 on
    except ImportError:
        from swift.plugin import orm
    return orm


def _asked(messages: Any) -> object:
    """Return a conversation without the answer that is to be graded."""
    if isinstance(messages, list) and messages and messages[-1].get("role") == "assistant":
        return messages[:-1]
    return messages
