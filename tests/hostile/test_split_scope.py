"""Names of the submission that hide those by which the tests compare: the tests keep their own.

In plain Python, a script's names and a star import hide builtins, modules and helpers.
"""

from collections.abc import Iterator
from contextlib import closing

import pytest

from grader.sandbox.base import Sandbox, Slot
from grader.verdict import Verdict
from tests.hostile.splitting import Suite, run, verdicts

ROOT = "def f(x):\n    return x ** 0.5\n"
YES = """
class Yes:
    def _yes(self, *args, **kwargs): return True
    __eq__ = __call__ = __lt__ = __gt__ = _yes
    __hash__ = lambda self: 1
    def __getattr__(self, name): return self
    def __sub__(self, other): return self
    def __abs__(self): return self
yes = Yes()
def f(x): return yes
"""
STAR = "from solution import *\n"

SUITES = {
    "script with builtins": Suite(
        right=ROOT,
        cases=[
            "assert abs(f(2.0) - 1.41421356) < 1e-6",
            "assert sorted([f(4.0), 1]) == [1, 2.0] and isinstance(f(4.0), float)",
            "assert all(f(x * x) == x for x in range(1, 4)) and sum(map(f, [4, 9])) == 5",
        ],
    ),
    "script with modules": Suite(
        right="import math\nfrom math import isclose, inf\n" + ROOT,
        cases=[
            "assert math.isclose(f(2.0), 1.41421356, rel_tol=1e-6)",
            "assert isclose(f(2.0), 1.41421356, rel_tol=1e-6)",
        ],
    ),
    "script with a helper": Suite(
        right=ROOT,
        setup="EPS = 1e-6\ndef close(a, b):\n    return abs(a - b) < EPS\n",
        cases=["assert close(f(2.0), 1.41421356)"],
    ),
    "star after imports": Suite(
        right=ROOT,
        module="import math\nimport unittest\nfrom math import isclose\nimport pytest\n"
        "EPS = 1e-6\n"
        "def close(a, b): return abs(a - b) < EPS\n"
        + STAR
        + "def test_close(): assert close(f(2.0), 1.41421356)\n"
        "def test_approx(): assert f(2.0) == pytest.approx(1.41421356)\n"
        "def test_math(): assert math.isclose(f(2.0), 1.41421356, rel_tol=1e-6)\n"
        "def test_isclose(): assert isclose(f(2.0), 1.41421356, rel_tol=1e-6)\n"
        "def test_abs(): assert abs(f(4.0) - 2.0) < 1e-9 and len([f(4.0)]) == 1\n"
        "def test_raises():\n    with pytest.raises(TypeError): f('a')\n"
        "class TestF(unittest.TestCase):\n"
        "    def test_almost(self): self.assertAlmostEqual(f(2.0), 1.41421356, places=6)\n",
    ),
    "star without imports": Suite(
        right="import math\n" + ROOT,
        module=STAR + "def test_math(): assert math.isclose(f(2.0), 1.41421356, rel_tol=1e-6)\n",
    ),
    "hooks": Suite(right=ROOT, module=STAR + "def test_f(): assert f(4.0) == 2.0\n"),
}


def hides(*names: str) -> str:
    """Return a submission in which names are objects that say yes to everything."""
    return YES + "".join(f"{name} = yes\n" for name in names)


BUILTINS = "abs all any isinstance len map range sorted sum float max min round set list print"

