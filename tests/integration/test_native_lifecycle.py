"""What native slots leave on the machine: nothing, however they end."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from grader.config.settings import SandboxChoice, Settings
from grader.grading.grader import Grader
from grader.model import (
    InteractiveTests,
    Interactor,
    Limits,
    MiB,
    StdinCase,
    StdinTests,
    Submission,
    SuiteFile,
    Tests,
    TestSuite,
)
from grader.model.errors import ImageNotFoundError, SandboxUnavailableError
from grader.model.verdict import Verdict
from grader.sandbox import payload
from grader.sandbox.contract import Program, RunBatch, RunOutcome, Slot
from grader.sandbox.native.backend import NativeSandbox
from grader.sandbox.native.cgroups import CgroupHome, find_home
from tests.ordinary_user import find_python, run_as_ordinary_user
from tests.traces import family, mounts, start_time

Eventually = Callable[[Callable[[], bool], float], None]

MEMORY_BYTES = 128 * MiB
LIMITS = Limits(cpu_time_s=20, wall_time_s=20, memory_bytes=MEMORY_BYTES)


def batch(source: str, runs: tuple[bytes, ...] = (b"",)) -> RunBatch:
    return RunBatch(program=Program.STDIN, source=source, runs=runs, limits=LIMITS)


def jail_processes() -> dict[int, str]:
    """Return the wardens, supervisors, zygotes and boxes below this process, by their commands."""
    parents, commands = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue  # it ended while we looked
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
            commands[int(entry.name)] = command
    return {
        pid: command
        for pid, command in commands.items()
        if "/harness/__main__.py" in command and os.getpid() in ancestors(pid, parents)
    }


def ancestors(pid: int, parents: dict[int, int]) -> Iterator[int]:
    while pid in parents:
        pid = parents[pid]
        yield pid


def slot_groups(grader_pid: int) -> set[Path]:
    """Return the cgroups that a grader made for its slots."""
    home = find_home()
    folders = home.folders.values() if isinstance(home, CgroupHome) else ()
    return {
        group
        for folder in folders
        if folder.exists()
        for group in folder.iterdir()
        if f",{grader_pid}," in group.name
    }


@pytest.fixture
def sandbox(native_sandbox: NativeSandbox) -> Iterator[NativeSandbox]:
    """A sandbox of the test's own, on a machine that is known to build jails."""
    assert native_sandbox.name == "native"
    own = NativeSandbox(Settings())
    yield own
    own.close()


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    processes, groups = set(jail_processes()), slot_groups(os.getpid())
    mounted = mounts()
    descriptors = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - the count is all
    yield
    assert {p: c for p, c in jail_processes().items() if p not in processes} == {}
    assert slot_groups(os.getpid()) <= groups
    assert mounts() <= mounted
    assert len(os.listdir("/proc/self/fd")) <= descriptors  # noqa: PTH208


def open_slot(sandbox: NativeSandbox) -> Slot:
    return sandbox.open_slot(image="python", memory_bytes=MEMORY_BYTES)


def kill_next_slot(eventually: Eventually, before: set[int]) -> None:
    """Kill process 1 of a slot that is being opened."""

    def supervisors() -> set[int]:
        wardens = set(jail_processes()) - before
        return {child for pid in wardens for child, _ in family(pid) - {(pid, start_time(pid))}}

    eventually(lambda: bool(supervisors()), 10)
    os.kill(min(supervisors()), signal.SIGKILL)


@pytest.mark.usefixtures("native_sandbox")
def test_first_slot_that_is_killed_while_it_starts_is_opened_again(
    eventually: Eventually,
) -> None:
    before = set(jail_processes())
    with Grader(Settings(sandbox=SandboxChoice.NATIVE, slots=1)) as grader:
        grader.warm()
        kill_next_slot(eventually, before)
        assert grader.look() == ""


