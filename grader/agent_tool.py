"""The tool agent for OpenRLHF: `--agent_func_path grader/agent_tool.py`.

The model runs code in a session that keeps its names, and hands in an answer, within
`GRADER_AGENT_MAX_STEPS` steps. Otherwise as `grader/agent_func.py`.
"""

from pathlib import Path
from runpy import run_path

_load = run_path(str(Path(__file__).resolve().parent / "process/checkout.py"))["load"]

AgentInstance, AgentExecutor = _load("grader.rewards.agents.classes").make("tool", _load)

_load("grader.rewards.openrlhf").check()
