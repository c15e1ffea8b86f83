"""Memory, taken in every way that there is. Each ends at the limit, and the slot survives."""

import signal

import pytest

from grader.model import MiB
from grader.model.verdict import LimitKind
from tests.hostile.conftest import LIMITS, MEMORY_BYTES, Target

FOREVER = """
time.sleep(60)
"""

HOGS = {
    "anonymous": """
blocks = []
while True:
    blocks.append(bytearray(1 << 20))
""",
    "shared mappings": """
blocks = []
while True:
    blocks.append(mmap.mmap(-1, 1 << 20))
    blocks[-1].write(b"x" * (1 << 20))
""",
    "shared mappings out of the page tables": """
blocks = []
while True:
    blocks.append(mmap.mmap(-1, 1 << 20))
    blocks[-1].write(b"x" * (1 << 20))
    blocks[-1].madvise(mmap.MADV_DONTNEED)
""",
    "many children": """
for _ in range(12):
    if os.fork() == 0:
        block = bytearray(b"x") * (40 << 20)
        time.sleep(60)
time.sleep(60)
""",
    "children one after another": """
while True:
    if os.fork() == 0:
        block = bytearray(b"x") * (30 << 20)
        time.sleep(60)
    time.sleep(0.01)
""",
    "the stack": """
sys.setrecursionlimit(10**9)
def eat():
    return max(map(lambda _: eat(), [0]))
eat()
""",
    "one large number": "print(1 << (1 << 34))",
    "one large text": "print(len('x' * (1 << 32)))",
    "mapped without being touched, then touched": """
block = mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for place in range(0, 1 << 30, 4096):
    block[place] = 1
""",
}


@pytest.mark.parametrize("source", [pytest.param(source, id=name) for name, source in HOGS.items()])
def test_memory_ends_at_the_limit(target: Target, source: str) -> None:
    outcome = target.attack(source + FOREVER)
    refusals = (b"MemoryError", b"Cannot allocate memory", b"RecursionError")
    refused = any(refusal in outcome.report for refusal in refusals)
    stack_is_full = outcome.exit_signal == signal.SIGSEGV
    assert outcome.limit_hit is LimitKind.MEMORY or refused or stack_is_full, outcome


# Memory that the kernel holds for a process but does not count as its own, in bytes.
BUFFERS = {
    "sockets": """
ends = []
while True:
    a, b = socket.socketpair()
    a.setblocking(False)
    attempt(lambda: a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24))
    ends.append((a, b))
    try:
        while True:
            held += a.send(bytes(1 << 16))
    except BlockingIOError:
        pass
""",
    "datagrams": """
ends = []
while True:
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    a.setblocking(False)
    ends.append((a, b))
    try:
        while True:
            held += a.send(bytes(1 << 15))
    except BlockingIOError:
        pass
""",
    "pipes": """
while True:
    r, w = os.pipe()
    attempt(lambda: __import__("fcntl").fcntl(w, 1031, 1 << 20))
    os.set_blocking(w, False)
    try:
        while True:
            held += os.write(w, bytes(1 << 16))
    except BlockingIOError:
        pass
""",
    "files": """
for folder in ("/work", "/tmp", "/dev/shm", "/box"):
    for number in range(16):
        with open(f"{folder}/{number}", "wb", buffering=0) as file:
            while True:
                held += file.write(bytes(1 << 16))
""",
}


@pytest.mark.parametrize(
    "source", [pytest.param(source, id=name) for name, source in BUFFERS.items()]
)
def test_what_the_kernel_holds_for_a_run_is_bounded(target: Target, source: str) -> None:
    eat = "held = 0\ntry:\n    " + "\n    ".join(source.strip().splitlines())
    outcome = target.attack(f"{eat}\nexcept OSError as error:\n    print(held)\n")
    assert outcome.limit_hit is LimitKind.MEMORY or int(outcome.stdout) <= MEMORY_BYTES


