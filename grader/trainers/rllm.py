"""rLLM's reward function: `code_reward(task_info, action) -> RewardOutput`.

See docs/trainers/others.md.
"""

from collections.abc import Mapping
from typing import Any

from grader.rewards.arguments import text_of
from grader.rewards.sample import Sample
from grader.trainers.shared import dataset_of, label_of, rate_one


def code_reward(task_info: Mapping[str, object], action: object) -> Any:
    """Return the reward of one action.

    Args:
        task_info: The row. The label is its column `label` or, if there is none, the row itself,
            which has a `ground_truth` in rLLM.
        action: The response, or an `Action` that holds it.

    Returns:
        A `RewardOutput`. Its metadata has every log and `note`, one line with the reason. If the
        action could not be graded, the reward is neutral and `metadata["graded"]` is 0.

    Raises:
        ConfigurationError: This process cannot grade anything. Raised by the first call only.
    """
    from rllm.rewards.reward_types import RewardOutput

    answer = getattr(action, "action", action)
    prompt = task_info.get("question") or task_info.get("problem")
    sample = Sample(
        query=text_of(answer),
        prompt=text_of(prompt),
        label=label_of(task_info),
        dataset=dataset_of(task_info),
    )
    rating = rate_one(sample)
    return RewardOutput(
        reward=rating.reward,
        metadata={**rating.all_logs(), "note": rating.note},
        is_correct=rating.score == 1,
    )
