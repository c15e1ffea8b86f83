"""What a zygote executes before it forks runs."""

import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import REPO

CHECK = """
import gc, importlib, os, sys, types, typing, warnings
from sandbox_images.harness.lock_in.confinement import ConfinedRun
from sandbox_images.harness.slot import rehearsal
from sandbox_images.harness.slot.zygote import COMMON_MODULES
from sandbox_images.harness.wire import orders

for name in COMMON_MODULES:
    importlib.import_module(name)

def look():
    gc.collect()
    return {
        "modules": dict(sys.modules),
        "names": {
            name: set(vars(module)) for name, module in sys.modules.items() if name != "__main__"
        },
        "path": list(sys.path),
        "arguments": list(sys.argv),
        "finders": list(sys.meta_path),
        "folders of modules": set(sys.path_importer_cache),
        "files": os.listdir("/proc/self/fd"),
        "folder": os.getcwd(),
        "environment": dict(os.environ),
        "filters": list(warnings.filters),
        "classes": {each.__qualname__ for each in object.__subclasses__()},
        "decimal": str(sys.modules["decimal"].getcontext()),
        "left": [each for each in gc.get_objects() if type(each).__name__ in ("Node", "Candidate")],
    }

def enter(order):
    return ConfinedRun.of(order, orders.read_bundle(order.bundle))

before = look()
rehearsal.rehearse(enter)
after = look()
for what in before:
    assert before[what] == after[what], (what, before[what], after[what])
"""

CHECK_PYTEST = """
import os, sys, pytest
from sandbox_images.harness.runners import pytest_suite, standing_pytest

standing_pytest._REHEARSAL_PATH = os.path.abspath("test_rehearsal.py")

def rehearse(session):
    before = standing_pytest._Before(session)
    standing_pytest.rehearse(session)
    for name, was in before._modules.items():
        assert sys.modules[name] is was
    assert {*sys.modules} - {*before._modules} <= {"encodings.unicode_escape"}
    assert [*before._look()] == before._state
    assert session.testscollected == session.testsfailed == 0 and not session.items
    assert not session._setupstate.stack
    assert os.listdir() == []
    print("rehearsed", flush=True)

def wait_for_run():
    print("waits", flush=True)
    os._exit(0)

pytest_suite.serve_from_session(wait_for_run, rehearse)
"""


def _executed(source: str, folder: Path) -> str:
    """Return what a program prints."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPO)}
    done = subprocess.run(
        [sys.executable, "-B", "-c", source],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_rehearsal_leaves_nothing_that_a_run_could_see(tmp_path: Path) -> None:
    assert _executed(CHECK, tmp_path) == ""


def test_rehearsal_of_pytest_leaves_nothing_that_a_suite_could_see(tmp_path: Path) -> None:
    assert _executed(CHECK_PYTEST, tmp_path) == "rehearsed\nwaits\n"
