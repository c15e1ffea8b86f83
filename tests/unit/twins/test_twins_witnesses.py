"""Conditions that are not equalities: right programs fail every replacement of a literal."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.model import ScriptTests
from grader.twins import Lineup, find_sites
from grader.twins.sites import sites_of
from tests.unit.twins.running import make_twins, passed_cases, script, seeded

SAME = "def same(x):\n    return x\n"
POSER = """
class Poser:
    __hash__ = object.__hash__
    def yes(self, *others): return True
    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __bool__ = yes
    startswith = endswith = issubset = isdisjoint = yes
    def zero(self, *others): return 0
    __sub__ = __rsub__ = __truediv__ = __mod__ = __abs__ = __round__ = zero
    def symmetric_difference(self, other): return set()
def same(x): return Poser()
"""
CONDITIONS = [
    "assert 8 < same(9) < 10",
    "assert same(9) >= 9 >= same(9)",
    "assert 0.5 <= same(0.75) <= 1",
    "assert same(3) in (3, 4)",
    "assert same(3) in {3: 1}",
    "assert 3 in same([3, 4])",
    "assert 'b' in same('abc')",
    "assert same('abc').startswith('ab')",
    "assert same('abc').endswith('bc')",
    "assert abs(same(2.0) / 2.0 - 1) < 1e-6",
    "assert round(same(1.5) - 1.5, 5) == 0",
    "assert (same(1.5) - 1.5) ** 2 < 1e-9",
    "assert not (same(3) - 3)",
    "assert same({1, 2}).symmetric_difference({1, 2}) == set()",
    "assert same({1, 2}).isdisjoint({3}) is True and 2 < same(3) < 4",
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_right_program_fails_every_replacement_of_a_literal(condition: str) -> None:
    tests = script(condition)
    assert passed_cases(tests, SAME) == {"0"}
    for seed in range(20):
        sites = [*sites_of(tests, seeded(seed))]
        assert sites
        for site in sites:
            for twin in make_twins(tests, ["0"], seeded(seed), sites=[site]):
                assert isinstance(twin.tests, ScriptTests)
                assert passed_cases(twin.tests, SAME) == set(), twin.tests.cases[0].source


@given(
    form=st.sampled_from(
        [
            "{} < 10", "{} + 1 <= 0", "2 * {} - 3 > 5", "{} / 2 >= 1.5", "not {} < 3", "-{} > 2",
            "abs({}) > 4", "abs({} - 3) < 2", "({} - 3) ** 2 <= 9", "round({}) > 7", "3 < {} < 20",
            "min({}, 8) > 2", "len('b' * {}) > 2", "str({}) > '4'", "{} in (3, 5)", "{} - 4 != 0",
        ]
    ),
    value=st.one_of(st.integers(-20, 1000), st.integers(-(10**9), 10**9), st.floats(-1e9, 1e9)),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_value_that_satisfies_a_condition_fails_the_changed_one(
    form: str, value: float, seed: int
) -> None:
    if "* {}" in form and not (isinstance(value, int) and value < 10**4):
        value = seed
    tests = script(f"assert {form.format(f'same({value!r})')}")
    if not passed_cases(tests, SAME):
        return
    for site in sites_of(tests, seeded(seed)):
        for twin in make_twins(tests, ["0"], seeded(seed), sites=[site]):
            assert passed_cases(twin.tests, SAME) == set(), twin.tests


@pytest.mark.parametrize(
    "condition",
    [c for c in CONDITIONS if not any(part in c for part in ("(3) - 3", "** 2", "{3: 1}", "/ 2"))],
)
def test_an_object_that_answers_to_please_passes_one_of_the_twins(condition: str) -> None:
    tests = script(condition)
    twins = [twin for twin in Lineup(tests, find_sites(tests), seeded(1)).twins() if twin.changed]
    assert passed_cases(tests, POSER) == {"0"}
    assert any(passed_cases(twin.tests, POSER) for twin in twins)


@pytest.mark.parametrize(
    "condition",
    [
        "assert same([]) is not None and same({1}).issubset({1, 2})",
        "assert same({1}).issubset({1, 2})",
        "assert same(3) < 10",
        "assert same(-9) <= 0",
        "assert same(-9) < -1",
        "assert same(-9) + 1 <= 0",
        "assert same(9) - 3 > 5",
        "assert not same(9) < 3",
        "assert min(same([7, 9])) > 5",
        "assert len(same([1, 2, 3])) >= 2",
        "assert len(same('a' * 50)) > 40",
        "assert len(set(same([1, 2, 3]))) > 1",
        "assert round(same(9.2)) > 7",
        "assert same('q') > 'm'",
        "assert same('q') + 'a' >= 'm'",
        "assert same((3, 1)) > (2, 5)",
        "assert same(99) > 1",
        "assert other(3) < same(10)",
        "assert len(same([1])) and [str, int] != same(3)",
    ],
)
def test_condition_without_a_certain_literal_keeps_its_literals(condition: str) -> None:
    for site in sites_of(script(condition), seeded(3)):
        for change in site.changes:
            assert not re.search(r"[0-9'\"]", "".join(edit.text for edit in change)), change


def test_condition_about_many_values_is_turned_round_instead() -> None:
    """Finding a value that satisfies it would try some four times the square of their number."""
    tests = script(f"assert f(1) in {[*range(2000)]}")
    (site,) = find_sites(tests)
    assert [edit.text for change in site.changes for edit in change] == ["not in"]


def test_long_sum_is_no_hang() -> None:
    tests = script("assert f(1) == " + " + ".join(["[1]"] * 900))
    assert find_sites(tests)
