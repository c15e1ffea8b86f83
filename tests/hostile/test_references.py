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


def grade(grader: Grader, code: str) -> GradeReport:
    return grader.grade(Submission(id="0", completion=code, suite=parse_label(ROW)))


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
