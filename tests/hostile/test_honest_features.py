"""What tests do with an honest submission: all of it works, as in plain Python.

In features/, each NAME.py.txt is a submission and each section of NAME.features.txt the body of a
test of it.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from textwrap import indent

import pytest

from grader.model.verdict import Verdict
from grader.sandbox.contract import Sandbox, Slot
from tests.hostile.judged_suites import Suite, grade, run_apart, verdicts

_FOLDER = Path(__file__).with_name("features")
_SECTION = re.compile(r"^# (.+)\n((?:(?!# ).*\n)+)", re.MULTILINE)

SOURCES = {
    path.name.partition(".")[0]: path.read_text() for path in sorted(_FOLDER.glob("*.py.txt"))
}
FEATURES = {
    name: dict(_SECTION.findall((_FOLDER / f"{name}.features.txt").read_text())) for name in SOURCES
}
ROUNDS = 3
"""What is changed is chosen at random."""


@pytest.fixture(scope="module")
def slot(native_sandbox: Sandbox) -> Iterator[Slot]:
    """One slot for all features."""
    with closing(native_sandbox.open_slot(image="python", memory_bytes=256 << 20)) as opened:
        yield opened


def failed(slot: Slot, suite: Suite, features: Iterable[str]) -> dict[str, str]:
    """Return what the right submission says of the features that do not pass."""
    found = dict[str, str]()
    for _ in range(ROUNDS):
        graded = grade(slot, suite, suite.right)
        assert not graded.tampered
        cases = zip(features, graded.cases, strict=True)
        found |= {what: case.feedback for what, case in cases if case.verdict != Verdict.PASSED}
    return found


@pytest.mark.parametrize("name", SOURCES)
def test_features_pass(slot: Slot, name: str) -> None:
    tests = (
        f"def test_{number}(capsys, monkeypatch):\n{indent(body, '    ')}\n"
        for number, body in enumerate(FEATURES[name].values())
    )
    head = "import pytest\nimport solution\nfrom solution import *\n"
    suite = Suite(right=SOURCES[name], module="\n".join([head, *tests]))
    assert failed(slot, suite, FEATURES[name]) == {}


@pytest.mark.parametrize("name", ["stack", "vector"])
def test_features_pass_in_a_script(slot: Slot, name: str) -> None:
    cases = tuple(FEATURES[name].values())
    suite = Suite(right=SOURCES[name], setup="import pytest\n", cases=cases)
    assert failed(slot, suite, FEATURES[name]) == {}


DIGITS = """
import subprocess, sys

def written(digits):
    try:
        return len(str(10**digits))
    except ValueError:
        return "too long"

def limit_of_a_program():
    command = [sys.executable, "-c", "import sys; print(sys.get_int_max_str_digits())"]
    return int(subprocess.check_output(command))

def refuse(digits):
    raise ValueError(10**digits)
"""
AS_IN_PYTEST = """
import pytest
from solution import limit_of_a_program, refuse, written

def test_digits():
    assert written(4299) == 4300
    assert written(5000) == "too long"
    assert limit_of_a_program() == 4300
"""
MESSAGE = """
def test_message():
    with pytest.raises(ValueError):
        refuse(5000)
"""
IN_ONE_PROCESS = """
def test_own_limit():
    import sys
    assert sys.get_int_max_str_digits() == 4300
"""


@pytest.mark.parametrize("standing", [True, False])
def test_digits_are_limited_as_in_pytest(slot: Slot, standing: bool) -> None:
    suite = Suite(right=DIGITS, module=AS_IN_PYTEST)
    cases, _ = run_apart(slot, suite, DIGITS, standing=standing)
    assert [case.verdict for case in cases] == [Verdict.PASSED], verdicts(cases)


@pytest.mark.parametrize("more", [MESSAGE, IN_ONE_PROCESS])
def test_digits_are_limited_whatever_else_tests_do(slot: Slot, more: str) -> None:
    cases = grade(slot, Suite(right=DIGITS, module=AS_IN_PYTEST + more), DIGITS).cases
    assert [case.verdict for case in cases] == [Verdict.PASSED] * 2, verdicts(cases)


def test_digits_are_not_limited_in_a_script(slot: Slot) -> None:
    for more in ("", "written.kept = 1"):
        suite = Suite(right=DIGITS, setup=more, cases=["assert written(5000) == 5001"])
        assert [case.verdict for case in grade(slot, suite, DIGITS).cases] == [Verdict.PASSED]


VARIABLE_EXPECTED_TWICE = """
import solution
solution.touched = True

