"""What happens to a run that exceeds a limit, and that the next run does not notice."""

import signal
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from grader.model import MiB
from grader.model.verdict import LimitKind
from grader.sandbox import payload
from grader.sandbox.contract import Commands, Program, RunOutcome, Slot
from grader.sandbox.payload import Apart
from tests.contract.conftest import LIMITS, MEMORY_BYTES, event, events, make_batch, run_one

HELLO = "print('hello')"


def run(slot: Slot, source: str, **limits: Any) -> RunOutcome:
    return run_one(slot, make_batch(source, limits=limits))


@pytest.fixture(autouse=True)
def _slot_serves_on(slot: Slot) -> Iterator[None]:
    """After a limit was hit, the slot takes the next batch as if nothing had happened."""
    yield
    outcome = run(slot, HELLO)
    assert (outcome.stdout, outcome.exit_code, outcome.limit_hit) == (b"hello\n", 0, None)


# ---------------------------------------------------------------- time


def test_busy_loop_hits_the_cpu_time_limit(slot: Slot) -> None:
    outcome = run(slot, "print('on', flush=True)\nwhile True: pass", cpu_time_s=0.5)
    assert outcome.limit_hit is LimitKind.CPU_TIME
    assert (outcome.exit_code, outcome.exit_signal, outcome.stdout) == (None, None, b"on\n")
    assert outcome.usage.cpu_time_s is not None
    assert 0.5 <= outcome.usage.cpu_time_s < 2.0


@pytest.mark.usefixtures("isolated")
def test_the_kernels_coarser_clock_is_no_limit_of_its_own(slot: Slot) -> None:
    # If the kernel's own limit ended a program, nothing would say so: it would look like a crash.
    source = "import resource\nprint(resource.getrlimit(resource.RLIMIT_CPU)[0])"
    outcome = run(slot, source, cpu_time_s=10)
    assert int(outcome.stdout) >= 1.5 * 10


@pytest.mark.usefixtures("isolated")
def test_cpu_time_of_child_processes_counts(slot: Slot) -> None:
    source = """
import os
for _ in range(3):
    if os.fork() == 0:
        while True: pass
os.wait()
"""
    outcome = run(slot, source, cpu_time_s=0.5)
    assert outcome.limit_hit is LimitKind.CPU_TIME


@pytest.mark.usefixtures("isolated")
def test_sleeper_hits_the_wall_time_limit(slot: Slot) -> None:
    outcome = run(slot, "import time\ntime.sleep(600)", wall_time_s=0.5)
    assert outcome.limit_hit is LimitKind.WALL_TIME


@pytest.mark.usefixtures("isolated")
def test_ignored_signals_do_not_outlast_the_limit(slot: Slot) -> None:
    source = """
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True: pass
"""
    assert run(slot, source, cpu_time_s=0.5).limit_hit is LimitKind.CPU_TIME


# ---------------------------------------------------------------- memory


@pytest.mark.usefixtures("isolated")
def test_memory_that_grows_hits_the_limit(slot: Slot) -> None:
    source = "blocks = []\nwhile True: blocks.append(bytearray(1 << 20))"
    outcome = run(slot, source)
    refused = [e["type"] for e in events(outcome) if e["e"] == "exception"]
    assert outcome.limit_hit is LimitKind.MEMORY or refused == ["MemoryError"]


@pytest.mark.usefixtures("isolated")
def test_memory_of_several_processes_counts_together(slot: Slot) -> None:
    source = f"""
import os, time
for _ in range(4):
    if os.fork() == 0:
        block = bytearray(os.urandom(1 << 20)) * {MEMORY_BYTES // 2 // MiB}
        time.sleep(30)
for _ in range(4):
    os.wait()
"""
    outcome = run(slot, source)
    assert outcome.limit_hit is LimitKind.MEMORY


@pytest.mark.usefixtures("isolated")
def test_memory_within_the_limit_is_granted(slot: Slot) -> None:
    size = MEMORY_BYTES * 3 // 4
    outcome = run(slot, f"block = bytearray(b'x') * {size}\nprint(len(block))")
    assert (outcome.stdout, outcome.limit_hit) == (f"{size}\n".encode(), None)
    assert outcome.usage.peak_memory_bytes is not None
    assert outcome.usage.peak_memory_bytes >= size


@pytest.mark.usefixtures("isolated")
def test_command_can_use_all_of_the_stack_that_its_limit_allows(slot: Slot) -> None:
    # As Ruby does when it starts.
    source = """
import ctypes, resource
limit, _ = resource.getrlimit(resource.RLIMIT_STACK)
(line,) = (line for line in open("/proc/self/maps") if line.endswith("[stack]\\n"))
end = int(line.split()[0].split("-")[1], 16)
ctypes.c_char.from_address(end - limit + (1 << 20)).value
"""
    touch = ("python3", "solution.py")
    large = replace(LIMITS, memory_bytes=1024 * MiB)
    commands = Commands(compile=touch, run=touch, compile_limits=large)
    batch = make_batch(source, program=Program.COMMAND, commands=commands)
    assert [(each.exit_code, each.stderr) for each in slot.run(batch)] == [(0, b"")] * 2


