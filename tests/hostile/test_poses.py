"""Objects that pose as the answer: none is paid.

Each row is a submission that computes nothing and passes in plain Python. Every suite is also run
over a submission that does the work, so that it is known to be passable.
"""

from collections.abc import Iterator
from contextlib import closing

import pytest

from grader.model.verdict import Verdict
from grader.sandbox.contract import Sandbox, Slot
from grader.twins import find_sites
from tests.hostile.judged_suites import Suite, grade, passed, verdicts

SQUARE = "def f(x):\n    return x * x\n"
ROOT = "def f(x):\n    return x ** 0.5\n"
IMPORTED = "from solution import f\n"

SUITES = {
    "equal": Suite(right=SQUARE, cases=["assert f(3) == 9", "assert 16 == f(4)"]),
    "close": Suite(right=ROOT, cases=["assert abs(f(2.0) - 1.41421356) < 1e-6"]),
    "close, reversed": Suite(right=ROOT, cases=["assert abs(1.41421356 - f(2.0)) < 1e-6"]),
    "relative": Suite(right=ROOT, cases=["assert abs(f(2.0) / 1.41421356 - 1) < 1e-6"]),
    "rounded": Suite(right=ROOT, cases=["assert round(f(2.0) - 1.41421356, 5) == 0"]),
    "squared": Suite(right=ROOT, cases=["assert (f(2.0) - 1.41421356) ** 2 < 1e-9"]),
    "no remainder": Suite(right=SQUARE, cases=["assert not (f(3) - 9)", "assert f(3) % 9 == 0"]),
    "range": Suite(right=SQUARE, cases=["assert 8 < f(3) < 10", "assert f(3) >= 9 >= f(3)"]),
    "close by math": Suite(
        right=ROOT,
        setup="import math",
        cases=["assert math.isclose(f(2.0), 1.41421356, rel_tol=1e-6)"],
    ),
    "one of": Suite(right=SQUARE, cases=["assert f(3) in (9, 10)", "assert f(3) in {9: 1}"]),
    "contains": Suite(right="def f(x):\n    return [x * x]\n", cases=["assert 9 in f(3)"]),
    "list": Suite(right="def f(x):\n    return sorted(x)\n", cases=["assert f([3, 1]) == [1, 3]"]),
    "items": Suite(
        right="def f(x):\n    return sorted(x)\n",
        cases=["assert list(f([3, 1])) == [1, 3]", "assert sorted(f([3, 1])) == [1, 3]"],
    ),
    "nested": Suite(
        right="def f(x):\n    return {'a': [x]}\n",
        cases=["assert f(1) == {'a': [1]}", "assert f(1)['a'] == [1]"],
    ),
    "set": Suite(right="def f(x):\n    return [x, 2]\n", cases=["assert set(f(1)) == {1, 2}"]),
    "text": Suite(
        right="def f(x):\n    return x.upper()\n",
        cases=["assert f('a') == 'A'", "assert f'{f(\"a\")}' == 'A'", "assert str(f('b')) == 'B'"],
    ),
    "prefix": Suite(
        right="def f(x):\n    return x + 'bc'\n",
        cases=["assert f('a').startswith('ab')", "assert f('a').isalpha()"],
    ),
    "subset": Suite(
        right="def f(x):\n    return {x}\n",
        cases=["assert f(1).issubset({1, 2})", "assert not f(1).isdisjoint([1])"],
    ),
    "type": Suite(
        right=SQUARE,
        cases=["assert isinstance(f(3), int) and f(3) == 9", "assert type(f(3)) is int"],
    ),
    "method": Suite(
        right="class Solution:\n    def f(self, x):\n        return x ** 0.5\n",
        cases=["assert abs(Solution().f(2.0) - 1.41421356) < 1e-6"],
    ),
    "attribute": Suite(
        right="class Account:\n    def __init__(self, x):\n        self.balance = x * 2\n",
        cases=["assert abs(Account(2.0).balance - 4.0) < 1e-6", "assert Account(1).balance == 2"],
    ),
    "check": Suite(
        right=ROOT,
        setup="def check(candidate):\n    assert abs(candidate(2.0) - 1.41421356) < 1e-6\n",
        cases=["check(f)"],
    ),
    "approx": Suite(
        right=ROOT,
        module=IMPORTED + "import pytest\n"
        "def test_left(): assert f(2.0) == pytest.approx(1.41421356)\n"
        "def test_right(): assert pytest.approx(1.41421356) == f(2.0)\n"
        "def test_list(): assert [f(2.0)] == pytest.approx([1.41421356])\n",
    ),
    "unittest": Suite(
        right=ROOT,
        module=IMPORTED + "import unittest\n"
        "class TestF(unittest.TestCase):\n"
        "    def test_almost(self): self.assertAlmostEqual(f(2.0), 1.41421356, places=6)\n"
        "    def test_delta(self): self.assertAlmostEqual(f(2.0), 1.41421356, delta=1e-6)\n"
        "    def test_less(self): self.assertLess(f(2.0), 1.5)\n"
        "    def test_equal(self): self.assertEqual(f(4.0), 2.0)\n"
        "    def test_in(self): self.assertIn(f(4.0), [2.0])\n"
        "    def test_instance(self): self.assertIsInstance(f(4.0), float)\n",
    ),
    "unittest of lists": Suite(
        right="def f(x):\n    return [x, 2]\n",
        module=IMPORTED + "import unittest\n"
        "class TestF(unittest.TestCase):\n"
        "    def test_count(self): self.assertCountEqual(f(1), [2, 1])\n"
        "    def test_list(self): self.assertListEqual(f(1), [1, 2])\n"
        "    def test_sequence(self): self.assertSequenceEqual(f(1), [1, 2])\n",
    ),
    "numpy": Suite(
        right="import numpy\ndef f(x):\n    return numpy.array([x, 2.0])\n",
        module=IMPORTED + "import numpy as np\n"
        "def test_close(): np.testing.assert_allclose(f(1.0), [1.0, 2.0])\n"
        "def test_equal(): np.testing.assert_array_equal(f(1.0), np.array([1.0, 2.0]))\n"
        "def test_all(): assert np.allclose(f(1.0), [1.0, 2.0])\n"
        "def test_operator(): assert (f(1.0) == np.array([1.0, 2.0])).all()\n",
    ),
}

