"""verifiers' own tasks score rollouts with our reward."""

import asyncio
from typing import Any

import pytest

from grader.trainers.verifiers import code_reward
from tests.releases import installed

vf = installed("verifiers.v1")

pytestmark = [
    pytest.mark.timeout(60),
    pytest.mark.filterwarnings("default"),  # theirs, not ours
    pytest.mark.usefixtures("native_rewards"),
]

DOUBLE = "```python\ndef double(n):\n    return 2 * n\n```"
RIGHT, WRONG = "assert double(2) == 4", "assert double(2) == 5"


class CodeData(vf.TaskData):  # type: ignore[name-defined, misc]  # may not be installed
    """A row with a label."""

    label: str | None = None
    test_list: list[str] | None = None


class CodeTask(vf.Task[CodeData]):  # type: ignore[name-defined, misc]
    """A task whose reward is ours."""

    @vf.reward(weight=0.5)  # type: ignore[untyped-decorator, unused-ignore]
    async def by_tests(self, task: CodeData, trace: Any) -> float:
        return await code_reward(task, trace)


class PluggedTask(vf.Task[CodeData]):  # type: ignore[name-defined, misc]
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


@pytest.mark.trainer("verifiers", "0.4.0", "task", "")
@pytest.mark.parametrize("kind", ["decorated", "plugged"])
def test_rollout_gets_weighted_reward_and_metrics(kind: str) -> None:
    found = [score(task_of(kind, CodeData(prompt="?", label=x)), DOUBLE) for x in (RIGHT, WRONG)]
    assert [trace.reward for trace in found] == [0.5, 0.0]
    assert [trace.metrics["grader/verdict_passed"] for trace in found] == [1.0, 0.0]
    assert [trace.metrics["grader/graded"] for trace in found] == [1.0, 1.0]


def test_fields_of_a_task_are_its_label() -> None:
    data = CodeData(prompt=[vf.UserMessage(content="Double.")], test_list=[RIGHT])
    assert score(CodeTask(data), DOUBLE).reward == 0.5


@pytest.mark.trainer("verifiers", "0.4.0", "leaving out (raise)", "")
def test_rollout_that_could_not_be_graded_fails_and_has_no_reward() -> None:
    trace = score(CodeTask(CodeData(prompt="?", label="no tests")), DOUBLE)
    assert trace.rewards == {"by_tests": None}
    assert trace.has_error
    assert "not graded: LabelError: " in trace.last_error.message
    assert trace.metrics["grader/graded"] == 0.0
