"""The two classes that OpenRLHF wants of an agent's file, by what its release has to offer."""

from collections.abc import Callable
from typing import Any


def make(name: str, load: Callable[[str], Any]) -> tuple[type, type]:
    """Return an agent's `AgentInstance` and `AgentExecutor`.

    Up to 0.9.0 classes travel to other processes by cloudpickle, which may not find this
    package: so nothing in them refers to it but through `load`.

    Args:
        name: One of `grader.rewards.agents.openrlhf.AGENTS`.
        load: Imports a module of this package, wherever it is called.

    Raises:
        ConfigurationError: This OpenRLHF has no such classes.
    """
    try:
        from openrlhf.utils import agent
    except ImportError as error:
        message = f"agents need OpenRLHF 0.8.7 or later, with `openrlhf.utils.agent`: {error}"
        raise load("grader.model.errors").ConfigurationError(message) from error

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
                # What the check of this file opened: the process of the episodes has its own.
                load("grader.rewards.core").forget_shared_core()
                self._arena = _open_arena(name, load)
                self.rollout = _visitor(agent.AgentInstanceBase, self._arena)
                # Limits, engine, tokenizer and queue: passed on as they come.
                super().__init__(self.rollout, *arguments, **named)

    return AgentInstance, AgentExecutor


def _open_arena(name: str, load: Callable[[str], Any]) -> Any:
    """Start the one process in which all rollouts of an engine are played.

    Up to 0.9.0 OpenRLHF starts an actor for each rollout, 128 at once. Slots in each of them
    would be 128 times as many as the machine has cores.

    Returns:
        A handle of the actor, which ends with whoever holds this one.
    """
    import ray

    class Arena:
        """Plays episodes, each of which its caller names by a key."""

        def __init__(self) -> None:
            self._sessions = load("grader.rewards.agents.openrlhf").Sessions(name)

        async def reset(self, key: str, states: dict[str, Any]) -> Any:
            return await self._sessions.reset(key, states)

        async def step(self, key: str, states: dict[str, Any]) -> Any:
            return await self._sessions.step(key, states)

    # It mostly waits, as many times at once as there are rollouts. One that was killed is
    # started anew, without its episodes, which go on from what the model was shown.
    options = {"num_cpus": 0, "max_concurrency": 1000, "max_restarts": -1, "max_task_retries": -1}
    return ray.remote(**options)(Arena).remote()


def _visitor(base: type, arena: Any) -> type:
    """Return an `AgentInstance` that is played in an arena."""

    class Visitor(base):  # type: ignore[misc]
        """One rollout. Holds nothing of this package, so that its process is a light one."""

        def __init__(self, *_: Any, **__: Any) -> None:
            import uuid

            self._key = uuid.uuid4().hex

        async def reset(self, states: dict[str, Any], **_: Any) -> dict[str, Any]:
            result: dict[str, Any] = await arena.reset.remote(self._key, states)
            return result

        async def step(self, states: dict[str, Any], **_: Any) -> dict[str, Any]:
            # Parameters of an engine that the arena need not know.
            told = {key: value for key, value in states.items() if key != "sampling_params"}
            result: dict[str, Any] = await arena.step.remote(self._key, told)
            return {**result, "sampling_params": states.get("sampling_params")}

    return Visitor
