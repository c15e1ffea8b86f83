"""Tasks of verifiers whose reward is ours; importing this imports verifiers."""

import asyncio
from importlib import import_module
from typing import Any

from grader.trainers.verifiers import code_reward

vf: Any = import_module("verifiers.v1")


class CodeData(vf.TaskData):  # type: ignore[misc]  # may not be installed
    """A row with a label."""

    label: str | None = None
    test_list: list[str] | None = None


class CodeTask(vf.Task[CodeData]):  # type: ignore[misc]
    """A task whose reward is ours."""

    @vf.reward(weight=0.5)  # type: ignore[untyped-decorator, unused-ignore]
    async def by_tests(self, task: CodeData, trace: Any) -> float:
        return await code_reward(task, trace)


class PluggedTask(vf.Task[CodeData]):  # type: ignore[misc]
    """A task whose configuration names the reward."""


PLUGGED = {"by_tests": {"fn": "grader.trainers.verifiers:code_reward", "weight": 0.5}}


def task_of(kind: str, data: CodeData) -> Any:
    if kind == "decorated":
        return CodeTask(data)
    return PluggedTask(data, vf.TaskConfig(rewards=PLUGGED))


def score(task: Any, reply: str) -> Any:
    """Have verifiers score a rollout whose model said this; returns its trace."""
    message = vf.AssistantMessage(content=reply)
    trace = vf.Trace(
        task=vf.TraceTask(type=type(task).__name__, data=task.data),
        agent=vf.AgentInfo(config=vf.AgentConfig()),
        nodes=[vf.MessageNode(message=message, sampled=True)],
    )
    try:
        asyncio.run(task.score(trace))
    except vf.TaskError as error:
        trace.record_error(error)  # as its rollouts do
    return trace
