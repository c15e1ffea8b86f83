"""verifiers' own tasks score rollouts with our reward."""

import pytest

from tests.releases import installed

tasks = installed("tests.verifiers_tasks", "verifiers")

pytestmark = [
    pytest.mark.timeout(60),
    pytest.mark.filterwarnings("default"),  # theirs, not ours
    pytest.mark.usefixtures("native_rewards"),
]

DOUBLE = "```python\ndef double(n):\n    return 2 * n\n```"
RIGHT, WRONG = "assert double(2) == 4", "assert double(2) == 5"


@pytest.mark.trainer("verifiers", "0.4.0", "task", "")
@pytest.mark.parametrize("kind", ["decorated", "plugged"])
def test_rollout_gets_weighted_reward_and_metrics(kind: str) -> None:
    rows = [tasks.CodeData(prompt="?", label=label) for label in (RIGHT, WRONG)]
    found = [tasks.score(tasks.task_of(kind, row), DOUBLE) for row in rows]
    assert [trace.reward for trace in found] == [0.5, 0.0]
    assert [trace.metrics["grader/verdict_passed"] for trace in found] == [1.0, 0.0]
    assert [trace.metrics["grader/graded"] for trace in found] == [1.0, 1.0]


def test_fields_of_a_task_are_its_label() -> None:
    data = tasks.CodeData(prompt=[tasks.vf.UserMessage(content="Double.")], test_list=[RIGHT])
    assert tasks.score(tasks.CodeTask(data), DOUBLE).reward == 0.5


@pytest.mark.trainer("verifiers", "0.4.0", "leaving out (raise)", "")
def test_rollout_that_could_not_be_graded_fails_and_has_no_reward() -> None:
    task = tasks.CodeTask(tasks.CodeData(prompt="?", label="no tests"))
    trace = tasks.score(task, DOUBLE)
    assert trace.rewards == {"by_tests": None}
    assert trace.has_error
    assert "not graded: LabelError: " in trace.last_error.message
    assert trace.metrics["grader/graded"] == 0.0
