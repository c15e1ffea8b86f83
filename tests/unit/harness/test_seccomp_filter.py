"""What the filters answer, for every number, by running them in a small BPF machine."""

import errno
import re
import struct
from pathlib import Path

import pytest

from sandbox_images.harness.kernel.syscalls import (
    CANDIDATE_ALLOWED,
    LAST_KNOWN,
    NUMBERS,
    SUPERVISOR_EXTRA,
    WATCHED,
)
from sandbox_images.harness.lock_in.rules import CANDIDATE_RULES
from sandbox_images.harness.lock_in.seccomp import (
    build_candidate_filter,
    build_session_filter,
    build_supervisor_filter,
)

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
I386, ARM = 0x40000003, 0x40000028
ALLOW, KILL, NOTIFY, PRETEND = "allow", "kill", "notify", "pretend"

# Calls that a submission must never be able to make, by any argument.
FORBIDDEN = {
    "x86_64": {
        "ptrace": 101, "modify_ldt": 154, "pivot_root": 155, "chroot": 161, "mount": 165,
        "umount2": 166, "reboot": 169, "init_module": 175, "kexec_load": 246, "add_key": 248,
        "request_key": 249, "keyctl": 250, "unshare": 272, "perf_event_open": 298,
        "name_to_handle_at": 303, "open_by_handle_at": 304, "setns": 308,
        "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "finit_module": 313,
        "seccomp": 317, "memfd_create": 319, "kexec_file_load": 320, "bpf": 321,
        "userfaultfd": 323, "io_uring_setup": 425, "io_uring_enter": 426,
        "io_uring_register": 427, "open_tree": 428, "move_mount": 429, "fsopen": 430,
        "pidfd_getfd": 438, "mount_setattr": 442, "personality": 135, "shmget": 29,
    },
    "aarch64": {
        "pivot_root": 41, "mount": 40, "unshare": 97, "ptrace": 117, "keyctl": 219,
        "perf_event_open": 241, "setns": 268, "process_vm_readv": 270, "bpf": 280,
        "userfaultfd": 282, "io_uring_setup": 425, "personality": 92, "memfd_create": 279,
    },
}  # fmt: skip


def run_filter(program: bytes, number: int, *, machine: int, args: tuple[int, ...] = ()) -> str:
    """Run a filter as the kernel would; return "allow", "kill" or the name of the error."""
    record = struct.pack("<IIQ6Q", number, machine, 0, *(*args, 0, 0, 0, 0, 0, 0)[:6])
    instructions = list(struct.iter_unpack("<HBBI", program))
    accumulator, position = 0, 0
    while True:
        code, if_true, if_false, value = instructions[position]
        position += 1
        match code:
            case 0x20:
                (accumulator,) = struct.unpack_from("<I", record, value)
            case 0x05:
                position += value
            case 0x15:
                position += if_true if accumulator == value else if_false
            case 0x35:
                position += if_true if accumulator >= value else if_false
            case 0x45:
                position += if_true if accumulator & value else if_false
            case 0x06:
                return _name_action(value)
            case _:
                pytest.fail(f"unknown instruction {code:#x}")


def _name_action(value: int) -> str:
    if value & 0xFFFF0000 == 0x00050000:
        return errno.errorcode.get(value & 0xFFFF, PRETEND)
    return {0x7FFF0000: ALLOW, 0x80000000: KILL, 0x7FC00000: NOTIFY}[value]


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def verdicts(program: bytes, machine: str) -> dict[int, str]:
    numbers = range(LAST_KNOWN + 50)
    return {n: run_filter(program, n, machine=MACHINES[machine]) for n in numbers}


def test_candidate_filter_answers_every_number_as_the_lists_say(machine: str) -> None:
    by_number = {number: name for name, number in NUMBERS[machine].items()}
    # With all arguments zero, these are the ones whose rule refuses.
    refused_at_zero = {"socket": "EAFNOSUPPORT", "socketpair": "EAFNOSUPPORT", "ioctl": "EPERM",
                       "prctl": "EPERM", "setsockopt": "ENOPROTOOPT",
                       "sched_setscheduler": PRETEND}  # fmt: skip
    for number, verdict in verdicts(build_candidate_filter(machine), machine).items():
        name = by_number.get(number)
        if number > LAST_KNOWN or name == "clone3":
            expected = "ENOSYS"
        elif name in CANDIDATE_ALLOWED:
            expected = refused_at_zero.get(name, ALLOW)
        else:
            expected = "EPERM"
        assert verdict == expected, f"{name or number}"


