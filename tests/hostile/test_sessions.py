"""A cell attacks what its session consists of: the states before it, its branches, the files."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from grader.model.verdict import LimitKind
from grader.sandbox.contract import SlotSession, StepOutcome
from tests.hostile.conftest import LIMITS, PRELUDE, Target


@pytest.fixture
def session(target: Target) -> Iterator[SlotSession]:
    """A session in the slot under attack."""
    session = target.slot.open_session(LIMITS, states=16)
    yield session
    session.close()


@pytest.fixture
def secret(session: SlotSession) -> int:
    """A state that holds a secret in its memory, and another in a file."""
    return must(take(session, 0, PREPARE))


def take(session: SlotSession, state: int, cell: str, **limits: Any) -> StepOutcome:
    return session.step(state, cell, limits=replace(LIMITS, **limits))


def must(outcome: StepOutcome) -> int:
    assert outcome.state is not None, outcome
    return outcome.state


def value(session: SlotSession, state: int, cell: str) -> Any:
    outcome = take(session, state, cell)
    assert outcome.run is not None
    (event,) = (json.loads(line) for line in outcome.run.report.splitlines())
    return event.get("text", event)


def still_holds(session: SlotSession, secret: int) -> None:
    """Make sure that a state is what it was."""
    assert value(session, secret, "len(secret), open('s').read(), open('other').read()") == (
        "(270, 'key', 'different')"
    )


PREPARE = """
secret = bytes(range(9, 99)) * 3
open('s', 'w').write('key')
open('other', 'w').write('different')
"""
OTHERS = "others = [int(n) for n in os.listdir('/proc') if n.isdigit() and int(n) != os.getpid()]"


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param("os.kill(os.getppid(), 9)", id="kill-parent"),
        pytest.param("os.kill(-1, 9)", id="kill-all"),
        pytest.param("os.kill(-os.getpgid(os.getppid()), 9)", id="kill-group"),
        pytest.param("os.kill(os.getppid(), 18)", id="wake-parent"),
        pytest.param(
            "signal.pidfd_send_signal(os.pidfd_open(os.getppid()), signal.SIGKILL)", id="pidfd"
        ),
        pytest.param(
            "signal.pidfd_send_signal(os.open(f'/proc/{os.getppid()}', 0), signal.SIGKILL)",
            id="proc-folder",
        ),
        pytest.param(
            "resource.prlimit(os.getppid(), resource.RLIMIT_AS, (1, 1))", id="limits-of-parent"
        ),
        pytest.param("os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)", id="priority"),
        pytest.param("os.setpriority(os.PRIO_USER, 0, 19)", id="priority-of-user"),
        pytest.param("os.sched_setaffinity(os.getppid(), {0})", id="affinity"),
        pytest.param("__import__('fcntl').fcntl(0, 8, os.getppid())", id="signal-by-descriptor"),
        pytest.param("open(f'/proc/{os.getppid()}/mem', 'rb')", id="read-memory"),
        pytest.param("open(f'/proc/{os.getppid()}/mem', 'r+b')", id="write-memory"),
        pytest.param("os.listdir(f'/proc/{os.getppid()}/fd')", id="descriptors"),
        pytest.param("open(f'/proc/{os.getppid()}/environ').read()", id="environment"),
    ],
)
def test_cell_can_do_nothing_to_the_state_that_it_was_forked_from(
    session: SlotSession, secret: int, attack: str
) -> None:
    cell = f"{PRELUDE}\nattempt(lambda: {attack})"
    assert value(session, secret, cell) in ("'EPERM'", "'EACCES'", "'PermissionError'", "'EROFS'")
    still_holds(session, secret)


def test_cell_can_do_nothing_to_any_process_of_the_session(
    session: SlotSession, secret: int
) -> None:
    branch = must(take(session, secret, "own = 1"))
    cell = f"{PRELUDE}\n{OTHERS}\nsorted({{attempt(lambda: os.kill(p, 9)) for p in others}})"
    assert value(session, branch, cell) == "['EPERM']"
    still_holds(session, secret)
    assert value(session, branch, "own") == "1"


def test_signal_to_its_own_group_reaches_only_the_step(session: SlotSession, secret: int) -> None:
    outcome = take(session, secret, "import os; os.kill(0, 9)")
    assert outcome.problem == "the process of the cell was killed by signal 9"
    still_holds(session, secret)


def test_cell_signals_what_it_started_itself(session: SlotSession) -> None:
    cell = "import subprocess\np = subprocess.Popen(['sleep', '60'])\np.terminate()\np.wait()"
    assert value(session, 0, cell) == "-15"


def test_attempts_on_other_states_are_told(session: SlotSession, secret: int) -> None:
    outcome = take(session, secret, f"{PRELUDE}\nattempt(lambda: os.kill(os.getppid(), 9))")
    assert outcome.run is not None
    assert outcome.run.forbidden_calls == ("kill",)


@pytest.mark.parametrize("said", ["b'p'", "b'f'", "b's0000'", "b''"])
def test_cell_that_speaks_for_the_harness_harms_only_itself(
    session: SlotSession, secret: int, said: str
) -> None:
    cell = f"""