@pytest.mark.usefixtures("native_sandbox")
def test_slot_that_is_killed_while_it_starts_is_not_said_to_need_rights(
    eventually: Eventually,
) -> None:
    before = set(jail_processes())
    with Grader(Settings(sandbox=SandboxChoice.NATIVE, slots=1, retries=0)) as grader:
        grader.warm()
        kill_next_slot(eventually, before)
        with pytest.raises(SandboxUnavailableError, match=r"killed by signal 9$"):
            grader.look()


def test_close_ends_every_process_at_once(sandbox: NativeSandbox) -> None:
    before = set(jail_processes())
    slot = open_slot(sandbox)
    assert len(set(jail_processes()) - before) >= 3
    slot.close()
    assert set(jail_processes()) <= before
    slot.close()


def test_closing_the_sandbox_closes_its_slots(sandbox: NativeSandbox) -> None:
    slots = [open_slot(sandbox) for _ in range(2)]
    sandbox.close()
    with pytest.raises(SandboxUnavailableError):
        list(slots[0].run(batch("print(1)")))
    sandbox.close()


def test_sandbox_opens_slots_again_after_close(sandbox: NativeSandbox) -> None:
    open_slot(sandbox).close()
    sandbox.close()
    slot = open_slot(sandbox)
    assert [outcome.stdout for outcome in slot.run(batch("print(1)"))] == [b"1\n"]
    slot.close()


def test_close_from_another_thread_ends_a_run(sandbox: NativeSandbox) -> None:
    slot = open_slot(sandbox)
    timer = threading.Timer(0.5, slot.close)
    timer.start()
    with pytest.raises(SandboxUnavailableError):
        list(slot.run(batch("import signal\nsignal.signal(15, signal.SIG_IGN)\nwhile True: pass")))
    timer.join()


def test_supervisor_that_dies_is_a_retryable_error(sandbox: NativeSandbox) -> None:
    before = set(jail_processes())
    slot = open_slot(sandbox)
    supervisor = next(
        pid
        for pid, command in jail_processes().items()
        if pid not in before and "__main__.py supervisor" in command
    )
    os.kill(supervisor, signal.SIGKILL)
    with pytest.raises(SandboxUnavailableError) as caught:
        list(slot.run(batch("print(1)")))
    assert caught.value.retryable
    slot.close()


def test_mount_that_another_one_covers_does_not_matter(native_sandbox: NativeSandbox) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can mount there")
    assert native_sandbox.name == "native"
    code = """
        import os
        from grader.config.settings import SandboxChoice, Settings
        from grader.model import Limits
        from grader.sandbox.contract import Program, RunBatch
        from grader.sandbox.native.backend import NativeSandbox
        from sandbox_images.harness.kernel import namespaces

        namespaces.unshare(namespaces.CLONE_NEWNS)
        namespaces.mount("none", "/", None, namespaces.MS_REC | namespaces.MS_PRIVATE)
        for place in ("/usr/libexec", "/usr/libexec/covered", "/usr/libexec", "/usr/libexec/seen"):
            os.makedirs(place, exist_ok=True)
            namespaces.mount("none", place, "tmpfs")
        slot = NativeSandbox(Settings()).open_slot(image="python", memory_bytes=128 << 20)
        source = "import os; os.chdir('/usr/libexec'); print(os.listdir(), os.path.ismount('seen'))"
        batch = RunBatch(program=Program.STDIN, source=source, runs=(b"",), limits=Limits())
        print(*(outcome.stdout.decode() for outcome in slot.run(batch)))
        slot.close()
    """
    told = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], check=False, capture_output=True
    )
    assert told.stdout == b"['seen'] True\n\n", told.stderr.decode()


def test_warden_that_is_killed_takes_the_jail_along(
    sandbox: NativeSandbox, eventually: Eventually
) -> None:
    before = set(jail_processes())
    slot = open_slot(sandbox)
    warden = next(
        pid
        for pid, command in jail_processes().items()
        if pid not in before and "__main__.py jail" in command
    )
    os.kill(warden, signal.SIGKILL)
    eventually(lambda: len(set(jail_processes()) - before - {warden}) == 0, 15)
    slot.close()