def test_both():
    want = [1, 2]
    assert solution.f([2, 1]) == want
    assert solution.g([2, 1]) == want
"""
TEST_THAT_TESTS_CALL = """
import unittest, solution

class TestF(unittest.TestCase):
    def test_template(self, numbers=None):
        solution.touched = numbers
        self.assertEqual(solution.f(numbers or [2, 1]), [1, 2])
    def test_tuple(self):
        self.test_template((2, 1))
    def test_set(self):
        self.test_template({1, 2})
"""
CONSTANT_EXPECTED_TWICE = """
import solution
solution.touched = True
WANT = [1, 2]

def test_f():
    result = solution.f([2, 1])
    assert len(result) == len(WANT)
    assert result[0] == WANT[0]
    assert result == WANT

def test_g():
    assert solution.g([2, 1]) == WANT
    assert solution.g([1, 2]) == WANT
"""
VARIABLE_ON_BOTH_SIDES = """
import unittest, solution
solution.touched = True

class TestF(unittest.TestCase):
    def test_format(self):
        text = "x" * 103
        if "%s!" % text != text + "!":
            self.fail("another text")
    def test_f(self):
        self.assertEqual(solution.f([2, 1]), [1, 2])
"""


@pytest.mark.parametrize(
    "module",
    [
        VARIABLE_EXPECTED_TWICE,
        CONSTANT_EXPECTED_TWICE,
        TEST_THAT_TESTS_CALL,
        VARIABLE_ON_BOTH_SIDES,
    ],
)
def test_tests_that_share_an_expected_value_pass(slot: Slot, module: str) -> None:
    source = "def f(x): return sorted(x)\ng = f\n"
    for _ in range(4):
        graded = grade(slot, Suite(right=source, module=module), source)
        assert {case.verdict for case in graded.cases} == {Verdict.PASSED}, verdicts(graded.cases)
        assert not graded.tampered


CONTEXTS = """
import contextlib, pytest, solution
solution.touched = True
ROWS = [
    (2, 2, contextlib.nullcontext()),
    (-1, None, pytest.raises(ValueError)),
    ("x", None, pytest.raises(TypeError)),
]

@pytest.mark.parametrize("n, want, context", ROWS)
def test_root(n, want, context):
    with context:
        assert solution.root(n) == want

@pytest.mark.parametrize("n, context", [row[::2] for row in ROWS])
def test_unknown(n, context):
    with context:
        assert solution.root(n) == 2

@pytest.mark.parametrize("n, context", [(2, contextlib.nullcontext(2)), (-1, ROWS[1][2])])
def test_given(n, context):
    with context as want:
        assert solution.root(n) == want
"""
ROWS_THAT_EVALUATE_LESS = """
import pytest, solution
solution.touched = True

@pytest.mark.parametrize("numbers", [[], [2], [2, 3]])
def test_all(numbers):
    for n in numbers:
        assert solution.root(n) - n == 0
    assert solution.root(3) == 3

@pytest.mark.parametrize("kind", ["some", "none"])
def test_kind(kind):
    if kind == "some":
        assert solution.root(5) == 5
    assert solution.root(6) == 6
"""


@pytest.mark.parametrize("module", [CONTEXTS, ROWS_THAT_EVALUATE_LESS])
def test_rows_that_differ_in_what_they_evaluate_pass(slot: Slot, module: str) -> None:
    source = (
        "def root(n):\n    if not isinstance(n, int): raise TypeError(n)\n"
        "    if n < 0: raise ValueError(n)\n    return n\n"
    )
    for _ in range(4):
        graded = grade(slot, Suite(right=source, module=module), source)
        assert {case.verdict for case in graded.cases} == {Verdict.PASSED}, verdicts(graded.cases)
        assert not graded.tampered
