"""Attacks on the copies of a submission that tests get: none makes a case pass.

The submission's process makes its copies itself, so that it can make none, too many, or such that
do not go. Each row computes nothing, or wrongly; what it may reach is the state that it would have
in plain pytest, and the report then says so, or its own end.
"""

from dataclasses import replace

import pytest

from grader.execution.judged import run_judged
from grader.execution.modes import ModeBook
from grader.execution.task import Task
from grader.judging.report import read_report
from grader.model import PytestTests, SuiteFile, TestSuite
from grader.rules import ExtractionRule
from grader.verdict import LimitKind, StateSpan, Verdict
from tests.hostile.conftest import LIMITS, Target
from tests.hostile.splitting import Suite, run, verdicts

MODULE = """
from solution import f
def test_a(): assert f(3) == 9
def test_b(): assert f(4) == 16
def test_c(): assert f(5) == 25
"""

REACH = """
import gc, os, signal, sys, time
forking = sys.modules['sandbox_images.harness.split.forking']
candidate = next(o for o in gc.get_objects() if type(o).__name__ == 'Candidate')
channel = candidate._channel
fork, leave = forking.fork, forking.leave
def wrong(x): return -1
f = wrong
"""

ATTACKS = {
    "refuses": "forking.can_fork = lambda own: False",
    "raises when asked": "def no(own): raise KeyboardInterrupt\nforking.can_fork = no",
    "tells nonsense": "type(candidate)._SERVICES['branchable'] = lambda self: [True, 'x']",
    "tells of endless numbers": "type(candidate)._SERVICES['branchable'] = "
    "lambda self: [10 ** 30, 10 ** 30]",
    "tells of no numbers": "type(candidate)._SERVICES['branchable'] = lambda self: [-5, -5]",
    "goes on beside its copy": "forking.wait_for = lambda pid: None\n"
    "def both():\n    fork()\n    return 0\n"
    "forking.fork = both",
    "answers twice": "forking.wait_for = lambda pid: None\n"
    "def f(x):\n    channel.send(['ret', x * x + 1, None, None])\n    return -1\n",
    "makes no copy": "forking.fork = lambda: None",
    "makes two copies": "def two():\n    pid = fork()\n    return pid if pid == 0 else fork()\n"
    "forking.fork = two",
    "does not leave": "forking.leave = lambda: None",
    "lies that it left": "def stay(self): channel.send(['returned', True])\n"
    "type(candidate)._return = stay",
    "leaves a copy of the copy": "def f(x):\n"
    "    if os.fork() == 0:\n        os.setsid()\n        candidate.serve()\n"
    "    return -1",
    "leaves and answers nothing": "def f(x): os._exit(173)",
    "exits": "def f(x): os._exit(0)",
    "exits as a judge would": "def f(x): os._exit(3)",
    "says that it left": "def f(x):\n    channel.send(['returned', True])\n    return -1",
    "ends the process that waits": "def f(x):\n    os.kill(os.getppid(), signal.SIGKILL)\n"
    "    return -1",
    "fills the table": "def f(x):\n    try:\n"
    "        while True:\n"
    "            if os.fork() == 0: time.sleep(1000)\n"
    "    except OSError: pass\n"
    "    return -1",
    "denies its files": "forking.files = frozenset\n"
    "def f(x):\n    open(f'/tmp/{x}', 'w').close()\n    return -1",
    "invents files": "forking.files = lambda: os.urandom(8)",
    "dies of its files": "def no(): raise KeyboardInterrupt\nforking.files = no",
    "hands over what is gone": "class Nine:\n    def __eq__(self, other): return True\n"
    "    def __hash__(self): return 9\n"
    "nine = Nine()\ncandidate._object_number(nine)\nf = lambda x: nine",
}

STOPS = {
    "stops the process that waits": "def f(x):\n    os.kill(os.getppid(), signal.SIGSTOP)\n"
    "    return -1",
    "stays alive": "forking.leave = lambda: time.sleep(1000)",
}


@pytest.mark.timeout(120)
def test_attacks_on_copies_pass_no_case(target: Target) -> None:
    # In one test, since to see that nothing stays takes longer than most of them.
    for name, attack in ATTACKS.items():
        cases, _ = run(
            target.slot, Suite(right="", module=MODULE), f"{REACH}\n{attack}\n", limits=LIMITS
        )

        assert len(cases) == 3, name
        assert all(case.verdict is not Verdict.PASSED for case in cases), (name, verdicts(cases))


@pytest.mark.parametrize("attack", STOPS)
def test_attack_that_keeps_the_judge_waiting_ends_at_a_limit(target: Target, attack: str) -> None:
    suite = Suite(right="", module=MODULE)
    limits = replace(LIMITS, wall_time_s=1.5)

    cases, outcome = run(target.slot, suite, f"{REACH}\n{STOPS[attack]}\n", limits=limits)

    assert all(case.verdict is not Verdict.PASSED for case in cases), verdicts(cases)
    assert outcome.limit_hit is LimitKind.WALL_TIME


COUNTING = "calls = 0\ndef count():\n    global calls\n    calls += 1\n    return calls\n"

