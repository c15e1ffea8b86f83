"""Submissions that talk to an interactor of the suite, on every backend."""

from dataclasses import replace
from typing import Any

import pytest

from grader.model import MiB
from grader.model.verdict import LimitKind
from grader.sandbox.contract import Counterpart, Dialogue, RunBatch, RunOutcome, Slot
from tests.contract.conftest import LIMITS, event, make_batch, run_one

GUESSING = """\
with open("input") as file:
    secret = int(file.read())
while (guess := int(input())) != secret:
    print("higher" if guess < secret else "lower", flush=True)
print("found", flush=True)
"""

BISECTING = """\
low, high = 0, 100
while True:
    print((low + high) // 2, flush=True)
    match input():
        case "higher":
            low = (low + high) // 2 + 1
        case "lower":
            high = (low + high) // 2 - 1
        case "found":
            break
"""

ECHO = "while True:\n    print(input(), flush=True)\n"


def talk(
    source: str, interactor: str, *runs: bytes, answers: tuple[bytes, ...] = (), **limits: Any
) -> RunBatch:
    """Return a batch of a program and an interactor, with limits for the program."""
    runs = runs or (b"",)
    counterpart = Counterpart(
        source=interactor, answers=answers or (b"",) * len(runs), limits=LIMITS
    )
    return make_batch(source, *runs, interactor=counterpart, limits=limits)


def sees_waiting(backend: str) -> bool:
    """Tell whether a backend's kernel shows what a process waits for; gVisor's does not."""
    return backend != "runsc"


def wait_s(backend: str) -> float:
    """Return a wall time limit for a deadlock: a short one if only that limit can end it."""
    return 60.0 if sees_waiting(backend) else 1.0


def dialogue_of(outcome: RunOutcome) -> Dialogue:
    assert outcome.dialogue is not None
    return outcome.dialogue


def test_program_and_interactor_talk_until_both_are_done(slot: Slot) -> None:
    first, second = slot.run(talk(BISECTING, GUESSING, b"50", b"24"))
    for outcome in (first, second):
        assert (outcome.exit_code, dialogue_of(outcome).interactor.exit_code) == (0, 0)
        assert not dialogue_of(outcome).deadlock
    assert first.stdout == b"50\n"
    assert dialogue_of(first).interactor.stdout == b"found\n"
    assert second.stdout == b"50\n24\n"
    assert dialogue_of(second).interactor.stdout == b"lower\nfound\n"


def test_interactor_finds_each_runs_input_and_answer_in_files(slot: Slot) -> None:
    source = """\
with open("input", "rb") as case, open("answer", "rb") as answer:
    print(case.read() + answer.read())
"""
    batch = talk("print(input())", source, b"in\xff", b"two", answers=(b"\x00out", b"2"))
    first, second = slot.run(batch)
    assert first.stdout == b"b'in\\xff\\x00out'\n"
    assert second.stdout == b"b'two2'\n"


@pytest.mark.usefixtures("isolated")
def test_program_has_none_of_the_interactors_files(slot: Slot) -> None:
    source = "import os\nprint(sorted(os.listdir('.')), os.listdir('/tmp'))"
    outcome = run_one(slot, talk(source, "input()", b"secret"))
    assert outcome.stdout == b"['solution.py'] []\n"


@pytest.mark.parametrize(
    ("source", "interactor"),
    [
        pytest.param("input()", "input()", id="nobody_begins"),
        pytest.param("print('hi', flush=True)\ninput()", "input()\ninput()", id="later"),
        pytest.param("import sys\nprint(1)\nsys.stdin.readline()", "input()", id="not_flushed"),
    ],
)
def test_two_that_wait_for_each_other_are_stopped_at_once(
    slot: Slot, backend: str, source: str, interactor: str
) -> None:
    outcome = run_one(slot, talk(source, interactor, wall_time_s=wait_s(backend)))
    assert dialogue_of(outcome).deadlock is sees_waiting(backend)
    assert (outcome.exit_code, outcome.limit_hit) == (None, LimitKind.WALL_TIME)


