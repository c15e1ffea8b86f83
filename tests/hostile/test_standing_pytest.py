"""Judges that stay for the next pytest suite: what makes them go, and what nothing changes."""

import itertools
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from grader.model import PytestTests, SuiteFile
from grader.sandbox import payload
from grader.sandbox.contract import Program, RunBatch, RunOutcome, Sandbox, Slot
from grader.sandbox.payload import Apart
from tests.hostile.conftest import MEMORY_BYTES
from tests.hostile.judged_suites import LIMITS
from tests.hostile.test_conversation import FORGE
from tests.hostile.test_standing_poisons import PLACES, VALUES

WHICH = "print('process', open('/proc/self/stat').read().split()[21], flush=True)\n"
"""Says which process it is, by its start."""
RIGHT = "def f(x):\n    return x * x\n"
WRONG = "def f(x):\n    return x\n"
SQUARES = """
import pytest, unittest
from solution import f

@pytest.mark.parametrize("x", [3, 4])
def test_squares(x):
    assert f(x) == x * x

class TestSquares(unittest.TestCase):
    def test_square(self):
        self.assertEqual(f(5), 25)
"""


@pytest.fixture(scope="module")
def slot(sandbox: Sandbox) -> Iterator[Slot]:
    with closing(sandbox.open_slot(image="python", memory_bytes=MEMORY_BYTES)) as opened:
        yield opened


def judge(
    slot: Slot,
    source: str = RIGHT,
    module: str = SQUARES,
    *,
    path: str = "test_squares.py",
    cpu_time_s: float = LIMITS.cpu_time_s,
) -> RunOutcome:
    """Have a judge that stays judge a suite, whether that may be judged there or not."""
    suite = PytestTests(
        files=(SuiteFile(path=path, content=(WHICH + module).encode()),), test_paths=(path,)
    )
    run = payload.pytest(suite.test_paths, [], stop_early=False, apart=Apart(names=("f",)))
    batch = RunBatch(
        program=Program.PYTEST,
        source=source,
        runs=(run,),
        limits=replace(LIMITS, memory_bytes=MEMORY_BYTES, cpu_time_s=cpu_time_s),
        files=suite.files,
        split=True,
        standing=True,
    )
    (outcome,) = slot.run(batch)
    return outcome


def process(outcome: RunOutcome) -> bytes:
    return outcome.stdout.split()[1]


def check_judge(slot: Slot) -> bytes:
    """Have right and wrong code judged; return which process did it."""
    right, wrong = judge(slot), judge(slot, WRONG)
    assert right.report.count(b'"outcome": "passed"') == 3, right
    assert wrong.report.count(b'"outcome": "failed"') == 3, wrong
    assert (right.exit_code, right.stderr, wrong.exit_code, wrong.stderr) == (0, b"", 0, b"")
    assert process(right) == process(wrong)
    return process(right)


@pytest.mark.parametrize(
    ("source", "module"),
    [
        pytest.param("def f(x):\n    raise ValueError(x)\n", SQUARES, id="raises"),
        pytest.param("def f(x:\n", SQUARES, id="does not compile"),
        pytest.param("raise ImportError('no')", SQUARES, id="does not load"),
        pytest.param("", SQUARES, id="empty"),
        pytest.param("def f(x):\n    return object()\n", SQUARES, id="refused"),
        pytest.param("f = 3", SQUARES, id="refused as it loads"),
        pytest.param(RIGHT, "from solution import f\nf(print)", id="refused in a module"),
        pytest.param(RIGHT, "def test_a(:", id="suite does not compile"),
        pytest.param(RIGHT, "import solution\nx = 1 / 0", id="suite does not load"),
        pytest.param(RIGHT, "", id="no test"),
        pytest.param(
            RIGHT,
            "import pytest\n@pytest.mark.parametrize('x', ['\\xe9', b'b', 1.5, None, len, [2]])\n"
            "def test_a(x): assert x == pytest.approx({'a': 'b' * 999, 'c': [x]})",
            id="parameters",
        ),
        pytest.param(
            RIGHT,
            "import unittest\nclass TestA(unittest.TestCase):\n    def test_a(self):\n"
            "        for x in ({1: 'a' * 99}, 'a\\nb', [1], (2,), {3}):\n"
            "            with self.subTest(x=x): self.assertEqual(x, type(x)())\n"
            "        with self.assertRaisesRegex(ValueError, 'x'): self.assertIn(1, [])",
            id="unittest",
        ),
        pytest.param(RIGHT, "def test_a(missing): pass", id="no such fixture"),
        pytest.param(
            RIGHT,
            "import pytest\n@pytest.fixture(scope='session', autouse=True)\n"
            "def f(): return lambda x: 1\ndef test_a(f): assert f(1) == 1",
            id="fixture of the session",
        ),
        pytest.param(
            RIGHT,
            "def setup_module(m):\n    global x\n    x = 1\ndef test_a(): assert x",
            id="setup",
        ),
    ],
)
def test_a_judge_stays_after_what_only_fails(slot: Slot, source: str, module: str) -> None:
    before = check_judge(slot)
    judge(slot, source, module)
    assert check_judge(slot) == before


