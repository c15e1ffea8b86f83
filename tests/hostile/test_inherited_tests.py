"""Tests that classes inherit, in the ways in which people hide a base from pytest.

A right submission passes them, and one that is right for one of the classes fails the other's.
"""

from collections.abc import Iterator
from contextlib import closing

import pytest

from grader.model.verdict import Integrity, Verdict
from grader.sandbox.contract import Sandbox, Slot
from tests.hostile.judged_suites import Suite, grade, verdicts

CODE = """
class Queue:
    def __init__(self): self.items = []
    def put(self, item): self.items.append(item)
    def get(self): return self.items.pop({index})
class Other(Queue):
    def get(self): return self.items.pop(0)
"""
TOP = (
    "import sys, unittest\nfrom typing import Generic, TypeVar\nfrom solution import Other, Queue\n"
)
TESTS = """
def test_order(self):
    queue = self.kind()
    queue.put(1)
    queue.put(2)
    self.assertEqual([queue.get(), queue.get()], [1, 2])
def test_one(self):
    queue = self.kind()
    queue.put("a")
    self.assertEqual(queue.get(), "a")
"""
METHODS = TESTS.replace("\n", "\n    ")
IN_CLASS = TESTS.replace("\n", "\n        ")
CASES = f"class Cases:{METHODS}\n"
SHOWN = {
    "a base in a class": f"class Hidden:\n    class Cases(unittest.TestCase):{IN_CLASS}\n"
    "class TestQueue(Hidden.Cases): kind = Queue\nclass TestOther(Hidden.Cases): kind = Other\n",
    "a generic base": f"T = TypeVar('T')\nclass Cases(Generic[T]):{METHODS}\n"
    "class TestQueue(Cases[int], unittest.TestCase): kind = Queue\n"
    "class TestOther(Cases[str], unittest.TestCase): kind = Other\n",
}
HIDDEN = {
    "another name of a base": f"class Hidden:\n    class Cases(unittest.TestCase):{IN_CLASS}\n"
    "Cases = Hidden.Cases\n"
    "class TestQueue(Cases): kind = Queue\nclass TestOther(Cases): kind = Other\ndel Cases\n",
    "classes that are made": f"{CASES}for kind in (Queue, Other):\n"
    "    name = f'Test{kind.__name__}'\n"
    "    globals()[name] = type(name, (Cases, unittest.TestCase), {'kind': kind})\n",
    "classes that are set": f"{CASES}for kind in (Queue, Other):\n"
    "    name = f'Test{kind.__name__}'\n"
    "    bases = (Cases, unittest.TestCase)\n"
    "    setattr(sys.modules[__name__], name, type(name, bases, {'kind': kind}))\n",
    "classes that a decorator makes": "def for_each(*kinds):\n    def made(cases):\n"
    "        names = sys.modules[cases.__module__].__dict__\n        for kind in kinds:\n"
    "            name = f'Test{kind.__name__}'\n"
    "            names[name] = type(name, (cases, unittest.TestCase), {'kind': kind})\n"
    f"    return made\n@for_each(Queue, Other)\n{CASES}",
    "names that have a name": f"{CASES}names = globals()\nfor kind in (Queue, Other):\n"
    "    name = f'Test{kind.__name__}'\n"
    "    names[name] = type(name, (Cases, unittest.TestCase), {'kind': kind})\n",
}


@pytest.fixture(scope="module")
def slot(native_sandbox: Sandbox) -> Iterator[Slot]:
    with closing(native_sandbox.open_slot(image="python", memory_bytes=256 << 20)) as opened:
        yield opened


@pytest.mark.parametrize("name", [*SHOWN, *HIDDEN])
def test_inherited_tests_pass_for_a_right_submission_only(slot: Slot, name: str) -> None:
    right, wrong = CODE.format(index=0), CODE.format(index=-1)
    suite = Suite(right=right, module=TOP + (SHOWN | HIDDEN)[name])
    graded = grade(slot, suite, right)
    assert [case.verdict for case in graded.cases] == [Verdict.PASSED] * 4, verdicts(graded.cases)
    assert graded.integrity is (Integrity.CONFIRMED if name in SHOWN else Integrity.SHARED)
    failed = grade(slot, suite, wrong).cases
    assert [case.verdict for case in failed].count(Verdict.FAILED) == 1, verdicts(failed)
    assert [case.verdict for case in failed].count(Verdict.PASSED) == 3, verdicts(failed)
