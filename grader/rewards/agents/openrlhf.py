"""OpenRLHF's side of the agents: its dictionaries, its tensors, its event loop.

Its executors call `reset` once and `step` until that says `done`, without a timeout and without
catching anything. Up to 0.9.0 each rollout has an instance, in a Ray actor, which has its episode
played in `Sessions` elsewhere; 0.9.1 has one instance for all rollouts at once, each in an
asyncio task; from 0.9.2 on, one each again. So an instance finds the episode of a call by its
task, and where that is new, takes the latest.
"""

import asyncio
import functools
import logging
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from grader.rewards.agents.episode import AGENT_LOG_KEYS, Agent, Episode, EpisodeStep
from grader.rewards.agents.maths import MathAgent
from grader.rewards.agents.repair import RepairAgent
from grader.rewards.agents.tools import ToolAgent
from grader.rewards.calls import in_thread
from grader.rewards.core import RewardCore, shared_core
from grader.rewards.openrlhf import check

__all__ = ["AGENTS", "Session", "Sessions", "check", "session"]

_log = logging.getLogger(__name__)

AGENTS: Mapping[str, type[Agent]] = {"code": RepairAgent, "math": MathAgent, "tool": ToolAgent}

_MOST_SESSIONS = 4096
"""Kept of rollouts that did not end with a step, as where the context was full before."""


class Session:
    """What an `AgentInstance` is made of. For one event loop."""

    def __init__(self, agent: Agent, core: RewardCore) -> None:
        """Know no episode yet.

        Args:
            agent: Plays the episodes.
            core: That of the agent.
        """
        self._agent = agent
        self._core = core
        self._episodes: WeakKeyDictionary[asyncio.Task[Any], Episode] = WeakKeyDictionary()
        self._latest: Episode | None = None

    async def reset(self, states: Mapping[str, Any]) -> dict[str, Any]:
        """Begin an episode: `observation` and `label` in, `observation` out, unchanged."""
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
        except Exception:  # noqa: BLE001 - logged; it must cost no more than this
            _log.exception("an agent's step met a fault in the grader")
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


class Sessions:
    """Sessions of many rollouts, each under a key of its own. For one event loop."""

    def __init__(self, name: str) -> None:
        """Know none yet.

        Args:
            name: One of `AGENTS`.
        """
        self._name = name
        self._open: OrderedDict[str, Session] = OrderedDict()

    async def reset(self, key: str, states: Mapping[str, Any]) -> dict[str, Any]:
        """Begin the episode of a key; see `Session.reset`."""
        return await self._of(key).reset(states)

    async def step(self, key: str, states: Mapping[str, Any]) -> dict[str, Any]:
        """Grade an attempt of the episode of a key; see `Session.step`."""
        result = await self._of(key).step(states)
        if result["done"]:
            self._open.pop(key, None)
        return result

    def _of(self, key: str) -> Session:
        """Return the session of a key, a new one where there is none."""
        found = self._open.pop(key, None) or session(self._name)
        self._open[key] = found
        while len(self._open) > _MOST_SESSIONS:
            self._open.popitem(last=False)
        return found


def session(name: str) -> Session:
    """Return a session of one of `AGENTS`, over the core of this process.

    Raises:
        ConfigurationError: The environment holds a wrong setting.
    """
    core = shared_core()
    return Session(_agent(name, core), core)


@functools.cache
def _agent(name: str, core: RewardCore) -> Agent:
    # One for all episodes: it may hold slots.
    return AGENTS[name](core)


def _result(step: EpisodeStep, sampling_params: object) -> dict[str, Any]:
    import torch

    # A trainer may have set another default device.
    tensor = functools.partial(torch.tensor, dtype=torch.float32, device="cpu")
    return {
        "rewards": tensor(step.reward),
        "scores": tensor(step.score),
        "environment_feedback": step.feedback,
        "done": step.done,
        "sampling_params": sampling_params,
        "extra_logs": {key: tensor([step.logs.get(key, 0.0)]) for key in AGENT_LOG_KEYS},
    }
