"""The runs of a line-up: what each of them changes."""

from collections import Counter, defaultdict

import pytest

from grader.model import ScriptTests
from grader.twins import CaseKey, Lineup, find_sites
from tests.unit.twins.running import script, seeded


def suite(count: int) -> ScriptTests:
    """Return a suite of single assertions."""
    return script(*(f"assert f({n}) == {n * 7 + 30}" for n in range(count)))


@pytest.mark.parametrize(("cases", "values"), [(1, 6), (2, 3), (3, 2), (9, 2)])
def test_each_value_of_a_case_occurs_once(cases: int, values: int) -> None:
    tests = suite(cases)
    for seed in range(10):
        twins = [*Lineup(tests, find_sites(tests), seeded(seed)).twins()]
        # Of a single small number, fewer than five likely others may be drawn.
        assert values - (cases == 1) <= len(twins) <= values
        for number in range(cases):
            picks = [twin.pick(CaseKey(str(number))) for twin in twins]
            assert len({pick and pick.change for pick in picks}) == len(twins)
            assert picks.count(None) == 1


def test_fewer_values_occur_equally_often_whichever_is_right() -> None:
    """If a value occurs once more than another, that says nothing about which of them is right."""
    tests = script("assert f(1) is True", "assert f(2) == 4\nassert f(3) == 6")
    often: Counter[int] = Counter()
    for seed in range(300):
        picks = [
            twin.pick(CaseKey("0"))
            for twin in Lineup(tests, find_sites(tests), seeded(seed)).twins()
        ]
        often[picks.count(None)] += 1
    assert set(often) == {1, 2}
    assert 100 < often[1] < 200


def test_right_values_are_in_any_run() -> None:
    tests = suite(4)
    seen: defaultdict[str, set[int]] = defaultdict(set)
    for seed in range(40):
        for run, twin in enumerate(Lineup(tests, find_sites(tests), seeded(seed)).twins()):
            for case in tests.cases:
                if twin.pick(CaseKey(case.id)) is None:
                    seen[case.id].add(run)
    assert dict(seen) == {case.id: {0, 1} for case in tests.cases}


def test_only_wanted_cases_change_and_to_the_values_that_they_had() -> None:
    tests = suite(5)
    lineup = Lineup(tests, find_sites(tests), seeded(2))
    wanted = [CaseKey("1"), CaseKey("4")]
    before = {pick for twin in lineup.twins() for key in wanted if (pick := twin.pick(key))}
    again = [pick for twin in lineup.twins(wanted) for pick in twin.changed]
    assert len(again) == 2
    assert set(again) == before


def test_a_suite_without_sites_is_run_once_as_it_is() -> None:
    tests = script("f(1)")
    (twin,) = Lineup(tests, find_sites(tests), seeded(1)).twins()
    assert (twin.tests, twin.changed) == (tests, ())