KEEPING_STATE = {
    "honest": ("", "test", [1, 1, 1]),
    "refuses": ("forking.can_fork = lambda own: False", "suite", [1, 2, 3]),
    "makes no copy": ("forking.fork = lambda: None", "suite", [1, 2, 3]),
    "does not leave": ("forking.leave = lambda: None", "suite", [1, 2, 3]),
    "has a thread": (
        "import threading\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
        "suite",
        [1, 2, 3],
    ),
    "has a child": ("if os.fork() == 0: time.sleep(60)", "suite", [1, 2, 3]),
    "has an open file": ("file = open('solution.py')", "suite", [1, 2, 3]),
    "has no use for ended children": (
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
        "suite",
        [1, 2, 3],
    ),
    "has memory that a fork does not copy": (
        "import mmap\nshared = mmap.mmap(-1, 4096)",
        "suite",
        [1, 2, 3],
    ),
    "has a timer": (
        "signal.signal(signal.SIGALRM, signal.SIG_IGN)\nsignal.setitimer(signal.ITIMER_REAL, 60)",
        "suite",
        [1, 2, 3],
    ),
    "holds a lot of memory": ("much = bytearray(b'x') * (40 << 20)", "suite", [1, 2, 3]),
}


@pytest.mark.timeout(120)
def test_state_is_reported_as_it_was(target: Target) -> None:
    for name, (source, span, counts) in KEEPING_STATE.items():
        tests = "".join(f"def test_{i}(): assert count() == {n}\n" for i, n in enumerate(counts))
        suite = Suite(right="", module=f"from solution import count\n{tests}")

        cases, outcome = run(target.slot, suite, f"{REACH}\n{COUNTING}\n{source}\n", limits=LIMITS)

        assert [case.verdict for case in cases] == [Verdict.PASSED] * 3, (name, verdicts(cases))
        assert read_report(outcome.report).state_per == span, name


LEAVING_FILES = {
    "nothing": ("open('a', 'w').close(); os.remove('a')", False),
    "a file": ("open('a', 'w').close()", True),
    "more in a file": ("open('log', 'a').write('x')", True),
    "a folder": ("os.mkdir('a')", True),
    "a file in a folder": ("open('folder/a', 'w').close()", True),
    "a temporary file": ("tempfile.mkstemp()", True),
    "shared memory": ("open('/dev/shm/a', 'w').close()", True),
    "one file less": ("os.remove('log')", True),
}


@pytest.mark.timeout(120)
def test_copy_that_leaves_files_to_the_next_test_is_found_out(target: Target) -> None:
    for name, (deed, found_out) in LEAVING_FILES.items():
        source = (
            "import os, tempfile\nopen('log', 'w').close()\nos.mkdir('folder')\n"
            f"def f(x):\n    if x == 4:\n        {deed}\n    return x * x\n"
        )

        cases, outcome = run(target.slot, Suite(right="", module=MODULE), source, limits=LIMITS)

        assert read_report(outcome.report).crossed is found_out, name
        passed = [case.verdict is Verdict.PASSED for case in cases]
        assert passed == [True, True, not found_out], (name, verdicts(cases))


COUNTED_FILES = """
import os
count = 0
def save():
    global count
    count += 1
    os.mkdir(str(count))
    return len(os.listdir()) >= count
"""


def test_submission_whose_files_and_memory_belong_together_passes(target: Target) -> None:
    module = "".join(f"def test_{i}(): assert save()\n" for i in range(3))
    tests = PytestTests(
        files=(SuiteFile(path="test_it.py", content=f"from solution import *\n{module}".encode()),),
        test_paths=("test_it.py",),
        solution_path="solution.py",
    )
    suite = TestSuite(format="pytest", tests=tests, extraction=ExtractionRule.VERBATIM)
    task = Task(suite=suite, code=COUNTED_FILES, limits=LIMITS, stop_early=False, require=None)

    graded = run_judged(task, target.slot, ModeBook())

    assert [case.verdict for case in graded.cases] == [Verdict.PASSED] * 3
    assert graded.state is StateSpan.PER_SUITE


ENDS = {
    "exit code 7": "os._exit(7)",
    "exit code 0": "os._exit(0)",
    "SIGSEGV": "os.kill(os.getpid(), signal.SIGSEGV)",
    "SIGTERM": "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "    signal.signal(signal.SIGTERM, signal.SIG_DFL)\n"
    "    os.kill(os.getpid(), signal.SIGTERM)",
    "SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)",
}


@pytest.mark.timeout(120)
def test_copy_that_ends_means_what_the_end_of_the_submission_does(target: Target) -> None:
    for words, end in ENDS.items():
        source = f"import os, signal\ndef f(x):\n    {end}\n"
        suite = Suite(right="", module=MODULE)

        cases, outcome = run(target.slot, suite, source, limits=LIMITS)

        assert [case.verdict for case in cases] == [Verdict.RUNTIME_ERROR] * 3, verdicts(cases)
        assert words in cases[0].feedback, verdicts(cases)
        assert not read_report(outcome.report).forged_frame, words


def test_answer_that_a_copy_is_over_is_a_sign_of_an_attack(target: Target) -> None:
    suite = Suite(right="", module=MODULE)
    source = f"{REACH}\n{ATTACKS['says that it left']}\n"

    _cases, outcome = run(target.slot, suite, source, limits=LIMITS)

    assert read_report(outcome.report).forged_frame


OWN = """
from solution import Account, f
def test_own():
    account = Account()
    assert account + 1 == 10
def test_posing():
    assert f(3) + 1 == 10
def test_last(): assert f(3) == 9
"""


def test_object_with_the_number_of_one_that_was_the_suites_own_does_not_pose(
    target: Target,
) -> None:
    source = "class Account:\n    def __add__(self, other): return 10\ndef f(x): return Account()\n"
    suite = Suite(right="", module=OWN)

    cases, _outcome = run(target.slot, suite, source, limits=LIMITS)

    assert cases[0].verdict is Verdict.PASSED, verdicts(cases)
    assert all(case.verdict is not Verdict.PASSED for case in cases[1:]), verdicts(cases)
