"""A Python tool for verl's tool agent loop. A trajectory keeps its names from call to call.

In the file that `actor_rollout_ref.rollout.multi_turn.tool_config_path` names:

    tools:
      - class_name: grader.trainers.verl_tool.PythonTool
        config: {type: native}
"""

import asyncio
import contextlib
import functools
import logging
import weakref
from typing import Any

from verl.tools.base_tool import BaseTool
from verl.tools.schemas import OpenAIFunctionToolSchema, ToolResponse

from grader.config.loading import load_settings
from grader.model.errors import GraderError
from grader.process.threads import Threads
from grader.rewards.agents.notebooks import Notebook, Notebooks

_log = logging.getLogger(__name__)

_THREADS = 256
"""The most calls that run at once; further calls wait for a thread."""
_NOT_RUN = "The code was not run, through no fault of its own."


def _schema() -> OpenAIFunctionToolSchema:
    return OpenAIFunctionToolSchema.model_validate(
        {
            "type": "function",
            "function": {
                "name": "python",
                "description": "Runs Python code. Names and files are there for the next call. "
                "Returns what it prints and the value of its last line.",
                "parameters": {
                    "type": "object",
                    "properties": {"code": {"type": "string", "description": "Python code"}},
                    "required": ["code"],
                },
            },
        }
    )


class PythonTool(BaseTool):  # type: ignore[misc]
    """Runs the code of a call in the notebook of its trajectory."""

    def __init__(
        self, config: dict[str, Any], tool_schema: OpenAIFunctionToolSchema | None
    ) -> None:
        """Open nothing yet; settings come from the environment and `grader.toml`.

        Args:
            config: The tool's configuration; not used.
            tool_schema: None for one with a function `python` that takes `code`.
        """
        super().__init__(config, tool_schema or _schema())
        self._notebooks = Notebooks(load_settings().settings)
        self._threads = Threads(_THREADS, "python-tool")
        self._by_trajectory: weakref.WeakKeyDictionary[Any, Notebook] = weakref.WeakKeyDictionary()
        self._by_instance: dict[str, Notebook] = {}

    async def execute(
        self, instance_id: str, parameters: dict[str, Any], **given: Any
    ) -> tuple[ToolResponse, float, dict[str, Any]]:
        """Run the code of a call; never raises.

        Args:
            instance_id: From `create`.
            parameters: `code`.
            given: May have verl's `agent_data`: the trajectory, to which the notebook belongs.
        """
        code = parameters.get("code")
        if not isinstance(code, str):
            found = type(code).__name__
            return ToolResponse(text=f"code is {found}; expected a string"), 0.0, {}
        notebook = self._notebook(instance_id, given.get("agent_data"))
        run = self._threads.submit(self._notebooks.run, notebook, code)
        try:
            outcome = await asyncio.wrap_future(run)
        except GraderError as error:
            _log.error("code of a tool call was not run: %s", error)
            return ToolResponse(text=_NOT_RUN), 0.0, {"python_ran": 0}
        return ToolResponse(text=outcome.text), 0.0, {"python_ran": 1}

    async def release(self, instance_id: str, **_: Any) -> None:
        """End the notebook of an instance; that of a trajectory ends with the trajectory."""
        notebook = self._by_instance.pop(instance_id, None)
        if notebook is not None:
            await asyncio.wrap_future(self._threads.submit(notebook.end))

    def close(self) -> None:
        """End every notebook and close the slots. Repeats harmlessly."""
        self._notebooks.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _notebook(self, instance_id: str, trajectory: object) -> Notebook:
        """Return the notebook of a call.

        verl makes an instance for each call, and hands its trajectory over from call to call.
        """
        if trajectory is None:
            return self._by_instance.setdefault(instance_id, Notebook())
        notebook = self._by_trajectory.get(trajectory)
        if notebook is None:
            notebook = self._by_trajectory[trajectory] = Notebook()
            # Not in the thread that drops the trajectory, which may be that of an event loop.
            weakref.finalize(trajectory, functools.partial(self._end_later, notebook))
        return notebook

    def _end_later(self, notebook: Notebook) -> None:
        with contextlib.suppress(RuntimeError):  # The tool is closed, and its sessions with it.
            self._threads.submit(notebook.end)
