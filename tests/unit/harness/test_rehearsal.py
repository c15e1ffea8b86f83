"""What a zygote executes before it forks runs."""

import subprocess
import sys

CHECK = """
import gc, importlib, os, sys, types, typing, warnings
from sandbox_images.harness.slot import rehearsal
from sandbox_images.harness.slot.zygote import COMMON_MODULES

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
        "files": os.listdir("/proc/self/fd"),
        "folder": os.getcwd(),
        "environment": dict(os.environ),
        "filters": list(warnings.filters),
        "classes": {each.__qualname__ for each in object.__subclasses__()},
        "decimal": str(sys.modules["decimal"].getcontext()),
        "left": [each for each in gc.get_objects() if type(each).__name__ in ("Node", "Candidate")],
    }

before = look()
rehearsal.rehearse()
after = look()
for what in before:
    assert before[what] == after[what], (what, before[what], after[what])
"""


def test_rehearsal_leaves_nothing_that_a_run_could_see() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHECK], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (done.stdout, done.stderr) == ("", "")
