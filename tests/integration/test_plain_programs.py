"""A program here and by plain `python3 solution.py < input`: the same output, errors and end."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.model import Limits
from grader.sandbox.contract import Program, RunBatch, RunOutcome, Sandbox, Slot
from sandbox_images.harness.lock_in.confinement import ENVIRONMENT

LIMITS = Limits(cpu_time_s=10.0, wall_time_s=30.0)
INPUT = "3 4\nzwei drei\r\n\né\nlast".encode()


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("docker", id="docker", marks=pytest.mark.docker),
        pytest.param("native", id="native"),
    ],
)
def slot(request: pytest.FixtureRequest) -> Iterator[Slot]:
    sandbox: Sandbox = request.getfixturevalue(f"{request.param}_sandbox")
    with closing(sandbox.open_slot(image="python", memory_bytes=LIMITS.memory_bytes)) as opened:
        yield opened


def run_here(slot: Slot, source: str) -> RunOutcome:
    (outcome,) = slot.run(
        RunBatch(program=Program.STDIN, source=source, runs=(INPUT,), limits=LIMITS)
    )
    return outcome


def run_plain(folder: Path, source: str) -> subprocess.CompletedProcess[bytes]:
    (folder / "solution.py").write_text(source, "utf-8")
    (folder / "input").write_bytes(INPUT)
    with (folder / "input").open("rb") as stdin:
        return subprocess.run(
            [sys.executable, "-s", "solution.py"],
            stdin=stdin,
            capture_output=True,
            cwd=folder,
            env={**ENVIRONMENT, "PATH": os.environ["PATH"]},
            timeout=60,
            check=False,
            preexec_fn=_hear_signals,
        )


def _hear_signals() -> None:
    """Undo what a shell does to tests in the background: it has these signals ignored there."""
    for ignored in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(ignored, signal.SIG_DFL)


def assert_agrees(slot: Slot, folder: Path, source: str) -> None:
    plain, here = run_plain(folder, source), run_here(slot, source)
    assert here.limit_hit is None
    assert here.stdout == plain.stdout, source
    code = here.exit_code if here.exit_signal is None else -here.exit_signal
    assert code == plain.returncode, (source, here.stderr, plain.stderr)
    assert _comparable(here.stderr) == _comparable(plain.stderr), source


def _comparable(stderr: bytes) -> str:
    """Return the exceptions that it names, with frames of the program's own alone.

    Source lines are not compared, which the interpreter cannot look up any more while it ends,
    nor the library's frames, which are those of another release of Python perhaps.
    """
    text = re.sub(rb"^ {4}.*\n|^Traceback .*\n", b"", stderr, flags=re.M)
    text = re.sub(rb'^  File (?!"[^"\n]*/solution\.py").*\n', b"", text, flags=re.M)
    named = re.sub(rb'"[^"\n]*/(?=solution\.py")|(?<=0x)[0-9a-f]+|(?<=refcount : )\d+', b"", text)
    return named.decode("utf-8", "replace")


# ---------------------------------------------------------------- combinations

HEAD = """
import atexit, builtins, io, os, sys, threading, time
real = sys.stdout
class Late:
    def __init__(self, text): self.text = text
    def __del__(self): print("late", self.text)
"""

REPLACED = {
    "as it is": "",
    "None": "sys.stdout = None",
    "deleted": "del sys.stdout",
    "text in memory": "sys.stdout = io.StringIO()",
    "text in memory, taken back": """
sys.stdout = held = io.StringIO()
print("held")
sys.stdout = sys.__stdout__
print(held.getvalue()[::-1])
""",
    "the null device": "sys.stdout = open(os.devnull, 'w')",
    "another wrapper": "sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')",
    "another wrapper by lines": (
        "sys.stdout = io.TextIOWrapper(sys.stdout.buffer, 'utf-8', line_buffering=True)"
    ),
    "another wrapper of the detached": "sys.stdout = io.TextIOWrapper(sys.stdout.detach())",
    "another file of the descriptor": "sys.stdout = os.fdopen(1, 'w')",
    "a copy of the descriptor": "sys.stdout = os.fdopen(os.dup(1), 'w', 1 << 20)",
    "a raw file": """
raw = open(1, 'wb', 0, closefd=False)
sys.stdout = io.TextIOWrapper(raw, 'utf-8', write_through=True)
""",
    "opened by its name": "sys.stdout = open('/dev/stdout', 'w')",
    "latin-1": "sys.stdout.reconfigure(encoding='latin-1', errors='replace')",
    "by lines": "sys.stdout.reconfigure(line_buffering=True)",
    "written through": "sys.stdout.reconfigure(write_through=True)",
    "other line ends": "sys.stdout.reconfigure(newline='\\r\\n')",
    "an object with write": """
class Out:
    def write(self, text): real.write(text.upper())
sys.stdout = Out()
""",
    "an object that cannot be flushed": """
class Out:
    def write(self, text): real.write(text)
    def flush(self): raise ValueError("no")
