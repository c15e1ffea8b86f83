"""Signals in runs of every kind, as in a program that plain Python has just started.

In concurrent_programs.py.txt, each section is a program that uses processes, threads, signals,
sockets, locks or event loops, and prints the same in every run.
"""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from grader.config.settings import Settings
from grader.grading.grader import Grader
from grader.model import (
    CallCase,
    CallTests,
    Checker,
    Comparator,
    Comparison,
    InteractiveTests,
    Interactor,
    PytestTests,
    ScriptCase,
    ScriptTests,
    StdinCase,
    StdinTests,
    Submission,
    SuiteFile,
    Tests,
    TestSuite,
)
from grader.model.verdict import Integrity, Verdict
from grader.sandbox.contract import Commands, Program, RunBatch, Sandbox, Slot
from tests.integration.test_plain_programs import LIMITS, assert_agrees

STATE = """
def state():
    import ctypes, os, signal
    def signals(pid):
        with open(f"/proc/{pid}/status") as file:
            found = [line.split() for line in file if line[:3] in ("Sig", "Shd")]
        return {line[0]: int(line[1], 16) for line in found if line[0] != "SigQ:"}
    kernel = signals("self")
    kernel["SigCgt:"] &= ~(1 << signal.SIGWINCH - 1)  # pytest loads readline, which handles it
    words = [f"{name} {value:x}" for name, value in kernel.items()]
    handlers = {int(n): signal.getsignal(n) for n in signal.valid_signals()}
    names = {n: getattr(h, "__name__", repr(h)) for n, h in handlers.items() if h}
    stack = (ctypes.c_size_t * 3)()
    ctypes.CDLL(None).sigaltstack(None, stack)
    umask = os.umask(0)
    os.umask(umask)
    words += [f"{n}: {names[n]}" for n in sorted(names)]
    words += [f"stack {list(stack)}", f"umask {umask}", f"process 1 {signals(1)['SigCgt:']}"]
    words += [f"timer {signal.getitimer(n)}" for n in range(3)]
    return ", ".join(words)
"""

FRESH = (
    "SigPnd: 0, ShdPnd: 0, SigBlk: 0, SigIgn: 1001000, SigCgt: 2, "
    "2: default_int_handler, 13: <Handlers.SIG_IGN: 1>, 25: <Handlers.SIG_IGN: 1>, "
    "stack [0, 2, 0], umask 18, process 1 0, timer (0.0, 0.0), timer (0.0, 0.0), timer (0.0, 0.0)"
)
"""What Python has set up when a program begins. And process 1 of the run handles no signal."""

PRINTS = f"{STATE}\nif __name__ == '__main__':\n    print(state())\n"
_TEST = f"from solution import state\ndef test_state(): assert state() == {FRESH!r}\n"


def _pytest(module: str) -> PytestTests:
    file = SuiteFile(path="test_state.py", content=module.encode())
    return PytestTests(files=(file,), test_paths=(file.path,))


def _script(*cases: str) -> ScriptTests:
    return ScriptTests(cases=tuple(ScriptCase(id=str(i), source=c) for i, c in enumerate(cases)))


KINDS: dict[str, tuple[Tests, Integrity]] = {
    "stdin": (StdinTests(cases=(StdinCase(id="0", stdin="", expected=FRESH),)), Integrity.ISOLATED),
    "call": (
        CallTests(entry_point="state", cases=(CallCase(id="0", args=(), expected=FRESH),)),
        Integrity.ISOLATED,
    ),
    "script apart": (_script(f"assert state() == {FRESH!r}"), Integrity.SPLIT),
    "script": (_script(f"import sys\nassert state() == {FRESH!r}"), Integrity.CONFIRMED),
    "pytest apart": (_pytest(_TEST), Integrity.SPLIT),
    "pytest": (_pytest(_TEST.replace("test_state()", "test_state(capsys)")), Integrity.CONFIRMED),
    "interactor": (
        InteractiveTests(
            cases=(StdinCase(id="0", stdin="", expected=""),),
            interactor=Interactor(
                source=f"{STATE}\ndef interact(_input, _answer):\n"
                f"    return input() == state() == {FRESH!r}\n"
            ),
        ),
        Integrity.ISOLATED,
    ),
    "checker": (
        StdinTests(
            cases=(StdinCase(id="0", stdin="", expected=""),),
            comparison=Comparison(
                comparator=Comparator.CHECKER,
                checker=Checker(
                    source=f"{STATE}\ndef check(_input, output, _answer):\n"
                    f"    return output.strip() == state() == {FRESH!r}\n"
                ),
            ),
        ),
        Integrity.ISOLATED,
    ),
}

