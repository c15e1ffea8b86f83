"""A submission cannot take rows away from the parametrised tests of its suite, nor skip them."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from grader.model.verdict import Verdict
from grader.sandbox.contract import Sandbox, Slot
from tests.hostile.judged_suites import Suite, grade, verdicts

RIGHT = """
class Square:
    def __init__(self, side): self.side = side
    def area(self): return self.side ** 2
"""
ALWAYS_4 = RIGHT.replace("self.side ** 2", "4")

MARKED = """
import pytest
from solution import *

ROWS = [(2, 4), (3, 9), (5, 25)]

@pytest.mark.parametrize(("side", "area"), ROWS)
def test_area(side, area):
    assert Square(side).area() == area

def test_one():
    assert Square(2).area() == 4
"""
FIXTURE = """
import pytest
from solution import Square

@pytest.fixture(params=[(2, 4), (3, 9), (5, 25)])
def row(request):
    return request.param

def test_area(row):
    assert Square(row[0]).area() == row[1]
"""

SKIPS = """
import pytest
from solution import Square

@pytest.mark.parametrize(("side", "area"), [
    (2, 4), (3, 9), (900, 810000), pytest.param(5, 0, marks=pytest.mark.xfail),
])
def test_area(side, area):
    if side > 100:
        pytest.skip("too slow")
    assert Square(side).area() == area
"""

SUITES = {
    "marked": Suite(right=RIGHT, module=MARKED),
    "fixture": Suite(right=RIGHT, module=FIXTURE),
    "skips": Suite(right=RIGHT, module=SKIPS),
}

REPLACED_MARK = """
import pytest
original = pytest.mark.parametrize
class Mark:
    def parametrize(self, names, rows): {body}
pytest.mark = Mark()
"""
ATTACKS = [
    ("marked", REPLACED_MARK.format(body="return original(names, rows[:1])"), "rows are cut off"),
    ("marked", REPLACED_MARK.format(body="return lambda test: lambda: None"), "test is replaced"),
    (
        "marked",
        REPLACED_MARK.format(body="del rows[1:]; return original(names, rows)"),
        "table is emptied",
    ),
    (
        "marked",
        "import pytest as theirs\nclass pytest:\n    class mark:\n"
        "        def parametrize(names, rows): return theirs.mark.parametrize(names, rows[:1])\n",
        "star import replaces pytest",
    ),
    (
        "fixture",
        "import pytest\noriginal = pytest.fixture\n"
        "pytest.fixture = lambda params: original(params=params[:1])\n",
        "fixture has fewer",
    ),
    (
        "skips",
        "import pytest\nclass Square:\n    def __init__(self, side):\n"
        "        if side == 3: pytest.skip('too slow')\n    def area(self): return 4\n",
        "skip for a reason of the tests",
    ),
    (
        "skips",
        "import pytest\nclass Square:\n    def __init__(self, side):\n"
        "        if side == 3: pytest.xfail()\n    def area(self): return 4\n",
        "expected failure",
    ),
]


@pytest.fixture(scope="module")
def slot(native_sandbox: Sandbox) -> Iterator[Slot]:
    with closing(native_sandbox.open_slot(image="python", memory_bytes=256 << 20)) as opened:
        yield opened


@pytest.mark.parametrize("name", SUITES)
def test_right_submission_passes(slot: Slot, name: str) -> None:
    graded = grade(slot, SUITES[name], RIGHT)
    assert {case.verdict for case in graded.cases} == {Verdict.PASSED}, verdicts(graded.cases)


@pytest.mark.parametrize(
    ("name", "attack"), [pytest.param(name, attack, id=what) for name, attack, what in ATTACKS]
)
def test_rows_that_were_taken_away_have_not_passed(slot: Slot, name: str, attack: str) -> None:
    source = attack if "class Square" in attack else attack + ALWAYS_4
    graded = grade(slot, SUITES[name], source)
    assert {case.verdict for case in graded.cases} & {Verdict.FAILED, Verdict.SKIPPED}
