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

SUITES |= {
    "an object that was changed, beside equalities of new objects": (
        """
from solution import Bag
def test_add():
    bag, kept = Bag(), []
    bag.add(4)
    for item in bag: kept.append(item)
    assert bag == [4]
    assert kept == [4]
def test_different():
    assert Bag() != [7]
""",
        """
class Bag(list):
    def add(self, item): self.append(item)
    def __eq__(self, other): return list(self) == other
    def __ne__(self, other): return not self == other
""",
        """
class Bag:
    def __iter__(self): return iter([Bag()])
    def add(self, item): pass
    def __eq__(self, other): return True
    def __ne__(self, other): return True
""",
    ),
    "an object that contains everything": (
        """
from solution import Bag
def test_one():
    assert 1 in Bag([1, 2])
def test_two():
    assert 2 in Bag([1, 2])
""",
        "Bag = list\n",
        """
class Bag(list):
    def __contains__(self, item): return True
""",
    ),
    "an object that lies about its class": (
        """
from solution import later
def test_later():
    found = later(lambda: {"a": 1})
    assert found == {"a": 1}
    assert found["a"] == 1 and len(found) == 1
""",
        "later = lambda make: make()\n",
        """
class Any:
    def __eq__(self, other): return True
class Lazy:
    def __init__(self, make): self.value = make()
    __class__ = property(lambda self: type(self.value))
    def __eq__(self, other): return self.value == other
    def __len__(self): return len(self.value)
    def __getitem__(self, key): return Any()
later = Lazy
""",
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

HONEST |= {
    "comparisons that make conditions": (
        """
from solution import Field, Table
def ripe():
    return Field("colour") == "red"
def test_where():
    table = Table([{"colour": "red"}, {"colour": "green"}])
    assert table.count(ripe()) == 1
    assert table.count(lambda row: row.colour == "green") == 1
    assert [table.count(Field("colour") == each) for each in ("red", "blue")] == [1, 0]
    assert (Field("colour") == "red") != 0
    chosen = None or (Field("colour") == "green")
    assert table.count(chosen) == 1
""",
        """
class Field:
    def __init__(self, name): self.name = name
    def __eq__(self, value): return Condition(self.name, value)
class Condition:
    def __init__(self, name, value): self.name, self.value = name, value
class Row:
    def __getattr__(self, name): return Field(name)
class Table:
    def __init__(self, rows): self.rows = rows
    def count(self, condition):
        if callable(condition): condition = condition(Row())
        return sum(row[condition.name] == condition.value for row in self.rows)
""",
    ),
    "what equals everything, in a list": (
        """
from unittest.mock import ANY
from solution import seen
def test_seen():
    for number in (3, 4):
        assert seen(number) in [None, ANY]
        assert ANY in [seen(number)]
        assert seen(number) == number
""",
        "def seen(number): return number\n",
    ),
    "an object that stands for nothing": (
        """
from solution import Nothing, first
def test_first():
    assert first([]) == None
    assert first([]).name == None
    assert first([7]) == 7
    assert len(first([])) == 0
""",
        """
class Nothing:
    def __getattr__(self, name): return self
    def __len__(self): return 0
    def __eq__(self, other): return not other
def first(items): return items[0] if items else Nothing()
""",
    ),
    "truth of its own": (
        """
from solution import Truth
def test_truth():
    assert ~Truth(0) == Truth(1)
    assert Truth(3) == True
    assert Truth("") == False
""",
        """
class Truth:
    def __init__(self, value): self.value = bool(value)
    def __eq__(self, other): return self.value == bool(other)
    def __bool__(self): return self.value
    def __invert__(self): return Truth(not self.value)
""",
    ),
    "a function that asks who called it": (
        """
from solution import caller
def test_caller():
    assert caller() == "test_caller"
""",
        "import sys\ndef caller(): return sys._getframe(1).f_code.co_name\n",
    ),
    "numbers that saturate": (
        """
import pytest
from solution import Volume
@pytest.mark.parametrize("start, step, end", [(90, 20, 100), (5, 6, 11), (100, 1, 100)])
def test_louder(start, step, end):
    assert Volume(start) + step == end
def test_softer():
    assert Volume(4) - 9 == 0
    assert Volume(9) - 4 == Volume(5)
""",
        """
class Volume:
    def __init__(self, level): self.level = max(0, min(100, int(level)))
    def __int__(self): return self.level
    def __eq__(self, other): return self.level == Volume(other).level
    def __add__(self, step): return Volume(self.level + step)
    def __sub__(self, step): return Volume(self.level - step)
""",
    ),
    "texts that are cut": (
        """
from solution import Month
def test_month():
    assert Month("mar") == "March"
    assert Month("jan") + 1 == "february"
    assert Month("may") + 8 == "Jan"
""",
        """
class Month:
    NAMES = "jan feb mar apr may jun jul aug sep oct nov dec".split()
    def __init__(self, name): self.number = self.NAMES.index(name[:3].lower())
    def __add__(self, months): return Month(self.NAMES[(self.number + months) % 12])
    def __eq__(self, other):
        return isinstance(other, str) and self.NAMES[self.number] == other[:3].lower()
""",
    ),
    "entries that equality ignores": (
        """
from solution import Entry
def test_entry():
    made = Entry(key=4, kind="b", seen=1)
    assert made == {"key": 4, "kind": "b", "seen": 8, "by": "ann"}
    assert made == Entry(key=4, kind="b", seen=2)
""",
        """
class Entry:
    def __init__(self, **fields): self.fields = fields
    def __eq__(self, other):
        others = getattr(other, "fields", other)
        return all(self.fields[name] == others[name] for name in ("key", "kind"))
""",
    ),
    "containers of all but some": (
        """
import unittest
from solution import Not
class TestNot(unittest.TestCase):
    def test_letters(self):
        self.assertIn("b", Not("a"))
        self.assertNotIn("a", Not("a"))
    def test_numbers(self):
        assert 4 in Not(3) and 3 not in Not(3)
        assert 10 ** 9 in Not(3)
""",
        """
class Not:
    def __init__(self, *items): self.items = items
    def __contains__(self, item): return item not in self.items
""",
    ),
    "objects with a name that equal many values": (
        """
import pytest, unittest
from solution import ANYTHING, Satisfies, Within
ROW = {"n": Within(1, 9), "name": Satisfies(str.isupper)}
@pytest.fixture
def tens(): return Within(10, 99)
def test_local():
    digit = Within(0, 9)
    assert digit == 4
    assert digit != 10
def test_fixture(tens):
    assert tens == 42
    assert not 7 == tens
def test_constant():
    assert {"n": 4, "name": "B"} == ROW
    assert [ANYTHING, Satisfies(callable)] == ["a", len]
@pytest.mark.parametrize("matcher, value", [(Within(1, 2), 2), (Satisfies(bool), "x")])
def test_rows(matcher, value): assert matcher == value
class TestWithin(unittest.TestCase):
    def setUp(self): self.small = Within(0, 99)
    def test_small(self):
        self.assertEqual(self.small, 42)
        self.assertNotEqual(self.small, 100)
""",
        """
class Within:
    def __init__(self, least, most): self.least, self.most = least, most
    def __eq__(self, other): return self.least <= other <= self.most
class Satisfies:
    def __init__(self, function): self.function = function
    def __eq__(self, other): return bool(self.function(other))
ANYTHING = Satisfies(lambda value: True)
""",
    ),
    "objects made to equal many values": (
        """
from datetime import datetime
from solution import Even, Near, Noon
def test_kinds():
    assert Even() == 4
    assert Even() != 5
    for number in (10, 86, 1024):
        assert Even() == number
def test_near():
    assert Near(100, 0.5) == 140
    assert {"a": [8]} == {"a": [Even()]}
def test_noon():
    assert Noon() == datetime(2031, 5, 17, 12, 0)
""",
        """
class Even:
    def __eq__(self, other): return isinstance(other, int) and other % 2 == 0
class Near:
    def __init__(self, number, share): self.number, self.within = number, share * number
    def __eq__(self, other): return abs(self.number - other) <= self.within
class Noon:
    def __eq__(self, other): return (other.hour, other.minute) == (12, 0)
""",
    ),
}
ROUNDS = 4
"""What is changed is chosen at random."""


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
    for _ in range(ROUNDS):
        graded = grade(slot, Suite(right=right, module=module), right)
        assert graded.cases
        assert not graded.tampered
        assert all(c.verdict is Verdict.PASSED for c in graded.cases), verdicts(graded.cases)


def test_own_class_that_equals_everything_may_share_a_namespace_with_the_program(
    slot: Slot,
) -> None:
    wildcard = "class Anything:\n    def __eq__(self, other): return True\n"
    case = "for name in 'ab':\n    assert made(name) == {'name': name, 'id': Anything()}"
    suite = Suite(right="", cases=[f"{wildcard}{case}"])
    program = "import uuid\ndef made(name): return {'name': name, 'id': uuid.uuid4()}\n"
    for _ in range(ROUNDS):
        cases = grade(slot, suite, program).cases
        assert all(case.verdict is Verdict.PASSED for case in cases), verdicts(cases)
