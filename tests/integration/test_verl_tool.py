"""The Python tool for verl, over verl's own base class and called as its tool agent loop does."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.verl_client import imported

pytestmark = [pytest.mark.timeout(90), pytest.mark.usefixtures("native_sandbox")]


class Trajectory:
    """As verl's AgentData, of which the tool sees no more than that it is there."""


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("GRADER_SANDBOX", "native")
    monkeypatch.setenv("GRADER_SESSIONS_MOST", "2")
    with imported() as load:
        module = load("grader.trainers.verl_tool")
        tool = module.PythonTool({"type": "native"}, None)
        yield tool
        tool.close()


def call(tool: Any, code: object, trajectory: object = None) -> tuple[str, float, dict[str, Any]]:
    """Call the tool as verl 0.9.1 does: with an instance of its own for every call."""

    async def calling() -> tuple[str, float, dict[str, Any]]:
        instance, _ = await tool.create(create_kwargs={})
        try:
            response, reward, metrics = await tool.execute(
                instance, {"code": code}, agent_data=trajectory
            )
        finally:
            await tool.release(instance)
        return response.text, reward, metrics

    return asyncio.run(calling())


def test_names_live_on_from_call_to_call_of_a_trajectory(tool: Any) -> None:
    first, second = Trajectory(), Trajectory()
    assert call(tool, "x = 1", first) == ("(no output)", 0.0, {"python_ran": 1})
    assert call(tool, "x = 2", second)[0] == "(no output)"
    assert (call(tool, "x", first)[0], call(tool, "x", second)[0]) == ("1", "2")


def test_more_trajectories_than_sessions_keep_their_names_all_the_same(tool: Any) -> None:
    trajectories = [Trajectory() for _ in range(4)]
    for number, trajectory in enumerate(trajectories):
        call(tool, f"x = {number}", trajectory)
    assert [call(tool, "x", each)[0] for each in trajectories] == ["0", "1", "2", "3"]


def test_session_ends_with_its_trajectory(
    tool: Any, eventually: Callable[[Callable[[], bool], float], None]
) -> None:
    trajectory = Trajectory()
    call(tool, "x = 1", trajectory)
    assert tool._notebooks._sessions.count() == 1
    del trajectory
    eventually(lambda: tool._notebooks._sessions.count() == 0, 10.0)


def test_call_without_a_trajectory_has_a_notebook_of_its_own(tool: Any) -> None:
    call(tool, "x = 1")
    assert "NameError" in call(tool, "x")[0]
    assert tool._notebooks._sessions.count() == 0


def test_code_that_is_no_text_is_told(tool: Any) -> None:
    assert call(tool, 5) == ("code is int; expected a string", 0.0, {})


def test_schema_is_one_that_verl_shows_to_models(tool: Any) -> None:
    assert tool.name == "python"
    shown = tool.get_openai_tool_schema().model_dump(exclude_none=True)
    assert shown["function"]["parameters"]["required"] == ["code"]
