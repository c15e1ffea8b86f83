"""The two classes that OpenRLHF expects in an agent's file, which depend on its release."""

from collections.abc import Callable
from typing import Any


def make(name: str, load: Callable[[str], Any]) -> tuple[type, type]:
    """Return an agent's `AgentInstance` and `AgentExecutor`.

    Up to 0.9.0, cloudpickle sends the classes to other processes, which may not find this package.
    So they refer to it only through `load`.

    Args:
        name: One of `grader.rewards.agents.openrlhf.AGENTS`.
        load: Imports a module of this package, in any process.

    Raises:
        ConfigurationError: This OpenRLHF has no such classes.
    """
    try:
        from openrlhf.utils import agent
    except ImportError as error:
        message = f"agents need OpenRLHF 0.8.7 or later, with `openrlhf.utils.agent`: {error}"
        raise load("grader.model.errors").ConfigurationError(message) from error

    class AgentInstance(agent.AgentInstanceBase):  # type: ignore[misc]
        """One episode, or all of them; see `grader.rewards.agents.openrlhf.AgentSession`."""

        def __init__(self, *_: Any, **__: Any) -> None:
            self._session = load("grader.rewards.agents.openrlhf").session(name)

        async def reset(self, states: dict[str, Any], **_: Any) -> dict[str, Any]:
            """Begin an episode."""
            result: dict[str, Any] = await self._session.reset(states)
            return result

        async def step(self, states: dict[str, Any], **_: Any) -> dict[str, Any]:
            """Grade an attempt."""
            result: dict[str, Any] = await self._session.step(states)
            return result

    if hasattr(agent, "MultiTurnAgentExecutor"):  # from 0.9.1 on

        class AgentExecutor(agent.MultiTurnAgentExecutor):  # type: ignore[misc]
            """OpenRLHF's driver of episodes."""

            def __init__(self) -> None:
                super().__init__(AgentInstance)

    else:

        class AgentExecutor(agent.AgentExecutorBase):  # type: ignore[misc,no-redef]
            """OpenRLHF's driver of episodes."""

            def __init__(self, *arguments: Any, **named: Any) -> None:
                # The check opened a core in this process, but episodes run in another one.
                load("grader.rewards.core").forget_shared_core()
                self._arena = _open_arena(name, load)
                self.rollout = _visitor(agent.AgentInstanceBase, self._arena)
                # Limits, engine, tokenizer and queue are passed on.
                super().__init__(self.rollout, *arguments, **named)

    return AgentInstance, AgentExecutor


def _open_arena(name: str, load: Callable[[str], Any]) -> Any:
    """Start one Ray actor that grades all rollouts of an engine.

    Up to 0.9.0, OpenRLHF starts an actor for each rollout, 128 at once. If each had its own slots,
    there would be 128 times too many.

    Returns:
        A handle. The actor ends when the handle is dropped.
    """
    import ray

    class Arena:
        """Holds the episodes of all rollouts, by key."""

        def __init__(self) -> None:
            self._sessions = load("grader.rewards.agents.openrlhf").AgentSessions(name)

        async def reset(self, key: str, states: dict[str, Any]) -> Any:
            return await self._sessions.reset(key, states)

        async def step(self, key: str, states: dict[str, Any]) -> Any:
            return await self._sessions.step(key, states)

    # The actor mostly waits, in one call for each rollout. If it is killed, Ray starts it again
    # without its episodes; they continue from the text that the model has seen.
    options = {"num_cpus": 0, "max_concurrency": 1000, "max_restarts": -1, "max_task_retries": -1}
    return ray.remote(**options)(Arena).remote()


def _visitor(base: type, arena: Any) -> type:
    """Return an `AgentInstance` whose episode is in an arena."""

    class Visitor(base):  # type: ignore[misc]
        """One rollout. Loads nothing of this package, so that its process stays small."""

        def __init__(self, *_: Any, **__: Any) -> None:
            import uuid

            self._key = uuid.uuid4().hex

        async def reset(self, states: dict[str, Any], **_: Any) -> dict[str, Any]:
            result: dict[str, Any] = await arena.reset.remote(self._key, states)
            return result

        async def step(self, states: dict[str, Any], **_: Any) -> dict[str, Any]:
            # The arena does not need the parameters of the engine.
            told = {key: value for key, value in states.items() if key != "sampling_params"}
            result: dict[str, Any] = await arena.step.remote(self._key, told)
            return {**result, "sampling_params": states.get("sampling_params")}

    return Visitor
