"""The code-repair agent for OpenRLHF: `--agent_func_path grader/agent_func.py`.

The model writes code, is told which tests fail and how, and writes it anew, up to
`GRADER_AGENT_MAX_STEPS` times. For OpenRLHF 0.8.7 to 0.11.2, which loads this file by its path.
docs/trainers/openrlhf.md has the settings.
"""

from pathlib import Path
from runpy import run_path

_load = run_path(str(Path(__file__).resolve().parent / "process/checkout.py"))["load"]

AgentInstance, AgentExecutor = _load("grader.rewards.agents.classes").make("code", _load)

_load("grader.rewards.openrlhf").check()