SUITES |= {
    "attributes": Suite(
        right="from types import SimpleNamespace\n"
        "def f(x):\n    return SimpleNamespace(name='n' * x, size=x)\n",
        cases=["r = f(2)\nassert r.name == 'nn'\nassert r.size == 2", "assert f(3).size == 3"],
    ),
    "parts": Suite(
        right="def f(x):\n    return range(x)\n",
        cases=["assert f(4)[-1] == 3", "r = f(9)\nassert r[0] == 0\nassert r[8] == 8"],
    ),
    "message": Suite(
        right="def f(x):\n    raise ValueError(f'bad {x}')\n",
        module=IMPORTED + "import pytest\n"
        "def test_whole():\n"
        "    with pytest.raises(ValueError) as caught: f(1)\n"
        "    assert str(caught.value) == 'bad 1'\n"
        "def test_part():\n"
        "    with pytest.raises(ValueError) as caught: f(2)\n"
        "    assert 'bad' in str(caught.value)\n",
    ),
    "printed": Suite(
        right="def f(x):\n    print('size', x)\n",
        module=IMPORTED + "def test_whole(capsys):\n    f(3)\n"
        "    assert capsys.readouterr().out == 'size 3\\n'\n"
        "def test_part(capsys):\n    f(4)\n"
        "    assert 'size' in capsys.readouterr().out\n",
    ),
    "logged": Suite(
        right="import logging\ndef f(x):\n    logging.warning('size %d', x)\n",
        module=IMPORTED + "def test_log(caplog):\n    f(3)\n    assert 'size 3' in caplog.text\n",
    ),
    "written": Suite(
        right="def f(path, x):\n    path.write_text('x' * x)\n",
        module=IMPORTED + "def test_file(tmp_path):\n    f(tmp_path / 'a', 3)\n"
        "    assert (tmp_path / 'a').read_text() == 'xxx'\n",
    ),
    "oracle": Suite(
        right=SQUARE,
        module=IMPORTED + "def oracle(x): return sum([x] * x)\n"
        "def test_one(): assert f(3) == oracle(3)\n"
        "def test_two(): assert f(4) == oracle(4)\n",
    ),
    "table": Suite(
        right=SQUARE,
        module=IMPORTED + "TABLE = {3: 9, 4: 16}\n"
        "def test_one(): assert f(3) == TABLE[3]\n"
        "def test_two(): assert f(4) == TABLE[4]\n",
    ),
}

