"""Endless processes, processes that refuse to end, and processes that attack others."""

import signal

import pytest

from grader.model.verdict import LimitKind
from tests.hostile.conftest import LIMITS, Target

FORK_BOMB = """
while True:
    attempt(os.fork)
"""

CAREFUL_FORK_BOMB = """
started = 0
while attempt(os.fork) != "EAGAIN":
    started += 1
    if os.getpid() != 2:
        signal.pause()
print(started)
"""

THREAD_BOMB = """
import threading
started = 0
try:
    while started < 1000:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        started += 1
except RuntimeError:
    print(started)
"""

ZOMBIES = """
started = 0
while started < 500 and (pid := attempt(os.fork)) != "EAGAIN":
    if pid == 0:
        os._exit(0)
    started += 1
print(started)
"""

IMMORTAL = """
def become_immortal():
    os.setsid()
    for number in set(range(1, 65)) - {9, 19, 32, 33}:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
if os.fork() == 0:
    become_immortal()
    if os.fork() == 0:
        become_immortal()
        while True:
            time.sleep(1)
    os._exit(0)
os.wait()
print("left it behind")
"""

HOLDS_EVERY_PIPE_OPEN = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(60)
    os._exit(0)
os.wait()
sys.stdout.write("done")
"""


def test_fork_bomb_is_stopped_by_a_limit(target: Target) -> None:
    outcome = target.attack(FORK_BOMB, limits={"cpu_time_s": 1.0, "wall_time_s": 3.0})
    # With many cores, as many processes as are allowed have filled the memory before.
    assert outcome.limit_hit in (LimitKind.CPU_TIME, LimitKind.WALL_TIME, LimitKind.MEMORY)


@pytest.mark.parametrize(
    "bomb",
    [
        pytest.param(CAREFUL_FORK_BOMB, id="processes"),
        pytest.param(THREAD_BOMB, id="threads"),
        pytest.param(ZOMBIES, id="zombies"),
    ],
)
def test_number_of_processes_is_bounded(target: Target, bomb: str) -> None:
    outcome = target.attack(bomb)
    assert 1 <= int(outcome.stdout) < LIMITS.processes


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(IMMORTAL, id="ignores every signal"),
        pytest.param(HOLDS_EVERY_PIPE_OPEN, id="holds the pipes"),
    ],
)
def test_orphan_ends_with_its_run(target: Target, source: str) -> None:
    outcome = target.attack(source)
    assert outcome.exit_code == 0


def test_orphans_of_every_generation_are_counted_and_killed(target: Target) -> None:
    # Each child outlives its parent, so none keeps a parent for long.
    source = """
deadline = time.monotonic() + 60
while time.monotonic() < deadline:
    if os.fork():
        os._exit(0) if os.getpid() != 2 else time.sleep(60)
    os.setsid()
"""
    outcome = target.attack(source, limits={"cpu_time_s": 1.0, "wall_time_s": 2.0})
    assert outcome.limit_hit in (LimitKind.CPU_TIME, LimitKind.WALL_TIME)


@pytest.mark.parametrize("number", ["SIGKILL", "SIGSTOP", "SIGTERM", "SIGSEGV"])
def test_signals_reach_nothing_of_ours(target: Target, number: str) -> None:
    for aim in ("1", "-1", "0", "os.getppid()", "-os.getpgid(1)"):
        source = f"""
attempt(lambda: os.kill({aim}, signal.{number}))
time.sleep(0.05)
print("alive")
"""
        outcome = target.attack(source, limits={"wall_time_s": 0.3})
        assert outcome.limit_hit in (None, LimitKind.WALL_TIME)
        assert outcome.exit_signal in (None, signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM)


def test_submission_that_kills_itself_ran_into_no_limit(target: Target) -> None:
    outcome = target.attack("os.kill(os.getpid(), signal.SIGKILL)")
    assert (outcome.exit_signal, outcome.limit_hit, outcome.oom_killed) == (9, None, False)


def test_exit_code_is_the_submissions_whatever_it_looks_like(target: Target) -> None:
    codes = (1, 124, 125, 126, 127, 137, 139, 255)
    outcomes = target.attack_all("os._exit(int(input()))", *(b"%d" % code for code in codes))
    ends = [(outcome.exit_code, outcome.exit_signal, outcome.limit_hit) for outcome in outcomes]
    assert ends == [(code, None, None) for code in codes]


def test_process_1_is_out_of_reach(target: Target) -> None:
    attacks = [
        "syscall(101, 16, 1, 0, 0)",  # ptrace
        "syscall(310, 1, 0, 0, 0, 0, 0)",  # process_vm_readv
        "syscall(311, 1, 0, 0, 0, 0, 0)",  # process_vm_writev
        "syscall(438, 1, 0, 0)",  # pidfd_getfd
        "open('/proc/1/mem', 'rb').read(1)",
        "open('/proc/1/environ').read()",
        "os.readlink('/proc/1/fd/0')",
        "os.open('/proc/1/fd/1', os.O_WRONLY)",
        "os.listdir('/proc/1/map_files')",
        "os.readlink('/proc/1/exe')",
        "os.readlink('/proc/1/cwd')",
        "open('/proc/1/maps').read(1)",
        "os.open('/proc/1/root/proc', 0)",
        "open('/proc/1/ns/pid')",
        "open('/proc/1/oom_score_adj', 'w')",
    ]
    answers = target.tell_all({attack: attack for attack in attacks})
    assert set(answers.values()) <= {"EACCES", "EPERM", "EROFS"}


def test_nobody_else_is_to_be_seen(target: Target) -> None:
    assert target.tell("sorted(filter(str.isdigit, os.listdir('/proc')))") == ["1", "2"]
    assert set(target.tell("os.listdir('/proc')")) - {"1", "2"} == {"self", "thread-self"}


def test_no_number_belongs_to_a_process_of_ours(target: Target) -> None:
    # Only process 1 may answer.
    seen = "[pid for pid in range(1, 70000) if attempt(lambda: os.kill(pid, 0)) is None]"
    assert target.tell(seen) == [1, 2]