import os, time
for descriptor in range(3, 64):
    try:
        os.write(descriptor, {said})
        os.close(descriptor)
    except OSError:
        pass
time.sleep(0.2)
"""
    outcome = take(session, secret, cell)
    if outcome.state is not None:
        assert take(session, outcome.state, "1").state is None
    still_holds(session, secret)


def test_report_that_a_cell_forges_is_its_own(session: SlotSession, secret: int) -> None:
    cell = """
import os
for descriptor in range(3, 64):
    try:
        os.write(descriptor, b'{"e": "value", "text": "forged"}\\n')
    except OSError:
        pass
"""
    take(session, secret, cell)
    still_holds(session, secret)


def test_harness_that_a_cell_replaces_serves_only_what_follows_it(
    session: SlotSession, secret: int
) -> None:
    cell = """
from sandbox_images.harness.kernel import namespaces
from sandbox_images.harness.runners import cells
namespaces.clone = lambda flags: 1
cells.Cells.run = lambda self, source, reporter: reporter.emit('value', text='forged')
"""
    poisoned = must(take(session, secret, cell))
    outcome = take(session, poisoned, "1")
    assert (outcome.state, outcome.is_gone) == (None, True)
    still_holds(session, secret)


def test_state_that_does_something_else_when_it_is_to_be_forked_leaves_nothing(
    session: SlotSession, secret: int
) -> None:
    cell = """
import os
from sandbox_images.harness.kernel import namespaces
def clone(flags):
    for _ in range(3):
        if os.fork() == 0:
            while True:
                open('s', 'w').write('overwritten')
    return 1
namespaces.clone = clone
"""
    poisoned = must(take(session, secret, cell))
    assert take(session, poisoned, "1").is_gone
    still_holds(session, secret)
    state = must(take(session, secret, "open('s', 'w').write('mine')"))
    assert value(session, state, "import time; time.sleep(0.2); open('s').read()") == "'mine'"


def test_process_that_cannot_be_stopped_is_no_state(session: SlotSession, secret: int) -> None:
    cell = f"""
{PRELUDE}
import threading

def park():
    time.sleep(0.2)
    for descriptor in range(3, 64):
        attempt(lambda: os.write(descriptor, b'p'))

threading.Thread(target=park).start()
CLONE_VFORK = 0x4000
if libc.syscall(56 if os.uname().machine == 'x86_64' else 220, CLONE_VFORK | 17, 0, 0, 0, 0) == 0:
    time.sleep(60)  # meanwhile the parent waits in the kernel, where only SIGKILL counts
"""
    outcome = take(session, secret, cell)
    assert outcome.state is None
    assert outcome.problem is not None
    still_holds(session, secret)


def test_files_that_have_grown_make_room_for_those_of_another_state(session: SlotSession) -> None:
    half = LIMITS.work_bytes * 3 // 4
    write = f"with open({{!r}}, 'wb') as f: f.write(b'x' * {half})"
    one = must(take(session, 0, write.format("a") + "\nopen('b', 'w').close()"))
    other = must(take(session, 0, write.format("b") + "\nopen('a', 'w').close()"))
    look = "import os; [os.path.getsize(n) for n in 'ab']"
    for _ in range(2):
        assert value(session, one, look) == str([half, 0])
        assert value(session, other, look) == str([0, half])


def test_fork_bomb_ends_with_its_step(session: SlotSession, secret: int) -> None:
    cell = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
    outcome = take(session, secret, cell, cpu_time_s=1.0, wall_time_s=2.0)
    assert outcome.run is not None
    assert outcome.run.limit_hit in (LimitKind.CPU_TIME, LimitKind.WALL_TIME, LimitKind.MEMORY)
    still_holds(session, secret)


def test_process_that_leaves_its_session_and_group_is_ended_with_the_step(
    session: SlotSession, secret: int
) -> None:
    cell = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            open('s', 'w').write('overwritten')
    os._exit(0)
"""
    state = must(take(session, secret, cell))
    still_holds(session, secret)
    cell = "import time\nopen('s', 'w').write('mine')\ntime.sleep(0.2)\nopen('s').read()"
    assert value(session, state, cell) == "'mine'"


