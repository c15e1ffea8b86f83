"""Which pytest suites may be judged where the next ones are judged too."""

import unittest
from types import FrameType, FunctionType, MethodType, ModuleType, TracebackType

import pytest

from grader.model import PytestTests, SuiteFile
from grader.source import staying
from grader.source.by_value import find_apart
from grader.source.staying import leaves_nothing

HEAD = "import pytest, unittest, math\nfrom solution import f, Account\nimport solution as s\n"


def _stays(module: str, path: str = "test_x.py") -> bool:
    file = SuiteFile(path=path, content=(HEAD + module).encode())
    return leaves_nothing(PytestTests(files=(file,), test_paths=(path,)))


@pytest.mark.parametrize(
    "module",
    [
        "def test_a(): assert f('a').upper() == 'A' and s.f(1) == math.pi",
        "def test_a(): assert Account().owner('x') == s.Account().owner('x')",
        "def test_a():\n    with pytest.raises(ValueError) as info: f(1)\n"
        "    assert info.value.args[0] == 'x' and info.type is ValueError and info.match('x')",
        "@pytest.mark.parametrize('x, y', [pytest.param(1, 2, id='a')])\n"
        "def test_a(x, y): assert f(x) == pytest.approx(y)",
        "@pytest.fixture(scope='module')\ndef rows(): return [1]\ndef test_a(rows): f(rows)",
        "class TestA(unittest.TestCase):\n    size = 3\n    def setUp(self): self.rows = [1]\n"
        "    def check(self, n):\n        with self.subTest(n=n): self.assertEqual(n, self.size)\n"
        "    def test_a(self):\n        self.maxDiff = None\n        self.check(self.rows[0])\n"
        "        with self.assertRaises(ValueError) as caught: f(2)\n"
        "        self.assertIn('x', caught.exception.args)",
        "class TestA:\n    def setup_method(self): self.x = 1\n"
        "    def test_a(self): assert f(self.x) == 1",
    ],
)
def test_usual_suites_stay(module: str) -> None:
    assert _stays(module)


RAISES = "def test_a():\n    with pytest.raises(ValueError) as info: f(1)\n"


@pytest.mark.parametrize(
    "module",
    [
        RAISES + "    info.traceback[0].frame.eval('1')",
        RAISES + "    info.tb",
        RAISES + "    s = info\n    s.traceback",
        RAISES + "    math = info\n    math.traceback",
        RAISES + "    self = info\n    self.x\nclass A:\n    def test_b(self): self.x = 1",
        RAISES + "    for self in [info]: self.x\nclass A:\n    def test_b(self): self.x = 1",
        RAISES + "    (lambda self: self.x)(info)\nclass A:\n    def test_b(self): self.x = 1",
        RAISES + "    g(info)\ndef g(self): self.x\nclass A:\n    def test_b(self): self.x = 1",
        RAISES + "    Account = lambda: info\n    Account().traceback",
        RAISES + "    '{0.traceback}'.format(info)",
        "class A:\n    def g(x, self): self.y\n    def test_b(self): self.y = 1",
        "@pytest.mark.skipif('exec(1)')\ndef test_a(): f(1)",
        "@pytest.mark.xfail('exec(1)', reason='x')\ndef test_a(): f(1)",
        "@pytest.mark.usefixtures('x')\ndef test_a(): f(1)",
        "pytest_plugins = ['pytester']",
        "def pytest_generate_tests(metafunc): metafunc.config",
        "@pytest.mark.parametrize('request', [1])\ndef test_a(request): f(1)",
        "def test_a(config): config.stash",
        "class A(unittest.TestCase):\n    def run(self, result): result.x",
        "class A(unittest.TestCase):\n    id = 1\n    def test_a(self): f(1)",
        "class A(unittest.TestCase):\n    def test_a(self): self.defaultTestResult()",
        "class A(unittest.TestCase):\n    def test_a(self): self.run = f",
        "def test_a(: pass",
    ],
)
def test_suites_that_could_reach_their_judge_do_not(module: str) -> None:
    assert not _stays(module)


def test_suite_that_sets_pytest_up_does_not_stay() -> None:
    assert _stays("def test_a(): f(1)")
    assert not _stays("def test_a(): f(1)", path="tests/conftest.py")


def test_every_listed_module_is_one_that_suites_may_import() -> None:
    for module in staying._OF_MODULES:
        suite = f"import {module}\nfrom solution import f\ndef test_a(): assert f(1)"
        file = SuiteFile(path="test_x.py", content=suite.encode())
        assert find_apart(PytestTests(files=(file,), test_paths=("test_x.py",)))


def test_nothing_leads_from_what_pytest_gives_to_its_internals() -> None:
    """Walk along readable attributes, from all that tests get from pytest and unittest."""
    case = unittest.TestCase()
    with case.assertRaises(ValueError) as caught:  # noqa: PT027 - it is one of those
        int("x")
    with pytest.raises(ValueError, match="x") as info:
        int("x")
    fixture = pytest.fixture(lambda: 1)
    mark = pytest.mark.parametrize("x", [1])
    pending: list[object] = [info, caught, case, fixture, mark, mark(lambda: 1), pytest.approx(1)]
    pending += [pytest.param(1, marks=mark), pytest.mark, case.subTest(), unittest.TestCase]
    seen: dict[int, object] = {}
    while pending:
        value = pending.pop()
        if id(value) not in seen:
            seen[id(value)] = value
            for name in filter(staying._READABLE.__contains__, dir(value)):
                pending.append(getattr(value, name))
    internal = (ModuleType, FrameType, TracebackType, FunctionType)
    found = [value for value in seen.values() if isinstance(value, internal)]
    methods = [value for value in seen.values() if isinstance(value, MethodType)]
    assert all(value.__module__ == __name__ for value in found), found
    assert {method.__name__ for method in methods} <= {"match", "parametrize"}, methods
    assert len(seen) > 30
