"""Tests get what a prompt defines besides the entry point from the prompt, not the completion."""

import pytest

from grader.model import PytestTests, ScriptTests, TestSuite
from grader.suites import parse_problem
from grader.suites.helpers import helpers_of

PROMPT = '''import math

def doubled(n):
    """Return twice n."""
    return math.trunc(2 * n)

def halved(n):
    """Undo doubled."""
'''


def suite(test: str) -> TestSuite:
    return parse_problem(
        {"task_id": "Own/0", "prompt": PROMPT, "entry_point": "halved", "test": test}
    )


def setup_of(test: str) -> str:
    tests = suite(test).tests
    assert isinstance(tests, ScriptTests)
    return tests.setup


def test_helpers_that_the_test_uses_are_defined_by_the_suite() -> None:
    setup = setup_of("def check(candidate):\n    assert candidate(doubled(3)) == 3\n")
    namespace: dict[str, object] = {}
    exec(setup, namespace)  # noqa: S102 - written above
    assert namespace.keys() - {"__builtins__"} == {"math", "doubled"}


def test_helpers_that_the_test_does_not_use_are_left_to_the_completion() -> None:
    assert setup_of("def check(candidate):\n    assert candidate(4) == 2\n") == ""


def test_prompt_that_does_not_parse_has_no_helpers() -> None:
    row = {"task_id": "Own/1", "prompt": "def halved(n):\n", "entry_point": "halved"}
    test = "def check(candidate):\n    assert candidate(4) == 2\n"
    tests = parse_problem({**row, "test": test}).tests
    assert isinstance(tests, ScriptTests)
    assert tests.setup == ""


@pytest.mark.parametrize(
    ("prompt", "tests", "found"),
    [
        pytest.param("def h(n): return n", "assert f(h(1))", True, id="function"),
        pytest.param("class Node: pass", "assert f(Node())", True, id="class"),
        pytest.param("LIMIT = 10", "assert f(1) < LIMIT", True, id="constant"),
        pytest.param("A, (B, *C) = 1, (2, 3)", "assert f(C)", True, id="unpacked constant"),
        pytest.param("LIMIT: int = 10", "assert f(1) < LIMIT", True, id="annotated constant"),
        pytest.param("import math", "assert f(math.pi)", False, id="module"),
        pytest.param("def f(n): return n", "assert f(1)", False, id="entry point"),
        pytest.param("LIMIT = 10", "LIMIT = 3\nassert f(1) < LIMIT", False, id="tests' own"),
        pytest.param("def h(n): pass", "def h(n): return n\nf(h(1))", False, id="tests' own def"),
        pytest.param("LIMIT = 10", "assert f(1)", False, id="not used"),
        pytest.param("LIMIT = ", "assert f(LIMIT)", False, id="no Python"),
    ],
)
def test_helpers_are_the_definitions_of_the_prompt_that_tests_use(
    prompt: str, tests: str, found: bool
) -> None:
    helpers = helpers_of(f"{prompt}\n", "f", tests)
    assert bool(helpers) is found


def test_leetcode_tests_use_the_prompts_node_functions() -> None:
    prompt = """
class ListNode:
    def __init__(self, val=0, next=None):
        self.val, self.next = val, next

def list_node(values):
    return ListNode(values[0]) if values else None

def is_same_list(p, q):
    return p.val == q.val
"""
    tests = parse_problem(
        {
            "task_id": "own",
            "prompt": prompt,
            "completion": "class Solution:\n    def same(self, head):\n        return head\n",
            "entry_point": "Solution().same",
            "test": "def check(candidate):\n"
            "    assert is_same_list(candidate(head = list_node([1])), list_node([1]))\n",
        }
    ).tests
    assert isinstance(tests, ScriptTests)
    namespace: dict[str, object] = {}
    exec(tests.setup, namespace)  # noqa: S102 - written above
    assert namespace.keys() >= {"ListNode", "list_node", "is_same_list"}


def test_bigcodebench_constants_of_the_prompt_replace_those_of_the_solution() -> None:
    prompt = 'LIMIT = 10\n\ndef task_func(n):\n    """Return n."""\n'
    test = """\
import unittest

class TestCases(unittest.TestCase):
    def test_limit(self):
        self.assertLess(task_func(3), LIMIT)
"""
    row = {"task_id": "Own/0", "complete_prompt": prompt, "entry_point": "task_func", "test": test}
    tests = parse_problem(row).tests
    assert isinstance(tests, PytestTests)
    (text,) = (file.content.decode() for file in tests.files if file.path in tests.test_paths)
    assert text.startswith("from solution import *\n\nLIMIT = 10\n\n")
    assert "def task_func" not in text
