"""Tests that the suite expects to fail."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from grader.sandbox.contract import Sandbox, Slot
from tests.hostile.judged_suites import Suite, grade, passed, verdicts

MODULE = """
import unittest
import pytest
from solution import root

@pytest.mark.xfail(strict=True, reason="negative")
def test_negative():
    assert root(-4) == 2

@pytest.mark.xfail
def test_maybe():
    assert root(0) == 0

class TestRoot(unittest.TestCase):
    @unittest.expectedFailure
    def test_text(self):
        self.assertEqual(root("4"), 2)

    def test_four(self):
        self.assertEqual(root(4), 2)
"""


@pytest.fixture(scope="module")
def slot(native_sandbox: Sandbox) -> Iterator[Slot]:
    """A slot of this machine."""
    with closing(native_sandbox.open_slot(image="python", memory_bytes=256 << 20)) as opened:
        yield opened


def test_a_right_program_fails_them(slot: Slot) -> None:
    graded = grade(slot, Suite(right="", module=MODULE), "def root(n): return (n ** 0.5) + 0 * n")
    assert passed(graded.cases) == {"test_solution.py::TestRoot::test_four"}
    assert len(graded.cases) == 1


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("def root(n): return abs(n) ** 0.5", "test_negative"),
        ("def root(n): return 2 if n == '4' else n ** 0.5", "TestRoot::test_text"),
    ],
)
def test_a_program_that_passes_one_has_failed_as_in_pytest(
    slot: Slot, code: str, name: str
) -> None:
    for _ in range(3):
        graded = grade(slot, Suite(right="", module=MODULE), code)
        assert passed(graded.cases) == {"test_solution.py::TestRoot::test_four"}
        (lost,) = (case for case in graded.cases if case.id.endswith(name))
        assert "XPASS" in lost.feedback or "Unexpected" in lost.feedback, verdicts(graded.cases)