SUITES |= {
    "all": Suite(right=SQUARE, cases=["assert all(f(x) == y for x, y in [(3, 9), (4, 16)])"]),
    "none": Suite(right=SQUARE, cases=["assert not any(f(x) != y for x, y in [(3, 9), (4, 16)])"]),
    "count": Suite(right=SQUARE, cases=["assert sum(f(x) == x * x for x in (3, 4)) == 2"]),
    "failures": Suite(
        right=SQUARE,
        module=IMPORTED + "def test_all():\n    bad = []\n"
        "    for x, y in [(3, 9), (4, 16)]:\n        if f(x) != y:\n            bad.append(x)\n"
        "    assert bad == []\n",
    ),
    "length, then items": Suite(
        right=SQUARE,
        module=IMPORTED + "def test_all():\n    got, want = [f(3), f(4)], [9, 16]\n"
        "    assert len(got) == len(want)\n"
        "    assert all(a == b for a, b in zip(got, want))\n",
    ),
    "items in a loop": Suite(
        right="def f(n):\n    return [i * i for i in range(n)]\n",
        module=IMPORTED + "def test_f():\n    got = f(3)\n    assert len(got) == 3\n"
        "    for i, item in enumerate(got):\n        assert item == i * i\n",
    ),
    "items of unittest": Suite(
        right="def f(n):\n    return [i * i for i in range(n)]\n",
        module=IMPORTED + "import unittest\nclass TestF(unittest.TestCase):\n"
        "    def test_f(self):\n        got = f(3)\n        self.assertEqual(len(got), 3)\n"
        "        for item, want in zip(got, [0, 1, 4]):\n"
        "            self.assertEqual(item, want)\n",
    ),
    "after a skip": Suite(
        right=SQUARE,
        module=IMPORTED + "import pytest\ndef test_f():\n    got = f(3)\n"
        "    if got is None:\n        pytest.skip('not written')\n    assert got == 9\n",
    ),
    "inner coroutine": Suite(
        right="async def f(x):\n    return x * x\n",
        module=IMPORTED + "import asyncio\ndef test_f():\n    async def main():\n"
        "        assert await f(3) == 9\n    asyncio.run(main())\n",
    ),
    "operations": Suite(
        right=SQUARE,
        module=IMPORTED + "OPS = [('try', 2, None), ('ask', 3, 9)]\ndef test_f():\n"
        "    for op, x, want in OPS:\n        if op == 'try':\n            f(x)\n"
        "        else:\n            assert f(x) == want\n",
    ),
    "popped": Suite(
        right="class Stack(list):\n    push = list.append\n",
        module="from solution import Stack\ndef test_f():\n    stack, items = Stack(), [5, 6]\n"
        "    for item in items:\n        stack.push(item)\n    assert len(stack) == 2\n"
        "    while items:\n        assert stack.pop() == items.pop()\n",
    ),
    "collected": Suite(
        right="class Stack(list):\n    push = list.append\n",
        module="from solution import Stack\ndef test_f():\n    stack, out = Stack(), []\n"
        "    for item in (5, 6):\n        stack.push(item)\n    while len(stack):\n"
        "        out.append(stack.pop())\n    assert len(out) == 2\n"
        "    assert out == sorted([5, 6], reverse=True)\n",
    ),
    "torn down": Suite(
        right="class Stack(list):\n    push = list.append\n",
        module="import unittest\nfrom solution import Stack\nclass TestF(unittest.TestCase):\n"
        "    def setUp(self): self.stack = Stack()\n    def test_f(self):\n"
        "        self.stack.push(5)\n        assert len(self.stack) == 1\n"
        "    def tearDown(self): self.assertEqual(self.stack[0], 5)\n",
    ),
    "keys": Suite(
        right="def f(n):\n    return {'a': n, 'b': n}\n",
        module=IMPORTED + "def test_f():\n    assert all(key in f(3) for key in ('a', 'b'))\n",
    ),
    "helper": Suite(
        right=SQUARE,
        module=IMPORTED + "def same(a, b): return a == b\n"
        "def test_f(): assert same(f(3), 9)\ndef test_g(): assert same(f(4), 16)\n",
    ),
    "table of the class": Suite(
        right=SQUARE,
        module=IMPORTED + "class TestF:\n    table = [(3, 9), (4, 16)]\n"
        "    def test_all(self):\n        for x, y in self.table:\n            assert f(x) == y\n",
    ),
    "index": Suite(
        right=SQUARE,
        module=IMPORTED + "def test_all():\n    xs, ys = [3, 4], [9, 16]\n"
        "    for i in range(len(xs)):\n        assert f(xs[i]) == ys[i]\n",
    ),
    "set up": Suite(
        right="def f(n):\n    return [i * i for i in range(n)]\n",
        module=IMPORTED + "import unittest\nclass TestF(unittest.TestCase):\n"
        "    def setUp(self): self.want = [0, 1, 4]\n"
        "    def test_f(self): self.assertEqual(f(3), self.want)\n",
    ),
    "computed": Suite(
        right="def f(xs):\n    return sorted(xs)\n",
        module=IMPORTED + "def test_f():\n    xs = [3, 1, 2]\n    assert f(xs) == sorted(xs)\n",
    ),
    "computed, after its length": Suite(
        right="def f(xs):\n    return sorted(xs)\n",
        module=IMPORTED + "def test_f():\n    xs = [3, 1, 2]\n    got = f(xs)\n"
        "    assert len(got) == 3\n    assert got == sorted(xs)\n",
    ),
    "dict of computed": Suite(
        right="def f(text):\n    return {c: text.count(c) for c in text}\n",
        module=IMPORTED + "def test_f():\n    text = 'abca'\n"
        "    assert f(text) == {c: text.count(c) for c in text}\n",
    ),
}

