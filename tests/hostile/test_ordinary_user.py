"""Attacks on a slot of an ordinary user, where no control group counts memory and CPU time."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.ordinary_user import OrdinarySlot, find_python, open_slot

PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def slot() -> Iterator[OrdinarySlot]:
    with open_slot(find_python()) as slot:
        yield slot


@pytest.fixture(autouse=True)
def _slot_serves_on(slot: OrdinarySlot) -> Iterator[None]:
    yield
    outcome = slot.run("print(42)")
    assert (outcome.stdout, outcome.exit_code, outcome.limit_hit) == ("42\n", 0, None)


# ---------------------------------------------------------------- time

SPIN = """
import os, signal, time
def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    os._exit(0)
def first_cpu_only():
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
"""

THREAD = f"""
{SPIN}
import threading
def make_nice_and_spin(more):
    thread = threading.get_native_id()
    os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + more)
    spin(0.4)
def thread(more):
    started = threading.Thread(target=make_nice_and_spin, args=[more])
    started.start()
    return started
"""

UNWAITED = {
    "a parent that ignores the end of its children": """
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(40):
    r, w = os.pipe()
    os.fork() or spin(0.1)
    os.close(w)
    os.read(r, 1)
""",
    "children of children": """
for _ in range(40):
    r, w = os.pipe()
    if os.fork() == 0:
        os.fork() or spin(0.1)
        os._exit(0)
    os.close(w)
    os.wait()
    os.read(r, 1)
""",
}


@pytest.mark.parametrize("source", [pytest.param(s, id=name) for name, s in UNWAITED.items()])
def test_cpu_time_of_processes_that_nothing_waits_for_counts(
    slot: OrdinarySlot, source: str
) -> None:
    outcome = slot.run(SPIN + source, cpu_time_s=0.5, wall_time_s=PATIENCE_S)
    assert outcome.limit_hit == "cpu_time"


def test_cpu_time_of_processes_that_are_waited_for_counts_once(slot: OrdinarySlot) -> None:
    source = "for _ in range(4):\n    os.fork() or spin(0.1)\n    os.wait()\n"
    outcome = slot.run(SPIN + source, cpu_time_s=PATIENCE_S, wall_time_s=PATIENCE_S)
    assert outcome.exit_code == 0, outcome
    assert 0.4 <= outcome.cpu_time_s < 0.8


def test_processes_that_wait_for_each_other_do_not_stop_the_clock(slot: OrdinarySlot) -> None:
    source = "first_cpu_only()\nfor _ in range(8):\n    os.fork() or spin(60)\nspin(60)\n"
    outcome = slot.run(SPIN + source, cpu_time_s=PATIENCE_S, wall_time_s=0.5)
    assert outcome.limit_hit == "wall_time"
    # On one CPU, they have been on it or have waited for others.
    assert outcome.waited_s <= outcome.wall_time_s - outcome.cpu_time_s + 0.1


@contextmanager
def busy_first_cpu(competitors: int) -> Iterator[None]:
    """Let other processes take most of the first CPU."""
    command = [sys.executable, "-c", SPIN + "first_cpu_only()\nwhile True: pass"]
    with ExitStack() as stack:
        for _ in range(competitors):
            # Each has a session of its own, since Linux may share a CPU among sessions first.
            process = subprocess.Popen(command, start_new_session=True)
            stack.callback(stack.enter_context(process).kill)
        yield


@pytest.mark.parametrize(
    "start",
    [
        pytest.param("spin(0.4)", id="first thread"),
        pytest.param("thread(0).join()", id="another thread"),
    ],
)
def test_wait_for_a_cpu_that_others_have_does_not_count(slot: OrdinarySlot, start: str) -> None:
    source = f"first_cpu_only()\n{start}\n"
    with busy_first_cpu(4):
        outcome = slot.run(THREAD + source, cpu_time_s=PATIENCE_S, wall_time_s=0.8)
    assert (outcome.limit_hit, outcome.exit_code) == (None, 0)
    assert outcome.waited_s > 0.8


def test_thread_that_makes_itself_nice_does_not_stop_the_clock(slot: OrdinarySlot) -> None:
    source = "first_cpu_only()\nthread(19).join()\n"
    with busy_first_cpu(4):
        outcome = slot.run(THREAD + source, cpu_time_s=PATIENCE_S, wall_time_s=0.8)
    assert outcome.limit_hit == "wall_time"
    assert outcome.waited_s < outcome.wall_time_s / 2


def test_process_that_makes_itself_nice_does_not_stop_the_clock(slot: OrdinarySlot) -> None:
    source = "first_cpu_only()\nos.nice(19)\nspin(60)\n"
    with busy_first_cpu(1):
        outcome = slot.run(SPIN + source, cpu_time_s=PATIENCE_S, wall_time_s=1.0)
    assert outcome.limit_hit == "wall_time"
    assert outcome.waited_s < outcome.wall_time_s / 2


# ---------------------------------------------------------------- memory

HOGS = {
    "shared memory that no process has in its page tables": """
