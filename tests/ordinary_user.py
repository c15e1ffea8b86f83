"""The grader as run by an ordinary user.

Such a grader has one kernel user for all slots, and no control groups unless some are delegated to
that user.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest

from tests.conftest import REPO

_UNPRIVILEGED_UID = 61_999
_SITE_FOLDER = Path(pytest.__file__).parent.parent
_ATTACKED_SLOT = """
import json, sys
from grader.config.settings import Settings
from grader.model import Limits
from grader.sandbox.contract import Program, RunBatch
from grader.sandbox.native.backend import NativeSandbox
sandbox = NativeSandbox(Settings())
slot = sandbox.open_slot(image="python", memory_bytes=128 << 20)
for line in sys.stdin:
    source, limits = json.loads(line)
    batch = RunBatch(program=Program.STDIN, source=source, runs=(b"",), limits=Limits(**limits))
    (outcome,) = slot.run(batch)
    print(json.dumps([
        outcome.exit_code, outcome.limit_hit, outcome.stdout.decode(), outcome.stderr.decode(),
        outcome.usage.cpu_time_s, outcome.usage.wall_time_s, outcome.waited_s,
    ]), flush=True)
slot.close()
sandbox.close()
"""


def ordinary_user() -> Mapping[str, Any]:
    """Return the options with which `subprocess` starts a process of an ordinary user."""
    user = _UNPRIVILEGED_UID if os.geteuid() == 0 else None
    path = os.pathsep.join(map(str, (REPO, _SITE_FOLDER)))
    return {
        "text": True,
        "cwd": "/",
        "env": {"PYTHONPATH": path},
        "user": user,
        "group": user,
        "extra_groups": None if user is None else [],
    }


def run_as_ordinary_user(
    command: list[str], *, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(command, check=False, input=stdin, capture_output=True, **ordinary_user())


def find_python() -> str:
    """Return a Python with pytest that an ordinary user may execute; skip if there is none."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, f"/usr/bin/python{version}"):
        try:
            check = run_as_ordinary_user([python, "-B", "-c", "import pytest"])
        except OSError:
            continue  # it lies in a home that is closed to others
        if check.returncode == 0:
            return python
    pytest.skip("no Python with pytest here that an ordinary user may execute")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is told of a run."""

    exit_code: int | None
    limit_hit: str | None
    stdout: str
    stderr: str
    cpu_time_s: float
    wall_time_s: float
    waited_s: float


@dataclass(frozen=True, slots=True)
class OrdinarySlot:
    """A native slot of an ordinary user."""

    _asks: IO[str]
    _answers: IO[str]

    def run(self, source: str, **limits: Any) -> Outcome:
        """Run a stdin program on empty input."""
        print(json.dumps([source, limits]), file=self._asks, flush=True)
        return Outcome(*json.loads(self._answers.readline()))


@contextmanager
def open_slot(python: str) -> Iterator[OrdinarySlot]:
    """Open a slot in a process of an ordinary user."""
    with subprocess.Popen(
        [python, "-B", "-c", _ATTACKED_SLOT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        **ordinary_user(),
    ) as grader:
        assert grader.stdin is not None
        assert grader.stdout is not None
        yield OrdinarySlot(grader.stdin, grader.stdout)
        grader.stdin.close()
    assert grader.returncode == 0
