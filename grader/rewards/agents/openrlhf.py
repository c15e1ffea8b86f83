"""The adapter between OpenRLHF's agent interface and the agents.

OpenRLHF calls `reset` once and `step` until it returns `done`, without a timeout and without
catching exceptions. Up to 0.9.0, each rollout has an instance in its own Ray actor, and its episode
is in `AgentSessions` in another actor. 0.9.1 has one instance for all rollouts, each in an asyncio
task. From 0.9.2 on, each rollout has an instance again. So an instance finds the episode of a call
by its asyncio task, and takes the latest episode if the task is new.
"""

import asyncio
import functools
import logging
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from grader.rewards.agents.episode import AGENT_LOG_KEYS, Agent, Episode, EpisodeStep
from grader.rewards.agents.repair import MathAgent, RepairAgent
from grader.rewards.agents.tools import ToolAgent
from grader.rewards.calls import in_thread
from grader.rewards.core import RewardCore, shared_core
from grader.rewards.openrlhf import check

__all__ = ["AGENTS", "AgentSession", "AgentSessions", "check", "session"]

_log = logging.getLogger(__name__)

AGENTS: Mapping[str, type[Agent]] = {"code": RepairAgent, "math": MathAgent, "tool": ToolAgent}

_MOST_SESSIONS = 4096
"""The most sessions that are kept. Some rollouts never end, for example if the context is full."""


class AgentSession:
    """The implementation of an `AgentInstance`. For one event loop."""

    def __init__(self, agent: Agent, core: RewardCore) -> None:
        """Start without an episode.

        Args:
            agent: Grades the episodes.
            core: The core of the agent.
        """
        self._agent = agent
        self._core = core
        self._episodes: WeakKeyDictionary[asyncio.Task[Any], Episode] = WeakKeyDictionary()
        self._latest: Episode | None = None

    async def reset(self, states: Mapping[str, Any]) -> dict[str, Any]:
        """Begin an episode with `observation` and `label`; return `observation` unchanged."""
        self._begin(states.get("observation"), states.get("label"))
        return {"observation": states.get("observation", "")}

    async def step(self, states: Mapping[str, Any]) -> dict[str, Any]:
        """Grade an attempt; never raises.

        Args:
            states: `observation_text`, `action_text`, `label` and `sampling_params`.
        """
        answer = str(states.get("action_text") or "")
        try:
            episode = self._episode(states)
            step = await in_thread(functools.partial(self._agent.step, episode, answer))
        except Exception:  # noqa: BLE001 - logged; ends only this episode
            _log.exception("an agent's step failed because of a bug in the grader")
            neutral = self._core.settings.reward.neutral
            step = EpisodeStep(reward=neutral, score=0.0, feedback="", done=True, logs={})
        return _result(step, states.get("sampling_params"))

    def _begin(self, prompt: object, label: object) -> Episode:
        episode = self._agent.begin(str(prompt or ""), label)
        self._latest = episode
        if (task := asyncio.current_task()) is not None:
            self._episodes[task] = episode
        return episode

    def _episode(self, states: Mapping[str, Any]) -> Episode:
        task = asyncio.current_task()
        episode = self._latest if task is None else self._episodes.get(task, self._latest)
        return episode or self._begin(states.get("observation_text"), states.get("label"))


class AgentSessions:
    """The sessions of many rollouts, by key. For one event loop."""

    def __init__(self, name: str) -> None:
        """Start without sessions.

        Args:
            name: One of `AGENTS`.
        """
        self._name = name
        self._open: OrderedDict[str, AgentSession] = OrderedDict()

    async def reset(self, key: str, states: Mapping[str, Any]) -> dict[str, Any]:
        """Begin the episode of a key; see `AgentSession.reset`."""
        return await self._of(key).reset(states)

    async def step(self, key: str, states: Mapping[str, Any]) -> dict[str, Any]:
        """Grade an attempt of the episode of a key; see `AgentSession.step`."""
        result = await self._of(key).step(states)
        if result["done"]:
            self._open.pop(key, None)
        return result

    def _of(self, key: str) -> AgentSession:
        """Return the session of a key; a new one if there is none."""
        found = self._open.pop(key, None) or session(self._name)
        self._open[key] = found
        while len(self._open) > _MOST_SESSIONS:
            self._open.popitem(last=False)
        return found


def session(name: str) -> AgentSession:
    """Return a session of one of `AGENTS`, with the core of this process.

    Raises:
        ConfigurationError: A setting in the environment is wrong.
    """
    core = shared_core()
    return AgentSession(_agent(name, core), core)


@functools.cache
def _agent(name: str, core: RewardCore) -> Agent:
    # One agent for all episodes, because it may hold slots.
    return AGENTS[name](core)


def _result(step: EpisodeStep, sampling_params: object) -> dict[str, Any]:
    import torch

    # The trainer may have set another default device.
    tensor = functools.partial(torch.tensor, dtype=torch.float32, device="cpu")
    return {
        "rewards": tensor(step.reward),
        "scores": tensor(step.score),
        "environment_feedback": step.feedback,
        "done": step.done,
        "sampling_params": sampling_params,
        "extra_logs": {key: tensor([step.logs.get(key, 0.0)]) for key in AGENT_LOG_KEYS},
    }
