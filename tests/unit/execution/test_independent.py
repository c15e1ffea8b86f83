"""Which suites' tests hand nothing on to each other, by their sources."""

import pytest

from grader.execution.independent import are_independent
from grader.model import PytestTests, ScriptCase, ScriptTests, SuiteFile

HEAD = "import pytest\nimport solution\nfrom solution import f, Account\n"


def _independent(module: str) -> bool:
    file = SuiteFile(path="test_x.py", content=f"{HEAD}{module}".encode())
    return are_independent(PytestTests(files=(file,), test_paths=("test_x.py",)))


@pytest.mark.parametrize(
    "module",
    [
        "def test_a(): assert f(1) == 1",
        "CASES = [1, 2]\n@pytest.mark.parametrize('x', CASES)\ndef test_a(x): assert f(x)",
        "def test_a():\n    rows = [1]\n    rows.append(2)\n    rows[0] = f(rows)\n    del rows[1]",
        "def test_a(monkeypatch): monkeypatch.setattr(solution, 'limit', 3)",
        "def test_a():\n    account = Account()\n    account.balance = 5\n    account.items.add(3)",
        "def test_a(): assert solution.add(1, 2) == 3",
        "def test_a():\n    with pytest.raises(ValueError) as caught: f(-1)\n"
        "    assert caught.value",
        "import unittest\nclass T(unittest.TestCase):\n"
        "    def setUp(self):\n        self.account = Account()\n        self.rows = []\n"
        "    def test_a(self):\n        self.rows.append(1)\n        self.account.balance = 1",
        "import unittest\nclass T(unittest.TestCase):\n"
        "    @classmethod\n    def setUpClass(cls):\n        cls.account = Account()\n"
        "    def test_a(self): assert self.account",
        "def test_a():\n    def add(x):\n        seen.append(x)\n    seen = []\n    f(add)",
        "def test_a(: no python",
        "import json, re\nfrom decimal import Decimal\nfrom collections import namedtuple\n"
        "Point, WORD = namedtuple('Point', 'x y'), re.compile('a')\n"
        "ROWS = json.loads('[1]')\nCENT = Decimal('0.01')\n"
        "def test_a(): assert f(Point(1, 2), CENT) == WORD.match('a') or f(ROWS) == ROWS[0]",
        "RIGHT = f(1)\nROWS = sorted([2, 1])\ndef test_a(): assert f(ROWS) == RIGHT",
        "ROWS = [[1]]\ndef test_a():\n    rows = [list(row) for row in ROWS]\n"
        "    rows.append(f(1))\n    more = ROWS.copy()\n    more.append(1)",
        "from contextlib import contextmanager\n@contextmanager\ndef there(): yield\n"
        "def test_a():\n    with there(): assert f(1)",
        "def near(a, b, rel=1e-9): return abs(a - b) < rel\ndef test_a(): assert near(f(1), 1)",
    ],
)
def test_tests_of_their_own_are_independent(module: str) -> None:
    assert _independent(module)


@pytest.mark.parametrize(
    "module",
    [
        "made = None\ndef test_a():\n    global made\n    made = f(1)",
        "made = []\ndef test_a(): made.append(f(1))",
        "made = {}\ndef test_a(): made['a'] = f(1)",
        "made = {}\ndef test_a():\n    del made['a']",
        "made = [0]\ndef test_a():\n    made[0] += 1",
        "def test_a(): solution.limit = 3",
        "def test_a(): Account.count = 0",
        "def test_a(): setattr(Account, 'count', 0)",
        "def test_a(): pytest.made = f(1)",
        "class TestX:\n    made = []\n    def test_a(self): self.made.append(1)",
        "class TestX:\n    def test_a(self): type(self).made = f(1)",
        "class TestX:\n    def test_a(self): self.__class__.made = f(1)",
        "class TestX:\n    def test_a(self): TestX.made = f(1)",
        "class TestX:\n    @classmethod\n    def keep(cls, x): cls.made = x",
        "class TestX:\n    made = []\n    def test_a(self): self.made += [f(1)]",
        "class TestX:\n    made = []\n    def test_a(self):\n        made = self.made\n"
        "        made.append(f(1))",
        "made = []\ndef test_a():\n    here = made\n    here += [f(1)]",
        "made = [[]]\ndef test_a():\n    for row in made:\n        row.append(f(1))",
        "made = {'a': []}\ndef test_a():\n    for _, row in made.items():\n        row[0] = f(1)",
        "made = []\ndef test_a(): list.append(made, f(1))",
        "import heapq\nmade = []\ndef test_a(): heapq.heappush(made, f(1))",
        "def note(x, made=[]):\n    made.append(x)\ndef test_a(): note(f(1))",
        # objects of classes that are not known, and what is consumed
        "import itertools\nids = itertools.count()\ndef test_a(): assert f() == next(ids)",
        "ids = iter([1, 2])\ndef test_a(): assert f() == next(ids)",
        "ids = (i for i in [1, 2])\ndef test_a():\n    for i in ids: assert f(i)",
        "class Log:\n    def note(self): self.n = 1\nlog = Log()\ndef test_a(): log.note()",
        "class Log:\n    def note(self): self.n = 1\nclass TestX:\n    log = Log()\n"
        "    def test_a(self): self.log.note()",
        "class Log:\n    pass\nlogs = [Log()]\ndef test_a(): logs[0].note()",
        "from queue import Queue\nmade = Queue()\ndef test_a(): made.put(f(1))",
        "def counter():\n    n = 0\n    def up():\n        nonlocal n\n        n += 1\n"
        "        return n\n    return up\nup = counter()\ndef test_a(): assert f() == up()",
        "import functools\n@functools.cache\ndef made(): return f(1)\ndef test_a(): assert made()",
        "@pytest.mark.dependency\ndef test_a(): assert f(1)",
        "@pytest.mark.order(1)\ndef test_a(): assert f(1)",
    ],
)
def test_tests_that_keep_something_are_not(module: str) -> None:
    assert not _independent(module)


@pytest.mark.parametrize(
    ("cases", "independent"),
    [
        (["same(f(1), 1)", "oracle.check(f(2))"], True),
        (["f(1)", "assert f(2)"], False),
        (["rows.append(f(1))", "assert rows == [1]"], False),
        (["assert f(1) == 1", "assert f(2) == 2\nassert f(3)"], True),
        (["assert not f(", "assert f(2) == 2"], True),
        (["x = f(1)", "assert x == 1"], False),
        (["assert (x := f(1))", "assert x"], False),
        (["push(1)", "assert pop() == 1"], False),
        (["import math", "assert f(math.pi)"], False),
        (["assert f() == next(rows)", "assert f()"], False),
        (["assert not rows.append(f(1))", "assert rows == [1]"], False),
    ],
)
def test_cases_of_a_script_are_independent_if_they_only_assert(
    cases: list[str], independent: bool
) -> None:
    rows = tuple(ScriptCase(id=str(i), source=source) for i, source in enumerate(cases))

    setup = "def same(a, b): assert a == b\noracle, rows = Oracle(), []"

    assert are_independent(ScriptTests(cases=rows, setup=setup)) is independent
