"""What a submission leaves behind is not there for the next one."""

import pytest

from grader.sandbox.contract import Program
from tests.hostile.conftest import Target

MARKS = {
    "files": """
for folder in ("/work", "/tmp", "/dev/shm", "/box", ".", ".."):
    for name in ("conftest.py", "pytest.ini", "sitecustomize.py", "usercustomize.py", "x.pth",
                 "solution.pyc", "pytest.py", "json.py", "double.py", "test_double.py"):
        attempt(lambda: open(f"{folder}/{name}", "w").write("raise SystemExit(0)"))
""",
    "packages of the user": """
import site
folder = site.getusersitepackages()
os.makedirs(folder, exist_ok=True)
for name in ("sitecustomize.py", "usercustomize.py", "x.pth", "pytest.py"):
    open(f"{folder}/{name}", "w").write("import builtins; builtins.POISON = 1")
""",
    "bytecode": """
import glob, importlib.util, py_compile
for path in glob.glob("/usr/lib/python3*/json/*.py") + glob.glob("/opt/grader/**/*.py"):
    attempt(lambda: open(importlib.util.cache_from_source(path), "r+b").write(bytes(16)))
    attempt(lambda: os.unlink(path))
""",
    "profiles": """
for name in (".bashrc", ".profile", ".bash_profile", ".pythonrc", ".pdbrc", ".netrc"):
    open(os.path.expanduser(f"~/{name}"), "w").write("exit 0")
""",
    "builtins": """
import builtins
builtins.POISON = True
builtins.len = builtins.sorted = builtins.print = lambda *a, **k: 42
""",
    "modules": """
import json, io, struct, traceback, linecache
for module in list(sys.modules.values()):
    for name in list(vars(module)):
        if callable(getattr(module, name, None)) and not name.startswith("_"):
            attempt(lambda: setattr(module, name, lambda *a, **k: None))
""",
    "handlers and hooks": """
import atexit
for n in set(range(1, 65)) - {9, 19, 32, 33}:
    signal.signal(n, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
sys.settrace(lambda *a: None)
sys.excepthook = sys.unraisablehook = lambda *a: os._exit(0)
atexit.register(os._exit, 0)
sys.addaudithook(lambda *a: None)
gc.disable()
sys.setrecursionlimit(50)
""",
    "state of the process": """
os.umask(0o777)
os.nice(19)
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
attempt(lambda: os.sched_setaffinity(1, {min(os.sched_getaffinity(0))}))
attempt(lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))
attempt(lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19))
for name in dir(resource):
    if name.startswith("RLIMIT_") and name != "RLIMIT_CPU":
        for pid in (0, 1):
            attempt(lambda: resource.prlimit(pid, getattr(resource, name), (0, 0)))
""",
    "limits of process 1": """
attempt(lambda: resource.prlimit(1, resource.RLIMIT_CPU, (0, 0)))
""",
    "daemons": """
for _ in range(4):
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
        while True:
            for folder in ("/work", "/tmp", "/dev/shm"):
                attempt(lambda: open(f"{folder}/conftest.py", "w").write("raise SystemExit"))
            time.sleep(0.001)
""",
    "shared memory": """
from multiprocessing import resource_tracker, shared_memory
block = shared_memory.SharedMemory("stays", create=True, size=4096)
block.buf[:6] = b"poison"
resource_tracker.unregister(block._name, "shared_memory")
""",
    "locks": """
import fcntl
for folder, _, names in os.walk("/opt/grader"):
    for name in names:
        with_lock = open(f"{folder}/{name}", "rb")
        attempt(lambda: fcntl.flock(with_lock, fcntl.LOCK_EX))
        globals()[name] = with_lock
        if len(globals()) > 200:
            break
if os.fork() == 0:
    os.setsid()
    time.sleep(60)
""",
    "standard streams": """
os.set_blocking(0, False), os.set_blocking(1, False), os.set_blocking(2, False)
for number in range(10):
    attempt(lambda: os.set_blocking(number, False))
os.closerange(0, 3)
""",
}


@pytest.mark.parametrize("marks", [pytest.param(source, id=name) for name, source in MARKS.items()])
def test_nothing_is_left_for_the_next(target: Target, marks: str) -> None:
    payloads = {
        Program.STDIN: b"",
        Program.SCRIPT: b'{"setup": "", "cases": ["assert True"], "stop_early": false}',
        Program.PYTEST: b'{"test_paths": ["solution.py"], "args": [], "stop_early": false}',
    }
    # What the fixtures find afterwards is the test.
    for program, payload in payloads.items():
        target.attack(marks, payload, program=program)
