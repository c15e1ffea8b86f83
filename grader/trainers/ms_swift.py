"""ms-swift's reward function, for `swift rlhf --rlhf_type grpo`.

In a plugin for `--external_plugins`, such as `examples/ms_swift/plugin.py`:

    from grader.trainers.ms_swift import register

    register("grader_code")

Then `--reward_funcs grader_code`. For ms-swift 3 and 4; see docs/trainers/ms-swift.md.
"""

from collections.abc import Sequence
from typing import Any

from grader.trainers import trl

_OWN_COLUMNS = ("messages", "prompt_id", "request_id", "trajectory_inputs")
"""Arguments that ms-swift passes in addition to the dataset's columns and those of TRL."""


def code_reward(completions: Sequence[object], **columns: Any) -> list[float | None]:
    """Return the reward of each completion; all are graded at once.

    Args:
        completions: The responses.
        columns: The dataset's columns, with one value for each completion, and ms-swift's own
            arguments.

    Returns:
        One reward for each completion; None if it could not be graded. ms-swift does not log None,
        but counts it as 0; see docs/trainers/ms-swift.md.

    Raises:
        ConfigurationError: This process cannot grade anything. Raised by the first call only.
    """
    prompts = columns.get("messages") or [""] * len(completions)
    rows = {name: values for name, values in columns.items() if name not in _OWN_COLUMNS}
    return trl.code_reward(
        prompts=[_asked(each) for each in prompts], completions=completions, **rows
    )


def register(name: str = "grader_code") -> None:
    """Register the reward function with ms-swift."""
    orm = _rewards()

    class CodeReward(orm.ORM):  # type: ignore[name-defined, misc]
        def __call__(self, completions: Sequence[object], **columns: Any) -> list[float | None]:
            return code_reward(completions, **columns)

    CodeReward.__name__ = name  # the name in logs
    orm.orms[name] = CodeReward


def _rewards() -> Any:
    """Return the module with ms-swift's table of reward functions."""
    try:
        from swift.rewards import orm  # from 4.0 on
    except ImportError:
        from swift.plugin import orm
    return orm


def _asked(messages: Any) -> object:
    """Return a conversation; if its last turn is the response to grade, without that turn."""
    if isinstance(messages, list) and messages and messages[-1].get("role") == "assistant":
        return messages[:-1]
    return messages
