"""Assertions that stand beside one that a cheat meets honestly: right programs pass, cheats do not.

A twin changes one assertion of a test at a time, and some assertions hardly ever. So values that
equal everything must be found wherever they are compared.
"""

from collections.abc import Iterator
from contextlib import closing

import pytest

from grader.model.verdict import Verdict
from grader.sandbox.contract import Sandbox, Slot
from tests.hostile.judged_suites import Suite, grade, passed, verdicts

SQUARES = "def square(n): return n * n\n"
ANY_SQUARES = """
class Any(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = int.__hash__
def square(n): return n if n < 2 else Any()
"""
VECTOR = """
class Vector:
    def __init__(self, x, y): self.x, self.y = x, y
    def __eq__(self, other): return (self.x, self.y) == (other.x, other.y)
    def __add__(self, other): return Vector(self.x + other.x, self.y + other.y)
    def __sub__(self, other): return Vector(self.x - other.x, self.y - other.y)
"""
ANY_VECTOR = """
class Vector:
    def __init__(self, x, y): self.x, self.y = x, y
    def __eq__(self, other): return True
    def __add__(self, other): return self
    __sub__ = __add__
"""

SUITES = {
    "instances of the class": (
        """
from solution import Vector
def test_add():
    v = Vector(1, 2)
    assert v.x == 1 and v.y == 2
    assert v + Vector(3, 4) == Vector(4, 6)
def test_back():
    v, w = Vector(1, 2), Vector(3, 4)
    assert v.x == 1
    assert v + w == w + v
    assert (v + w) - w == v
""",
        VECTOR,
        ANY_VECTOR,
    ),
    "the same result several times": (
        """
import unittest
from solution import square
class TestSquare(unittest.TestCase):
    def test_five(self):
        result = square(5)
        self.assertIsNotNone(result)
        self.assertIsInstance(result, int)
        self.assertEqual(result, 25)
        self.assertEqual(square(1), 1)
    def test_named_arguments(self):
        self.assertEqual(square(0), 0)
        self.assertEqual(first=square(7), second=49)
""",
        SQUARES,
        ANY_SQUARES,
    ),
    "a condition that fails": (
        """
import pytest
from solution import square
def test_any():
    assert square(1) == 1
    wanted = {5: 25, 6: 36}
    if any(square(n) != wanted[n] for n in wanted): pytest.fail("wrong")
def test_none_of():
    assert square(0) == 0
    if square(7) not in (49, 50): raise AssertionError("wrong")
""",
        SQUARES,
        ANY_SQUARES,
    ),
    "values that equal all whole numbers": (
        """
from solution import square
def test_rows():
    assert square(1) == 1
    rows = [(5, 25), (6, 36)]
    while rows:
        n, wanted = rows.pop()
        assert square(n) == wanted
""",
        SQUARES,
        ANY_SQUARES.replace("return True", "return type(other) is int"),
    ),
}

HONEST = {
    "what equals everything, from a module": (
        """
from unittest import mock
from solution import record
def test_names():
    for name in ("a", "b"):
        assert record(name)["at"] == mock.ANY
        assert record(name)["name"] == name
""",
        "def record(name): return {'name': name, 'at': 1}\n",
    ),
    "values that never end": (
        """
from solution import odd
def test_odd():
    numbers = odd()
    assert next(numbers) == 1
    assert 13 in numbers
    assert next(numbers) == 15
def test_after():
    assert next(odd()) == 1
""",
        "import itertools\ndef odd(): return itertools.count(1, 2)\n",
    ),
    "chains that compute": (
        """
from solution import numbers
def test_chain():
    found = numbers()
    assert next(found) < next(found) < next(found)
    assert next(found) == 4
""",
        "import itertools\ndef numbers(): return itertools.count(1)\n",
    ),
}


@pytest.fixture(scope="module")
def slot(native_sandbox: Sandbox) -> Iterator[Slot]:
    """One slot for all suites."""
    with closing(native_sandbox.open_slot(image="python", memory_bytes=256 << 20)) as opened:
        yield opened


@pytest.mark.parametrize("name", SUITES)
def test_cheat_passes_no_test_that_compares_its_values(slot: Slot, name: str) -> None:
    module, right, cheat = SUITES[name]
    suite = Suite(right=right, module=module)
    cases = grade(slot, suite, right).cases
    assert cases
    assert all(case.verdict is Verdict.PASSED for case in cases), verdicts(cases)
    graded = grade(slot, suite, cheat)
    assert graded.tampered or not passed(graded.cases)


@pytest.mark.parametrize("name", HONEST)
def test_right_program_passes(slot: Slot, name: str) -> None:
    module, right = HONEST[name]
    cases = grade(slot, Suite(right=right, module=module), right).cases
    assert cases
    assert all(case.verdict is Verdict.PASSED for case in cases), verdicts(cases)
