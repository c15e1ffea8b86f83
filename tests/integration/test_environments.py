"""Grading in processes that treat signals, limits and devices in ways of their own."""

import json
import os
import subprocess
import sys

import pytest

from tests.endings import LABEL

pytestmark = [pytest.mark.usefixtures("native_sandbox"), pytest.mark.timeout(120)]

PRELUDE = """
import json, os, resource, signal, sys, time

def ignore():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)

def reap():
    def handler(*_):
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
    signal.signal(signal.SIGCHLD, handler)

def ignore_all():
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)

def block_all():
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())

def limit_itself():
    for kind, soft in ((resource.RLIMIT_AS, 16 << 30), (resource.RLIMIT_FSIZE, 64)):
        resource.setrlimit(kind, (soft, resource.getrlimit(kind)[1]))
"""

GRADE = """
from grader.trainers.shared import rate_one
from grader.rewards.sample import Sample

def grade(code):
    rating = rate_one(Sample(query=f"```python\\n{code}\\n```", label=sys.argv[1]))
    return [rating.graded, str(rating.verdict), rating.score]
"""

SUBMISSIONS = {
    "def f():\n    return 1": [True, "passed", 1.0],
    "def f():\n    return 2": [True, "failed", 0.0],
    "import os\nos._exit(3)": [True, "runtime_error", 0.0],
    "import os\nos.kill(os.getpid(), 9)": [True, "runtime_error", 0.0],
    "import subprocess, sys\n"
    "def f():\n"
    "    return subprocess.run([sys.executable, '-c', 'exit(7)']).returncode - 6": [
        True,
        "passed",
        1.0,
    ],
    "import os\n"
    "def f():\n"
    "    child = os.fork()\n"
    "    if child == 0:\n"
    "        os._exit(1)\n"
    "    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])": [True, "passed", 1.0],
    "import signal\n"
    "def f():\n"
    "    try:\n"
    "        signal.raise_signal(signal.SIGINT)\n"
    "    except KeyboardInterrupt:\n"
    "        return 1": [True, "passed", 1.0],
    "import signal\n"
    "def f():\n"
    "    handled = {n for n in signal.valid_signals() if signal.getsignal(n) == signal.SIG_IGN}\n"
    "    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())\n"
    "    return (handled, blocked) == ({signal.SIGPIPE, signal.SIGXFSZ}, set())": [
        True,
        "passed",
        1.0,
    ],
    "import resource\ndef f():\n    return len({*resource.getrlimit(resource.RLIMIT_AS)})": [
        True,
        "passed",
        1.0,
    ],
}


def run(program: str, *arguments: str) -> list[object]:
    """Return the JSON that a process with such a program prints last."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith("GRADER_")}
    environ |= {"GRADER_SANDBOX": "native", "GRADER_SLOTS": "1", "GRADER_REWARD_DEADLINE_S": "60"}
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + program, *arguments],
        env=environ,
        capture_output=True,
        text=True,
    )
    assert done.stdout, done.stderr
    found: list[object] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("how", ["ignore", "reap", "ignore_all", "block_all", "limit_itself"])
def test_verdicts_are_the_same_whatever_the_trainer_sets_for_itself(how: str, when: str) -> None:
    early, late = (f"{how}()", "") if when == "before" else ("", f"{how}()")
    program = f"""
{early}
{GRADE}
grade("def f():\\n    return 1")
{late}
print(json.dumps([grade(code) for code in json.loads(sys.argv[2])]))
"""
    assert run(program, LABEL, json.dumps([*SUBMISSIONS])) == [*SUBMISSIONS.values()]


@pytest.mark.parametrize("how", ["ignore", "reap", "ignore_all", "block_all"])
def test_hard_comparison_is_a_limit_however_the_trainer_treats_signals(how: str) -> None:
    pytest.importorskip("latex2sympy2_extended")
    program = f"""
{how}()
from grader.rewards.maths.symbolic import Algebra
algebra = Algebra(processes=1, cpu_time_s=0.5)
hard = algebra.comparisons()
is_equal = hard.same("9^{{9^{{9^9}}}} + x", "x + 5")
found = [is_equal, hard.hit_limit, algebra.same("x + 1", "1 + x"), algebra.same("x", "x + 1")]
algebra.close()
print(json.dumps(found))
"""
    assert run(program) == [False, True, True, False]


def test_rewards_are_on_the_cpu_whatever_the_default_device() -> None:
    pytest.importorskip("torch")
    program = """
import torch
torch.set_default_device("meta")
from grader.rewards.openrlhf import rewards_for
from grader.rewards.agents.openrlhf import session
import asyncio

right = "```python\\ndef f():\\n    return 1\\n```"
rewards = rewards_for([right] * 2, ["", ""], [sys.argv[1]] * 2)

async def attempt():
    agent = session("code")
    await agent.reset({"observation": "", "label": sys.argv[1]})
    return await agent.step({"action_text": right})

step = asyncio.run(attempt())
tensors = [rewards["rewards"], rewards["scores"], *rewards["extra_logs"].values()]
tensors += [step["rewards"], step["scores"], *step["extra_logs"].values()]
print(json.dumps([rewards["rewards"].tolist(), float(step["rewards"]),
                  sorted({str(each.device) for each in tensors})]))
"""
    assert run(program, LABEL) == [[1.0, 1.0], 1.0, ["cpu"]]
