"""Right answers of many types, where tests compare in the ways that posing objects have exploited.

What keeps out an object that equals everything must not keep out an answer that equals only what
is right, whatever its type is.
"""

from collections.abc import Iterator
from contextlib import closing

import pytest

from grader.model.verdict import Verdict
from grader.sandbox.contract import Sandbox, Slot
from tests.hostile.judged_suites import Suite, grade, verdicts

IMPORTS = "from solution import f\nimport operator, pytest, unittest\n"

SHAPES = {
    "all": "def test_all(): assert all(f(x) == w for x, w in [(3, W3), (4, W4)])\n",
    "failures": "def test_failures():\n    bad = []\n    for x, w in [(3, W3), (4, W4)]:\n"
    "        if f(x) != w: bad.append(x)\n    assert bad == []\n",
    "helper": "def same(a, b): return a == b\n"
    "def test_one(): assert same(f(3), W3)\ndef test_two(): assert same(f(4), W4)\n",
    "helper that raises": "def check(a, b):\n    if a != b: raise AssertionError('differs')\n"
    "def test_one(): check(f(3), W3)\ndef test_two(): check(f(4), W4)\n",
    "operator": "def test_one(): assert operator.eq(f(3), W3)\n",
    "table of a class": "class TestF:\n    ROWS = [(3, W3), (4, W4)]\n"
    "    def test_rows(self):\n        for x, w in self.ROWS: assert f(x) == w\n",
    "setUp": "class TestF(unittest.TestCase):\n"
    "    def setUp(self): self.rows = [(3, W3), (4, W4)]; self.want = W3\n"
    "    def test_rows(self):\n        for x, w in self.rows: self.assertEqual(f(x), w)\n"
    "    def test_one(self): self.assertEqual(f(3), self.want)\n",
    "indices": "def test_indices():\n    xs, ws = [3, 4], [W3, W4]\n"
    "    for i in range(len(xs)): assert f(xs[i]) == ws[i]\n",
    "oracle": "def oracle(x): return {3: W3, 4: W4}[x]\ndef test_one():\n    out = f(3)\n"
    "    assert out is not None\n    assert out == oracle(3)\n",
    "fixture": "@pytest.fixture\ndef rows(): yield [(3, W3), (4, W4)]\n"
    "def test_rows(rows):\n    for x, w in rows: assert f(x) == w\n",
}
"""Suites that expect W3 for 3, and W4 for 4."""

ANSWERS = {
    "fraction": ("9", "16", "from fractions import Fraction\ndef f(x): return Fraction(x * x)\n"),
    "number of its own": (
        "9",
        "16",
        "class Number:\n    def __init__(self, value): self.value = value\n"
        "    def __eq__(self, other): return self.value == getattr(other, 'value', other)\n"
        "def f(x): return Number(x * x)\n",
    ),
    "sequence of its own": (
        "[0, 1, 2]",
        "[0, 1, 2, 3]",
        "class Items:\n    def __init__(self, items): self.items = list(items)\n"
        "    def __iter__(self): return iter(self.items)\n"
        "    def __eq__(self, other): return self.items == list(other)\n"
        "def f(x): return Items(range(x))\n",
    ),
    "named tuple": (
        "(3, 9)",
        "(4, 16)",
        "from collections import namedtuple\nPair = namedtuple('Pair', 'x y')\n"
        "def f(x): return Pair(x, x * x)\n",
    ),
    "counter": (
        "{'a': 3, 'b': 9}",
        "{'a': 4, 'b': 16}",
        "from collections import Counter\ndef f(x): return Counter(a=x, b=x * x)\n",
    ),
    "text of its own": (
        "'ababab'",
        "'abababab'",
        "class Text(str): pass\ndef f(x): return Text('ab' * x)\n",
    ),
    "number that compares with its kind only": (
        "f(3)",
        "f(4)",
        "class Number:\n    def __init__(self, value): self.value = value\n"
        "    def __eq__(self, other): return self.value == other.value\n"
        "def f(x): return Number(x * x)\n",
    ),
    "number of a clock": (
        "9",
        "4",
        "class Clock:\n    def __init__(self, hour): self.hour = hour % 12\n"
        "    def __eq__(self, other): return self.hour == getattr(other, 'hour', other) % 12\n"
        "def f(x): return Clock(x * x)\n",
    ),
    "keys": ("{3, 9}", "{4, 16}", "def f(x): return {x: 0, x * x: 0}.keys()\n"),
}


USED_UP = {
    "items of a generator": (
        "def test_f():\n    for k in (0, 1, 4): assert k in f(5)\n    assert 2 not in f(5)\n",
        "def f(n):\n    for i in range(n): yield i * i\n",
    ),
    "items of an iterator in turn": (
        "def test_f():\n    items = f(5)\n    assert all(k in items for k in (1, 4))\n"
        "    assert next(items) == 9\n",
        "def f(n): return map(lambda i: i * i, range(n))\n",
    ),
    "look-ups that are counted": (
        "def test_f():\n    found = f('ab')\n    for k in 'ab': assert k in found\n"
        "    assert 'c' not in found\n    assert (found.hits, found.misses) == (2, 1)\n",
        "class Found:\n    hits = misses = 0\n    def __init__(self, keys): self.keys = keys\n"
        "    def __contains__(self, key):\n        found = key in self.keys\n"
        "        self.hits += found; self.misses += not found\n        return found\n"
        "def f(keys): return Found(keys)\n",
    ),
    "a matcher of the tests": (
        "class Anything:\n    def __eq__(self, other): return True\n"
        "def test_f():\n    for n in 'ab': assert f(n) == {'name': n, 'at': Anything()}\n",
        "import datetime\nclass Row(dict): pass\n"
        "def f(n): return Row(name=n, at=datetime.datetime.now())\n",
    ),
    "the condition of a query": (
        "def test_f():\n    for n in (1, 2):\n        query = f('age') == n\n"
        "        assert query.text == f'age = {n}'\n",
        "class Text:\n    def __init__(self, text): self.text = text\n"
        "class Field:\n    def __init__(self, name): self.name = name\n"
        "    def __eq__(self, value): return Text(f'{self.name} = {value!r}')\n"
        "def f(name): return Field(name)\n",
    ),
}
"""Suites with right answers that do not bear further comparisons."""


@pytest.mark.parametrize("name", USED_UP)
def test_answer_that_further_comparisons_disturb_passes(slot: Slot, name: str) -> None:
    module, right = USED_UP[name]
    graded = grade(slot, Suite(right=right, module=IMPORTS + module), right)

    assert {case.verdict for case in graded.cases} == {Verdict.PASSED}, verdicts(graded.cases)


@pytest.fixture(scope="module")
def slot(native_sandbox: Sandbox) -> Iterator[Slot]:
    """One slot for all programs."""
    with closing(native_sandbox.open_slot(image="python", memory_bytes=256 << 20)) as opened:
        yield opened


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("answer", ANSWERS)
def test_right_answer_of_any_type_passes(slot: Slot, shape: str, answer: str) -> None:
    three, four, right = ANSWERS[answer]
    module = IMPORTS + SHAPES[shape].replace("W3", three).replace("W4", four)
    graded = grade(slot, Suite(right=right, module=module), right)

    assert {case.verdict for case in graded.cases} == {Verdict.PASSED}, verdicts(graded.cases)
    assert not graded.tampered
