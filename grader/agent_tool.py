"""The tool agent for OpenRLHF: `--async_train --agent_func_path grader/agent_tool.py`.

The model runs code in a session that keeps its names, and hands in an answer, within
`GRADER_AGENT_MAX_STEPS` steps. Otherwise as `grader/agent_func.py`.
"""

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

from openrlhf.utils import agent as _openrlhf

_ROOT = str(Path(__file__).resolve().parent.parent)


def _adapter() -> Any:
    """Import the package that this file is part of, also from a checkout never installed."""
    for name in ("grader", "sandbox_images"):
        if name not in sys.modules and (spec := PathFinder.find_spec(name, [_ROOT])):
            # Not by sys.path: that would show the trainer our tests, workers and examples.
            module = sys.modules.setdefault(name, module_from_spec(spec))
            if spec.has_location and spec.loader is not None:
                spec.loader.exec_module(module)
    from grader.rewards.agents import openrlhf

    return openrlhf


class AgentInstance(_openrlhf.AgentInstanceBase):  # type: ignore[misc]
    """An episode, or all of them at once: see `grader.rewards.agents.openrlhf.Session`."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self._session = _adapter().session("tool")

    async def reset(self, states: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Begin an episode."""
        result: dict[str, Any] = await self._session.reset(states)
        return result

    async def step(self, states: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Grade an attempt, and say what comes next."""
        result: dict[str, Any] = await self._session.step(states)
        return result


if hasattr(_openrlhf, "MultiTurnAgentExecutor"):  # from 0.9.1 on

    class AgentExecutor(_openrlhf.MultiTurnAgentExecutor):  # type: ignore[misc]
        """Drives episodes, as OpenRLHF does it."""

        def __init__(self) -> None:
            super().__init__(AgentInstance)

else:

    class AgentExecutor(_openrlhf.AgentExecutorBase):  # type: ignore[misc,no-redef]
        """Drives episodes, as OpenRLHF does it."""

        def __init__(
            self,
            max_steps: int,
            max_length: int,
            llm_engine: Any,
            hf_tokenizer: Any,
            result_queue: Any,
        ) -> None:
            super().__init__(
                AgentInstance, max_steps, max_length, llm_engine, hf_tokenizer, result_queue
            )


_adapter().check()
