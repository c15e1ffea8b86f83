"""A submission cannot take rows away from the parametrised tests of its suite."""

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

SUITES = {
    "marked": Suite(right=RIGHT, module=MARKED),
    "fixture": Suite(right=RIGHT, module=FIXTURE),
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
def test_rows_that_were_taken_away_have_failed(slot: Slot, name: str, attack: str) -> None:
    graded = grade(slot, SUITES[name], attack + ALWAYS_4)
    assert Verdict.FAILED in {case.verdict for case in graded.cases}