sys.stdout = Out()
""",
    "the standard errors": "sys.stdout = sys.stderr",
    "kept elsewhere": "sys.__stdout__ = io.StringIO()",
    "errors nowhere": "sys.stderr = None",
    "another print": "out = []\nbuiltins.print = lambda *a: out.append(a)",
    "a method of it": "print = sys.stdout.write",
}

WRITTEN = {
    "nothing": "",
    "print": "print('printed', 1)",
    "print without a line's end": "print('é', end='')",
    "write": "sys.__stdout__.write('written\\n')",
    "bytes": "real.buffer.write(b'bytes\\n')",
    "past everything": "os.write(1, b'past\\n')",
    "print and past everything": "print('first')\nos.write(1, b'second\\n')\nprint('third')",
    "print, flush and past everything": "print('first', flush=True)\nos.write(1, b'second\\n')",
    "another file, not closed": "other = open(1, 'w', closefd=False)\nother.write('other\\n')",
    "another file, lost": "open(os.dup(1), 'w').write('lost\\n')",
    "a file in a function": """
def answer():
    mine = os.fdopen(os.dup(1), 'w')
    mine.write('mine\\n')
    hold.append(mine)
hold = []
answer()
""",
    "input with a prompt": "print(input('? '))",
    "errors": "print('said', file=sys.stderr)",
    "much": "print('x' * 100_000)",
    "a surrogate": "print(chr(0xdc80))",
    "what no encoding has": "print(chr(0xd800))",
    "after a close": "sys.stdout.close()\nprint('no')",
    "closed": "sys.stdout.close()",
    "the descriptor closed": "print('lost')\nos.close(1)",
    "the whole input": "print(sys.stdin.read().split())",
    "bytes of the input": "print(sys.stdin.buffer.read(5), sys.stdin.buffer.readline())",
    "lines of the input": "for line in sys.stdin: print(repr(line))",
    "the input by number": "print(open(0, 'rb').read())",
    "the input by name": "print(open('/dev/stdin').readline())",
    "the input by parts": "print(input(), os.read(0, 10), sys.stdin.seekable())",
    "the input twice": "a = sys.stdin.read(); sys.stdin.seek(0); print(a == sys.stdin.read())",
    "the input to its end": "while True: print(input())",
}

ENDED = {
    "falls off": "",
    "exit": "sys.exit()",
    "exit with a number": "sys.exit(3)",
    "exit with a text": "sys.exit('sorry')",
    "exit by name": "exit(0)",
    "at once": "os._exit(0)",
    "at once, flushed": "print('end', flush=True)\nos._exit(4)",
    "exception": "def f(): raise KeyError('é')\nf()",
    "exception in a group": "raise ExceptionGroup('two', [ValueError(1), TypeError(2)])",
    "a hook": "sys.excepthook = lambda *a: print('hook', a[0].__name__)\n1 / 0",
    "a hook that exits": "sys.excepthook = lambda *a: os._exit(0)\nprint('x', flush=True)\n1 / 0",
    "a broken hook": "def hook(*a): raise RuntimeError('in hook')\nsys.excepthook = hook\n1 / 0",
    "streams of C": "import ctypes\nprint('a')\nctypes.CDLL(None).puts(b'b')",
    "a handler": "atexit.register(print, 'handler')",
    "handlers that write late": "atexit.register(lambda: sys.stdout.write('handler'))\nsys.exit(2)",
    "a handler that fails": "atexit.register(lambda: 1 / 0)\nprint('before')",
    "a handler that exits at once": "atexit.register(os._exit, 0)\nprint('x', flush=True)\n1 / 0",
    "an object": "kept = Late('global')",
    "an object in a cycle": "a = Late('cycle'); a.me = a; del a",
    "an object of a function": "def f():\n    mine = Late('local')\n    1 / 0\nf()",
    "an object among builtins": "builtins.kept = Late('builtins')",
    "an object of sys": "sys.kept = Late('sys')",
    "an object that fails": "class Bad:\n    def __del__(self): 1 / 0\nbad = Bad()",
    "a generator": "def g():\n    try: yield\n    finally: print('closed')\nit = g(); next(it)",
    "a thread": """
def work():
    time.sleep(0.05)
    print('thread')
threading.Thread(target=work).start()
""",
    "a thread and an exception": """
def work():
    time.sleep(0.05)
    print('thread')
threading.Thread(target=work).start()
1 / 0
""",
    "a thread that fails": "threading.Thread(target=lambda: 1 / 0).start()",
    "a daemon": "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
    "a process": """
if os.fork() == 0:
    print('child')
    sys.exit(5)
os.wait()
print('parent')
""",
    "a process that fails": "if os.fork() == 0:\n    1 / 0\nos.wait()",
    "a signal": "import signal\nos.kill(os.getpid(), signal.SIGTERM)",
    "a signal that is handled": """
import signal
kept = open(os.dup(1), 'w')
kept.write('kept')
signal.signal(signal.SIGALRM, lambda *a: kept.write('alarm'))
signal.setitimer(signal.ITIMER_REAL, 0.01)
time.sleep(0.1)
""",
    "a module that holds itself": "import __main__ as me\nkept = Late('module')\nme.me = me",
}

_QUICK = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def _source(replaced: str, written: str, ended: str) -> str:
    return "\n".join((HEAD, REPLACED[replaced], WRITTEN[written], ENDED[ended], ""))


@_QUICK
@given(st.sampled_from([*REPLACED]), st.sampled_from([*WRITTEN]), st.sampled_from([*ENDED]))
def test_program_agrees_with_plain_python(
    slot: Slot, tmp_path: Path, replaced: str, written: str, ended: str
) -> None:
    assert_agrees(slot, tmp_path, _source(replaced, written, ended))
