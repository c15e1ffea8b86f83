"""Attacks on a slot of an ordinary user, where no control group counts memory and CPU time."""

import subprocess
import sys
from collections.abc import Iterator

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


def test_process_that_makes_itself_nice_does_not_stop_the_clock(slot: OrdinarySlot) -> None:
    source = "first_cpu_only()\nos.nice(19)\nspin(60)\n"
    busy = "while True: pass"
    with subprocess.Popen([sys.executable, "-c", SPIN + "first_cpu_only()\n" + busy]) as competitor:
        try:
            outcome = slot.run(SPIN + source, cpu_time_s=PATIENCE_S, wall_time_s=1.0)
        finally:
            competitor.kill()
    assert outcome.limit_hit == "wall_time"
    assert outcome.waited_s < outcome.wall_time_s / 2
