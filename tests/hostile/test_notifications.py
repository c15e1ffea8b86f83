"""Attacks on the notifications of refused system calls, and on process 1 of a run.

A caller that is refused waits for the supervisor's answer; some of these are gone before it comes.
"""

import pytest

from grader.model.verdict import LimitKind
from tests.hostile.conftest import Target

PTRACE = "libc.ptrace(16, 1, 0, 0)"


def test_callers_that_are_killed_while_they_wait_keep_nobody_waiting(target: Target) -> None:
    outcome = target.attack(f"""
end = time.monotonic() + 0.7
while time.monotonic() < end:
    callers = []
    for _ in range(8):
        callers.append(os.fork())
        if callers[-1] == 0:
            while True:
                {PTRACE}
    time.sleep(0.002)
    for caller in callers:
        os.kill(caller, signal.SIGKILL)
        os.waitpid(caller, 0)
print("done")
""")
    assert (outcome.stdout, outcome.forbidden_calls) == (b"done\n", ("ptrace",))


def test_signals_that_interrupt_the_waiting_do_no_harm(target: Target) -> None:
    outcome = target.attack(f"""
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
end = time.monotonic() + 0.5
while time.monotonic() < end:
    {PTRACE}
print("done")
""")
    assert (outcome.stdout, outcome.forbidden_calls) == (b"done\n", ("ptrace",))


def test_flood_of_refused_calls_ends_at_a_limit(target: Target) -> None:
    outcome = target.attack(
        f"""
for _ in range(10):
    if os.fork() == 0:
        while True:
            {PTRACE}
time.sleep(60)
""",
        limits={"wall_time_s": 1.0},
    )
    assert outcome.limit_hit in (LimitKind.WALL_TIME, LimitKind.CPU_TIME)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param("resource.prlimit(1, resource.RLIMIT_NPROC, (0, 0))", id="limits"),
        pytest.param("os.setpriority(os.PRIO_PROCESS, 1, 19)", id="priority"),
        pytest.param("os.setpriority(os.PRIO_USER, os.getuid(), 19)", id="everybody's priority"),
        pytest.param("os.sched_setaffinity(1, {0})", id="cores"),
        pytest.param("[os.kill(1, number) for number in range(1, 65)]", id="signals"),
        pytest.param("os.setpgid(1, 1)", id="process group"),
    ],
)
def test_what_is_done_to_process_1_reaches_nobody_else(target: Target, change: str) -> None:
    # What it shares with a zygote is memory and nothing else.
    state = "[os.getpriority(0, 0), sorted(os.sched_getaffinity(0)), resource.getrlimit(6)]"
    before = target.tell(state)
    target.tell(change)
    assert target.tell(state) == before
