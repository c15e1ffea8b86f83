"""The two classes that OpenRLHF wants of an agent's file, by what its release has to offer."""

from collections.abc import Callable
from typing import Any


def make(name: str, load: Callable[[str], Any]) -> tuple[type, type]:
    """Return an agent's `AgentInstance` and `AgentExecutor`.

    Up to 0.9.0 the instance travels to other processes by cloudpickle, which may not find this
    package: so nothing in the classes refers to it but through `load`.

    Args:
        name: One of `grader.rewards.agents.openrlhf.AGENTS`.
        load: Imports a module of this package, wherever it is called.
    """
    from openrlhf.utils import agent

    class AgentInstance(agent.AgentInstanceBase):  # type: ignore[misc]
        """An episode, or all of them at once: see `grader.rewards.agents.openrlhf.Session`."""

        def __init__(self, *_: Any, **__: Any) -> None:
            self._session = load("grader.rewards.agents.openrlhf").session(name)

        async def reset(self, states: dict[str, Any], **_: Any) -> dict[str, Any]:
            """Begin an episode."""
            result: dict[str, Any] = await self._session.reset(states)
            return result

        async def step(self, states: dict[str, Any], **_: Any) -> dict[str, Any]:
            """Grade an attempt, and say what comes next."""
            result: dict[str, Any] = await self._session.step(states)
            return result

    if hasattr(agent, "MultiTurnAgentExecutor"):  # from 0.9.1 on

        class AgentExecutor(agent.MultiTurnAgentExecutor):  # type: ignore[misc]
            """Drives episodes, as OpenRLHF does it."""

            def __init__(self) -> None:
                super().__init__(AgentInstance)

    else:

        class AgentExecutor(agent.AgentExecutorBase):  # type: ignore[misc,no-redef]
            """Drives episodes, as OpenRLHF does it."""

            def __init__(self, *arguments: Any, **named: Any) -> None:
                # Limits, engine, tokenizer and queue: passed on as they come.
                super().__init__(AgentInstance, *arguments, **named)

    return AgentInstance, AgentExecutor
