"""Submissions that attack the interactor they talk to, its case, or its answer."""

import secrets
from dataclasses import replace

import pytest

from grader.model import Limits
from grader.model.verdict import LimitKind
from grader.sandbox.contract import Counterpart, Program, RunBatch, RunOutcome
from tests.hostile.conftest import LIMITS, PRELUDE, Target
from tests.hostile.test_secrets import SEARCH_MEMORY, wanted

LISTENS = "import sys\nprint('go', flush=True)\nsys.exit(1 if sys.stdin.read() else 2)"


def converse(
    target: Target,
    source: str,
    interactor: str = LISTENS,
    case: str = "",
    answer: str = "",
    limits: Limits = LIMITS,
) -> RunOutcome:
    """Run an attack against an interactor and return the outcome."""
    counterpart = Counterpart(source=interactor, answers=(answer.encode(),), limits=LIMITS)
    batch = RunBatch(
        program=Program.STDIN,
        source=PRELUDE + source,
        runs=(case.encode(),),
        limits=limits,
        interactor=counterpart,
    )
    (outcome,) = target.slot.run(batch)
    return outcome


def interactor_of(outcome: RunOutcome) -> RunOutcome:
    assert outcome.dialogue is not None
    return outcome.dialogue.interactor


def test_case_and_interactor_cannot_be_found(target: Target) -> None:
    case, answer, program = (secrets.token_hex() for _ in range(3))
    source = f"""{SEARCH_MEMORY}
input()
found = [search(each) for each in {[wanted(text) for text in (case, answer, program)]!r}]
texts = {[case[:6], answer[:6], program[:6]]!r}
for top in ("/work", "/tmp", "/dev", "/box"):
    for path, _folders, files in os.walk(top):
        for name in files:
            place = os.path.join(path, name)
            if not os.path.isfile(place) or name == "solution.py":
                continue
            data = attempt(lambda: open(place, "rb").read())
            if isinstance(data, bytes):
                found += [name for text in texts if text.encode() in data]
print(found, flush=True)
"""
    interactor = f"""
mark = "{program}"
kept = [open(name).read() for name in ("input", "answer")]
print("go", flush=True)
print(input(), file=__import__("sys").stderr)
"""
    outcome = converse(target, source, interactor, case, answer)
    assert interactor_of(outcome).stderr == b"[[], [], []]\n", outcome.stderr.decode()


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("os.kill(-1, signal.SIGKILL)", id="everything"),
        pytest.param("for pid in range(2, 500): attempt(lambda: os.kill(pid, 9))", id="each"),
        pytest.param("os.kill(0, signal.SIGKILL)", id="group"),
    ],
)
def test_signals_do_not_reach_the_interactor(target: Target, source: str) -> None:
    outcome = converse(target, source + "\nos._exit(9)")
    assert (interactor_of(outcome).exit_code, interactor_of(outcome).exit_signal) == (2, None)


def test_child_that_stays_cannot_speak_for_the_program(target: Target) -> None:
    source = "if os.fork() == 0:\n    os.setsid(); time.sleep(60); print('late', flush=True)\n"
    outcome = converse(target, source)
    assert outcome.exit_code == 0
    assert (interactor_of(outcome).exit_code, outcome.stdout) == (2, b"")


def test_memory_of_the_program_is_not_the_interactors(target: Target) -> None:
    source = "x = bytearray(b'x') * (1 << 20)\nwhile True: x += x[:1 << 20]"
    outcome = converse(target, source)
    assert outcome.limit_hit is LimitKind.MEMORY or b"MemoryError" in outcome.stderr
    assert interactor_of(outcome).limit_hit is None


def test_processes_of_the_program_leave_the_interactor_its_own(target: Target) -> None:
    source = (
        "input()\nwhile attempt(os.fork) not in ('EAGAIN',): pass\nprint(1, flush=True)\ninput()"
    )
    interactor = """
import subprocess, sys
print("go", flush=True)
input()
sys.exit(subprocess.run([sys.executable, "-c", "raise SystemExit(2)"]).returncode)
"""
    assert interactor_of(converse(target, source, interactor)).exit_code == 2


def test_program_that_never_reads_does_not_hold_up_its_refusal(target: Target) -> None:
    interactor = "print('x' * 50_000, flush=True)\nraise SystemExit(1)"
    outcome = converse(target, "print(1, flush=True)\ntime.sleep(60)", interactor)
    assert interactor_of(outcome).exit_code == 1
    assert outcome.limit_hit is None


def test_program_cannot_lay_its_own_delay_at_the_interactors_door(target: Target) -> None:
    """It sleeps nearly all of its time, and gives the interactor something to do at the end."""
    source = "time.sleep(2.4)\nprint('late', flush=True)\nsys.stdin.readline()"
    limits = replace(LIMITS, wall_time_s=3.0)
    outcome = converse(target, source, "import time\ninput()\ntime.sleep(60)", limits=limits)
    assert outcome.limit_hit is LimitKind.WALL_TIME
    assert interactor_of(outcome).limit_hit is None


def test_forged_report_is_not_the_interactors(target: Target) -> None:
    source = """
for number in range(3, 256):
    attempt(lambda: os.write(number, b'{"e": "exception", "where": "load", "type": "Odd"}\\n'))
print("points 1", flush=True)
"""
    outcome = converse(target, source)
    assert interactor_of(outcome).report == b""
    assert interactor_of(outcome).exit_code == 1
