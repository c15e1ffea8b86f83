"""Programs in native jails that try to get out, look around or stay; each attack must fail."""

import fcntl
import json
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.model import Limits, MiB
from grader.model.verdict import LimitKind
from grader.sandbox.contract import Program, RunBatch, RunOutcome, Slot
from grader.sandbox.native.backend import NativeSandbox
from tests.traces import family

LIMITS = Limits(cpu_time_s=5, wall_time_s=10, memory_bytes=128 * MiB, processes=16)

PRELUDE = """
import ctypes, json, os, signal, socket, stat, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def attempt(action):
    try:
        return action()
    except OSError as error:
        return type(error).__name__
def fails(result):
    return result == -1 and os.strerror(ctypes.get_errno())
"""

OPEN_DESCRIPTORS = """
["socket" if stat.S_ISSOCK(os.fstat(d).st_mode) else "other" for d in range(256)
 if attempt(lambda: os.fstat(d)) != "OSError"]
"""


@pytest.fixture(scope="module")
def slot(native_sandbox: NativeSandbox) -> Iterator[Slot]:
    slot = native_sandbox.open_slot(image="python", memory_bytes=LIMITS.memory_bytes)
    yield slot
    slot.close()


def run(slot: Slot, source: str, *, runs: int = 1, limits: Limits = LIMITS) -> list[RunOutcome]:
    batch = RunBatch(
        program=Program.STDIN, source=PRELUDE + source, runs=(b"",) * runs, limits=limits
    )
    return list(slot.run(batch))


def tell(slot: Slot, expression: str) -> Any:
    """Return the value of an expression inside the jail."""
    (outcome,) = run(slot, f"print(json.dumps({expression}))")
    assert outcome.exit_code == 0, outcome.stderr.decode()
    return json.loads(outcome.stdout)


def test_locks_on_files_of_the_host_are_not_heard(slot: Slot) -> None:
    attack = """
import fcntl, struct
asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)
paths = [os.__file__, os.path.dirname(os.__file__), "/dev/null", "/dev/urandom"]
files = [os.open(path, os.O_RDONLY) for path in paths]
print([attempt(lambda: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)) for file in files])
print(fcntl.fcntl(files[0], fcntl.F_OFD_GETLK, asked)[0] == fcntl.F_UNLCK)
"""
    shown = Path(os.__file__)
    # Only root can make devices that are not the host's.
    devices = ("/dev/null", "/dev/urandom") if os.geteuid() == 0 else ()
    held = [os.open(path, os.O_RDONLY) for path in (shown, shown.parent, *devices)]
    try:
        for file in held:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shared = struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, 0, 0, 0)
        fcntl.fcntl(held[0], fcntl.F_OFD_SETLK, shared)
        (outcome,) = run(slot, attack)
    finally:
        for file in held:
            os.close(file)
    assert outcome.stdout == b"[None, None, None, None]\nTrue\n", outcome.stderr


