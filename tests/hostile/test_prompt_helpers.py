"""Completions that bring helpers of their own for the tests: the tests use the prompt's."""

from collections.abc import Iterator

import pytest

from grader.config.settings import Settings
from grader.grading.grader import Grader
from grader.model import GradeReport, Submission
from grader.model.verdict import Verdict
from grader.sandbox.contract import Sandbox
from grader.suites import parse_problem

NODES = """\
from typing import *

class ListNode:
    def __init__(self, val=0, next=None):
        self.val = val
        self.next = next

def list_node(values: list):
    head = None
    for value in reversed(values):
        head = ListNode(value, head)
    return head

def is_same_list(one, other):
    while one and other and one.val == other.val:
        one, other = one.next, other.next
    return one is None and other is None

"""

CHECK = """\
def check(candidate):
    assert is_same_list(candidate(head = list_node([1, 2, 3])), list_node([3, 2, 1]))
    assert is_same_list(candidate(head = list_node([7])), list_node([7]))
"""

IN_PLACE = """\
class Solution:
    def turned(self, head):
        before = None
        while head:
            head.next, before, head = before, head, head.next
        return before
"""

ANEW = """\
class Solution:
    def turned(self, head):
        found = None
        while head:
            found, head = ListNode(head.val, found), head.next
        return found
"""

SAME = IN_PLACE.replace("return before", "return None")
FORGED = "def is_same_list(one, other):\n    return True\n\n"
EMPTY = "def list_node(values):\n    return None\n\n"
FALSE_NODE = "class ListNode:\n    val = next = None\n    __eq__ = lambda *_: True\n\n"

PROMPT = """\
def task_func(names):
    \"\"\"Return how many of ALLOWED are among the names.\"\"\"
"""
CONSTANT = "ALLOWED = ['red', 'green', 'blue']\n\n" + PROMPT
UNITTEST = """\
import unittest

class TestCases(unittest.TestCase):
    def test_all(self):
        self.assertEqual(task_func(ALLOWED + ["black"]), 3)
        self.assertEqual(task_func(ALLOWED[:1]), len(ALLOWED) - 2)
"""
COUNTS = CONSTANT + "    return sum(name in ALLOWED for name in names)\n"


@pytest.fixture(scope="module")
def grader(native_sandbox: Sandbox) -> Iterator[Grader]:
    """A grader with one slot."""
    assert native_sandbox is not None
    with Grader(Settings(slots=1)) as made:
        yield made


def grade_turned(grader: Grader, completion: str) -> GradeReport:
    row = {
        "task_id": "turned",
        "prompt": NODES,
        "completion": ANEW,
        "entry_point": "Solution().turned",
        "test": CHECK,
    }
    return grader.grade(Submission(id="0", completion=completion, suite=parse_problem(row)))


@pytest.mark.parametrize(
    "completion", [IN_PLACE, ANEW, NODES + ANEW], ids=["in place", "anew", "with helpers"]
)
def test_honest_solution_works_with_nodes_of_the_tests(grader: Grader, completion: str) -> None:
    report = grade_turned(grader, completion)
    assert report.verdict is Verdict.PASSED, report.feedback


@pytest.mark.parametrize("forged", [FORGED, EMPTY, FALSE_NODE, FORGED + EMPTY + FALSE_NODE])
@pytest.mark.parametrize("solution", [SAME, ANEW.replace("head.val", "head.val + 1")])
def test_helper_of_the_completion_passes_no_case(
    grader: Grader, forged: str, solution: str
) -> None:
    report = grade_turned(grader, forged + solution)
    assert report.verdict is not Verdict.PASSED


@pytest.mark.parametrize(
    ("completion", "verdict"),
    [
        pytest.param(COUNTS, Verdict.PASSED, id="right"),
        pytest.param(COUNTS.replace("sum(", "1 + sum("), Verdict.FAILED, id="wrong"),
        pytest.param(
            "ALLOWED = []\n\ndef task_func(names):\n    return min(3, len(names))\n",
            Verdict.PASSED,
            id="right without the constant",
        ),
        pytest.param(
            "class Any(list):\n    __add__ = __getitem__ = lambda *_: []\n"
            "    __len__ = lambda _: 5\n\n"
            "ALLOWED = Any()\n\ndef task_func(names):\n    return 3\n",
            Verdict.FAILED,
            id="constant that bends the tests",
        ),
    ],
)
def test_constant_of_the_prompt_is_the_tests_own(
    grader: Grader, completion: str, verdict: Verdict
) -> None:
    row = {
        "task_id": "counts",
        "complete_prompt": CONSTANT,
        "entry_point": "task_func",
        "test": UNITTEST,
        "canonical_solution": "    return sum(name in ALLOWED for name in names)\n",
    }
    report = grader.grade(Submission(id="0", completion=completion, suite=parse_problem(row)))
    assert report.verdict is verdict, report.feedback
