"""Attacks that fill, wreck or disguise the file system of a submission."""

import pytest

from grader.model.verdict import LimitKind
from grader.sandbox import payload
from grader.sandbox.contract import Program
from tests.hostile.conftest import LIMITS, Target

OWN_LIMITS = (LimitKind.WALL_TIME, LimitKind.CPU_TIME, LimitKind.MEMORY)
REFUSALS = ("EROFS", "ENOENT", "EACCES", "EPERM", "ENOTDIR", "EXDEV", "EBUSY", "ENOTSUP")
PIPE = "os.unlink(name); os.mkfifo(name)"
OUTSIDE = ("/", "/etc", "/usr/lib", "/opt/grader", "/dev", "/proc", "/sys", "/root", "/run", "/var")


def test_bytes_of_all_writable_places_are_bounded_together(target: Target) -> None:
    source = """
written = 0
for folder in ("/work", "/tmp", "/dev/shm", "/box", "/box/work"):
    try:
        with open(f"{folder}/fill", "ab", buffering=0) as file:
            while True:
                written += file.write(bytes(65536))
    except OSError:
        pass
print(written)
"""
    assert int(target.attack(source).stdout) <= LIMITS.work_bytes


@pytest.mark.parametrize(
    "make",
    [
        pytest.param("os.close(os.open(path, os.O_CREAT | os.O_WRONLY))", id="files"),
        pytest.param("os.mkdir(path)", id="folders"),
        pytest.param("os.symlink('x' * 200, path)", id="links"),
        pytest.param("os.mkfifo(path)", id="pipes"),
        pytest.param("socket.socket(socket.AF_UNIX).bind(path)", id="sockets"),
    ],
)
def test_number_of_files_is_bounded(target: Target, make: str) -> None:
    source = f"""
made = 0
for folder in ("/work", "/tmp", "/dev/shm", "/box"):
    try:
        while made < 10000:
            path = f"{{folder}}/{{made}}"
            {make}
            made += 1
    except OSError:
        pass
print(made)
"""
    made = int(target.attack(source).stdout)
    assert LIMITS.work_files // 2 <= made <= LIMITS.work_files


def test_source_larger_than_the_work_area_is_no_fault_of_ours(target: Target) -> None:
    outcome = target.attack(f"print('here')\n#{'x' * (LIMITS.work_bytes + 1)}")
    assert (outcome.stdout, outcome.exit_code) == (b"here\n", 0)


def test_deep_tree_goes_away(target: Target) -> None:
    source = """
depth = 0
while attempt(lambda: os.mkdir("d")) is None and depth < 10000:
    os.chdir("d")
    depth += 1
print(depth)
"""
    assert int(target.attack(source).stdout) <= LIMITS.work_files


def test_number_of_open_files_is_bounded(target: Target) -> None:
    source = """
opened = []
while (number := attempt(lambda: os.open("/dev/null", os.O_RDONLY))) != "EMFILE":
    opened.append(number)
print(len(opened))
"""
    assert int(target.attack(source).stdout) <= 256


def test_descriptors_in_flight_do_not_stay(target: Target) -> None:
    source = """
a, b = socket.socketpair()
sent = 0
while sent < 200:
    c, d = socket.socketpair()
    if attempt(lambda: socket.send_fds(a, [b"x"], [c.fileno(), d.fileno(), b.fileno()])) != 1:
        break
    sent += 1
print(sent)
"""
    outcome = target.attack(source)
    assert (outcome.exit_code, outcome.limit_hit) == (0, None)


@pytest.mark.parametrize(
    "grow",
    [
        pytest.param("os.truncate(number, 1 << 40)", id="truncate"),
        pytest.param("os.pwrite(number, b'x', 1 << 40)", id="write at the end"),
        pytest.param("os.posix_fallocate(number, 0, 1 << 40)", id="allocate"),
    ],
)
def test_size_of_a_sparse_file_is_bounded(target: Target, grow: str) -> None:
    source = f"""
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
number = os.open("sparse", os.O_CREAT | os.O_RDWR)
print(attempt(lambda: {grow}))
print(os.fstat(number).st_size)
"""
    assert target.attack(source).stdout in (b"EFBIG\n0\n", b"ENOSPC\n0\n")


