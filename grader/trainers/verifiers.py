"""The reward of a verifiers 0.4 task (`verifiers.v1`), and of a rubric up to 0.3.

In a rubric: `vf.Rubric(funcs=[grader.trainers.verifiers.rubric_reward])`.

In a task's class:

    @vf.reward
    async def code_reward(self, task: vf.TaskData, trace: vf.Trace) -> float:
        return await grader.trainers.verifiers.code_reward(task, trace)

or, without a class of your own, in the configuration: `rewards.code_reward.fn =
"grader.trainers.verifiers:code_reward"`. See
docs/trainers/others.md.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from grader.model.errors import GraderError
from grader.rewards.arguments import response_of, text_of
from grader.rewards.sample import Sample
from grader.trainers.shared import dataset_of, label_of, rate_soon


class TaskData(Protocol):
    """The used part of `verifiers.v1.TaskData`: a row with the fields of the taskset."""

    def model_dump(self, *, exclude_defaults: bool) -> dict[str, Any]:
        """Return the fields."""


class Trace(Protocol):
    """The used part of `verifiers.v1.Trace`."""

    @property
    def last_reply(self) -> str:
        """The model's last response."""

    def record_metrics(self, values: Mapping[str, float]) -> None:
        """Log numbers."""


async def code_reward(task: TaskData, trace: Trace) -> float:
    """Return the reward of a rollout's last reply, and log all numbers of its rating.

    Args:
        task: The row. The label is its field `label` or, if there is none, all of its fields.
        trace: The rollout.

    Raises:
        GraderError: It could not be graded. verifiers then marks the rollout as failed, and does
            not train on it.
    """
    row = task.model_dump(exclude_defaults=True)
    sample = Sample(
        query=trace.last_reply,
        prompt=text_of(row.get("prompt")),
        label=label_of(row),
        dataset=dataset_of(row),
    )
    rating = await rate_soon(sample)
    trace.record_metrics({f"grader/{key}": value for key, value in rating.all_logs().items()})
    if not rating.graded:
        raise GraderError(rating.note)
    return rating.reward


async def rubric_reward(
    completion: object,
    prompt: object = "",
    answer: object = "",
    info: Mapping[str, object] | None = None,
    **_: Any,
) -> float:
    """Return the reward of a rollout, for a rubric, without blocking the event loop.

    Args:
        completion: Text, or messages, of which the assistant's last one is graded.
        prompt: Text, or messages.
        answer: The label, if `info` is empty.
        info: The row: its key `label`, or the fields of a known format.

    Returns:
        The reward; if it could not be graded, the neutral one, because a rubric turns an exception
        into 0. The log has the reason.

    Raises:
        ConfigurationError: This process cannot grade anything. Raised by the first call only.
    """
    label = label_of(info) if info else answer
    sample = Sample(
        query=response_of(_plain(completion)),
        prompt=text_of(_plain(prompt)),
        label=label,
        dataset=dataset_of(info or {}),
    )
    return (await rate_soon(sample)).reward


def _plain(said: object) -> object:
    """Return messages as dictionaries; some releases have classes for them."""
    if isinstance(said, list):
        return [_plain(each) for each in said]
    dump = getattr(said, "model_dump", None)
    return dump() if callable(dump) else said