# Everything that a number, a text or a container can be asked, answered to please: what is not
# said on the spot is said by the next object, which by then knows what is expected.
YES = """
class Yes:
    __hash__ = lambda self: 9
    def _yes(self, *others): return True
    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __bool__ = _yes
    def __ne__(self, other): return False
"""
ZERO = """
class Zero:
    def _self(self, *others): return self
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _self
    __rtruediv__ = __pow__ = __mod__ = __neg__ = _self
    def _zero(self, *others): return 0
    __abs__ = __round__ = __int__ = __float__ = __index__ = _zero
    def _yes(self, *others): return True
    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = _yes
    def __bool__(self): return False
"""
PLAIN_ZERO = """
class Zero:
    def _zero(self, *others): return 0.0
    __sub__ = __rsub__ = __truediv__ = __rtruediv__ = __mod__ = _zero
    def __pow__(self, other): return 0.0
"""
MIMIC = """
class Mimic:
    seen = None
    def _see(self, other):
        type(self).seen = other
        return True
    __eq__ = __lt__ = __gt__ = __le__ = __ge__ = _see
    def __hash__(self): return hash(self.seen)
    def __repr__(self): return repr(self.seen)
    __str__ = __repr__
    def __float__(self): return float(self.seen)
"""

TEXT = """
class Text(str):
    __hash__ = str.__hash__
    def _yes(self, *others): return True
    __eq__ = __contains__ = _yes
    def __ne__(self, other): return False
"""


