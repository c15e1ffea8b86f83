"""Attacks on the isolation of slots without mount namespaces, on gVisor's kernel.

What all backends promise, `tests/contract/` holds this one to, too.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from grader.config.settings import DockerSettings
from grader.grading.grader import Grader
from grader.model import MiB, PytestTests, Submission, SuiteFile, TestSuite
from grader.model.verdict import Integrity, LimitKind, Verdict
from grader.sandbox.docker.backend import DockerSandbox
from sandbox_images.harness.lock_in.reduced import LACKS
from tests.conftest import docker_settings
from tests.hostile.conftest import LIMITS, MEMORY_BYTES, Target

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def target(runsc_sandbox: DockerSandbox) -> Iterator[Target]:
    """The warm slot that the attacks of this module share."""
    slot = runsc_sandbox.open_slot(image="python", memory_bytes=MEMORY_BYTES)
    assert tuple(slot.facts["lacks"]) == LACKS
    with closing(slot):
        yield Target(slot=slot, backend="runsc")


def test_root_shows_the_image_and_the_own_work_area(target: Target) -> None:
    found = target.tell_all(
        {
            "area": "sorted(os.listdir('/box'))",
            "work": "os.listdir('/work')",
            "devices": "sorted(os.listdir('/dev'))",
            "above": "sorted(os.listdir('/../..')) == sorted(os.listdir('/'))",
            "sys": "os.listdir('/sys')",
        }
    )
    assert found == {
        "area": ["shm", "tmp", "work"],
        "work": ["solution.py"],
        "devices": "fd full null random shm stderr stdin stdout urandom zero".split(),
        "above": True,
        "sys": [],
    }


def test_ways_out_are_refused(target: Target) -> None:
    attacks = {
        "another root": "os.chroot('/work')",
        "mount": "syscall(165, b'none', b'/work', b'tmpfs', 0, 0)",
        "unmount": "syscall(166, b'/work', 2)",
        "another root by number": "syscall(155, b'/work', b'/work')",
        "user namespace": "syscall(272, 0x10000000)",
        "root's identity": "os.setuid(0)",
        "root's group": "os.setgroups([0])",
        "life of process 1": "os.kill(1, 9)",
        "memory of process 1": "open('/proc/1/mem', 'rb')",
        "root of process 1": "os.listdir('/proc/1/root')",
        "folder of process 1": "os.listdir('/proc/1/cwd')",
        "device": "os.mknod('/work/zero', 0o20666, os.makedev(1, 5))",
        "image": "open('/usr/own', 'w')",
        "devices": "open('/dev/own', 'w')",
        "order of killing": "open('/proc/self/oom_score_adj', 'w')",
        "limits": "resource.setrlimit(resource.RLIMIT_NPROC, (999, 999))",
    }
    answers = target.tell_all(attacks)
    refusals = ("EPERM", "EACCES", "EROFS", "EINVAL", "ValueError")
    assert {name: said for name, said in answers.items() if said not in refusals} == {}


def test_capabilities_are_none_and_the_kernel_user_is_of_this_run_alone(target: Target) -> None:
    expression = (
        "[[line.split()[1] for line in open('/proc/self/status') if line.startswith('Cap')][:3],"
        " open('/proc/self/uid_map').read().split(), os.getresuid(), os.getgroups()]"
    )
    (first, second) = (target.tell(expression) for _ in range(2))
    for capabilities, mapping, user, groups in (first, second):
        assert set(capabilities) == {"0" * 16}
        assert (mapping[0], mapping[2]) == ("20000", "1")
        assert (user, groups) == ([20000] * 3, [])
    assert first[1] != second[1]


SEARCH = """
import os

def everywhere():
    for number in filter(str.isdigit, os.listdir("/proc")):
        yield f"/proc/{number}/environ"
        for kind in ("root/work", "root/tmp", "root/box", "cwd", "fd"):
            yield f"/proc/{number}/{kind}"
    yield from ("/work", "/tmp", "/box", "/dev/shm", "/run", "/mnt")

