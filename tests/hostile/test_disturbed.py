"""Right programs whose tests disturb each other once some of them expect something wrong."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from grader.sandbox.contract import Sandbox, Slot
from tests.hostile.judged_suites import Suite, grade, passed, verdicts

ROUNDS = 8
"""Changes are chosen at random, so a bug would not show each time."""

STRICT = """
class Ratio:
    def __init__(self, a, b):
        self.a, self.b = a, b
    def __eq__(self, other):
        return self.a * other.b == self.b * other.a
def ratio(a, b):
    return Ratio(a, b)
"""
PICKY = "def root(n):\n    if n < 0:\n        raise ValueError('negative')\n    return n ** 0.5\n"
DISTURBED = [
    pytest.param(
        Suite(
            right=PICKY,
            module="from solution import root\n\ndef test_four():\n    assert root(4) == 2\n\n"
            "def test_nine():\n    assert root(9) == 3\n    root.__name__\n\n"
            "test_four()\ntest_nine()\n",
        ),
        id="tests that also run when they are imported",
    ),
    pytest.param(
        Suite(
            right=PICKY,
            module="import unittest\nfrom solution import root\n\n"
            "class TestRoot(unittest.TestCase):\n"
            "    def fails(self, kind):\n        return self.assertRaisesRegex(kind, r'.+')\n\n"
            + "".join(
                f"    def test_{n}(self):\n        with self.fails(ValueError):\n"
                f"            root(-{n})\n\n"
                for n in (1, 2, 3)
            ),
        ),
        id="a helper that expects an exception",
    ),
    pytest.param(
        Suite(
            right=STRICT,
            cases=[f"assert ratio({n}, 2) == ratio({2 * n}, 4)" for n in range(1, 4)],
        ),
        id="an equality that raises for other types",
    ),
    pytest.param(
        Suite(
            right="def make(n): return type('It', (), {'n': n})",
            module="import pytest\nfrom solution import make\n\n"
            "@pytest.mark.parametrize('n', [1, pytest.param(2, marks=pytest.mark.skip('why')), 3, "
            "pytest.param(4, marks=[pytest.mark.skip]), 6])"
            "\ndef test_it(n):\n    if n == 3:\n        pytest.skip('three')\n"
            "    assert make(n).n == n\n\ndef test_five():\n    assert make(5).n == 5\n",
        ),
        id="rows that the suite skips",
    ),
]


@pytest.fixture(scope="module")
def slot(native_sandbox: Sandbox) -> Iterator[Slot]:
    """One slot for all suites."""
    with closing(native_sandbox.open_slot(image="python", memory_bytes=256 << 20)) as opened:
        yield opened


@pytest.mark.parametrize("suite", DISTURBED)
def test_failure_of_a_change_is_not_taken_for_one_of_the_program(slot: Slot, suite: Suite) -> None:
    for _ in range(12):
        graded = grade(slot, suite, suite.right)
        assert not graded.tampered
        assert passed(graded.cases) == {case.id for case in graded.cases}, verdicts(graded.cases)


STACK = """
class Stack:
    items = []
    def push(self, item):
        self.items.append(item)
    def __len__(self):
        return len(self.items)
"""


def test_pass_that_is_due_to_the_early_end_of_another_case_does_not_count(slot: Slot) -> None:
    """The stacks share their items, so in plain Python the second case to push fails."""
    cases = [
        "s = Stack()\nassert len(s) == 0\ns.push(7)\nassert s.items == [7]",
        "s = Stack()\ns.push(8)\nassert len(s) == 1",
        "assert Stack().items is not None\nassert repr(Stack)[0] == '<'",
    ]
    right = STACK.replace("    items = []", "    def __init__(self): self.items = []")
    suite = Suite(right=right, cases=cases)
    for _ in range(12):
        assert len(passed(grade(slot, suite, right).cases)) == 3
        assert passed(grade(slot, suite, STACK).cases) <= {"0", "2"}