def test_supervisor_filter_allows_the_lists_and_nothing_else(machine: str) -> None:
    allowed = {n for n, v in verdicts(build_supervisor_filter(machine), machine).items()
               if v == ALLOW}  # fmt: skip
    names = CANDIDATE_ALLOWED | SUPERVISOR_EXTRA
    numbers = {n for name, n in NUMBERS[machine].items() if name in names}
    ruled = {NUMBERS[machine][name] for name in ("socketpair", "sched_setscheduler")}
    assert allowed == numbers - ruled


@pytest.mark.parametrize(
    ("machine_name", "number"),
    [
        pytest.param(machine_name, number, id=f"{machine_name}-{name}")
        for machine_name, calls in FORBIDDEN.items()
        for name, number in calls.items()
    ],
)
def test_forbidden_call_is_refused_whatever_its_arguments(machine_name: str, number: int) -> None:
    program = build_candidate_filter(machine_name)
    for value in (0, 1, 0x7FFFFFFF, 0xFFFFFFFF, 2**64 - 1):
        args = (value,) * 6
        verdict = run_filter(program, number, machine=MACHINES[machine_name], args=args)
        assert verdict == "EPERM"


@pytest.mark.parametrize(
    ("call", "args", "expected"),
    [
        pytest.param("clone", (0x01200011, 0), ALLOW, id="clone as fork does"),
        pytest.param("clone", (0x003D0F00, 0), ALLOW, id="clone as threads do"),
        pytest.param("clone", (0x00004111, 0), ALLOW, id="clone as vfork does"),
        pytest.param("clone", (0x00020011,), "EPERM", id="clone new mount namespace"),
        pytest.param("clone", (0x02000011,), "EPERM", id="clone new cgroup namespace"),
        pytest.param("clone", (0x04000011,), "EPERM", id="clone new uts namespace"),
        pytest.param("clone", (0x08000011,), "EPERM", id="clone new ipc namespace"),
        pytest.param("clone", (0x10000011,), "EPERM", id="clone new user namespace"),
        pytest.param("clone", (0x20000011,), "EPERM", id="clone new pid namespace"),
        pytest.param("clone", (0x40000011,), "EPERM", id="clone new net namespace"),
        pytest.param("clone", (0x10000011 | 1 << 40,), "EPERM", id="clone with high bits set"),
        pytest.param("clone", (0x00008011,), "EPERM", id="clone sibling"),
        pytest.param("socket", (1, 1), ALLOW, id="unix socket"),
        pytest.param("socket", (1 | 1 << 32, 1), ALLOW, id="unix socket, high half ignored"),
        pytest.param("socket", (2, 1), "EAFNOSUPPORT", id="internet socket"),
        pytest.param("socket", (10, 1), "EAFNOSUPPORT", id="internet 6 socket"),
        pytest.param("socket", (16, 3), "EAFNOSUPPORT", id="netlink socket"),
        pytest.param("socket", (17, 3), "EAFNOSUPPORT", id="packet socket"),
        pytest.param("socket", (40, 1), "EAFNOSUPPORT", id="socket to the hypervisor"),
        pytest.param("mknodat", (0, 0, 0o010644), ALLOW, id="make a pipe"),
        pytest.param("mknodat", (0, 0, 0o140755), ALLOW, id="make a socket"),
        pytest.param("mknodat", (0, 0, 0o100600), ALLOW, id="make a file"),
        pytest.param("mknodat", (0, 0, 0o020666, 1 << 8), "EPERM", id="make a character device"),
        pytest.param("mknodat", (0, 0, 0o060666, 8 << 8), "EPERM", id="make a block device"),
        pytest.param("ioctl", (0, 0x5401), ALLOW, id="is it a terminal"),
        pytest.param("ioctl", (0, 0x5412), "EPERM", id="type into a terminal"),
        pytest.param("ioctl", (0, 0x541C), "EPERM", id="paste into a console"),
        pytest.param("ioctl", (0, 0x5412 | 1 << 32), "EPERM", id="type, high half set"),
        pytest.param("fcntl", (3, 1030), ALLOW, id="duplicate a descriptor"),
        pytest.param("fcntl", (3, 8), ALLOW, id="own the signals of a descriptor"),
        pytest.param("fcntl", (3, 1024), "EPERM", id="lease"),
        pytest.param("fcntl", (3, 1026), "EPERM", id="hear who reads a folder"),
        pytest.param("setsockopt", (3, 1, 2), ALLOW, id="reuse an address"),
        pytest.param("setsockopt", (3, 1, 7), PRETEND, id="size of a buffer"),
        pytest.param("setsockopt", (3, 1, 7 | 1 << 32), PRETEND, id="size, high half"),
        pytest.param("setsockopt", (3, 1, 16), ALLOW, id="credentials of the peer"),
        pytest.param("setsockopt", (3, 1, 26), "ENOPROTOOPT", id="classic filter"),
        pytest.param("setsockopt", (3, 1, 50), "ENOPROTOOPT", id="extended filter"),
        pytest.param("setsockopt", (3, 1, 51), "ENOPROTOOPT", id="filter of a port"),
        pytest.param("setsockopt", (3, 1, 26 | 1 << 32), "ENOPROTOOPT", id="filter, high half"),
        pytest.param("sendto", (3, 0, 1, 0x4000), ALLOW, id="send without a signal"),
        pytest.param("sendto", (3, 0, 1, 0x4001), "ENOTSUP", id="send out of band"),
        pytest.param("sendmsg", (3, 0, 1), "ENOTSUP", id="send a message out of band"),
        pytest.param("recvfrom", (3, 0, 1, 2), ALLOW, id="peek"),
        pytest.param("recvfrom", (3, 0, 1, 1), "ENOTSUP", id="receive out of band"),
        pytest.param("recvmsg", (3, 0, 1), "ENOTSUP", id="receive a message out of band"),
        pytest.param("prctl", (15,), ALLOW, id="name a thread"),
        pytest.param("prctl", (4, 1), "EPERM", id="become dumpable"),
        pytest.param("prctl", (22, 2), "EPERM", id="seccomp by prctl"),
        pytest.param("mmap", (0, 4096, 3, 0x22), ALLOW, id="anonymous memory"),
        pytest.param("mmap", (0, 4096, 3, 0x40022), "ENOMEM", id="huge pages"),
    ],
)
def test_rule_decides_by_argument(
    machine: str, call: str, args: tuple[int, ...], expected: str
) -> None:
    program = build_candidate_filter(machine)
    number = NUMBERS[machine][call]
    assert run_filter(program, number, machine=MACHINES[machine], args=args) == expected


