"""docs/limits.md: a program sees what the page says when it reaches a limit."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from grader import Grader, Limits, Settings, Verdict, parse_label
from grader.config.settings import SandboxChoice
from grader.model import GradeReport, LimitOverrides, MiB
from grader.model.setting import declared
from grader.model.verdict import LimitKind
from grader.sandbox.native.backend import NativeSandbox
from tests.factories import make_submission

pytestmark = pytest.mark.timeout(60)

LIMITS = Limits(
    cpu_time_s=1,
    wall_time_s=3,
    memory_bytes=128 * MiB,
    output_bytes=MiB,
    processes=16,
    work_bytes=4 * MiB,
    work_files=64,
)
SUITE = parse_label({"inputs": ["\n"], "outputs": ["\n"]})
THREADS = (
    "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(1,)).start()"
)
FILES = "for n in range(9): open(str(n), 'wb').write(bytes(1 << 20))"
ONE_FILE = "file = open('a', 'wb', buffering=0)\nwhile True: file.write(bytes(1 << 20))"
UNSHARE = (
    "import ctypes, os\n"
    "ctypes.CDLL(None, use_errno=True).unshare(0x10000000)\n"
    "raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))"
)


@pytest.fixture(scope="module")
def grader(native_sandbox: NativeSandbox) -> Iterator[Grader]:
    """A grader in the native sandbox with small limits."""
    assert native_sandbox.name == "native"
    settings = Settings(sandbox=SandboxChoice.NATIVE, slots=1, limits=LIMITS)
    with Grader(settings) as opened:
        yield opened


@pytest.mark.parametrize("bound", ["least", "most"])
def test_limits_at_either_end_of_their_range_are_kept(grader: Grader, bound: str) -> None:
    suite = parse_label({"inputs": ["1\n", "2\n"], "outputs": ["1\n", "2\n"]})
    for name, _, setting in declared(Limits):
        limits = LimitOverrides(**{name: getattr(setting, bound)})
        report = grader.grade(
            make_submission("```python\nprint(input())\n```", suite=replace(suite, limits=limits))
        )
        if bound == "least" and (name.endswith("_s") or name == "memory_bytes"):
            # Whether it is enough depends on the machine.
            assert report.verdict in (Verdict.PASSED, Verdict.TIME_LIMIT, Verdict.MEMORY_LIMIT)
        else:
            assert report.verdict is Verdict.PASSED, (name, report.feedback)


@pytest.fixture
def page(repo_dir: Path) -> str:
    """The page."""
    return (repo_dir / "docs/limits.md").read_text()


def graded(grader: Grader, program: str) -> GradeReport:
    """Run a program that prints nothing right."""
    return grader.grade(make_submission(f"```python\n{program}\n```", suite=SUITE))


@pytest.mark.parametrize(
    ("program", "error"),
    [
        pytest.param("import os\nwhile True: os.fork()", "BlockingIOError", id="fork"),
        pytest.param(THREADS, "RuntimeError: can't start new thread", id="thread"),
        pytest.param(FILES, "No space left on device", id="work_bytes"),
        pytest.param(ONE_FILE, "File too large", id="one file"),
        pytest.param("for n in range(99): open(str(n), 'w')", "No space left", id="work_files"),
        pytest.param(
            "files = [open('/dev/null') for _ in range(300)]",
            "Too many open files",
            id="open files",
        ),
        pytest.param("import socket\nsocket.socket()", "Address family not", id="network"),
        pytest.param("open('/etc/motd', 'w')", "Read-only file system", id="read-only"),
        pytest.param(
            "import os\nos.remove('/etc/no-such-file')",
            "Read-only file system",
            id="delete nothing",
        ),
        pytest.param(UNSHARE, "Operation not permitted", id="system call"),
        pytest.param("input()\ninput()", "EOFError", id="standard input"),
    ],
)
def test_program_sees_the_error_of_the_page(
    grader: Grader, page: str, program: str, error: str
) -> None:
    assert error in page
    report = graded(grader, program)
    assert report.verdict is Verdict.RUNTIME_ERROR
    assert error in report.feedback


@pytest.mark.parametrize(
    ("program", "limit"),
    [
        pytest.param("while True: pass", LimitKind.CPU_TIME, id="cpu"),
        pytest.param("import time\ntime.sleep(9)", LimitKind.WALL_TIME, id="wall"),
        pytest.param(
            "kept = []\nwhile True: kept.append(bytearray(MiB))", LimitKind.MEMORY, id="mem"
        ),
        pytest.param("bytearray(1 << 40)", LimitKind.MEMORY, id="uncaught MemoryError"),
        pytest.param("print('x' * (2 << 20))", LimitKind.OUTPUT, id="output"),
    ],
)
def test_report_names_the_limit_of_the_page(
    grader: Grader, page: str, program: str, limit: LimitKind
) -> None:
    assert f"`limit_hit` `{limit}`" in page
    report = graded(grader, program.replace("MiB", str(MiB)))
    assert report.limit_hit is limit
