"""The math agent for OpenRLHF: `--agent_func_path grader/agent_math.py`.

The model answers, is told whether that is right, and thinks again, up to
`GRADER_AGENT_MAX_STEPS` times. Otherwise as `grader/agent_func.py`.
"""

from pathlib import Path
from runpy import run_path

_load = run_path(str(Path(__file__).resolve().parent / "process/checkout.py"))["load"]

AgentInstance, AgentExecutor = _load("grader.rewards.agents.classes").make("math", _load)

_load("grader.rewards.openrlhf").check("math")