@pytest.mark.parametrize(
    ("attack", "outcome"),
    [
        pytest.param(
            "attempt(lambda: open('/etc/shadow').read())", "FileNotFoundError", id="shadow"
        ),
        pytest.param("attempt(lambda: os.listdir('/home'))", "FileNotFoundError", id="homes"),
        pytest.param("attempt(lambda: os.listdir('/var'))", "FileNotFoundError", id="var"),
        pytest.param("attempt(lambda: os.listdir('/run'))", "FileNotFoundError", id="run"),
        pytest.param("os.listdir('/tmp')", [], id="temporary files of the host"),
        pytest.param("os.listdir('/dev/shm')", [], id="shared memory of the host"),
        pytest.param("[*filter(str.isdigit, os.listdir('/proc'))]", ["1", "2"], id="processes"),
        pytest.param(
            "attempt(lambda: open('/proc/1/environ').read())", "PermissionError", id="environment"
        ),
        pytest.param(
            "attempt(lambda: open('/proc/1/mem', 'rb').read(1))",
            "PermissionError",
            id="memory of the box",
        ),
        pytest.param(
            "attempt(lambda: os.listdir('/proc/1/root/'))", "PermissionError", id="root of the box"
        ),
        pytest.param(
            "attempt(lambda: os.open('/proc/1/fd/3', os.O_RDWR))",
            "PermissionError",
            id="descriptors of the box",
        ),
        pytest.param(
            "attempt(lambda: os.listdir('/proc/sys'))", "FileNotFoundError", id="kernel settings"
        ),
        pytest.param(
            "attempt(lambda: os.kill(3, 9))", "ProcessLookupError", id="signal a host process"
        ),
        pytest.param(
            "attempt(lambda: socket.create_connection(('1.1.1.1', 53), 1))",
            "OSError",
            id="internet",
        ),
        pytest.param(
            "attempt(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW))",
            "OSError",
            id="netlink",
        ),
        pytest.param(
            "attempt(lambda: socket.socket(40, socket.SOCK_STREAM))", "OSError", id="hypervisor"
        ),
        pytest.param(
            "attempt(lambda: socket.socket(socket.AF_UNIX).connect('/var/run/docker.sock'))",
            "FileNotFoundError",
            id="docker",
        ),
        pytest.param(
            "fails(libc.mount(b'x', b'/work', b'tmpfs', 0, 0))",
            "Operation not permitted",
            id="mount",
        ),
        pytest.param("fails(libc.umount2(b'/tmp', 2))", "Operation not permitted", id="unmount"),
        pytest.param(
            "fails(libc.unshare(0x10000000))", "Operation not permitted", id="user namespace"
        ),
        pytest.param("fails(libc.ptrace(16, 1, 0, 0))", "Operation not permitted", id="ptrace"),
        pytest.param("attempt(lambda: os.chroot('/work'))", "PermissionError", id="chroot"),
        pytest.param(
            "attempt(lambda: os.mknod('/work/d', stat.S_IFBLK | 0o666, os.makedev(254, 0)))",
            "PermissionError",
            id="disk node",
        ),
        pytest.param(
            "attempt(lambda: os.mknod('/work/d', stat.S_IFCHR | 0o666, os.makedev(1, 1)))",
            "PermissionError",
            id="memory node",
        ),
        pytest.param("attempt(lambda: os.setuid(0))", "OSError", id="become root"),
        pytest.param(
            # Read-only if the device was made for the jail, else the host's own.
            "attempt(lambda: os.chmod('/dev/null', 0o600)) in ('OSError', 'PermissionError')",
            True,
            id="take away null",
        ),
        pytest.param("attempt(lambda: socket.sethostname('x'))", "PermissionError", id="host name"),
        pytest.param(
            "attempt(lambda: os.setpriority(os.PRIO_PROCESS, 0, -5))",
            "PermissionError",
            id="priority",
        ),
        pytest.param("socket.gethostname()", "sandbox", id="name of the host"),
        pytest.param(
            "attempt(lambda: open('/opt/grader/sandbox_images/harness/box.py', 'a'))",
            "OSError",
            id="harness",
        ),
        pytest.param(
            "subprocess.run(['su', '-c', 'id'], stdin=-3, capture_output=True).returncode != 0",
            True,
            id="setuid program",
        ),
    ],
)
def test_attack_gets_nowhere(slot: Slot, attack: str, outcome: object) -> None:
    assert tell(slot, attack) == outcome