def test_a_suite_finds_nothing_of_the_one_before(slot: Slot) -> None:
    helper = "x = 1\ndef test_a(): assert x == 1"
    assert b'"passed"' in judge(slot, RIGHT, helper, path="tests/unit/test_a.py").report
    for module in ("import tests", "import test_a", "import test_squares"):
        found = judge(slot, RIGHT, f"{module}\ndef test_b(): pass", path="test_b.py")
        assert b"ModuleNotFoundError" in found.report, found
    again = "def test_a(): assert not [n for n in globals() if n == 'x']"
    assert b'"passed"' in judge(slot, RIGHT, again, path="tests/unit/test_a.py").report


@pytest.mark.parametrize(
    "change",
    [
        "import builtins\nbuiltins.abs = max",
        "import unittest\nunittest.TestCase.assertEqual = lambda *args: None",
        "import _pytest.python\n_pytest.python.Function.runtest = lambda self: None",
        "import _pytest.outcomes\n_pytest.outcomes.new = 1",
        "import sys\nsys.settrace(lambda *args: None)",
        "import sys\nsys.path_hooks.append(print)",
        "import sys\nsys.modules['x'] = sys",
        "import sys\nsys.modules['json'] = sys",
        "import os\nos.environ['A'] = 'b'",
        "import os\nos.chdir('/')",
        "import os\nos.open('/dev/null', 0)",
        "import logging\nlogging.root.setLevel(1)",
        "import logging\nlogging.getLogger('x')",
        "import _thread, threading\n_thread.start_new_thread(threading.Event().wait, ())",
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)",
        "import atexit\natexit.register(print)",
        "import gc\ngc.disable()",
        "import colorsys",
        "pytest_plugins = ['pytester']",
        "def test_a(request): request.config.pluginmanager.register(object())",
        "def test_a(monkeypatch): pass",
        "def test_a(tmp_path): pass",
        "import pytest\ndef test_a(): pytest.exit('x')",
        "raise SystemExit",
        "raise KeyboardInterrupt",
        "import os\nos._exit(0)",
        "def test_a():\n    while True: pass",
        "kept = b'x' * (200 << 20)",
    ],
)
def test_a_judge_that_a_suite_has_changed_is_replaced(slot: Slot, change: str) -> None:
    before = check_judge(slot)
    judge(slot, RIGHT, change, cpu_time_s=0.5)
    assert check_judge(slot) != before


@pytest.mark.parametrize(
    "change",
    [
        "import sys\nsys.meta_path.insert(0, sys.meta_path[-1])",
        "import sys\nsys.path.insert(0, '/tmp')",
        "import warnings\nwarnings.filters[:] = []",
        "open('/work/solution.py', 'w').write('f = lambda x: x * x')",
        "open('/tmp/x', 'w').write('x')\nimport os\nos.makedirs('/work/test_squares/x')",
        "def test_a(request): request.config.option.maxfail = 1",
        "def test_a(request): request.session.items.clear()",
        "def test_a(request): request.session._fixturemanager._arg2node2fixturedefs.clear()",
    ],
)
def test_what_a_suite_has_changed_is_put_back_if_the_judge_stays(slot: Slot, change: str) -> None:
    check_judge(slot)
    judge(slot, RIGHT, change)
    check_judge(slot)


def test_no_value_changes_the_judge_for_the_next(slot: Slot) -> None:
    uses = """
import pytest, unittest
from solution import f

def test_shows():
    assert f(1) == [f(2)]

def test_near():
    assert f(1) == pytest.approx(f(2))

def test_raises():
    with pytest.raises(ValueError, match="x") as error:
        f(1)
    assert error.value.args == (1,)

class TestUses(unittest.TestCase):
    def test_uses(self):
        self.assertCountEqual(f(1), f(2))
"""
    for place, value in itertools.product(PLACES.values(), VALUES[::6]):
        judge(slot, f"{FORGE}VALUE = {value}\n{place}", uses)
    check_judge(slot)