def texts(top):
    try:
        if os.path.isdir(top) and not top.endswith("/fd"):
            for folder, _, files in os.walk(top):
                for name in files:
                    yield from texts(os.path.join(folder, name))
        elif top.endswith("/fd"):
            for name in os.listdir(top):
                with open(os.open(f"{top}/{name}", os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
                    yield file.read(1 << 20)
        else:
            with open(top, "rb") as file:
                yield file.read(1 << 20)
    except OSError:
        pass

def answer():
    for top in everywhere():
        for text in texts(top):
            _, mark, rest = text.partition(b"SECRET" + b"-")
            if mark:
                return int(rest[:6])
"""


@pytest.mark.usefixtures("runsc_sandbox")
def test_tests_are_out_of_reach_of_the_submission() -> None:
    module = "import solution\n\ndef test_answer():\n    assert solution.answer() == 271828\n"
    suite = TestSuite(
        tests=PytestTests(
            files=(SuiteFile(path="test_it.py", content=(module + "# SECRET-271828\n").encode()),),
            test_paths=("test_it.py",),
            solution_path="solution.py",
        ),
        format="own",
    )
    settings = replace(
        docker_settings(),
        slots=1,
        limits=LIMITS,
        retries=0,
        docker=DockerSettings(runtime="runsc"),
    )
    with Grader(settings, sandbox=DockerSandbox(settings)) as grader:
        found = grader.grade(Submission(id="search", completion=SEARCH, suite=suite))
        honest = "def answer():\n    return 271828\n"
        right = grader.grade(Submission(id="right", completion=honest, suite=suite))
    assert (found.verdict, found.integrity) == (Verdict.FAILED, Integrity.SPLIT), found.feedback
    assert (right.verdict, right.sandbox) == (Verdict.PASSED, "docker-runsc-reduced")


def test_what_outlives_its_run_is_gone_with_all_it_made(target: Target) -> None:
    target.attack("""
for folder in ("/work", "/tmp", "/dev/shm"):
    os.makedirs(f"{folder}/closed/inside"), os.chmod(f"{folder}/closed", 0)
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
        if os.fork() == 0:
            keep = [os.open(folder, os.O_RDONLY) for folder in ("/", "/work", "/proc")]
            time.sleep(60)
        os._exit(0)
os._exit(0)
""")
    assert target.tell("[os.listdir(f) for f in ('/work', '/tmp', '/dev/shm')]") == [
        ["solution.py"],
        [],
        [],
    ]


def test_message_whose_sender_has_ended_counts_for_nothing(target: Target) -> None:
    outcome = target.attack("""
from sandbox_images.harness.wire import session_lines
ours, theirs = session_lines.open_line()
if (child := os.fork()) == 0:
    theirs.send(session_lines.FORKED)
    os._exit(0)
os.waitpid(child, 0)
print(session_lines.hear(ours))
""")
    assert outcome.stdout == b"None\n", outcome.stderr.decode()


HOLD = """
with open("/dev/shm/left", "wb") as file:
    file.write(bytes(48 << 20))
folder = os.open("/dev/shm", os.O_RDONLY)
a, b = socket.socketpair()
socket.send_fds(a, [b"x"], [folder, a.fileno(), b.fileno()])
print(os.listdir("/dev/shm"), os.listdir("/work"))
"""
"""gVisor's kernel never frees sockets that hold each other."""


def test_files_that_stay_cost_their_submission_and_its_slot_only(
    runsc_sandbox: DockerSandbox,
) -> None:
    with closing(runsc_sandbox.open_slot(image="python", memory_bytes=MEMORY_BYTES)) as slot:
        target = Target(slot=slot, backend="runsc")
        outcomes = target.attack_all(HOLD, *[b""] * 4, limits={"work_bytes": 64 * MiB})
        assert outcomes[0].exit_code == outcomes[1].exit_code == 0, outcomes
        assert outcomes[0].stdout == outcomes[1].stdout == b"['left'] ['solution.py']\n"
        assert outcomes[3].limit_hit is LimitKind.MEMORY
        assert not slot.is_alive()


@pytest.mark.parametrize(
    "make",
    [
        pytest.param("os.close(os.open(str(n), os.O_CREAT))", id="files"),
        pytest.param("os.mkdir(str(n))", id="folders"),
        pytest.param("os.mkdir('d'), os.chdir('d')", id="folders in folders"),
        pytest.param("n or (os.mkdir('c'), os.chdir('c'), os.chmod('.', 0o300)); os.mkdir(str(n))",
                     id="folders that nobody may read"),
    ],
)  # fmt: skip
def test_flood_of_files_ends_the_run_and_not_the_slot(target: Target, make: str) -> None:
    outcome = target.attack(f"for n in range(1 << 20):\n    {make}\n")
    assert (outcome.exit_signal, outcome.limit_hit) == (9, None)


def test_memory_that_no_process_shows_counts(target: Target) -> None:
    outcome = target.attack("""
while True:
    shared = mmap.mmap(-1, 1 << 23)
    shared[:] = bytes(1 << 23)
    shared.madvise(mmap.MADV_DONTNEED)
    time.kept = [*getattr(time, "kept", []), shared]
""")
    assert outcome.limit_hit is LimitKind.MEMORY
