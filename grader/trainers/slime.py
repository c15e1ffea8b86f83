"""slime's reward function: `--custom-rm-path grader.trainers.slime.code_reward`.

Written for slime as published in November 2026. It loads the function by its name and awaits it,
for one sample, or for a list of samples where it wants rewards of a group (`--group-rm`) or of an
agent's turns. docs/trainers/slime.md has the options.
"""

import asyncio
from typing import Any, Protocol

from grader.rewards.sample import Sample
from grader.trainers.shared import label_of, rate_soon, text_of


class SlimeSample(Protocol):
    """What is used of `slime.utils.types.Sample`."""

    prompt: object
    """Text, or messages."""
    response: str
    label: object
    metadata: dict[str, Any] | None
    """Columns of the row, where it has no label; gets what is logged under `grader`."""
    remove_sample: bool
    """Whether slime masks the sample's loss."""


async def code_reward(args: object, sample: Any, **_: Any) -> float | list[float]:  # noqa: ARG001
    """Return the reward of a sample, or of each of a list.

    A sample that could not be graded gets the neutral reward and is marked with `remove_sample`,
    at which slime takes none of its tokens into the loss; in its group's mean the reward counts.

    Args:
        args: slime's own.
        sample: One, or a list.

    Raises:
        ConfigurationError: Nothing can be graded in this process; only in its first call.
    """
    if isinstance(sample, list):
        return [*await asyncio.gather(*(_reward(each) for each in sample))]
    return await _reward(sample)


async def _reward(sample: SlimeSample) -> float:
    metadata: dict[str, Any] = sample.metadata or {}
    label = label_of(metadata) if sample.label is None else sample.label
    rating = await rate_soon(
        Sample(query=sample.response, prompt=text_of(sample.prompt), label=label)
    )
    if not rating.graded:
        sample.remove_sample = True
    sample.metadata = {**metadata, "grader": {**rating.all_logs(), "note": rating.note}}
    return rating.reward
