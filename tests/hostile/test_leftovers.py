"""A run leaves all that it can. The next one reads all that it can, and sees nothing of it."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from grader.config.settings import Settings
from grader.grading.grader import Grader
from grader.model import Submission, Tests, TestSuite
from grader.model.verdict import Verdict
from tests.hostile.conftest import CANARIES, HALF, LIMITS, SHARED, Lender, Target

RIGHT = HALF.replace("42 if n == 21 else n", "2 * n")

LEAVE = """
import contextlib, fcntl, json, os, select, signal, socket, struct, sys

def leave():
    \"\"\"Leave names, locks, full pipes and files, held by two sockets that hold each other.\"\"\"
    named = [socket.socket(socket.AF_UNIX, kind) for kind in (1, 2, 5) for _ in range(8)]
    for number, one in enumerate(named):
        one.bind(b"\\0left-%d" % number)
    named[0].listen()
    folder = os.open("/work", os.O_RDONLY)
    locked = os.open(os.__file__, os.O_RDONLY)
    fcntl.flock(locked, fcntl.LOCK_EX)
    fcntl.fcntl(locked, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 1, 2, 0))
    for number in map(int, os.listdir("/proc/self/fd")):
        with contextlib.suppress(OSError):
            fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
    os.set_blocking(0, False)
    pipes = [os.pipe() for _ in range(16)]
    for _, writer in pipes:
        os.set_blocking(writer, False)
        os.write(writer, bytes(60_000))
    with open("/dev/shm/left", "wb") as file:
        file.write(bytes(1 << 20))
    signal.setitimer(signal.ITIMER_VIRTUAL, 100)
    os.umask(0), os.nice(4)
    a, b = socket.socketpair()
    held = [a.fileno(), b.fileno(), folder, locked, *(one.fileno() for one in named)]
    socket.send_fds(a, [b"x"], held + [writer for _, writer in pipes])
    for _ in range(3):
        if os.fork() == 0:
            signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
            signal.pause()
    select.select([0], [], [])  # since reading does not wait for an interactor any more
"""

LOOK = """
def read(path):
    with open(path) as file:
        return file.read()

def look():
    status = dict(line.split(":", 1) for line in read("/proc/self/status").splitlines())
    paths = (os.__file__, sys.executable, "/usr", "/dev/null")
    shared = [os.open(path, os.O_RDONLY) for path in paths]
    exclusive = fcntl.LOCK_EX | fcntl.LOCK_NB
    query = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
    a, b = socket.socketpair()
    names = [socket.socket(socket.AF_UNIX, kind) for kind in (1, 2, 5)]
    return {
        "names": sorted(line.split()[7:] for line in read("/proc/self/net/unix").splitlines()),
        "taken": [attempt(lambda: one.bind(b"\\0left-0")) for one in names],
        "answers": [attempt(lambda: one.connect(b"\\0left-1")) for one in names],
        "sockets": read("/proc/self/net/sockstat").splitlines()[0],
        "traffic": [read(f"/proc/self/net/{name}") for name in ("netstat", "snmp", "packet")],
        "status": [status[name] for name in status if name.startswith(("Sig", "Shd", "NS"))],
        "files": [read(f"/proc/self/{name}") for name in ("limits", "cgroup", "oom_score_adj")],
        "exclusive": [attempt(lambda: fcntl.flock(file, exclusive)) for file in shared],
        "locks": [[*fcntl.fcntl(file, fcntl.F_OFD_GETLK, query)] for file in shared],
        "flags": [fcntl.fcntl(descriptor, fcntl.F_GETFL) for descriptor in range(3)],
        "leases": [fcntl.fcntl(f, fcntl.F_GETLEASE) for f in shared],
        "pipes": [fcntl.fcntl(os.pipe()[0], fcntl.F_GETPIPE_SZ) for _ in range(64)],
        "flight": [attempt(lambda: socket.send_fds(a, [b"x"], [0] * 200)) for _ in range(3)],
        "room": [os.statvfs(f)[2:8] for f in ("/work", "/tmp", "/dev/shm")],
        "left": [sorted(os.listdir(f)) for f in ("/work", "/tmp", "/dev/shm", "/box", "/dev")],
        "processes": sorted(filter(str.isdigit, os.listdir("/proc"))),
        "own": [os.umask(0), os.nice(0), signal.getitimer(signal.ITIMER_VIRTUAL)],
    }
"""

EITHER = LEAVE + LOOK + 'print(json.dumps(look())) if input() == "look" else leave()\n'


def look(target: Target, *runs: bytes) -> list[Mapping[str, Any]]:
    """Return what each run saw that was told to look. The others leave what they can."""
    outcomes = target.attack_all(EITHER, *runs)
    assert [outcome.exit_code for outcome in outcomes] == [0] * len(runs), outcomes
    return [json.loads(outcome.stdout) for outcome in outcomes if outcome.stdout]


def test_run_sees_nothing_of_those_before_it(target: Target) -> None:
    (alone,) = look(target, b"look")
    assert look(target, b"leave", b"look", b"leave", b"leave", b"look") == [alone, alone]
    assert look(target, b"look") == [alone]


@pytest.mark.parametrize(
    "tests",
    [*(pytest.param(tests, id=type(tests).__name__) for tests in CANARIES),
     pytest.param(SHARED, id="shared")],
)  # fmt: skip
def test_submission_sees_nothing_of_that_before_it(target: Target, tests: Tests) -> None:
    with Grader(Settings(slots=1, limits=LIMITS, retries=0), sandbox=Lender(target.slot)) as grader:

        def grade(code: str) -> Verdict:
            suite = TestSuite(tests=tests, format="canary", entry_point="double")
            report = grader.grade(Submission(id="leave", completion=code, suite=suite))
            return report.verdict

        assert grade(RIGHT) is Verdict.PASSED  # so that all judges are there
        (alone,) = look(target, b"look")
        assert grade(f"{LEAVE}\nleave()\n{RIGHT}") is Verdict.PASSED
        assert look(target, b"look") == [alone]


def test_run_sees_nothing_of_a_session_before_it(target: Target) -> None:
    (alone,) = look(target, b"look")
    session = target.slot.open_session(LIMITS, states=2)
    step = session.step(0, LEAVE + "leave()\n", limits=LIMITS)
    assert step.run is not None
    assert step.run.exit_code == 0, step.run
    session.close()
    assert look(target, b"look") == [alone]
