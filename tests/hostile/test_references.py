"""What a suite's reference returns is out of the submission's reach, in EvalPlus's own layout."""

import pytest

from grader.config.settings import Settings
from grader.grading.grader import Grader
from grader.model import GradeReport, Submission
from grader.model.verdict import Integrity, Verdict
from grader.sandbox.contract import Sandbox
from grader.suites import parse_label

ROW = {
    "task_id": "Mbpp/1",
    "prompt": "",
    "entry_point": "scaled",
    "canonical_solution": "def scaled(items):\n    return [7919 * item for item in items]\n",
    "base_input": [[[1]], [[2]]],
    "plus_input": [[[3, 4]]],
    "atol": 0,
    "assertion": "assert scaled([1]) == [7919]",
    "contract": "",
}

HONEST = "def scaled(items):\n    return [item * 7919 for item in items]\n"

EVERYTHING = """
class Everything(list):
    def _same(self, other): return True
    __eq__ = __ge__ = __le__ = __contains__ = _same
    def __ne__(self, other): return False
    def __getattr__(self, name): return self
    def __call__(self, *args, **kwargs): return self
    def __bool__(self): return True
    __hash__ = None

def scaled(items):
    return Everything()
"""

OBJECT = "class Any:\n    def __eq__(self, other): return True\n\ndef scaled(items): return Any()\n"

ATTACKS = {
    "oracle": "def scaled(*args):\n    return _oracle._reference(*args)\n",
    "main": "import __main__\n\ndef scaled(x):\n    return __main__._oracle._reference(x)\n",
    "frames": """
import sys

def scaled(items):
    frame = sys._getframe()
    while frame:
        for found in (*frame.f_locals.values(), *frame.f_globals.values()):
            if callable(found) and getattr(found, "__name__", "") == "scaled":
                if found is not scaled:
                    return found(items)
        frame = frame.f_back
""",
    "gc": """
import gc

def scaled(items):
    for found in gc.get_objects():
        if getattr(found, "__name__", "") == "scaled" and found is not scaled:
            return found(items)
        if type(found) is dict and "expected" in found:
            return found["expected"]
        if type(found) is str and "7919 *" in found:
            names = {}
            exec(found[found.index("def scaled"):], names)
            return names["scaled"](items)
""".replace("7919 *", "79" + '" "19 *'),
    "always equal list": EVERYTHING,
    "always equal object": OBJECT,
    "what it is given": "def scaled(items):\n    return items\n",
    "emptied": "def scaled(items):\n    items.clear()\n    return items\n",
}


@pytest.fixture(scope="module")
def grader(native_sandbox: Sandbox) -> Grader:
    return Grader(Settings(), sandbox=native_sandbox)


def grade(grader: Grader, code: str, **fields: object) -> GradeReport:
    suite = parse_label({**ROW, **fields})
    return grader.grade(Submission(id="0", completion=code, suite=suite))


def test_right_answer_passes_apart_from_the_reference(grader: Grader) -> None:
    report = grade(grader, HONEST)
    assert (report.verdict, report.integrity) == (Verdict.PASSED, Integrity.ISOLATED)
    assert (report.passed, report.total) == (3, 3)


@pytest.mark.parametrize("attack", ATTACKS)
def test_reference_is_out_of_reach(attack: str, grader: Grader) -> None:
    report = grade(grader, ATTACKS[attack])
    assert report.graded, report.feedback
    assert report.passed == 0, attack
    assert report.integrity is Integrity.ISOLATED


def test_results_may_be_more_than_one_run_can_report(grader: Grader) -> None:
    code = "def scaled(size):\n    return 'ab' * size\n"
    inputs = [[2_500_000 + number] for number in range(6)]
    row = {
        "canonical_solution": code,
        "base_input": inputs,
        "plus_input": [[1]],
        "assertion": "assert scaled(1) == 'ab'",
    }
    right = grade(grader, code.replace("size):", "size, *rest):"), **row)
    assert (right.verdict, right.passed, right.total) == (Verdict.PASSED, 7, 7)
    wrong = grade(grader, code.replace("* size", "* (size - size % 2)"), **row)
    odd = {f"base/{number}" for number in (1, 3, 5)} | {"plus/0"}
    assert {case.id for case in wrong.cases if case.verdict is Verdict.FAILED} == odd


def test_results_that_are_no_plain_data_count_by_their_presence(grader: Grader) -> None:
    code = "import re\n\ndef check_str(text):\n    return re.match('ab*$', text)\n"
    row = {
        "entry_point": "check_str",
        "canonical_solution": code,
        "base_input": [["abb"], ["ba"]],
        "plus_input": [["a"]],
        "assertion": "assert check_str('ab')",
    }
    assert grade(grader, code, **row).verdict is Verdict.PASSED
    assert grade(grader, "def check_str(text): return text[0] == 'a'", **row).passed == 3
    always = grade(grader, "def check_str(text): return object()", **row)
    assert (always.verdict, always.passed) == (Verdict.FAILED, 2)