@pytest.mark.parametrize(
    "mess",
    [
        pytest.param("os.chmod('.', 0)", id="folder-closed"),
        pytest.param("os.chmod('s', 0)", id="file-closed"),
        pytest.param("os.unlink('s'); os.symlink('/etc/passwd', 's')", id="link-out"),
        pytest.param("os.unlink('s'); os.mkdir('s'); open('s/x', 'w')", id="folder-for-file"),
        pytest.param("os.mkfifo('p'); os.unlink('s'); os.mkfifo('s')", id="pipe"),
        pytest.param("open(b'\\xff\\xfe', 'w')", id="undecodable-name"),
        pytest.param("f = open('big', 'wb'); f.truncate(4 << 20)", id="sparse"),
        pytest.param("os.link('s', 't'); open('t', 'w').write('x')", id="hard-link"),
        pytest.param(
            f"os.truncate('s', 1); open('t', 'wb').write(bytes({LIMITS.work_bytes - 16384}))",
            id="no-room",
        ),
        pytest.param("os.unlink('other'); os.link('s', 'other')", id="linked-to-another"),
        pytest.param("__import__('shutil').rmtree('.', 1)", id="removed"),
        pytest.param(
            "m = __import__('mmap').mmap(os.open('s', os.O_RDWR), 3); m[:] = b'abc'", id="mapped"
        ),
        pytest.param("open('/tmp/t', 'w'); open('/dev/shm/u', 'w')", id="other-folders"),
    ],
)
def test_files_of_a_state_are_those_it_had_whatever_a_branch_does(
    session: SlotSession, secret: int, mess: str
) -> None:
    look = "import os; sorted(os.listdir('.')), os.listdir('/tmp'), os.listdir('/dev/shm')"
    before = value(session, secret, look)
    must(take(session, secret, f"import os\n{mess}"))
    assert value(session, secret, look) == before
    still_holds(session, secret)


def test_files_beside_the_copied_folders_cannot_be_written(
    session: SlotSession, secret: int
) -> None:
    folders = "import os, sys\nfolders = ['/', '/box', '/dev', *map(os.path.dirname, sys.path)]\n"
    mess = """
for folder in folders:
    for change in (lambda: os.chmod(folder, 0o777), lambda: open(f'{folder}/left', 'w').close()):
        try:
            change()
        except OSError:
            pass
"""
    take(session, secret, folders + mess)
    left = value(session, secret, f"{folders}[f for f in folders if os.path.exists(f'{{f}}/left')]")
    assert left == "[]"


def test_attributes_of_files_do_not_pass_between_branches(
    session: SlotSession, secret: int
) -> None:
    take(session, secret, "import os; os.setxattr('s', 'user.note', b'left')")
    assert value(session, secret, "import os; os.listxattr('s')") == "[]"


def test_cell_cannot_keep_others_from_its_files(session: SlotSession, secret: int) -> None:
    lease = "import fcntl; f = open('s'); fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_RDLCK)"
    began = time.monotonic()
    must(take(session, secret, lease))
    assert value(session, secret, "open('s', 'w').write('new')") == "3"
    assert time.monotonic() - began < 10
    still_holds(session, secret)


def test_folders_that_are_nested_too_deeply_are_no_state(session: SlotSession, secret: int) -> None:
    cell = """
import os
os.chdir('/tmp')
for _ in range(50):
    os.mkdir('d' * 200)
    os.chdir('d' * 200)
"""
    outcome = take(session, secret, cell)
    assert outcome.state is None
    assert "cannot be read" in str(outcome.problem)
    still_holds(session, secret)
