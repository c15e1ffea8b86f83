"""AReaL's reward function: `RLVRWorkflow(reward_fn="grader.integrations.areal.code_reward")`.

AReaL calls it in the processes of a pool, gives up a call after 15 s and calls again, up to
four times, and takes a last timeout for a reward of 0. docs/trainers/others.md has more.
"""

from typing import Any

from grader.errors import GraderError
from grader.integrations.shared import label_of, rate_one, text_of
from grader.rewards.sample import Sample

DEADLINE_S = 9.0
"""With the seconds that the core allows a late report, this ends before AReaL's own limit."""


def code_reward(
    prompt: object,
    completions: str,
    prompt_ids: object = None,  # noqa: ARG001 - texts are what is graded
    completion_ids: object = None,  # noqa: ARG001
    *,
    deadline_s: float = DEADLINE_S,
    **data: Any,
) -> float:
    """Return the reward of one completion. Can be pickled.

    Args:
        prompt: The text that the model was given.
        completions: What it answered.
        prompt_ids: Of the prompt.
        completion_ids: Of the answer.
        deadline_s: Seconds by which it is graded or given up.
        data: The other columns of the row.

    Raises:
        GraderError: It could not be graded. AReaL tries again and then rejects the trajectory,
            which is right: a number would be trained on.
    """
    sample = Sample(query=completions, prompt=text_of(prompt), label=label_of(data))
    rating = rate_one(sample, deadline_s=deadline_s)
    if not rating.graded:
        raise GraderError(rating.note)
    return rating.reward
