"""The reward of a verifiers 0.4 task (`verifiers.v1`).

In a task's class:

    @vf.reward
    async def code_reward(self, task: vf.TaskData, trace: vf.Trace) -> float:
        return await grader.integrations.verifiers.code_reward(task, trace)

or, with no class of one's own, in its configuration: `rewards.code_reward.fn =
"grader.integrations.verifiers:code_reward"`. docs/trainers/others.md has more.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from grader.errors import GraderError
from grader.integrations.shared import label_of, rate_soon, text_of
from grader.rewards.sample import Sample


class TaskData(Protocol):
    """What is used of `verifiers.v1.TaskData`: a row, with fields of the taskset's own."""

    def model_dump(self, *, exclude_defaults: bool) -> dict[str, Any]:
        """Return the fields."""


class Trace(Protocol):
    """What is used of `verifiers.v1.Trace`."""

    @property
    def last_reply(self) -> str:
        """The model's last answer."""

    def record_metrics(self, values: Mapping[str, float]) -> None:
        """Log numbers."""


async def code_reward(task: TaskData, trace: Trace) -> float:
    """Return the reward of a rollout's last reply, and log every number of its rating.

    Args:
        task: Its field `label`, or its fields together, are the label.
        trace: Of the rollout.

    Raises:
        GraderError: It could not be graded. verifiers marks the rollout as failed, so that it
            counts for nothing, rather than as worth nothing.
    """
    row = task.model_dump(exclude_defaults=True)
    sample = Sample(query=trace.last_reply, prompt=text_of(row.get("prompt")), label=label_of(row))
    rating = await rate_soon(sample)
    trace.record_metrics({f"grader/{key}": value for key, value in rating.all_logs().items()})
    if not rating.graded:
        raise GraderError(rating.note)
    return rating.reward
