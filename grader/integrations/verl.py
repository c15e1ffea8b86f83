"""verl's reward function: `reward.custom_reward_function.path=pkg://grader.integrations.verl`.

verl 0.9.1 calls `compute_score` by keyword, for one sample at a time and for many at once, in
several processes. docs/trainers/verl.md has the flags and what the logs mean.
"""

from typing import Any

from grader.integrations.shared import rate_one, rate_soon
from grader.rewards.sample import Rating, Sample


async def compute_score(
    *,
    solution_str: str,
    ground_truth: object,
    data_source: str | None = None,  # noqa: ARG001 - the label says what grades it
    extra_info: object = None,  # noqa: ARG001
    task: str | None = None,
    **_: Any,
) -> dict[str, float]:
    """Return the reward of one response.

    Args:
        solution_str: What the model said, without special tokens.
        ground_truth: The label, as the dataset holds it.
        data_source: Of the row.
        extra_info: Of the row.
        task: What grades it where its label does not say; None: as set. From `reward_kwargs`.

    Returns:
        `score`, which is the reward; `acc`, in [0, 1]; and every log. The same keys always,
        also where we could not grade: then `graded` is 0 and `score` the neutral reward.

    Raises:
        ConfigurationError: Nothing can be graded in this process; only in its first call.
    """
    return _result(await rate_soon(_sample(solution_str, ground_truth), task=task))


def compute_score_sync(
    *,
    solution_str: str,
    ground_truth: object,
    data_source: str | None = None,  # noqa: ARG001
    extra_info: object = None,  # noqa: ARG001
    task: str | None = None,
    **_: Any,
) -> dict[str, float]:
    """As `compute_score`, for verl's `remote` reward manager, which takes no async function."""
    return _result(rate_one(_sample(solution_str, ground_truth), task=task))


def _sample(solution_str: str, ground_truth: object) -> Sample:
    return Sample(query=solution_str, label=ground_truth)


def _result(rating: Rating) -> dict[str, float]:
    # verl takes `acc` for what its validation and its group filters are about.
    return {"score": rating.reward, "acc": rating.score, **rating.all_logs()}
