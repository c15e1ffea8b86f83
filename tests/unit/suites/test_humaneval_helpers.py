"""What a HumanEval prompt defines beside its entry point is the suite's, not the completion's."""

from grader.model import ScriptTests, TestSuite
from grader.suites import parse_problem

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


def test_prompt_that_breaks_off_has_no_helpers() -> None:
    row = {"task_id": "Own/1", "prompt": "def halved(n):\n", "entry_point": "halved"}
    test = "def check(candidate):\n    assert candidate(4) == 2\n"
    tests = parse_problem({**row, "test": test}).tests
    assert isinstance(tests, ScriptTests)
    assert tests.setup == ""
