"""The reward of a verifiers 0.4 task (`verifiers.v1`), and of a rubric up to 0.3.

In a rubric, which awaits it: `vf.Rubric(funcs=[grader.trainers.verifiers.rubric_reward])`.

In a task's class:

    @vf.reward
    async def code_reward(self, task: vf.TaskData, trace: vf.Trace) -> float:
        return await grader.trainers.verifiers.code_reward(task, trace)

or, with no class of one's own, in its configuration: `rewards.code_reward.fn =
"grader.trainers.verifiers:code_reward"`. docs/trainers/others.md has more.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from grader.model.errors import GraderError
from grader.rewards.sample import Sample
from grader.trainers.shared import label_of, rate_soon, response_of, text_of


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


async def rubric_reward(
    completion: object,
    prompt: object = "",
    answer: object = "",
    info: Mapping[str, object] | None = None,
    **_: Any,
) -> float:
    """Return the reward of a rollout, for a rubric; many at once, and the event loop goes on.

    Args:
        completion: Text, or messages, of which the assistant's last one is graded.
        prompt: Likewise.
        answer: The label, where `info` is none.
        info: Of the row: its key `label`, or the fields of a known format.

    Returns:
        The reward; the neutral one where it could not be graded, since a rubric makes 0 of an
        exception. The log says why.

    Raises:
        ConfigurationError: Nothing can be graded in this process; only in its first call.
    """
    label = label_of(info) if info else answer
    sample = Sample(
        query=response_of(_plain(completion)), prompt=text_of(_plain(prompt)), label=label
    )
    return (await rate_soon(sample)).reward


def _plain(said: object) -> object:
    """Return messages as objects of JSON; some releases have classes for them."""
    if isinstance(said, list):
        return [_plain(each) for each in said]
    dump = getattr(said, "model_dump", None)
    return dump() if callable(dump) else said