PROGRAMS = {
    "terminate": """
import subprocess
process = subprocess.Popen(["sleep", "60"])
process.terminate()
print(process.wait())
""",
    "terminate a process of multiprocessing": """
import multiprocessing, time
process = multiprocessing.Process(target=time.sleep, args=(60,))
process.start()
process.terminate()
process.join()
print(process.exitcode)
""",
    "pool": """
import multiprocessing
def square(n): return n * n
if __name__ == "__main__":
    with multiprocessing.Pool(4) as pool:
        print(pool.map(square, range(10)))
""",
    "executor": """
from concurrent.futures import ProcessPoolExecutor
with ProcessPoolExecutor(2) as executor:
    print(list(executor.map(abs, range(-5, 0))))
""",
    "pipe without a reader": """
import subprocess
print(subprocess.run("yes | head -1; echo ${PIPESTATUS[*]}", shell=True, executable="/bin/bash",
                     capture_output=True, text=True).stdout)
""",
    "own group": """
import contextlib, os, signal, time
with contextlib.suppress(PermissionError):  # it leads a group already
    os.setsid()
ready, writer = os.pipe()
if (child := os.fork()) == 0:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.write(writer, b"x")
    time.sleep(60)
os.read(ready, 1)
signal.signal(signal.SIGINT, lambda *_: print("heard"))
os.killpg(0, signal.SIGINT)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""",
    "interrupt": """
import os, signal
try:
    os.kill(os.getpid(), signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted")
""",
    "hang up": "import os, signal\nos.kill(os.getpid(), signal.SIGHUP)\n",
    "alarm": "import signal\nsignal.setitimer(signal.ITIMER_REAL, 0.05)\nsignal.pause()\n",
    "mask": """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
os.kill(os.getpid(), signal.SIGTERM)
print(signal.sigpending(), signal.sigwait([signal.SIGTERM]))
print(signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM]))
""",
    "children": """
import os, signal, time
def ended(*_):
    ends.append(os.waitpid(-1, 0)[1])
ends = []
signal.signal(signal.SIGCHLD, ended)
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGQUIT):
    if (child := os.fork()) == 0:
        signal.pause()
    seen = len(ends)
    os.kill(child, number)
    while len(ends) == seen:
        time.sleep(0.001)
print(ends)
""",
    "fault": """
import faulthandler, os, signal
print(faulthandler.is_enabled())
faulthandler.enable(open(os.devnull, "w"))
os.kill(os.getpid(), signal.SIGSEGV)
""",
    "sockets": """
import os, select, signal, socket
ours, theirs = socket.socketpair()
if os.fork() == 0:
    ours.close()
    while data := theirs.recv(100):
        theirs.sendall(data.upper())
    os._exit(3)
theirs.close()
for text in (b"one", b"two"):
    ours.sendall(text)
    print(ours.recv(100))
ours.shutdown(socket.SHUT_WR)
print(os.waitstatus_to_exitcode(os.wait()[1]), ours.recv(1))
""",
    "server": """
import os, socket, tempfile, threading
path = os.path.join(tempfile.mkdtemp(), "s")
server = socket.socket(socket.AF_UNIX)
server.bind(path)
server.listen()
def serve():
    connection, _ = server.accept()
    with connection:
        connection.sendall(b"hello")
thread = threading.Thread(target=serve)
thread.start()
with socket.socket(socket.AF_UNIX) as client:
    client.connect(path)
    print(client.recv(10))
thread.join()
""",
    "event loop": """
import asyncio, signal
async def main():
    loop = asyncio.get_running_loop()
    got = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, got.set)
    signal.raise_signal(signal.SIGTERM)
    await asyncio.wait_for(got.wait(), 10)
    process = await asyncio.create_subprocess_exec("sleep", "60")
    process.terminate()
    print(await process.wait())
asyncio.run(main())
""",
}

_SECTION = re.compile(r"^# (.+)\n((?:(?!# ).*\n)+)", re.MULTILINE)
CONCURRENT: dict[str, str] = dict(
    _SECTION.findall(Path(__file__).with_name("concurrent_programs.py.txt").read_text())
)
RUNS = 11
"""Of each of these programs, 500 on each backend."""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("docker", id="docker", marks=pytest.mark.docker),
        pytest.param("native", id="native"),
    ],
)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    found: Sandbox = request.getfixturevalue(f"{request.param}_sandbox")
    return found


@pytest.fixture(scope="module")
def slot(sandbox: Sandbox) -> Iterator[Slot]:
    with closing(sandbox.open_slot(image="python", memory_bytes=LIMITS.memory_bytes)) as opened:
        yield opened


@pytest.fixture(scope="module")
def grader(sandbox: Sandbox) -> Iterator[Grader]:
    with Grader(Settings(slots=1, retries=0), sandbox=sandbox) as opened:
        yield opened


@pytest.mark.parametrize("kind", KINDS)
def test_run_begins_as_a_program_of_plain_python(grader: Grader, kind: str) -> None:
    tests, integrity = KINDS[kind]
    suite = TestSuite(tests=tests, format="signals", entry_point="state")
    report = grader.grade(Submission(id=kind, completion=PRINTS, suite=suite))
    assert (report.verdict, report.integrity) == (Verdict.PASSED, integrity), report.feedback


def test_command_and_session_begin_so_too(slot: Slot) -> None:
    python = Commands(run=("python3", "solution.py"))
    batch = RunBatch(
        program=Program.COMMAND, source=PRINTS, runs=(b"",), limits=LIMITS, commands=python
    )
    (outcome,) = slot.run(batch)
    assert outcome.stdout.decode() == f"{FRESH}\n"
    with closing(slot.open_session(LIMITS, states=4)) as session:
        first = session.step(0, f"{STATE}\nstate()", limits=LIMITS)
        assert first.state is not None
        second = session.step(first.state, "state()", limits=LIMITS)
        for step in (first, second):
            assert step.run is not None
            (event,) = map(json.loads, step.run.report.splitlines())
            assert event["text"] == repr(FRESH)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_agrees_with_plain_python(slot: Slot, tmp_path: Path, name: str) -> None:
    assert_agrees(slot, tmp_path, PROGRAMS[name])


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", CONCURRENT)
def test_concurrent_program_agrees_with_plain_python_every_time(
    slot: Slot, tmp_path: Path, name: str
) -> None:
    for _ in range(RUNS):
        assert_agrees(slot, tmp_path, CONCURRENT[name])


@pytest.mark.slow
def test_thousand_runs_agree_with_plain_python(slot: Slot, tmp_path: Path) -> None:
    for number in range(1000):
        assert_agrees(slot, tmp_path, [*PROGRAMS.values()][number % len(PROGRAMS)])