@pytest.mark.usefixtures("isolated")
def test_deadlock_is_seen_through_threads_and_children(slot: Slot, backend: str) -> None:
    source = """\
import os, threading
if os.fork() == 0:
    input()
    os._exit(0)
thread = threading.Thread(target=os.wait)
thread.start()
thread.join()
"""
    outcome = run_one(slot, talk(source, "input()", wall_time_s=wait_s(backend)))
    assert dialogue_of(outcome).deadlock is sees_waiting(backend)


def test_sleeping_is_no_deadlock(slot: Slot) -> None:
    source = "import time\ntime.sleep(0.3)\nprint(1, flush=True)\nassert input() == '2'"
    interactor = "import time\ninput()\ntime.sleep(0.3)\nprint(2)"
    outcome = run_one(slot, talk(source, interactor))
    assert (outcome.exit_code, outcome.limit_hit) == (0, None)
    assert not dialogue_of(outcome).deadlock


@pytest.mark.usefixtures("isolated")
def test_alarm_that_may_still_ring_is_no_deadlock(slot: Slot) -> None:
    source = """\
import signal
def ring(*_):
    print("rung", flush=True)
signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.3)
input()
"""
    outcome = run_one(slot, talk(source, "input()\nprint('go')"))
    assert (outcome.stdout, outcome.exit_code) == (b"rung\n", 0)


def test_interactor_that_refuses_ends_the_program(slot: Slot) -> None:
    outcome = run_one(slot, talk(ECHO, "print('x', flush=True)\ninput()\nraise SystemExit(1)"))
    dialogue = dialogue_of(outcome)
    assert dialogue.interactor.exit_code == 1
    assert dialogue.interactor_first
    assert outcome.exit_code is None


def test_program_goes_on_after_an_interactor_that_accepted(slot: Slot) -> None:
    source = """\
import sys
assert sys.stdin.read() == "done\\n"
for _ in range(3):
    print("more")
raise SystemExit(5)
"""
    outcome = run_one(slot, talk(source, "print('done')"))
    assert (outcome.stdout, outcome.exit_code) == (b"more\n" * 3, 5)
    assert dialogue_of(outcome).interactor_first


def test_interactor_sees_the_end_of_a_program_that_crashed(slot: Slot) -> None:
    interactor = "import sys\nprint(repr(sys.stdin.read()))\nraise SystemExit(2)"
    outcome = run_one(slot, talk("print('last words')\n1 / 0", interactor))
    dialogue = dialogue_of(outcome)
    assert outcome.exit_code == 1
    assert event(outcome, "exception")["type"] == "ZeroDivisionError"
    assert dialogue.interactor.exit_code == 2
    assert dialogue.interactor.stdout == b"'last words\\n'\n"
    assert not dialogue.interactor_first


def test_crash_of_the_interactor_is_in_its_own_report(slot: Slot) -> None:
    outcome = run_one(slot, talk("input()", "raise ValueError('bad suite')"))
    dialogue = dialogue_of(outcome)
    assert event(dialogue.interactor, "exception")["message"] == "bad suite"
    assert b"bad suite" in dialogue.interactor.stderr
    assert b"bad suite" not in outcome.stderr


def test_cpu_time_limit_of_the_program_holds(slot: Slot) -> None:
    outcome = run_one(slot, talk("while True: pass", "input()", cpu_time_s=0.3))
    assert outcome.limit_hit is LimitKind.CPU_TIME
    assert dialogue_of(outcome).interactor.limit_hit is None


@pytest.mark.usefixtures("isolated")
def test_work_of_the_interactor_is_not_the_programs(slot: Slot) -> None:
    interactor = "import time\nwhile time.process_time() < 1.4: pass\nprint('go')"
    outcome = run_one(slot, talk("input()", interactor, cpu_time_s=0.5, wall_time_s=1.2))
    other = dialogue_of(outcome).interactor
    assert outcome.usage.wall_time_s is not None
    assert other.usage.cpu_time_s is not None
    if outcome.usage.wall_time_s > 10 * 1.2:
        # No run may last longer, however busy the machine is.
        assert LimitKind.WALL_TIME in (outcome.limit_hit, other.limit_hit)
    else:
        assert (outcome.exit_code, outcome.limit_hit) == (0, None)
        assert other.usage.cpu_time_s > 1.3


@pytest.mark.usefixtures("isolated")
def test_wall_time_limit_of_the_program_holds(slot: Slot) -> None:
    outcome = run_one(slot, talk("import time\ntime.sleep(60)", "input()", wall_time_s=0.5))
    assert outcome.limit_hit is LimitKind.WALL_TIME
    assert not dialogue_of(outcome).deadlock


