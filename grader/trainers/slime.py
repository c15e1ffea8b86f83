"""slime's reward function: `--custom-rm-path grader.trainers.slime.code_reward`.

Written for slime as published in November 2026. slime loads the function by its name and awaits
it for one sample, or for a list: a group (`--group-rm`) or the turns of an agent. See
docs/trainers/slime.md for the options.
"""

import asyncio
from typing import Any, Protocol

from grader.rewards.arguments import text_of
from grader.rewards.sample import Sample
from grader.trainers.shared import dataset_of, label_of, rate_soon


class SlimeSample(Protocol):
    """The attributes of `slime.utils.types.Sample` that are used."""

    prompt: object
    """Text, or messages."""
    response: str
    label: object
    metadata: dict[str, Any] | None
    """The columns of the row, used if it has no label. Logs are added as `grader`."""
    remove_sample: bool
    """Whether slime masks the sample's loss."""


async def code_reward(args: object, sample: Any, **_: Any) -> float | list[float]:  # noqa: ARG001
    """Return the reward of a sample, or of each sample of a list.

    A sample that could not be graded gets the neutral reward, and `remove_sample` is set: slime
    then leaves its tokens out of the loss, but its reward counts in the mean of its group.

    Args:
        args: slime's arguments.
        sample: One sample, or a list of samples.

    Raises:
        ConfigurationError: This process cannot grade anything. Raised by the first call only.
    """
    if isinstance(sample, list):
        return [*await asyncio.gather(*(_reward(each) for each in sample))]
    return await _reward(sample)


def _step_of(sample: object) -> int | None:
    """Return how often the model had been updated when it wrote the end of a response."""
    versions = getattr(sample, "weight_versions", None)
    last = versions[-1] if versions else None
    return int(last) if isinstance(last, str) and last.isdecimal() else None


async def _reward(sample: SlimeSample) -> float:
    metadata: dict[str, Any] = sample.metadata or {}
    label = label_of(metadata) if sample.label is None else sample.label
    rating = await rate_soon(
        Sample(
            query=text_of(sample.response),
            prompt=text_of(sample.prompt),
            label=label,
            step=_step_of(sample),
            dataset=dataset_of(metadata),
        )
    )
    if not rating.graded:
        sample.remove_sample = True
    sample.metadata = {**metadata, "grader": {**rating.all_logs(), "note": rating.note}}
    return rating.reward
