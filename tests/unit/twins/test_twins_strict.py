"""Strict suites: right values pass as before, and objects that equal everything fail."""

import pytest

from grader.twins import with_strict_comparisons
from tests.unit.twins.running import module, passed_cases, passed_tests, script, seeded

YES = """
class Yes:
    __hash__ = None
    def __eq__(self, other): return {answer}
    def __ne__(self, other): return False
    __contains__ = __eq__
def f(*args): return Yes()
"""
COMPARISONS = {
    "equal": "assert f(3) == 9",
    "chain": "a, b = f(3), f(3)\nassert a == b == 9",
    "chain with a bound": "a = f(3)\nassert 9 == a < 10",
    "kept": "is_right = f(3) == 9\nassert is_right",
    "kept in a list": "assert all([f(3) == 9, f(-3) == 9])",
    "in a list": "assert f(3) in [9, 10]",
    "one of": "assert f(3) not in (1, 2) and f(3) == 9",
}
ASSERTIONS = {
    "equal": "self.assertEqual(f(3), 9)",
    "by name": "self.assertEqual(first=f(3), second=9, msg='no')",
    "half by name": "self.assertEqual(f(3), second=9)",
    "almost": "self.assertAlmostEqual(f(3), 9.0)",
}
SQUARE = "def f(n): return n * n\n"
TEST = """
import unittest
from solution import f

class TestF(unittest.TestCase):
    def test_f(self):
        {}
"""


@pytest.mark.parametrize("containers", [True, False])
@pytest.mark.parametrize("answer", ["True", "1"])
@pytest.mark.parametrize("source", COMPARISONS.values(), ids=COMPARISONS)
def test_comparison(source: str, answer: str, containers: bool) -> None:
    strict, _ = with_strict_comparisons(script(source), seeded(1), containers=containers)
    assert passed_cases(strict, SQUARE) == {"0"}
    assert passed_cases(strict, YES.format(answer=answer)) == set()


@pytest.mark.parametrize("containers", [True, False])
def test_class_under_test_may_contain_everything(containers: bool) -> None:
    code = "class All:\n    def __contains__(self, item): return True\n"
    strict, _ = with_strict_comparisons(
        script("assert 3 in All()"), seeded(1), containers=containers
    )
    assert bool(passed_cases(strict, code)) is not containers


def test_object_that_equals_what_has_the_expected_type() -> None:
    code = "class Whole:\n    def __eq__(self, other): return type(other) is int\n"
    code += "def f(n): return Whole()\n"
    for seed in range(8):
        strict, _ = with_strict_comparisons(
            script("assert f(3) == 9"), seeded(seed), containers=True
        )
        assert passed_cases(strict, code) == set()


def test_file_without_comparisons_stays_as_it_is() -> None:
    """Tests may look at all functions of a module."""
    tests = module("import solution\n\ndef test_f():\n    assert solution.f(3) < 10\n")
    assert with_strict_comparisons(tests, seeded(1), containers=True)[0] == tests


def test_loops_do_not_use_up_the_comparisons_of_others() -> None:
    source = "for n in range(3000): assert n == n\nassert f(3) == [9] * 3000"
    code = YES.format(answer="True").replace("return Yes()", "return [Yes()] * 3000")
    strict, _ = with_strict_comparisons(script(source), seeded(1), containers=True)
    assert passed_cases(strict, "def f(n): return [n * n] * 3000") == {"0"}
    assert passed_cases(strict, code) == set()


@pytest.mark.parametrize("source", ASSERTIONS.values(), ids=ASSERTIONS)
def test_assertion_of_unittest(source: str) -> None:
    strict, _ = with_strict_comparisons(module(TEST.format(source)), seeded(1), containers=True)
    assert len(passed_tests(strict, SQUARE)) == 1
    assert passed_tests(strict, YES.format(answer="True")) == set()


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("assert {1} <= {1, 2} and not {1} <= {2}", id="sets"),
        pytest.param("assert (1, 2) < (1, 3) <= (1, 3)", id="tuples"),
        pytest.param("nan = float('nan')\nassert nan != nan and not nan < nan", id="nan"),
        pytest.param(
            "found = iter([1, 2, 3])\nassert 2 in found and [*found] == [3]", id="iterator"
        ),
        pytest.param("calls = []\nassert calls.append(1) == None\nassert calls == [1]", id="once"),
        pytest.param("assert 1 < 2 < 3 != 4 and not 3 < 2 < 1", id="chains"),
        pytest.param("from unittest import mock\nassert 5 == mock.ANY", id="wildcard of a library"),
        pytest.param(
            "from unittest.mock import Mock\nm = Mock()\nm(3)\nassert m.call_args.args[0] == 3",
            id="mock",
        ),
    ],
)
def test_right_comparison_comes_out_as_before(source: str) -> None:
    for seed in range(8):
        strict, _ = with_strict_comparisons(script(source), seeded(seed), containers=True)
        assert passed_cases(strict) == {"0"}