@pytest.mark.usefixtures("isolated")
@pytest.mark.parametrize(
    ("exit_code", "said"),
    [
        pytest.param(0, [b"", b"run\n", b"run\n"], id="ends well"),
        pytest.param(3, [b"check\n", b"run\n", b"run\n"], id="ends badly"),
    ],
)
def test_command_that_only_checks_is_executed_if_the_first_run_ends_badly(
    slot: Slot, exit_code: int, said: list[bytes]
) -> None:
    commands = Commands(
        compile=("sh", "-c", "echo check"),
        run=("sh", "-c", f"echo run; exit {exit_code}"),
        only_checks=True,
    )
    batch = make_batch("", b"", b"", program=Program.COMMAND, commands=commands)
    outcomes = list(slot.run(batch))
    assert [each.stdout for each in outcomes] == said
    assert [each.exit_code for each in outcomes] == [0, exit_code, exit_code]


# ---------------------------------------------------------------- output

CAP = LIMITS.output_bytes


@pytest.mark.parametrize(
    ("size", "dropped", "limit_hit"),
    [
        pytest.param(CAP - 1, 0, None, id="below"),
        pytest.param(CAP, 0, None, id="at"),
        pytest.param(CAP + 1, 1, LimitKind.OUTPUT, id="above"),
    ],
)
def test_output_past_its_limit_is_dropped_and_counted(
    slot: Slot, size: int, dropped: int, limit_hit: LimitKind | None
) -> None:
    outcome = run(slot, f"print('x' * {size}, end='')")
    assert outcome.stdout == b"x" * min(size, CAP)
    assert (outcome.dropped_bytes, outcome.limit_hit) == (dropped, limit_hit)


def test_dropped_bytes_of_both_streams_are_added(slot: Slot) -> None:
    source = f"""
import sys
sys.stdout.write('x' * ({CAP} + 10))
sys.stderr.write('y' * ({CAP} + 5))
"""
    outcome = run(slot, source)
    assert (len(outcome.stdout), len(outcome.stderr), outcome.dropped_bytes) == (CAP, CAP, 15)


def test_output_flood_ends(slot: Slot) -> None:
    source = "import sys\nwhile True: sys.stdout.write('flood ' * 1000)"
    outcome = run(slot, source, cpu_time_s=2.0)
    assert outcome.limit_hit in (LimitKind.OUTPUT, LimitKind.CPU_TIME)
    assert len(outcome.stdout) == CAP
    assert outcome.dropped_bytes > CAP


# ---------------------------------------------------------------- processes and files


@pytest.mark.usefixtures("isolated")
def test_processes_past_the_limit_are_refused(slot: Slot) -> None:
    source = """
import os, signal
started = 0
try:
    while started < 200:
        if os.fork() == 0:
            signal.pause()
        started += 1
except BlockingIOError:
    print(started)
"""
    outcome = run(slot, source)
    started = int(outcome.stdout or b"200")
    assert LIMITS.processes // 2 <= started < LIMITS.processes


@pytest.mark.usefixtures("isolated")
def test_submission_may_start_as_many_processes_apart_from_its_tests(slot: Slot) -> None:
    source = """
import os, signal
def count():
    started = []
    try:
        while len(started) < 200:
            started.append(os.fork())
            if not started[-1]:
                signal.pause()
    except BlockingIOError:
        pass
    for pid in started:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return len(started)
"""
    counts = []
    for apart in (None, Apart(names=("count",))):
        tests = payload.script("", ["print(count())"], stop_early=False, apart=apart)
        batch = make_batch(source, tests, program=Program.SCRIPT)
        counts.append(run_one(slot, replace(batch, split=apart is not None)).stdout)
    assert counts[0] == counts[1] != b""


@pytest.mark.usefixtures("isolated")
def test_work_area_has_a_size(slot: Slot) -> None:
    source = f"""
written = 0
try:
    with open('/tmp/a', 'wb', buffering=0) as first, open('b', 'wb', buffering=0) as second:
        for _ in range({LIMITS.work_bytes // 65536}):
            written += first.write(bytes(65536)) + second.write(bytes(65536))
except OSError as error:
    print(error.errno)
print(written)
"""
    errno, written = run(slot, source).stdout.split()
    assert errno == b"28"
    assert LIMITS.work_bytes * 0.9 <= int(written) <= LIMITS.work_bytes


@pytest.mark.usefixtures("isolated")
def test_work_area_has_a_number_of_files(slot: Slot, backend: str) -> None:
    source = """
import os
count = 0
try:
    while count < 100000:
        os.close(os.open(f'{count}', os.O_CREAT))
        count += 1
except OSError as error:
    print(error.errno, count)
"""
    outcome = run(slot, source)
    if backend == "runsc":  # its kernel does not count them, but the supervisor does
        assert (outcome.exit_signal, outcome.limit_hit) == (signal.SIGKILL, None)
        return
    errno, count = outcome.stdout.split()
    assert errno == b"28"
    assert LIMITS.work_files // 2 <= int(count) <= LIMITS.work_files


def test_limits_are_those_of_the_batch(slot: Slot) -> None:
    source = "import time\nend = time.process_time() + 0.6\nwhile time.process_time() < end: pass"
    assert run(slot, source, cpu_time_s=0.3).limit_hit is LimitKind.CPU_TIME
    assert run(slot, source, cpu_time_s=3.0).limit_hit is None


def test_memory_error_of_the_program_is_its_own_exception(slot: Slot) -> None:
    outcome = run(slot, "raise MemoryError('mine')")
    assert event(outcome, "exception")["type"] == "MemoryError"
    assert outcome.limit_hit is None
