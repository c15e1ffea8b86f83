"""A submission that knows how many runs came before does not know which of them are twins.

In the fake sandbox all runs share this process, so a submission can count them. In a real one it
can wait for a full minute, and see later that little time has passed since.
"""

import sys
from collections.abc import Iterator
from contextlib import closing

import pytest

from grader.model.verdict import Integrity, Verdict
from grader.sandbox.contract import Slot
from grader.sandbox.fake.backend import FakeSandbox
from tests.hostile.judged_suites import Suite, grade

COUNTING = """
import sys
sys.counted_runs += 1
class Any:
    def __init__(self, number):
        self.number = number
    def __eq__(self, other):
        return sys.counted_runs <= {lies}
square = Any
"""
SEEING = """
seen = []
class Square(int):
    def __eq__(self, other):
        is_equal = int.__eq__(self, other)
        if not is_equal:
            seen.append(other)
        return is_equal
class Any:
    def __eq__(self, other):
        return not seen
def square(number):
    return Square(number * number) if number != 21 else Any()
"""
"""Right for all numbers but one, and lies for that one unless it sees another case fail."""


def suite_of(*numbers: int) -> Suite:
    """Return a suite that needs more of the submission than plain data."""
    cases = [f"square.__name__\nassert square({n}) == {n * n}" for n in numbers]
    return Suite(right="", cases=cases)


ONE, TWO, MANY = suite_of(3), suite_of(2, 3), suite_of(*range(2, 22))


@pytest.fixture
def slot(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slot]:
    """A slot in which runs are counted."""
    monkeypatch.setattr(sys, "counted_runs", 0, raising=False)
    with closing(FakeSandbox().open_slot(image="python", memory_bytes=256 << 20)) as opened:
        yield opened


@pytest.mark.parametrize("suite", [ONE, TWO, MANY])
def test_lying_in_the_first_run_only_is_never_enough(slot: Slot, suite: Suite) -> None:
    for _ in range(5):
        sys.counted_runs = 0  # type: ignore[attr-defined]
        graded = grade(slot, suite, COUNTING.format(lies=1))
        assert all(case.verdict is Verdict.FAILED for case in graded.cases)


def test_lying_until_the_second_look_is_not_enough(slot: Slot) -> None:
    looks = 1 + 4
    for _ in range(5):
        sys.counted_runs = 0  # type: ignore[attr-defined]
        graded = grade(slot, ONE, COUNTING.format(lies=looks))
        assert graded.tampered or graded.cases[0].verdict is Verdict.FAILED


def test_seeing_other_cases_fail_does_not_tell_which_runs_are_twins(slot: Slot) -> None:
    # The last case is changed together with all others, so that nothing is seen, 1 in 2**19 times.
    graded = grade(slot, MANY, SEEING)
    assert graded.tampered or graded.cases[-1].verdict is Verdict.FAILED


def test_right_program_is_confirmed(slot: Slot) -> None:
    right = "class Square(int): ...\ndef square(n): return Square(n * n)"
    for suite in (ONE, TWO, MANY):
        graded = grade(slot, suite, right)
        assert (graded.tampered, graded.integrity) == (False, Integrity.CONFIRMED)
        assert all(case.verdict is Verdict.PASSED for case in graded.cases)