def test_nothing_else_is_writable(target: Target) -> None:
    attempts = {
        f"{name} {place}": attack.format(place)
        for folder in OUTSIDE
        for place in (folder, f"{folder}/sub")
        for name, attack in (
            ("create", "open('{}/x', 'w')"),
            ("make", "os.mkdir('{}/x')"),
            ("link to", "os.symlink('/work', '{}/x')"),
            ("open up", "os.chmod('{}', 0o777)"),
            ("move away", "os.rename('{}', '/work/x')"),
            ("link from", "os.link('{}', '/work/y')"),
            ("mark", "os.setxattr('{}', 'user.x', b'x')"),
            ("touch", "os.utime('{}', (1, 1))"),
        )
    }
    answers = target.tell_all(attempts)
    allowed = {name: said for name, said in answers.items() if said not in REFUSALS}
    assert allowed == {}


DEVICES = {
    "memory": "stat.S_IFCHR | 0o666, os.makedev(1, 1)",
    "kernel log": "stat.S_IFCHR | 0o666, os.makedev(1, 11)",
    "fuse": "stat.S_IFCHR | 0o666, os.makedev(10, 229)",
    "disk": "stat.S_IFBLK | 0o666, os.makedev(254, 0)",
    "loop device": "stat.S_IFBLK | 0o666, os.makedev(7, 0)",
}


def test_devices_cannot_be_made(target: Target) -> None:
    attempts = {name: f"os.mknod('/work/d', {device})" for name, device in DEVICES.items()}
    assert target.tell_all(attempts) == dict.fromkeys(DEVICES, "EPERM")


def test_devices_are_the_harmless_ones(target: Target) -> None:
    harmless = {"null", "zero", "full", "random", "urandom"}
    links = {"fd", "stdin", "stdout", "stderr", "core"}
    found = set(target.tell("os.listdir('/dev')"))
    attempts = {
        name: f"os.open('/dev/{name}', os.O_RDWR) and 1" for name in found - harmless - links
    }
    assert set(target.tell_all(attempts).values()) <= {*REFUSALS, "EISDIR", "ENXIO"}


def test_setuid_programs_give_nothing(target: Target) -> None:
    source = """
import shutil
shutil.copy(shutil.which("id"), "/work/id")
attempt(lambda: os.chmod("/work/id", 0o6755))
print(subprocess.run(["/work/id", "-u"], capture_output=True, text=True).stdout)
"""
    assert int(target.attack(source).stdout) >= 20_000


@pytest.mark.parametrize(
    "wreck",
    [
        pytest.param(PIPE, id="a pipe"),
        pytest.param("os.unlink(name); os.symlink('/dev/zero', name)", id="endless"),
        pytest.param("os.unlink(name); os.symlink(name, name)", id="a link to itself"),
        pytest.param("os.unlink(name); os.mkdir(name)", id="a folder"),
        pytest.param("os.truncate(name, 1 << 21)", id="large and empty"),
        pytest.param("os.chmod(name, 0)", id="unreadable"),
        pytest.param("os.chmod('.', 0)", id="a folder that nobody may enter"),
        pytest.param("open(name, 'wb').write(bytes(range(256)))", id="undecodable"),
    ],
)
def test_own_source_may_become_anything(target: Target, wreck: str) -> None:
    payloads = {
        Program.STDIN: b"",
        Program.CALL: payload.calls("f", [((), {})]),
        Program.SCRIPT: payload.script("", ["assert f()"], stop_early=False),
    }
    for program, run in payloads.items():
        source = f"""
name = "solution.py"
attempt(lambda: [{wreck.replace("; ", ", ")}])
def f():
    raise ValueError("the traceback wants the source")
f() if {program is Program.STDIN} else None
"""
        outcome = target.attack(source, run, program=program, limits={"wall_time_s": 0.5})
        # A traceback that waits for its source, or reads it without end, is its own time.
        assert outcome.exit_code in (0, 1) or outcome.limit_hit in OWN_LIMITS


def test_fifo_that_nobody_reads_costs_no_more_than_its_time(target: Target) -> None:
    outcome = target.attack("os.mkfifo('p')\nopen('p', 'w')", limits={"wall_time_s": 0.5})
    assert outcome.limit_hit is LimitKind.WALL_TIME
