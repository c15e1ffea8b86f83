"""Things that the kernel keeps outside of processes and files, and calls that change its state."""

import platform

import pytest

from grader.model import SuiteFile
from grader.sandbox import payload
from grader.sandbox.contract import Program, RunBatch
from tests.hostile.conftest import LIMITS, Target

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the numbers of calls are those of x86-64"
)

REFUSED = {
    "add_key": "248, b'user', b'name', b'data', 4, -3",
    "request_key": "249, b'user', b'name', 0, -3",
    "keyctl join session": "250, 1, 0",
    "keyctl read": "250, 11, -3, 0, 0",
    "msgget": "68, 1, 0o1666",
    "semget": "64, 1, 1, 0o1666",
    "shmget": "29, 1, 4096, 0o1666",
    "mq_open": "240, b'/queue', 0o102, 0o666, 0",
    "ptrace": "101, 0, 0, 0, 0",
    "process_vm_readv": "310, 1, 0, 0, 0, 0, 0",
    "process_vm_writev": "311, 1, 0, 0, 0, 0, 0",
    "kcmp": "312, 1, 1, 0, 0, 0",
    "pidfd_getfd": "438, 3, 0, 0",
    "get_robust_list": "274, 1, 0, 0",
    "migrate_pages": "256, 1, 0, 0, 0",
    "bpf": "321, 0, 0, 0",
    "perf_event_open": "298, 0, 0, -1, -1, 0",
    "io_uring_setup": "425, 8, 0",
    "userfaultfd": "323, 0",
    "seccomp": "317, 1, 0, 0",
    "unshare": "272, 0x10000000",
    "setns": "308, 3, 0",
    "clone into a user namespace": "56, 0x10000011, 0, 0, 0, 0",
    "clone into a pid namespace": "56, 0x20000011, 0, 0, 0, 0",
    "clone beside the parent": "56, 0x8011, 0, 0, 0, 0",
    "clone3": "435, 0, 0",
    "mount": "165, 0, 0, 0, 0, 0",
    "umount": "166, b'/tmp', 2",
    "fsopen": "430, b'tmpfs', 0",
    "open_tree": "428, -100, b'/', 1",
    "move_mount": "429, -1, 0, -1, 0, 0",
    "mount_setattr": "442, -100, b'/', 0, 0, 0",
    "pivot_root": "155, b'/work', b'/work'",
    "chroot": "161, b'/work'",
    "swapon": "167, b'/work/x', 0",
    "open_by_handle_at": "304, 3, 0, 0",
    "name_to_handle_at": "303, -100, b'/', 0, 0, 0",
    "fanotify_init": "300, 0, 0",
    "quotactl": "179, 0, 0, 0, 0",
    "sethostname": "170, b'x', 1",
    "setdomainname": "171, b'x', 1",
    "settimeofday": "164, 0, 0",
    "clock_settime": "227, 0, 0",
    "adjtimex": "159, 0",
    "reboot": "169, 0, 0, 0, 0",
    "kexec_load": "246, 0, 0, 0, 0",
    "init_module": "175, 0, 0, 0",
    "finit_module": "313, 3, 0, 0",
    "syslog": "103, 3, 0, 0",
    "acct": "163, 0",
    "iopl": "172, 3",
    "ioperm": "173, 0, 1, 1",
    "modify_ldt": "154, 0, 0, 0",
    "personality": "135, 0x40000",
    "sched_setscheduler": "144, 0, 1, 0",
    "ioprio_set": "251, 1, 0, 0",
    "capset": "126, 0, 0",
    "vhangup": "153",
    "landlock": "444, 0, 0, 0",
    "memfd_create": "319, b'x', 0",
    "memfd_secret": "447, 0",
    "terminal input": "16, 0, 0x5412, b'x'",
    "a call that does not exist": "1000",
}


def test_calls_are_refused(target: Target) -> None:
    answers = target.tell_all({name: f"syscall({args})" for name, args in REFUSED.items()})
    allowed = {name: said for name, said in answers.items() if said not in ("EPERM", "ENOSYS")}
    assert allowed == {}


MACHINE_CODE = """
code = bytes.fromhex("{}")
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(code)
function = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
print("result", function())
"""


@pytest.mark.parametrize(
    "code",
    [
        # mov eax, 20; int 0x80; ret: getpid by its number on i386
        pytest.param("b814000000cd80c3", id="the 32-bit entry"),
        # mov eax, 0x40000027; syscall; ret: getpid by its number on x32
        pytest.param("b8270000400f05c3", id="x32"),
    ],
)
def test_calls_of_another_machine_kill_the_process(target: Target, code: str) -> None:
    outcome = target.attack(MACHINE_CODE.format(code))
    assert (outcome.exit_signal, outcome.stdout) == (31, b"")


MAPS = """
print(*(line for line in open("/proc/self/maps") if {"w", "s"} <= set(line.split()[1])))
"""


@pytest.mark.parametrize("program", [Program.STDIN, Program.SCRIPT, Program.PYTEST])
def test_no_memory_that_can_be_written_is_shared_with_the_zygote(
    target: Target, program: Program
) -> None:
    """What a run writes there would change what the zygote executes for later runs."""
    runs = {
        Program.STDIN: b"",
        Program.SCRIPT: payload.script("", ["1"], stop_early=False, apart=None),
        Program.PYTEST: payload.pytest(["test_it.py"], [], stop_early=False, apart=None),
    }
    batch = RunBatch(
        program=program,
        source=MAPS,
        runs=(runs[program],),
        limits=LIMITS,
        files=(SuiteFile(path="test_it.py", content=b"import solution\n\ndef test_it(): ..."),)
        if program is Program.PYTEST
        else (),
    )
    (outcome,) = target.slot.run(batch)
    assert (outcome.exit_code, outcome.stdout.strip()) == (0, b""), outcome.stderr


def test_power_cannot_be_had_by_executing(target: Target) -> None:
    source = """
script = 'import os; print(open("/proc/self/status").read())'
print(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout)
"""
    lines = target.attack(source).stdout.decode().splitlines()
    status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    # The bounding set may hold capabilities, but no file can give them any more.
    assert {status[f"Cap{kind}"] for kind in ("Inh", "Prm", "Eff", "Amb")} == {"0" * 16}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


def test_crash_starts_no_program_of_the_host(target: Target) -> None:
    # At a limit of 1, and no other, the kernel hands no core to a handler such as apport.
    # A program that switches cores off, or on, goes on without an error.
    source = """
for limit in ((0, 0), (resource.RLIM_INFINITY,) * 2):
    resource.setrlimit(resource.RLIMIT_CORE, limit)
    attempt(lambda: resource.prlimit(1, resource.RLIMIT_CORE, limit))
print(resource.getrlimit(resource.RLIMIT_CORE))
for pid in (1, 2):
    print(*open(f"/proc/{pid}/limits").read().split("core file size")[1].split()[:2])
"""
    assert target.attack(source).stdout == b"(1, 1)\n1 1\n1 1\n"
    outcome = target.attack("os.abort()")
    assert (outcome.exit_signal, outcome.limit_hit) == (6, None)
