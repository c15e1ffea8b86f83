"""Real slots to attack, and what must hold on them after every attack.

Each module has one warm slot per backend. After every test on it, a plain program passes one case
of a suite of each style there, and fails the other; a program that looks around finds what it found
before the first attack; and the host sees no process of the slot that was not there then.
"""

import json
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from grader.config.settings import Settings
from grader.grading.grader import Grader
from grader.model import (
    CallCase,
    CallTests,
    InteractiveTests,
    Interactor,
    Limits,
    MiB,
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
from grader.model.verdict import Verdict
from grader.sandbox.contract import Program, RunBatch, RunOutcome, Sandbox, Slot, SlotSession

MEMORY_BYTES = 128 * MiB
_COUNTS, _COUNT_EVERY_S = 20, 0.05

LIMITS = Limits(
    cpu_time_s=3.0,
    wall_time_s=8.0,
    memory_bytes=MEMORY_BYTES,
    output_bytes=64 * 1024,
    processes=16,
    work_bytes=4 * MiB,
    work_files=64,
)

BACKENDS = (
    pytest.param("docker", id="docker", marks=pytest.mark.docker),
    pytest.param("native", id="native"),
)

PRELUDE = """\
import ctypes, errno, gc, json, mmap, os, resource, signal, socket, stat, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)

def attempt(action):
    \"\"\"Return what an action returns, else the name of its error.\"\"\"
    try:
        return action()
    except OSError as error:
        return errno.errorcode.get(error.errno, type(error).__name__)
    except Exception as error:
        return type(error).__name__

def syscall(number, *args):
    values = [arg if isinstance(arg, bytes) else ctypes.c_long(arg) for arg in args]
    result = libc.syscall(ctypes.c_long(number), *values)
    return errno.errorcode[ctypes.get_errno()] if result == -1 else result
"""

LOOK = """
import resource, signal, threading
def walk(top):
    return sorted(os.path.join(p, n) for p, ds, fs in os.walk(top) for n in (*ds, *fs))
def mounts():
    fields = (line.split() for line in open("/proc/self/mountinfo"))
    return sorted([f[4], f[5], f[f.index("-") + 1]] for f in fields)
def descriptors():
    found = {}
    for number in range(256):
        kind = attempt(lambda: stat.S_IFMT(os.fstat(number).st_mode))
        if kind != "EBADF":
            found[number] = kind
    return found
print(json.dumps({
    "mounts": mounts(),
    "files": [walk(top) for top in ("/work", "/tmp", "/dev", "/box", "/etc")],
    "environment": dict(os.environ),
    "descriptors": descriptors(),
    "processes": sorted(filter(str.isdigit, os.listdir("/proc"))),
    "threads": threading.active_count(),
    "limits": {name: attempt(lambda: resource.getrlimit(getattr(resource, name)))
               for name in dir(resource) if name.startswith("RLIMIT_")},
    "signals": [str(signal.getsignal(number)) for number in range(1, 65)],
    "mask": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "timers": signal.getitimer(signal.ITIMER_REAL),
    "host": [*os.uname()][1:2],
    "identity": [os.getresuid(), os.getresgid(), os.getgroups(), os.getpid(), os.getsid(0)],
    "priority": [os.getpriority(os.PRIO_PROCESS, 0), sorted(os.sched_getaffinity(0))],
    "umask": os.umask(0),
    "place": [os.getcwd(), sys.path, sys.argv],
    "killed first": open("/proc/self/oom_score_adj").read(),
    "modules": sorted(sys.modules),
    "builtins": sorted(vars(__import__("builtins"))),
    "recursion": sys.getrecursionlimit(),
}, default=str))
"""


_ON_RUNNERS = (
    "test_judging_programs",
    "test_standing",
    "test_standing_pytest",
    "test_standing_poisons",
)
"""Modules that attack only the runners, which are the same Python in either backend."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave attacks on the runners in a container to `make test-slow`."""
    for item in items:
        if item.path.stem in _ON_RUNNERS and item.get_closest_marker("docker"):
            item.add_marker(pytest.mark.slow)


# ---------------------------------------------------------------- slots


@pytest.fixture(scope="module", params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """The name of the backend under attack."""
    return str(request.param)


@pytest.fixture(scope="module")
def sandbox(backend: str, request: pytest.FixtureRequest) -> Sandbox:
    """The backend under attack."""
    found: Sandbox = request.getfixturevalue(f"{backend}_sandbox")
    return found


@pytest.fixture(scope="module")
def target(sandbox: Sandbox, backend: str) -> "Iterator[Target]":
    """The warm slot that the attacks of a module share."""
    slot = sandbox.open_slot(image="python", memory_bytes=MEMORY_BYTES)
    with closing(slot):
        yield Target(slot=slot, backend=backend)


@pytest.fixture(autouse=True)
def _nothing_stays(request: pytest.FixtureRequest) -> Iterator[None]:
    """Make sure, after every attack, that the slot is as it was before the first."""
    if "target" not in request.fixturenames:
        yield
        return
    target: Target = request.getfixturevalue("target")
    target.remember()
    yield
    target.check()


@dataclass(slots=True)
class Target:
    """A slot under attack."""

    slot: Slot
    backend: str
    _before: Mapping[str, Any] = field(default_factory=dict)
    _processes: int = 0

    @property
    def has_cgroup(self) -> bool:
        """Whether the kernel counts the memory and CPU time of the slot."""
        facts: Mapping[str, Any] = self.slot.facts  # type: ignore[attr-defined]
        return facts["cgroup"] is not None

    def attack(
        self,
        source: str,
        *runs: bytes,
        program: Program = Program.STDIN,
        limits: Mapping[str, Any] | None = None,
    ) -> RunOutcome:
        """Run an attack and return the outcome of its last run."""
        return self.attack_all(source, *runs, program=program, limits=limits)[-1]

    def attack_all(
        self,
        source: str,
        *runs: bytes,
        program: Program = Program.STDIN,
        limits: Mapping[str, Any] | None = None,
    ) -> list[RunOutcome]:
        """Run an attack and return every outcome; without `runs`, on empty input."""
        batch = RunBatch(
            program=program,
            source=PRELUDE + source,
            runs=runs or (b"",),
            limits=replace(LIMITS, **(limits or {})),
        )
        return list(self.slot.run(batch))

    def tell(self, expression: str) -> Any:
        """Return the value of an expression inside the sandbox, which may be an error's name."""
        outcome = self.attack(f"print(json.dumps(attempt(lambda: {expression})))")
        assert outcome.exit_code == 0, (outcome, outcome.stderr.decode())
        return json.loads(outcome.stdout)

    def tell_all(self, expressions: Mapping[str, str]) -> Mapping[str, Any]:
        """Return what `tell` would for each of several expressions, from one run."""
        answers = ", ".join(
            f"{name!r}: attempt(lambda: {expression})" for name, expression in expressions.items()
        )
        outcome = self.attack(f"print(json.dumps({{{answers}}}, default=str))")
        assert outcome.exit_code == 0, (outcome, outcome.stderr.decode())
        found: Mapping[str, Any] = json.loads(outcome.stdout)
        return found

    def look(self) -> Mapping[str, Any]:
        """Return what a program finds when it looks around."""
        outcome = self.attack(LOOK)
        assert outcome.exit_code == 0, (outcome, outcome.stderr.decode())
        found: Mapping[str, Any] = json.loads(outcome.stdout)
        return found

    def remember(self) -> None:
        """Note the state of the slot, the first time."""
        if not self._before:
            self._grade_canaries((*CANARIES, SHARED))
            self._before = self.look()
            self._processes = self._settled_processes()

    def check(self) -> None:
        """Assert that the slot is unchanged, and judges correctly."""
        after = self.look()
        for name, value in self._before.items():
            assert after[name] == value, f"{name} changed"
        # First, since a judge that the kernel has killed to free memory is replaced when needed.
        self._grade_canaries(CANARIES)
        assert self._settled_processes() == self._processes

    def _settled_processes(self) -> int:
        """Return how many processes the slot has for good.

        The kernel ends those of a run that is over one after another, and on a busy machine
        some are still seen for a moment; what stays is seen in every count.
        """
        counts = []
        for _ in range(_COUNTS):
            counts.append(_count_processes(self.slot))
            if counts[-1] == self._processes:
                break
            time.sleep(_COUNT_EVERY_S)
        return min(counts)

    def _grade_canaries(self, suites: Sequence[Tests]) -> None:
        settings = Settings(slots=1, limits=LIMITS, retries=0)
        with Grader(settings, sandbox=Lender(self.slot)) as grader:
            for tests in suites:
                suite = TestSuite(tests=tests, format="canary", entry_point="double")
                report = grader.grade(Submission(id="canary", completion=HALF, suite=suite))
                verdicts = [case.verdict for case in report.cases]
                assert verdicts == [Verdict.PASSED, Verdict.FAILED], (
                    type(tests).__name__,
                    report.feedback,
                )


HALF = """\
def double(n):
    return 42 if n == 21 else n

if __name__ == "__main__":
    print(double(int(input())))
"""
"""A program that is right in the first case of each canary, and wrong in the second."""

_MODULE = """\
from solution import double

def test_first({fixture}):
    assert double(21) == 42

def test_second({fixture}):
    assert double(4) == 8
"""
_LINES = (
    StdinCase(id="0", stdin="21\n", expected="42\n"),
    StdinCase(id="1", stdin="4\n", expected="8\n"),
)
_INTERACT = """\
def interact(number, double):
    print(number)
    return input() == double.strip()
"""


def _pytest_tests(fixture: str = "") -> PytestTests:
    content = _MODULE.format(fixture=fixture).encode()
    return PytestTests(
        files=(SuiteFile(path="test_double.py", content=content),),
        test_paths=("test_double.py",),
        solution_path="solution.py",
    )


CANARIES: tuple[Tests, ...] = (
    StdinTests(cases=_LINES),
    InteractiveTests(cases=_LINES, interactor=Interactor(source=_INTERACT)),
    CallTests(
        entry_point="double",
        cases=tuple(CallCase(id=str(n), args=(n,), expected=2 * n) for n in (21, 4)),
    ),
    ScriptTests(
        cases=tuple(ScriptCase(id=str(n), source=f"assert double({n}) == {2 * n}") for n in (21, 4))
    ),
    _pytest_tests(),
)
"""A suite of each style that accepts `double` and nothing else."""

SHARED = _pytest_tests("capsys")
"""A suite that shares a process with the submission, for which a slot has one more zygote."""


@dataclass(frozen=True, slots=True)
class Lender:
    """A backend that has only the slot under attack, and never closes it."""

    slot: Slot
    name: str = "lender"

    def open_slot(self, *, image: str, memory_bytes: int) -> Slot:
        assert (image, memory_bytes >= MEMORY_BYTES) == ("python", True)
        return _Lent(self.slot)

    def layers(self) -> Mapping[str, str]:
        return {}

    def environment(self, image: str) -> str:
        return image

    def close(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class _Lent:
    slot: Slot

    @property
    def name(self) -> str:
        return self.slot.name

    def run(self, batch: RunBatch) -> Generator[RunOutcome, None, None]:
        return self.slot.run(batch)

    def open_session(self, limits: Limits, **bounds: Any) -> SlotSession:
        return self.slot.open_session(limits, **bounds)

    def is_alive(self) -> bool:
        return self.slot.is_alive()

    def close(self) -> None:
        pass


# ---------------------------------------------------------------- seen from the host


def _count_processes(slot: Slot) -> int:
    """Return how many processes of a slot the host sees."""
    transport: Any = slot._transport  # type: ignore[attr-defined]
    if hasattr(transport, "container"):
        return len(transport._engine._client.top(transport.container)["Processes"])
    return _count_below(transport._warden.pid)


def _count_below(pid: int) -> int:
    children = (
        int(child)
        for tasks in Path(f"/proc/{pid}/task").glob("*/children")
        for child in tasks.read_text().split()
    )
    return sum(1 + _count_below(child) for child in children)


@pytest.fixture
def open_slot(sandbox: Sandbox) -> Iterator[Callable[[], Slot]]:
    """Open slots of the test's own, which it may break."""
    opened: list[Slot] = []

    def open_one() -> Slot:
        opened.append(sandbox.open_slot(image="python", memory_bytes=MEMORY_BYTES))
        return opened[-1]

    yield open_one
    for slot in opened:
        slot.close()