@pytest.mark.usefixtures("isolated")
def test_interactor_that_sleeps_while_the_program_waits_is_to_blame(
    slot: Slot, backend: str
) -> None:
    outcome = run_one(slot, talk("input()", "import time\ntime.sleep(60)", wall_time_s=0.5))
    blamed = (outcome.limit_hit, dialogue_of(outcome).interactor.limit_hit)
    wall_time = LimitKind.WALL_TIME
    assert blamed == ((None, wall_time) if sees_waiting(backend) else (wall_time, None))


@pytest.mark.usefixtures("isolated")
def test_interactor_that_reads_is_not_to_blame_for_its_threads(slot: Slot) -> None:
    """Runtimes such as the JVM have threads that wait with a timeout all the time."""
    sleeps = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\n"
    outcome = run_one(slot, talk("input()", f"{sleeps}input()", wall_time_s=0.5))
    assert outcome.limit_hit is LimitKind.WALL_TIME
    assert dialogue_of(outcome).interactor.limit_hit is None


@pytest.mark.usefixtures("isolated")
def test_output_limit_ends_a_program_that_floods(slot: Slot) -> None:
    interactor = "while input(): pass"
    outcome = run_one(slot, talk("while True: print('x' * 1000)", interactor))
    assert outcome.limit_hit is LimitKind.OUTPUT
    assert len(outcome.stdout) == LIMITS.output_bytes


@pytest.mark.usefixtures("isolated")
def test_output_limit_of_the_interactor_is_its_own(slot: Slot) -> None:
    outcome = run_one(slot, talk("while input(): pass", "while True: print('x' * 1000)"))
    assert outcome.limit_hit is None
    assert dialogue_of(outcome).interactor.limit_hit is LimitKind.OUTPUT


@pytest.mark.usefixtures("isolated")
def test_memory_limit_of_the_program_holds(slot: Slot) -> None:
    source = "import time\nx = [bytearray(1 << 20) for _ in range(100)]\ntime.sleep(30)"
    outcome = run_one(slot, talk(source, "input()", memory_bytes=64 * MiB))
    memory = outcome.limit_hit is LimitKind.MEMORY
    assert memory or event(outcome, "exception")["type"] == "MemoryError"


@pytest.mark.usefixtures("isolated")
def test_much_passes_in_both_directions_at_once(slot: Slot) -> None:
    """More than pipes hold, from programs that read and write at once.

    `input()` is not for them: it flushes the output first, and so waits for who is writing.
    """
    count = 4_000
    half = f"""\
import sys, threading
def write():
    for number in range({count}):
        print(f"{{number:060}}")
    sys.stdout.flush()
thread = threading.Thread(target=write)
thread.start()
assert [int(sys.stdin.readline()) for _ in range({count})] == list(range({count}))
thread.join()
"""
    roomy = replace(LIMITS, output_bytes=MiB)
    counterpart = Counterpart(source=half, answers=(b"",), limits=roomy)
    outcome = run_one(slot, make_batch(half, interactor=counterpart, limits={"output_bytes": MiB}))
    expected = "".join(f"{number:060}\n" for number in range(count)).encode()
    interactor = dialogue_of(outcome).interactor
    assert (outcome.exit_code, interactor.exit_code) == (0, 0)
    assert (outcome.stdout, interactor.stdout) == (expected, expected)


def test_slot_takes_ordinary_batches_before_and_after(slot: Slot) -> None:
    assert run_one(slot, make_batch("print(1)")).stdout == b"1\n"
    run_one(slot, talk("input()", "input()"))
    outcome = run_one(slot, make_batch("print(2)"))
    assert (outcome.stdout, outcome.dialogue) == (b"2\n", None)


@pytest.mark.usefixtures("isolated")
def test_closing_the_iterator_ends_a_conversation(slot: Slot) -> None:
    sleeps = "import time\ntime.sleep(60)"
    running = slot.run(talk("input()", f"if open('input').read():\n    {sleeps!r}\n", b"", b"x"))
    next(running)
    running.close()
    assert run_one(slot, make_batch("print(2)")).stdout == b"2\n"