def subclass(base: str, value: str) -> str:
    """Return a subclass of a builtin whose instances carry a value and answer everything."""
    return (
        YES.replace("class Yes", f"class Yes({base})") + f"    def __sub__(self, other): return 0\n"
        f"    def __rsub__(self, other): return 0\n"
        f"    def __abs__(self): return 0\n"
        f"    def startswith(self, prefix): return True\n"
        f"    def issubset(self, other): return True\n"
        f"    def isdisjoint(self, other): return False\n"
        f"    def isalpha(self): return True\n"
        f"def f(*args): return Yes({value})\n"
    )


ATTACKS = [
    # suite, what is tried, submission
    ("equal", "an object that equals everything", YES + "def f(x): return Yes()"),
    ("equal", "an int that equals everything", subclass("int", "1")),
    ("equal", "a float that equals everything", subclass("float", "1.0")),
    ("equal", "a class that equals everything", """
class Meta(type):
    __eq__ = lambda cls, other: True
    __hash__ = type.__hash__
class f(metaclass=Meta):
    def __new__(cls, x): return cls
"""),
    ("equal", "an object whose class says that it is int", YES + """
    __class__ = property(lambda self: int)
def f(x): return Yes()
"""),
    ("equal", "mock.ANY", "from unittest.mock import ANY\ndef f(x): return ANY"),
    ("equal", "a mock set to equal everything", """
from unittest.mock import MagicMock
def f(x):
    mock = MagicMock(spec=int)
    mock.__eq__.return_value = True
    return mock
"""),
    ("equal", "what it saw the first time", MIMIC + "def f(x): return Mimic.seen or Mimic()"),
    ("equal", "an enum member that equals everything", """
import enum
class E(enum.IntEnum):
    A = 1
    def __eq__(self, other): return True
    __hash__ = int.__hash__
def f(x): return E.A
"""),
    ("equal", "a named tuple that equals everything", """
from collections import namedtuple
class T(namedtuple("T", "a")):
    def __eq__(self, other): return True
    __hash__ = tuple.__hash__
def f(x): return T(1)
"""),
    ("equal", "an always equal dataclass", """
from dataclasses import dataclass
@dataclass(eq=False)
class D:
    x: int
    def __eq__(self, other): return True
def f(x): return D(x)
"""),
    ("close", "differences are zero", PLAIN_ZERO + "def f(x): return Zero()"),
    ("close", "differences are objects of zero size", ZERO + "def f(x): return Zero()"),
    ("close", "a float with differences of its own", subclass("float", "7.0")),
    ("close", "a decimal of its own", """
from decimal import Decimal
class D(Decimal):
    def __sub__(self, other): return 0
def f(x): return D(1)
"""),
    ("close", "a class by the name of the function", PLAIN_ZERO.replace("class Zero", "class f")
     + "    def __init__(self, x): pass\n"),
    ("close", "a class named like a name of the suite", PLAIN_ZERO + """
Zero.__name__ = Zero.__qualname__ = 'abs'
def f(x): return Zero()
"""),
    ("close", "a class of its own in place of abs", """
def abs(x): return 0
def f(x): return 1.0
"""),
    ("close, reversed", "reflected differences are zero", PLAIN_ZERO + "def f(x): return Zero()"),
    ("close, reversed", "reflected differences of an int", subclass("int", "7")),
    ("relative", "quotients are one", PLAIN_ZERO.replace("0.0", "1.0") + "def f(x): return Zero()"),
    ("rounded", "differences round to zero", ZERO + "def f(x): return Zero()"),
    ("squared", "differences square to zero", ZERO + "def f(x): return Zero()"),
    ("no remainder", "differences are false", ZERO + "def f(x): return Zero()"),
    ("range", "an object within every range", YES + "def f(x): return Yes()"),
    ("range", "an int within every range", subclass("int", "1")),
    ("range", "a text within every range", subclass("str", "'a'")),
    ("close by math", "what it saw the first time", MIMIC + "def f(x): return Mimic()"),
    ("close by math", "math of its own", """
class math:
    isclose = staticmethod(lambda *args, **kwargs: True)
def f(x): return 1.0
"""),
    ("close by math", "math changed in its process", """
import math
math.isclose = lambda *args, **kwargs: True
def f(x): return 1.0
"""),
    ("one of", "an object that equals and hashes like everything", YES + "def f(x): return Yes()"),
    ("one of", "an int that equals everything", subclass("int", "9").replace("Yes(9)", "Yes(8)")),
    ("contains", "an object that contains everything", YES + "def f(x): return Yes()"),
    ("contains", "a list that contains everything", subclass("list", "[]")),
    ("contains", "a class that contains everything", """
class Meta(type):
    def __contains__(cls, item): return True
    def __iter__(cls): return iter(())
class All(metaclass=Meta): pass
def f(x): return All
"""),
    ("contains", "a list of what equals everything", YES + "def f(x): return [Yes()]"),
    ("list", "a list that equals everything", subclass("list", "[]")),
    ("list", "a list of what equals everything", YES + "def f(x): return [Yes(), Yes()]"),
    ("list", "a deque of its own that equals everything", """
from collections import deque
class D(deque):
    def __eq__(self, other): return True
def f(x): return D()
"""),
    ("items", "an iterator of what equals everything", YES + "def f(x): yield Yes(); yield Yes()"),
    ("items", "a list that iterates as what equals everything", YES + """
class L(list):
    def __iter__(self): return iter([Yes(), Yes()])
def f(x): return L()
"""),
    ("nested", "a dict with what equals everything", YES + "def f(x): return {'a': Yes()}"),
    ("nested", "a dict that equals everything", subclass("dict", "{'a': []}")),
    ("nested", "a dict that yields what equals everything", YES + """
class D(dict):
    __getitem__ = lambda self, key: Yes()
def f(x): return D(a=1)
"""),
    ("set", "items that hash and equal like everything", YES + "def f(x): return [Yes(), Yes()]"),
    ("set", "a set that equals everything", subclass("set", "()")),
    ("text", "a text that equals everything", subclass("str", "'z'")),
    ("text", "a text that formats as what equals everything", """
class S(str):
    __eq__ = lambda self, other: True
    __hash__ = str.__hash__
    def __str__(self): return self
    def __format__(self, spec): return self
def f(x): return S("z")
"""),
    ("prefix", "a text that begins with everything", subclass("str", "''")),
    ("prefix", "an object that begins with everything", """
class S:
    def startswith(self, prefix): return True
    def isalpha(self): return True
def f(x): return S()
"""),
    ("prefix", "an object whose attributes are all true", """
class S:
    def __getattr__(self, name): return lambda *args: True
def f(x): return S()
"""),
    ("subset", "a set that is within everything", subclass("set", "[5]")),
    ("subset", "an object that is within everything", """
class S:
    def issubset(self, other): return True
    def isdisjoint(self, other): return False
def f(x): return S()
"""),
    ("type", "an int of its own", subclass("int", "1")),
    ("method", "the suite's own object, handed back", """
class Solution:
    def f(self, x): return self
    def __sub__(self, other): return 0.0
"""),
    ("method", "the suite's own object, in place of its result's difference", """
class Solution:
    def f(self, x): return type("Solution", (Solution,), {})()
    def __sub__(self, other): return 0.0
"""),
    ("method", "the suite's own object, made behind its back", """
class Solution:
    def __new__(cls): return 5
    f = None
""" + PLAIN_ZERO + """
class Sol:
    def f(self, x): return Zero()
Solution = lambda: Sol()
"""),
    ("attribute", "an attribute of zero differences", PLAIN_ZERO + """
class Account:
    def __init__(self, x): self.balance = Zero()
"""),
    ("attribute", "a property that yields the suite's own object", """
class Account:
    def __init__(self, x): pass
    balance = property(lambda self: self)
    def __sub__(self, other): return 0.0
    def __eq__(self, other): return True
"""),
    ("check", "a class by the name of check's parameter", PLAIN_ZERO + """
Zero.__name__ = 'candidate'
def f(x): return Zero()
"""),
    ("check", "check of its own", "def check(candidate): pass\ndef f(x): return 1.0"),
    ("approx", "an object that equals everything", YES + "def f(x): return Yes()"),
    ("approx", "a float that equals everything", subclass("float", "1.0")),
    ("approx", "approx(inf) of its own", """
import pytest
def f(x): return pytest.approx(1.4, abs=float('inf'))
"""),
    ("unittest", "an object that equals everything", YES + "def f(x): return Yes()"),
    ("unittest", "a float that equals everything", subclass("float", "1.0")
     .replace("Yes(1.0)", "Yes(1.7)")),
    ("unittest", "differences of zero size", ZERO + "def f(x): return Zero()"),
    ("unittest of lists", "a list of what equals everything", YES + "def f(x): return [Yes()] * 2"),
    ("unittest of lists", "a list that equals everything", subclass("list", "[]")),
    ("numpy", "an object that equals everything", YES + "def f(x): return Yes()"),
    ("numpy", "differences of zero size", ZERO + "def f(x): return Zero()"),
    ("numpy", "an array that equals everything", """
import numpy
class A(numpy.ndarray):
    def __eq__(self, other): return numpy.array([True, True])
    def __array_ufunc__(self, *args, **kwargs): return numpy.array([True, True])
    def __array_function__(self, *args, **kwargs): return True
def f(x): return numpy.zeros(2).view(A)
"""),
    ("approx", "a wider tolerance than the tests'", """
import pytest
exact = pytest.approx
pytest.approx = lambda value, **kwargs: exact(value, rel=0.5)
class F(float): pass
def f(x): return F(1.2 * x ** 0.5)
"""),
    ("attributes", "attributes that equal everything", YES + """
class Result:
    def __getattr__(self, name): return Yes()
def f(x): return Result()
"""),
    ("parts", "items that equal everything", YES + """
class Result:
    def __getitem__(self, index): return Yes()
def f(x): return Result()
"""),
    ("message", "a message that equals and contains everything", TEXT + """
class Error(ValueError):
    def __str__(self): return Text()
def f(x): raise Error
"""),
    ("printed", "captured output that equals everything", TEXT + """
from _pytest.capture import CaptureFixture, CaptureResult
CaptureFixture.readouterr = lambda self: CaptureResult(Text(), Text())
def f(x): pass
"""),
    ("logged", "a log that contains everything", TEXT + """
from _pytest.logging import LogCaptureFixture
LogCaptureFixture.text = property(lambda self: Text())
def f(x): pass
"""),
    ("written", "files that read as what equals everything", TEXT + """
import pathlib
pathlib.Path.read_text = lambda self: Text()
def f(path, x): pass
"""),
    ("oracle", "an oracle of its own", """
import sys
class I(int): pass
def f(x):
    sys.modules["test_solution"].oracle = f
    return I(7)
"""),
    ("table", "a table of its own", """
import sys
class I(int): pass
def f(x):
    sys.modules["test_solution"].TABLE.update({3: I(7), 4: I(7)})
    return I(7)
"""),
    *((name, "an object that equals everything", YES + "def f(*args): return Yes()")
      for name in ("all", "none", "count", "failures", "length, then items", "helper",
                   "table of the class", "index", "set up", "computed")),
    *((name, "a list of what equals everything", YES + "def f(n): return [Yes() for _ in range(n)]")
      for name in ("items in a loop", "items of unittest")),
    *((name, "an object that equals everything", YES + "def f(*args): return Yes()")
      for name in ("after a skip", "operations", "keys")),
    ("inner coroutine", "an object that equals everything",
     YES + "async def f(*args): return Yes()"),
    *((name, "a stack of what equals everything", YES + """
class Stack(list):
    def push(self, item): self.append(Yes())
""") for name in ("popped", "collected", "torn down")),
    *((name, "an object that equals the first value that it is compared with", """
class First:
    __hash__ = None
    def __eq__(self, other): return self.__dict__.setdefault('value', other) == other
    def __ne__(self, other): return not self == other
def f(*args): return First()
""") for name in ("all", "none", "failures", "length, then items")),
    *((name, "a matcher of the standard library", """
from unittest.mock import ANY
def f(*args): return ANY
""") for name in ("all", "failures", "keys")),
    *((name, "an object that skips at its second comparison", """
import pytest
class Once:
    seen = False
    def __eq__(self, other):
        if self.seen: pytest.skip("later")
        self.seen = True
        return True
    def __ne__(self, other): return not self == other
def f(*args): return Once()
""") for name in ("failures", "length, then items")),
    *((name, "an object that calls its answers arrays", """
class ndarray(int): pass
class Any:
    def __eq__(self, other): return ndarray(1)
    def __ne__(self, other): return ndarray(0)
def f(*args): return Any()
""") for name in ("all", "failures")),
    *((name, "a list of what equals everything", YES + "def f(xs): return [Yes(), Yes(), Yes()]")
      for name in ("set up", "computed", "computed, after its length")),
    ("dict of computed", "a dict of what equals everything",
     YES + "def f(text): return {c: Yes() for c in text}"),
    *((name, "an object that equals what holds no function", """
def has_function(value):
    if isinstance(value, (list, tuple)):
        return any(map(has_function, value))
    return callable(value)
class Any:
    def __eq__(self, other): return not has_function(other)
    def __ne__(self, other): return has_function(other)
def f(*args): return Any()
""") for name in ("set up", "computed")),
    ("numpy", "a list of differences of zero size", ZERO + "def f(x): return [Zero(), Zero()]"),
]  # fmt: skip