def test_buffers_of_many_processes_end_at_the_limit(target: Target) -> None:
    fill = "\n        ".join(BUFFERS["sockets"].strip().splitlines())
    source = f"""
held = 0
for _ in range(12):
    if os.fork() == 0:
        try:
            {fill.replace(chr(10), chr(10) + "    ")}
        except OSError:
            pass
        time.sleep(60)
time.sleep(60)
"""
    outcome = target.attack(source, limits={"wall_time_s": 4.0})
    assert outcome.limit_hit in (LimitKind.MEMORY, LimitKind.WALL_TIME)


def test_files_count_as_memory_together_with_the_rest(target: Target) -> None:
    source = f"""
with open("/dev/shm/a", "wb", buffering=0) as file:
    for _ in range({LIMITS.work_bytes // MiB - 1}):
        file.write(bytes(1 << 20))
block = bytearray(b"x") * {MEMORY_BYTES - 2 * MiB}
time.sleep(60)
"""
    outcome = target.attack(source)
    assert outcome.limit_hit is LimitKind.MEMORY or b"MemoryError" in outcome.report


def test_page_cache_of_what_is_read_is_not_the_submissions(target: Target) -> None:
    source = """
total = 0
for folder, _, names in os.walk("/usr/lib"):
    for name in names:
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.R_OK):
            with open(path, "rb") as file:
                while chunk := file.read(1 << 20):
                    total += len(chunk)
    if total > 200 << 20:
        break
print(total)
"""
    outcome = target.attack(source)
    assert (outcome.exit_code, outcome.limit_hit) == (0, None)
    assert int(outcome.stdout) > 1 << 20


CLOSED = {
    "memory files": "os.memfd_create('hidden')",
    "huge pages": "mmap.mmap(-1, 2 << 20, flags=0x40022)",
    "System V shared memory": "syscall(29, 1, 1 << 20, 0o1600)",
    "locked memory": "syscall(151, 1)",
    "userfaultfd": "syscall(323, 0)",
    "io_uring": "syscall(425, 64, 0)",
    "secret memory": "syscall(447, 0)",
}


def test_other_routes_are_closed(target: Target) -> None:
    assert set(target.tell_all(CLOSED).values()) <= {"EPERM", "ENOMEM", "ENOSYS"}


def test_limits_cannot_be_raised(target: Target) -> None:
    source = """
for name in dir(resource):
    if name.startswith("RLIMIT_") and name != "RLIMIT_CORE":
        number = getattr(resource, name)
        _, hard = resource.getrlimit(number)
        try:
            resource.setrlimit(number, (resource.RLIM_INFINITY,) * 2)
        except (OSError, ValueError):
            continue
        if hard != resource.RLIM_INFINITY:
            print(name)
block = bytearray(b"x") * (1 << 30)
"""
    outcome = target.attack(source)
    assert outcome.stdout == b""
    assert outcome.limit_hit is LimitKind.MEMORY or b"MemoryError" in outcome.report


def test_submission_stays_the_first_to_be_killed(target: Target) -> None:
    attacks = {v: f"open('/proc/self/oom_score_adj', 'w').write('{v}')" for v in ("0", "-1000")}
    assert set(target.tell_all(attacks).values()) == {"EROFS"}
    assert target.tell("open('/proc/self/oom_score_adj').read()") == "1000\n"


def test_memory_taken_in_a_moment_does_not_cost_the_slot(target: Target) -> None:
    # Faster than any poll: only the kernel can tell.
    source = """
for _ in range(12):
    if os.fork() == 0:
        block = mmap.mmap(-1, 100 << 20)
        block.write(b"x" * (100 << 20))
        time.sleep(60)
time.sleep(60)
"""
    assert target.attack(source).limit_hit is LimitKind.MEMORY


def test_source_that_does_not_fit_into_memory_is_not_our_failure(target: Target) -> None:
    outcome = target.attack("#" * (16 << 20), limits={"memory_bytes": 24 * MiB})
    assert outcome.limit_hit is LimitKind.MEMORY