@pytest.mark.parametrize("foreign", [I386, ARM, 0], ids=["i386", "arm", "none"])
def test_call_of_another_machine_kills(machine: str, foreign: int) -> None:
    program = build_candidate_filter(machine)
    assert {run_filter(program, n, machine=foreign) for n in range(LAST_KNOWN)} == {KILL}


def test_x32_call_kills() -> None:
    program = build_candidate_filter("x86_64")
    machine = MACHINES["x86_64"]
    numbers = [0x40000000 + n for n in range(LAST_KNOWN + 100)]
    assert {run_filter(program, n, machine=machine) for n in numbers} == {KILL}


def test_unknown_machine_is_an_error_that_names_it() -> None:
    with pytest.raises(NotImplementedError, match="riscv64"):
        build_candidate_filter("riscv64")


def test_filter_is_short_and_shallow(machine: str) -> None:
    assert len(build_candidate_filter(machine)) // 8 < 400


def test_every_rule_is_for_an_allowed_call() -> None:
    assert set(CANDIDATE_RULES) <= CANDIDATE_ALLOWED


def test_numbers_are_the_kernel_headers_own() -> None:
    header = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
    if not header.exists():
        pytest.skip("needs the kernel's headers (linux-libc-dev)")
    defined = dict(re.findall(r"#define __NR_(\w+) (\d+)", header.read_text()))
    ours = NUMBERS["x86_64"]
    assert ours == {name: int(defined[name]) for name in ours}


def test_every_name_has_a_number_on_some_machine() -> None:
    named = CANDIDATE_ALLOWED | SUPERVISOR_EXTRA | WATCHED | {"clone3"}
    assert set(NUMBERS["x86_64"]) == named
    assert set(NUMBERS["aarch64"]) < set(NUMBERS["x86_64"])


def test_notifying_filter_leaves_the_watched_refusals_to_the_listener(machine: str) -> None:
    silent = build_candidate_filter(machine)
    notifying = build_candidate_filter(machine, notifying=True)
    for name in WATCHED & NUMBERS[machine].keys():
        # An internet socket, and a clone into a new user namespace.
        args = (2, 1) if name == "socket" else (0x10000000,)
        number = NUMBERS[machine][name]
        refused = "EAFNOSUPPORT" if name == "socket" else "EPERM"
        assert run_filter(silent, number, machine=MACHINES[machine], args=args) == refused
        assert run_filter(notifying, number, machine=MACHINES[machine], args=args) == NOTIFY