def test_jails_of_a_grader_that_is_killed_end_and_their_cgroups_are_swept(
    sandbox: NativeSandbox, repo_dir: Path, eventually: Eventually
) -> None:
    before = set(jail_processes())
    program = """
        import os, signal
        from grader.sandbox.contract import RunBatch, Program
        from grader.sandbox.native.backend import NativeSandbox
        from grader.config.settings import SandboxChoice, Settings
        slot = NativeSandbox(Settings()).open_slot(image="python", memory_bytes=128 << 20)
        batch = RunBatch(program=Program.STDIN, source="while True: pass", runs=(b"",),
                  limits=Settings().limits)
        print("running", flush=True)
        next(slot.run(batch))
    """
    grader = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(repo_dir)},
    )
    assert grader.stdout is not None
    with grader:
        assert grader.stdout.readline() == b"running\n"
        grader.kill()
    eventually(lambda: set(jail_processes()) <= before, 15)
    open_slot(sandbox).close()
    assert slot_groups(grader.pid) == set()


def test_many_slots_open_and_close_side_by_side(sandbox: NativeSandbox) -> None:
    answers: list[bytes] = []

    def use() -> None:
        slot = open_slot(sandbox)
        answers.extend(outcome.stdout for outcome in slot.run(batch("print(6 * 7)")))
        slot.close()

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [b"42\n"] * 4


SLEEPS = "/harness/__main__.py sleeps"  # by which its process is found
DIES = f"import os\nos.execvp('sleep', [{SLEEPS!r}, '20'])"
HANDLES = f"""
import os, signal
signal.signal(NUMBER, lambda *_: os._exit(0))
if os.fork() == 0:
    os.execvp("sleep", [{SLEEPS!r}, "20"])
signal.pause()
"""


