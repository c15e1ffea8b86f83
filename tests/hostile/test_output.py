"""Output without end, on every descriptor that a program has."""

import pytest

from grader.model.verdict import LimitKind
from tests.hostile.conftest import LIMITS, Target

FLOOD_LIMITS = {"cpu_time_s": 1.0, "wall_time_s": 3.0}
STOPS = (LimitKind.OUTPUT, LimitKind.CPU_TIME, LimitKind.WALL_TIME)


@pytest.mark.parametrize(
    "write",
    [
        pytest.param("os.write(1, bytes(65536))", id="to standard output"),
        pytest.param("os.write(2, bytes(65536))", id="to standard error"),
        pytest.param("os.write(1 + (n := n ^ 1), b'x')", id="byte by byte"),
        pytest.param("sys.stdout.write('\\ud800' and 'line\\n')", id="through the stream"),
    ],
)
def test_flood_is_cut_and_stopped(target: Target, write: str) -> None:
    outcome = target.attack(f"n = 0\nwhile True:\n    {write}", limits=FLOOD_LIMITS)
    assert outcome.limit_hit in STOPS
    assert max(len(outcome.stdout), len(outcome.stderr)) == LIMITS.output_bytes


def test_flood_from_many_processes_into_large_pipes_is_stopped(target: Target) -> None:
    # A reader that reads on while there is something would never look at the clock again.
    source = """
import fcntl
for number in (1, 2):
    attempt(lambda: fcntl.fcntl(number, 1031, 1 << 20))
for _ in range(8):
    os.fork() if os.getpid() == 2 else None
data = bytes(1 << 20)
while True:
    os.write(1, data)
    os.write(2, data)
"""
    outcome = target.attack(source, limits=FLOOD_LIMITS)
    assert outcome.limit_hit in STOPS


@pytest.mark.parametrize("size", [1, 65536])
def test_flood_into_the_report_is_stopped(target: Target, size: int) -> None:
    source = f"""
numbers = [n for n in range(3, 256) if attempt(lambda: os.fstat(n)) != "EBADF"]
data = b"[" * {size}
while True:
    for number in numbers:
        attempt(lambda: os.write(number, data))
"""
    outcome = target.attack(source, limits={"cpu_time_s": 1.0, "wall_time_s": 4.0})
    assert outcome.limit_hit in STOPS or outcome.limit_hit is LimitKind.MEMORY
    assert len(outcome.report) <= 16 << 20


def test_output_of_a_run_that_is_killed_is_kept(target: Target) -> None:
    outcome = target.attack("os.write(1, b'last words')\nos.kill(os.getpid(), 9)")
    assert outcome.stdout == b"last words"


def test_closed_streams_harm_nobody(target: Target) -> None:
    outcome = target.attack("os.closerange(0, 256)\ntime.sleep(0.1)")
    assert outcome.limit_hit is None


def test_frames_on_any_descriptor_are_not_ours(target: Target) -> None:
    # What the supervisor would write to end the batch in its own favour.
    source = """
import struct
header = json.dumps({"op": "end", "seq": 1, "blobs": []}).encode()
frame = struct.pack(">I", len(header)) + header
for number in range(256):
    for data in (frame, header, header + b"\\n", b'{"event": "ended", "status": 0}'):
        attempt(lambda: os.write(number, data))
os.write(1, b"end")
os._exit(7)
"""
    outcome = target.attack(source)
    assert outcome.exit_code == 7
    assert outcome.stdout.endswith(b"end")


def test_no_descriptor_but_the_runs_own_is_open(target: Target) -> None:
    outcome = target.attack(
        "print([n for n in range(1024) if attempt(lambda: os.fstat(n)) != 'EBADF'])"
    )
    assert len(eval(outcome.stdout, {})) <= 4  # noqa: S307 - the three streams and the report