@pytest.mark.parametrize(
    ("name", "args", "answer"),
    [
        pytest.param("prlimit64", (0, 4), ALLOW, id="read"),
        pytest.param("prlimit64", (0, 4, 1), PRETEND, id="change"),
        pytest.param("prlimit64", (0, 4, 1 << 32), PRETEND, id="change from a high address"),
        pytest.param("prlimit64", (0, 9, 1), ALLOW, id="change another"),
        pytest.param("prlimit64", (0, 4 + (1 << 32), 1), PRETEND, id="the kernel reads 32 bits"),
        pytest.param("setrlimit", (4, 1 << 32), PRETEND, id="change by the older call"),
        pytest.param("setrlimit", (9, 1), ALLOW, id="change another by the older call"),
    ],
)
def test_limit_on_cores_can_be_read_and_not_changed(
    machine: str, name: str, args: tuple[int, ...], answer: str
) -> None:
    program = build_candidate_filter(machine)
    number = NUMBERS[machine][name]
    assert run_filter(program, number, machine=MACHINES[machine], args=args) == answer


@pytest.mark.parametrize(
    ("policy", "answer"),
    [
        pytest.param(0, PRETEND, id="ordinary"),
        pytest.param(1, "EPERM", id="first in, first out"),
        pytest.param(3, "EPERM", id="batch"),
        pytest.param(1 << 30, "EPERM", id="ordinary and a flag"),
    ],
)
def test_only_the_ordinary_scheduling_seems_to_be_set(
    machine: str, policy: int, answer: str
) -> None:
    number = NUMBERS[machine]["sched_setscheduler"]
    for build in (build_candidate_filter, build_session_filter, build_supervisor_filter):
        args = (7, policy)
        assert run_filter(build(machine), number, machine=MACHINES[machine], args=args) == answer


# ---------------------------------------------------------------- sessions


@pytest.mark.parametrize(
    ("name", "args", "answer"),
    [
        pytest.param("kill", (2, 9), NOTIFY, id="kill"),
        pytest.param("tgkill", (2, 2, 9), NOTIFY, id="tgkill"),
        pytest.param("pidfd_send_signal", (3, 9), "EPERM", id="pidfd"),
        pytest.param("prlimit64", (0, 9), ALLOW, id="own-limits"),
        pytest.param("prlimit64", (0, 4), ALLOW, id="read-own-core-limit"),
        pytest.param("prlimit64", (0, 4, 8), PRETEND, id="change-own-core-limit"),
        pytest.param("prlimit64", (2, 4), "EPERM", id="core-limit-of-another"),
        pytest.param("prlimit64", (2, 9), "EPERM", id="limits-of-another"),
        pytest.param("setpriority", (0, 0, 5), ALLOW, id="own-priority"),
        pytest.param("setpriority", (0, 2, 5), "EPERM", id="priority-of-another"),
        pytest.param("setpriority", (2, 0, 5), "EPERM", id="priority-of-the-user"),
        pytest.param("sched_setaffinity", (0,), ALLOW, id="own-cpus"),
        pytest.param("sched_setaffinity", (2,), "EPERM", id="cpus-of-another"),
        pytest.param("fcntl", (3, 1030), ALLOW, id="duplicate"),
        pytest.param("fcntl", (3, 8), "EPERM", id="owner"),
        pytest.param("fcntl", (3, 10), "EPERM", id="signal"),
        pytest.param("fcntl", (3, 1026), "EPERM", id="notify"),
        pytest.param("read", (), ALLOW, id="read"),
    ],
)
def test_session_reaches_no_process_but_by_leave_of_the_supervisor(
    machine: str, name: str, args: tuple[int, ...], answer: str
) -> None:
    program = build_session_filter(machine, notifying=True)
    number = NUMBERS[machine][name]
    assert run_filter(program, number, machine=MACHINES[machine], args=args) == answer


def test_session_signals_freely_if_the_kernel_cannot_ask(machine: str) -> None:
    program = build_session_filter(machine)
    number = NUMBERS[machine]["kill"]
    assert run_filter(program, number, machine=MACHINES[machine], args=(2, 9)) == ALLOW


def test_ranges_share_their_answers(machine: str) -> None:
    """A search in N ranges takes N - 1 comparisons; each range had an answer of its own besides."""
    program = list(struct.iter_unpack("<HBBI", build_supervisor_filter(machine)))
    comparisons = sum(code == 0x35 for code, *_ in program)
    assert sum(code == 0x06 for code, *_ in program) < comparisons / 2