@pytest.mark.parametrize("source", [DIES, HANDLES], ids=["dies", "handles"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_to_every_process_of_a_slot_is_no_end_of_a_submission(
    sandbox: NativeSandbox, eventually: Eventually, number: signal.Signals, source: str
) -> None:
    before = set(jail_processes())
    slot = open_slot(sandbox)
    source = source.replace("NUMBER", str(number.value))
    with ThreadPoolExecutor(1) as threads:
        outcomes = threads.submit(lambda: list(slot.run(batch(source))))
        eventually(lambda: any(SLEEPS in command for command in jail_processes().values()), 30.0)
        for pid, command in sorted(jail_processes().items()):
            if pid not in before and " jail " not in command:
                os.kill(pid, number)
        with pytest.raises(SandboxUnavailableError, match=f"signal {number:d} was sent"):
            outcomes.result()
    slot.close()


SHORT = replace(LIMITS, wall_time_s=1.0)
NAPS = "import subprocess\nsubprocess.run(['sleep', '0.6'])\nprint(1)"


def run_nap(slot: Slot) -> RunOutcome | None:
    (outcome,) = slot.run(replace(batch(NAPS), limits=SHORT))
    return outcome


def step_nap(slot: Slot) -> RunOutcome | None:
    with closing(slot.open_session(LIMITS, states=2)) as session:
        return session.step(0, NAPS, limits=SHORT).run


@pytest.mark.parametrize("nap", [run_nap, step_nap])
def test_time_in_which_a_slot_is_suspended_is_not_the_submissions(
    sandbox: NativeSandbox, eventually: Eventually, nap: Callable[[Slot], RunOutcome | None]
) -> None:
    before = set(jail_processes())
    slot = open_slot(sandbox)
    warden = next(pid for pid in jail_processes() if pid not in before)
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(nap, slot)
        eventually(lambda: sleepers(warden) != set(), 30.0)
        suspended = family(warden)
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for pid, _ in suspended:
                os.kill(pid, number)
            time.sleep(2 * SHORT.wall_time_s)
        outcome = running.result()
    slot.close()
    assert outcome is not None
    assert (outcome.limit_hit, outcome.stdout) == (None, b"1\n")


def sleepers(ancestor: int) -> set[int]:
    """Return the processes below another one that execute sleep(1)."""
    return {pid for pid, _ in family(ancestor) if name_of(pid) == "sleep"}


def name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""  # It has ended.


def test_signal_that_an_idle_slot_got_is_the_end_of_no_later_run(sandbox: NativeSandbox) -> None:
    before = set(jail_processes())
    slot = open_slot(sandbox)
    for pid, command in jail_processes().items():
        if pid not in before and " jail " not in command:
            os.kill(pid, signal.SIGHUP)
    (outcome,) = slot.run(batch("import os, signal\nos.kill(os.getpid(), signal.SIGHUP)"))
    with closing(slot.open_session(LIMITS, states=2)) as session:
        step = session.step(0, "import os; os.kill(os.getpid(), 1)", limits=LIMITS)
    slot.close()
    assert outcome.exit_signal == signal.SIGHUP
    assert step.run is not None
    assert step.run.exit_signal == signal.SIGHUP


def test_large_input_and_output_travel_whole(sandbox: NativeSandbox) -> None:
    slot = open_slot(sandbox)
    text = b"x" * (3 * MiB)
    (outcome,) = slot.run(
        RunBatch(
            program=Program.STDIN,
            source="import sys\nsys.stdout.write(sys.stdin.read())",
            runs=(text,),
            limits=Limits(output_bytes=4 * MiB),
        )
    )
    slot.close()
    assert outcome.stdout == text


def test_pytest_has_run_a_suite_of_ours_before_it_runs_others(sandbox: NativeSandbox) -> None:
    # To name cases by their parameters, pytest imports this module.
    tests = b"import sys\ndef test_it():\n    assert 'encodings.unicode_escape' in sys.modules\n"
    slot = open_slot(sandbox)
    (outcome,) = slot.run(
        RunBatch(
            program=Program.PYTEST,
            source="",
            runs=(payload.pytest(["test_it.py"], [], stop_early=False, apart=None),),
            files=(SuiteFile(path="test_it.py", content=tests),),
            limits=LIMITS,
        )
    )
    slot.close()
    assert b'"outcome": "passed"' in outcome.report


def test_unknown_image_variant_is_an_error_that_names_the_others(sandbox: NativeSandbox) -> None:
    with pytest.raises(ImageNotFoundError, match="expected one of python, science"):
        sandbox.open_slot(image="unknown", memory_bytes=MEMORY_BYTES)


def test_layers_say_whether_cgroups_are_used(sandbox: NativeSandbox) -> None:
    memory = sandbox.layers()["memory"]
    assert memory.startswith(
        "cgroup v" if isinstance(find_home(), CgroupHome) else "reduced: no cgroup"
    )


# ---------------------------------------------------------------- a machine with too little memory


@pytest.fixture
def _short_of_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give all slots together less memory than one submission may use."""
    home = find_home()
    if not isinstance(home, CgroupHome):
        pytest.skip("there are no control groups here")
    folders = {
        inside: folder.parent / f"short-{os.getpid()}" for inside, folder in home.folders.items()
    }
    for folder in folders.values():
        folder.mkdir()
        for limit in ("memory.max", "memory.limit_in_bytes"):
            if (folder / limit).exists():
                (folder / limit).write_text(str(MEMORY_BYTES))
    short = CgroupHome(
        version=home.version,
        folders={inside: folder / "grader" for inside, folder in folders.items()},
    )
    monkeypatch.setattr("grader.sandbox.native.backend.find_home", lambda: short)
    yield
    short.close()
    for folder in folders.values():
        folder.rmdir()


TAKES_MEMORY = f"print(len(bytearray({2 * MEMORY_BYTES})))"
ANSWER = f"{2 * MEMORY_BYTES}\n"


@pytest.mark.usefixtures("_short_of_memory")
@pytest.mark.parametrize(
    "tests",
    [
        StdinTests(cases=(StdinCase(id="0", stdin="", expected=ANSWER),)),
        InteractiveTests(
            cases=(StdinCase(id="0", stdin="", expected=ANSWER),),
            interactor=Interactor(
                source="def interact(_, answer):\n    return input() in answer\n"
            ),
        ),
    ],
    ids=lambda tests: type(tests).__name__,
)
def test_submission_is_not_blamed_if_the_machine_runs_out_of_memory(
    sandbox: NativeSandbox, tests: Tests
) -> None:
    limits = Limits(memory_bytes=4 * MEMORY_BYTES)
    suite = TestSuite(tests=tests, format="test")
    with Grader(Settings(slots=1, retries=0, limits=limits), sandbox=sandbox) as grader:
        report = grader.grade(Submission(id="takes", completion=TAKES_MEMORY, suite=suite))
    assert report.verdict is Verdict.INTERNAL_ERROR, report.feedback
    assert "the machine has run out of memory" in report.feedback


# ---------------------------------------------------------------- without root

AS_ORDINARY_USER = """
import json, sys
from grader.model.errors import GraderError
from grader.model import Limits
from grader.sandbox.contract import RunBatch, Program
from grader.sandbox.native.backend import NativeSandbox
from grader.config.settings import SandboxChoice, Settings
sandbox = NativeSandbox(Settings())
try:
    slot = sandbox.open_slot(image="python", memory_bytes=128 << 20)
except GraderError as error:
    sys.exit(f"{type(error).__name__}: {error}")
source = sys.stdin.read()
runs = (b"",) * 2
outcomes = slot.run(RunBatch(program=Program.STDIN, source=source, runs=runs, limits=Limits()))
print(json.dumps([outcome.stdout.decode() for outcome in outcomes]))
print(slot.name, slot.facts["cgroup"], file=sys.stderr)
slot.close()
sandbox.close()
"""


def test_ordinary_user_gets_a_jail() -> None:
    source = """
import os
attempts = []
for path in ("/etc/shadow", "/home", "/root/.ssh", "/var/log", "/run"):
    attempts.append(os.path.exists(path))
print(os.getpid(), os.getuid(), any(attempts), os.listdir("/work"))
open("/work/mark", "w").close()
"""
    command = [find_python(), "-B", "-c", AS_ORDINARY_USER]
    done = run_as_ordinary_user(command, stdin=source)
    line = "2 20000 False ['solution.py']\\n"
    assert done.stdout == f'["{line}", "{line}"]\n', done.stderr
    # Without a control group, the name says that limits are advisory.
    name, cgroup = done.stderr.split()
    assert name == ("native-reduced-0" if cgroup == "None" else "native-0")


IN_FLIGHT = """
import socket
held = [socket.socketpair() for _ in range(3)]
for sender, _receiver in held:
    socket.send_fds(sender, [b"x"], [0] * 250)
"""


def test_descriptors_that_another_slot_of_the_user_has_in_flight_do_no_harm() -> None:
    # The kernel counts those of all processes of a user together, so these stand for another slot.
    command = [find_python(), "-B", "-c", IN_FLIGHT + AS_ORDINARY_USER]
    done = run_as_ordinary_user(command, stdin="print(7)")
    assert done.stdout == '["7\\n", "7\\n"]\n', done.stderr


def test_forbidden_user_namespaces_are_an_error_with_a_remedy() -> None:
    forbid = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    prefix = ["unshare", "--user", "--map-root-user", "sh", "-c", forbid, "sh"]
    command = [*prefix, find_python(), "-B", "-c", AS_ORDINARY_USER]
    done = run_as_ordinary_user(command)
    assert "SandboxUnavailableError: this system forbids user namespaces" in done.stderr
    assert "sysctl -w user.max_user_namespaces=15000" in done.stderr


@pytest.mark.usefixtures("native_sandbox")
def test_default_timeout_of_the_process_is_not_that_of_slots() -> None:
    """Celery sets one for a moment whenever a connection of its own breaks."""
    sandbox = NativeSandbox(Settings())
    socket.setdefaulttimeout(0.01)
    try:
        slot = sandbox.open_slot(image="python", memory_bytes=MEMORY_BYTES)
        (outcome,) = slot.run(batch("import time; time.sleep(0.1); print(7)"))
    finally:
        socket.setdefaulttimeout(None)
        sandbox.close()
    assert outcome.stdout == b"7\n"
