"""Programs that use too much time, hide it, or ignore signals to end."""

import pytest

from grader.model.verdict import LimitKind
from tests.hostile.conftest import Target

PATIENCE = {"wall_time_s": 60.0}
"""So that the CPU time limit is hit first, even if other processes leave little CPU time."""

SLEEPERS = {
    "sleep": "time.sleep(60)",
    "waiting for input that never comes": "r, w = os.pipe()\nos.read(r, 1)",
    "waiting for a lock": (
        "import threading\nlock = threading.Lock()\nwhile lock.acquire():\n    pass"
    ),
    "a stopped process": "os.kill(os.getpid(), signal.SIGSTOP)",
    "a stopped group": "os.kill(0, signal.SIGSTOP)",
    "an exit that hangs": "import atexit\natexit.register(time.sleep, 60)",
    "a thread that never ends": (
        "import threading\nthreading.Thread(target=time.sleep, args=(60,)).start()"
    ),
    "a finaliser that hangs": "class A:\n    def __del__(self):\n        time.sleep(60)\nA()",
    "a main thread that has gone": (
        "import threading\nthreading.Thread(target=time.sleep, args=(60,)).start()\nsyscall(60, 0)"
    ),
    "a child that is waited for": "os.fork() or time.sleep(60)\nos.wait()",
}

BUSY = {
    "a loop": "while True:\n    pass",
    "a loop in C": "import collections, itertools\ncollections.deque(itertools.repeat(0), 0)",
    "a regular expression": "import re\nre.match(r'(a+)+$', 'a' * 64 + 'b')",
    "a large power": "3 ** (10 ** 9)",
    "every signal ignored": (
        "for n in set(range(1, 65)) - {9, 19, 32, 33}:\n    signal.signal(n, signal.SIG_IGN)\n"
        "while True:\n    pass"
    ),
    "every signal blocked": (
        "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True:\n    pass"
    ),
    "exceptions swallowed": (
        "while True:\n    try:\n        while True:\n            pass\n"
        "    except BaseException:\n        pass"
    ),
    "timers without end": (
        "signal.signal(signal.SIGALRM, lambda *_: None)\n"
        "signal.setitimer(signal.ITIMER_REAL, 1e-5, 1e-5)\nwhile True:\n    pass"
    ),
    "threads": (
        "import threading\ndef spin():\n    while True:\n        pass\n"
        "[threading.Thread(target=spin).start() for _ in range(8)]"
    ),
    "children": "[os.fork() for _ in range(3)]\nwhile True:\n    pass",
    "the lowest priority": "os.nice(19)\nwhile True:\n    pass",
}


@pytest.mark.parametrize("source", [pytest.param(s, id=name) for name, s in SLEEPERS.items()])
def test_sleeper_hits_the_wall_time_limit(target: Target, source: str) -> None:
    outcome = target.attack(source, limits={"wall_time_s": 0.4})
    assert outcome.limit_hit is LimitKind.WALL_TIME


@pytest.mark.parametrize("source", [pytest.param(s, id=name) for name, s in BUSY.items()])
def test_busy_program_hits_the_cpu_time_limit(target: Target, source: str) -> None:
    outcome = target.attack(source, limits={"cpu_time_s": 0.4, **PATIENCE})
    assert outcome.limit_hit is LimitKind.CPU_TIME


# Each child takes little CPU time, ends before the next begins, and has lost its parent by then.
ORPHANS = """
while True:
    r, w = os.pipe()
    if os.fork() == 0:
        os.close(r)
        if os.fork() == 0:
            end = time.process_time() + 0.05
            while time.process_time() < end:
                pass
        os._exit(0)
    os.close(w)
    os.wait()
    os.read(r, 1)
    os.close(r)
"""

IGNORED = """
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    if os.fork() == 0:
        end = time.process_time() + 0.05
        while time.process_time() < end:
            pass
        os._exit(0)
    attempt(os.wait)
"""


@pytest.mark.parametrize(
    "source", [pytest.param(ORPHANS, id="orphans"), pytest.param(IGNORED, id="ignored")]
)
def test_cpu_time_of_children_that_nobody_waits_for_counts(target: Target, source: str) -> None:
    if not target.has_cgroup:
        pytest.skip("without a cgroup only living processes can be counted")
    outcome = target.attack(source, limits={"cpu_time_s": 0.5, **PATIENCE})
    assert outcome.limit_hit is LimitKind.CPU_TIME


def test_patched_clock_changes_nothing(target: Target) -> None:
    source = """
time.time = time.monotonic = time.perf_counter = time.process_time = lambda: 0.0
while True:
    pass
"""
    outcome = target.attack(source, limits={"cpu_time_s": 0.4, **PATIENCE})
    assert outcome.limit_hit is LimitKind.CPU_TIME
    assert target.tell("syscall(227, 0, 0)") in ("EPERM", "ENOSYS")  # clock_settime