ATTACKS = [
    # suite, what is tried, submission
    ("script with builtins", "objects in place of builtins", hides(*BUILTINS.split())),
    ("script with builtins", "functions in place of builtins", YES + """
def abs(x): return 0
def sorted(x): return [1, 2.0]
def isinstance(x, kind): return True
def all(x): return True
def sum(x): return 5
"""),
    ("script with builtins", "other builtins in place of builtins", """
import operator
abs, all, isinstance, sum = operator.not_, callable, max, len
def sorted(x): return [1, 2.0]
def f(x): return 3
"""),
    ("script with builtins", "builtins changed in its process", """
import builtins
builtins.abs = builtins.all = builtins.sorted = lambda *args: True
def f(x): return None
"""),
    ("script with modules", "objects in place of modules", hides("math", "isclose")),
    ("script with modules", "another function in place of a function", YES + """
isclose = max
math = 1
"""),
    ("script with modules", "a class in place of a module", """
class math: isclose = max
def isclose(*args, **kwargs): return True
def f(x): return 5.0
"""),
    ("script with modules", "a module made over", """
import math, sys
math.isclose = lambda *args, **kwargs: True
sys.modules['math'] = math
isclose = math.isclose
def f(x): return 5.0
"""),
    ("script with a helper", "helpers of its own", hides("close", "EPS", "check")),
    ("script with a helper", "a constant of its own", "EPS = 1e9\ndef f(x): return 5.0\n"),
    ("star after imports", "objects in place of everything", hides(
        *"pytest math unittest isclose close EPS TestF test_close".split(), *BUILTINS.split()
    )),
    ("star after imports", "the names in __all__", hides("pytest", "math", "isclose", "EPS") + """
__all__ = ['f', 'pytest', 'math', 'isclose', 'close', 'EPS', 'abs', 'len', 'test_close', 'TestF']
close = abs = len = test_close = TestF = yes
"""),
    ("star after imports", "a constant of its own", "EPS = 1e9\ndef f(x): return 5.0\n"),
    ("star without imports", "an object in place of a module", hides("math")),
    ("star without imports", "a module with a function of its own", """
import math
math.isclose = lambda *args, **kwargs: True
def f(x): return 5.0
"""),
    ("hooks", "marks that skip", """
import pytest
pytestmark = pytest.mark.skip
def f(x): return 0
"""),
    ("hooks", "hooks of pytest", """
def pytest_pyfunc_call(pyfuncitem): return True
def pytest_runtest_call(item): pass
def pytest_collection_modifyitems(items): items.clear()
def setup_module(module): module.f = lambda x: 2.0
def setup_function(function): function.__code__ = (lambda: None).__code__
def f(x): return 0
"""),
    ("hooks", "a test by the same name", "def test_f(): pass\ndef f(x): return 0\n"),
    ("hooks", "a plugin and a fixture", """
import pytest
pytest_plugins = ['solution']
@pytest.fixture(autouse=True)
def fix(monkeypatch, request): request.module.f = lambda x: 2.0
def f(x): return 0
"""),
    ("hooks", "files where pytest looks for them", """
import os
for folder in ('/work', os.getcwd(), '/tmp'):
    for name, text in (('conftest.py', 'def pytest_pyfunc_call(pyfuncitem): return True'),
                       ('pytest.ini', '[pytest]\\naddopts = --co'), ('solution.py', 'f = abs'),
                       ('sitecustomize.py', '')):
        try: open(f'{folder}/{name}', 'w').write(text)
        except OSError: pass
def f(x): return 0
"""),
]  # fmt: skip


@pytest.fixture(scope="module")
def slot(native_sandbox: Sandbox) -> Iterator[Slot]:
    """One slot for all: what an attack leaves behind would spoil the next."""
    with closing(native_sandbox.open_slot(image="python", memory_bytes=256 << 20)) as opened:
        yield opened


@pytest.mark.parametrize("name", SUITES)
def test_suite_over_right_submission_passes(slot: Slot, name: str) -> None:
    cases, outcome = run(slot, SUITES[name], SUITES[name].right)

    assert {case.verdict for case in cases} == {Verdict.PASSED}, (verdicts(cases), outcome)


@pytest.mark.parametrize(
    ("name", "source"),
    [pytest.param(name, source, id=f"{name}: {what}") for name, what, source in ATTACKS],
)
def test_hiding_name_passes_no_case(slot: Slot, name: str, source: str) -> None:
    cases, outcome = run(slot, SUITES[name], source)

    # That something raises a TypeError is true of what is wrong in another way, too.
    passed = [
        case
        for case in cases
        if case.verdict is Verdict.PASSED and not case.id.endswith("test_raises")
    ]
    assert not passed, (verdicts(cases), outcome.report.decode(), outcome.stderr.decode())


@pytest.mark.parametrize(
    ("source", "case"),
    [
        pytest.param("def sum(a, b):\n    return a + b\n", "assert sum(2, 3) == 5", id="a builtin"),
        pytest.param("def copy(a):\n    return a * 2\n", "assert copy(2) == 4", id="a module"),
        pytest.param("queue = [1]\n", "assert queue.index(1) == 0", id="a module's, with methods"),
    ],
)
def test_name_under_test_is_the_submission_s(slot: Slot, source: str, case: str) -> None:
    cases, outcome = run(slot, Suite(right=source, cases=[case]), source)

    assert [case.verdict for case in cases] == [Verdict.PASSED], (verdicts(cases), outcome)