while True:
    blocks.append(mmap.mmap(-1, 1 << 20))
    blocks[-1].write(b"x" * (1 << 20))
    blocks[-1].madvise(mmap.MADV_DONTNEED)
""",
    "private memory behind a first thread that has ended": """
def eat():
    blocks.append(bytearray(b"x") * (200 << 20))
    time.sleep(60)
threading.Thread(target=eat).start()
ctypes.CDLL(None).syscall(60, 0)
""",
    "shared memory behind a first thread that has ended": """
def eat():
    blocks.append(mmap.mmap(-1, 200 << 20))
    time.sleep(60)
threading.Thread(target=eat).start()
ctypes.CDLL(None).syscall(60, 0)
""",
    "files beside other memory": """
with open("/dev/shm/file", "wb", buffering=0) as file:
    for _ in range(60):
        file.write(bytes(1 << 20))
blocks.append(bytearray(b"x") * (80 << 20))
""",
    "page tables": """
for _ in range(12):
    os.fork() or fill()
""",
    "sockets that have sent": """
for _ in range(200):
    a, b = socket.socketpair()
    a.setblocking(False)
    a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24)
    blocks.append(b)
    try:
        while True:
            a.send(bytes(1 << 16))
    except BlockingIOError:
        a.close()
""",
    "connections that nothing accepts": """
for number in range(200):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"/work/{number}")
    listener.listen(1 << 16)
    blocks.append(listener)
    try:
        while True:
            client = socket.socket(socket.AF_UNIX)
            client.setblocking(False)
            client.connect(f"/work/{number}")
            client.send(bytes(1 << 16))
    except BlockingIOError:
        pass
""",
}
EAT = """
import ctypes, mmap, os, socket, threading, time
blocks = []
def fill():
    block = mmap.mmap(-1, 8 << 30, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)
    for place in range(0, 8 << 30, 2 << 20):
        block[place]
    time.sleep(60)
"""
MEMORY_BYTES = 128 << 20


@pytest.mark.parametrize("source", [pytest.param(s, id=name) for name, s in HOGS.items()])
def test_memory_that_is_no_process_own_ends_at_the_limit(slot: OrdinarySlot, source: str) -> None:
    source = f"{EAT}{source}\ntime.sleep(60)\n"
    outcome = slot.run(source, memory_bytes=MEMORY_BYTES, wall_time_s=PATIENCE_S)
    assert outcome.limit_hit == "memory", outcome


def test_memory_that_processes_share_counts_once(slot: OrdinarySlot) -> None:
    source = """
block = mmap.mmap(-1, 60 << 20)
for _ in range(4):
    if os.fork() == 0:
        for place in range(0, 60 << 20, 4096):
            block[place] = 1
        time.sleep(0.2)
        os._exit(0)
for _ in range(4):
    os.wait()
"""
    outcome = slot.run(EAT + source, memory_bytes=200 << 20, wall_time_s=PATIENCE_S)
    assert (outcome.exit_code, outcome.limit_hit) == (0, None), outcome


def test_sockets_of_an_honest_program_are_within_the_limit(slot: OrdinarySlot) -> None:
    source = """
import asyncio
async def talk():
    server = await asyncio.start_unix_server(lambda r, w: w.close(), "/work/server")
    for _ in range(40):
        blocks.append(await asyncio.open_unix_connection("/work/server"))
    await asyncio.sleep(0.1)
asyncio.run(talk())
"""
    outcome = slot.run(EAT + source, memory_bytes=MEMORY_BYTES, wall_time_s=PATIENCE_S)
    assert (outcome.exit_code, outcome.limit_hit) == (0, None), outcome