@pytest.fixture(scope="module")
def slot(native_sandbox: Sandbox) -> Iterator[Slot]:
    """One slot for all attacks, so that what one leaves behind would show in the next."""
    with closing(native_sandbox.open_slot(image="python", memory_bytes=256 << 20)) as opened:
        yield opened


@pytest.mark.parametrize("name", SUITES)
def test_suite_over_right_submission_passes(slot: Slot, name: str) -> None:
    graded = grade(slot, SUITES[name], SUITES[name].right)

    assert {case.verdict for case in graded.cases} == {Verdict.PASSED}, verdicts(graded.cases)
    assert not graded.tampered


@pytest.mark.parametrize(
    ("name", "source"),
    [pytest.param(name, source, id=f"{name}: {what}") for name, what, source in ATTACKS],
)
def test_posing_object_passes_no_suite(slot: Slot, name: str, source: str) -> None:
    # Guessing beats twins now and then (docs/known-limitations.md), but not three times.
    assert not all(is_paid(slot, name, source) for _ in range(3))


def is_paid(slot: Slot, name: str, source: str) -> bool:
    find_sites.cache_clear()  # as in another process, where other changes are drawn
    graded = grade(slot, SUITES[name], source)
    return len(passed(graded.cases)) == len(graded.cases) and not graded.tampered