def test_file_of_the_host_cannot_be_found(slot: Slot, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("treasure")
    secret.chmod(0o644)
    assert tell(slot, f"attempt(lambda: open({str(secret)!r}).read())") == "FileNotFoundError"


def test_only_the_work_area_is_writable(slot: Slot) -> None:
    search = "[p for p, _, _ in os.walk('/') if p[:6] != '/proc/' and os.access(p, os.W_OK)]"
    writable = set(tell(slot, search))
    assert {"/work", "/tmp", "/dev/shm"} <= writable  # noqa: S108 - in the jail
    roots = {path.split("/")[1] for path in writable}
    assert roots <= {"work", "tmp", "dev", "box"}
    assert {path for path in writable if path.startswith("/dev")} == {"/dev/shm"}  # noqa: S108


def test_process_has_no_power_left(slot: Slot) -> None:
    status = dict(
        line.split(":", 1)
        for line in tell(slot, "open('/proc/self/status').read()").splitlines()
        if line.startswith(("CapInh", "CapPrm", "CapEff", "CapAmb", "NoNewPrivs", "Seccomp:"))
    )
    values = {name: int(value, 16) for name, value in status.items()}
    assert values == {
        "CapInh": 0,
        "CapPrm": 0,
        "CapEff": 0,
        "CapAmb": 0,
        "NoNewPrivs": 1,
        "Seccomp": 2,
    }


@pytest.mark.parametrize("kind", ["user", "pid", "mnt", "ipc", "uts", "net", "cgroup"])
def test_namespace_is_not_the_hosts(slot: Slot, kind: str) -> None:
    assert tell(slot, f"os.readlink('/proc/self/ns/{kind}')") != str(
        Path(f"/proc/self/ns/{kind}").readlink()
    )


def test_environment_of_the_grader_does_not_travel(
    native_sandbox: NativeSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADER_TEST_SECRET", "treasure")
    slot = native_sandbox.open_slot(image="python", memory_bytes=LIMITS.memory_bytes)
    try:
        assert "treasure" not in json.dumps(tell(slot, "dict(os.environ)"))
    finally:
        slot.close()


def test_descriptor_of_the_grader_does_not_travel(native_sandbox: NativeSandbox) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.set_inheritable(True)
        slot = native_sandbox.open_slot(image="python", memory_bytes=LIMITS.memory_bytes)
        try:
            kinds = tell(slot, OPEN_DESCRIPTORS)
        finally:
            slot.close()
    assert "socket" not in kinds
    assert len(kinds) <= 5  # the standard streams, the run's payload and the report


# ---------------------------------------------------------------- staying


def test_files_of_one_run_are_gone_in_the_next(slot: Slot) -> None:
    leave_marks = """
    places = ["/work", "/tmp", "/dev/shm", "/box"]
    print(json.dumps(sorted(os.path.join(p, "mark") for p in places
                            if os.path.exists(os.path.join(p, "mark")))))
    for place in places:
        open(os.path.join(place, "mark"), "w").close()
    """
    first, second = run(slot, "if True:" + leave_marks, runs=2)
    assert (json.loads(first.stdout), json.loads(second.stdout)) == ([], [])
    (third,) = run(slot, "if True:" + leave_marks)
    assert json.loads(third.stdout) == []


def test_daemon_does_not_survive_its_run(slot: Slot) -> None:
    daemon = """
    waiting = socket.socket(socket.AF_UNIX)
    try:
        waiting.connect("\\0stay")
        print("it is still there")
    except ConnectionRefusedError:
        print("gone")
    server = socket.socket(socket.AF_UNIX)
    server.bind("\\0stay")
    server.listen()
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        if os.fork() == 0:
            while True:
                time.sleep(1)
        os._exit(0)
    """
    outcomes = run(slot, "if True:" + daemon, runs=2) + run(slot, "if True:" + daemon)
    assert [outcome.stdout for outcome in outcomes] == [b"gone\n"] * 3


def test_fork_bomb_ends_with_its_run(slot: Slot) -> None:
    bomb = """
    children = 0
    try:
        while True:
            if os.fork() == 0:
                time.sleep(60)
            children += 1
    except BlockingIOError:
        print("no more", children < 16)
    """
    (outcome,) = run(slot, "if True:" + bomb)
    assert outcome.stdout == b"no more True\n"
    assert tell(slot, "[*filter(str.isdigit, os.listdir('/proc'))]") == ["1", "2"]


def test_memory_of_all_processes_together_is_limited(slot: Slot) -> None:
    hogs = """
    for _ in range(4):
        if os.fork() == 0:
            block = bytearray(60 << 20)
            time.sleep(20)
    time.sleep(20)
    """
    (outcome,) = run(slot, "if True:" + hogs)
    assert outcome.limit_hit is LimitKind.MEMORY
    assert tell(slot, "1 + 1") == 2


def test_memory_of_one_process_is_limited(slot: Slot) -> None:
    (outcome,) = run(slot, "block = bytearray(256 << 20)")
    assert b"MemoryError" in outcome.stderr or outcome.limit_hit is LimitKind.MEMORY


def test_work_area_cannot_be_overfilled(slot: Slot) -> None:
    fill = """
    written = 0
    try:
        for number in range(100):
            with open(f"/tmp/{number}", "wb", buffering=0) as file:
                written += file.write(bytes(1 << 20))
    except OSError as error:
        print(error.errno, written <= 8 << 20)
    """
    limits = Limits(work_bytes=8 * MiB)
    (outcome,) = run(slot, "if True:" + fill, limits=limits)
    assert outcome.stdout == b"28 True\n"


def test_killing_everything_in_sight_hurts_only_oneself(slot: Slot) -> None:
    (outcome,) = run(slot, "os.kill(1, 9)\nos.kill(-1, 9)\nprint('alive')")
    assert outcome.limit_hit is None
    assert tell(slot, "1 + 1") == 2


def test_kernel_user_is_not_the_graders(native_sandbox: NativeSandbox) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives slots users of their own")
    slots = [
        native_sandbox.open_slot(image="python", memory_bytes=LIMITS.memory_bytes) for _ in range(2)
    ]
    try:
        # Seen from outside: inside, a run's user namespace lies in one of its zygote's.
        own = (Path(f"/proc/{pid}") for pid, _ in family(os.getpid()))
        uids = {
            uid
            for process in own
            if b"\0zygote\0" in _read_if_there(process / "cmdline")
            if 1_900_000_000 <= (uid := process.stat().st_uid) < 1_900_004_096
        }
        assert len(uids) >= len(slots)
    finally:
        for slot in slots:
            slot.close()


def _read_if_there(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""
