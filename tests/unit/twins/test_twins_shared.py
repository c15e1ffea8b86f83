"""Constants and oracles that several tests share: they change themselves, not the comparisons."""

import pytest

from grader.model import PytestTests
from grader.twins import CaseKey, Site, find_sites
from tests.unit.twins.running import make_twins, module, passed_tests, seeded

HEAD = "import unittest\nfrom solution import f\n\n"
SQUARES = "def f(n): return n * n"
CASES = """
class TestF(unittest.TestCase):
    def test_a(self):
        {a}

    def test_b(self):
        {b}
"""
IDS = ["test_it.py::TestF::test_a", "test_it.py::TestF::test_b"]


def suite_of(shared: str, a: str, b: str) -> PytestTests:
    """Return a suite of two tests that share something."""
    return module(HEAD + shared + CASES.format(a=a, b=b))


def sites(suite: PytestTests) -> list[Site]:
    return [site for site in find_sites(suite) if site.shared]


@pytest.mark.parametrize(
    ("shared", "a", "b"),
    [
        ("WANT = 4", "assert f(2) == WANT", "self.assertEqual(f(-2), WANT)"),
        ("WANT = [4, 9]", "assert [f(2), f(3)] == WANT", "self.assertEqual(f(3), WANT[1])"),
        ("WANT = {'x': 4}", "assert dict(x=f(2)) == WANT", "self.assertEqual(f(2), WANT['x'])"),
        ("def want(n): return n * n", "assert f(2) == want(2)", "assert want(3) == f(3)"),
        (
            "def want(n):\n    if n > 2:\n        return n * n\n    return 4",
            "for n in range(5, 9): assert f(n) == want(n)",
            "expected = want(2); assert f(2) == expected",
        ),
        (
            "def want(n):\n    return n, (\n        n * n\n    )",
            "n = 2; assert (n, f(n)) == want(n)",
            "n = 3; assert want(n) == (n, f(n))",
        ),
    ],
)
def test_all_tests_that_share_it_fail_and_the_right_value_is_nowhere(
    shared: str, a: str, b: str
) -> None:
    suite = suite_of(shared, a, b)
    assert passed_tests(suite, SQUARES) == set(IDS)
    of_tests = CASES.format(a=a, b=b).encode()
    for seed in range(10):
        for twin in make_twins(suite, IDS, seeded(seed)):
            assert set(twin.changed) == set(IDS)
            assert passed_tests(twin.tests, SQUARES) == set()
            assert isinstance(twin.tests, PytestTests)
            assert twin.tests.files[0].content.endswith(of_tests)


def test_a_part_that_one_test_uses_changes_for_that_test() -> None:
    suite = suite_of(
        "WANT = {'a': 4, 'b': 9}", "assert f(2) == WANT['a']", "assert f(3) == WANT['b']"
    )
    assert {site.cases for site in sites(suite)} == {(CaseKey(id),) for id in IDS}
    for seed in range(10):
        for twin in make_twins(suite, IDS, seeded(seed)):
            assert passed_tests(twin.tests, SQUARES) == set(IDS) - set(twin.changed)


@pytest.mark.parametrize(
    ("shared", "a", "b"),
    [
        ("def want(n): return n and n + want(n - 1)", "assert f(2) == want(2)", "pass"),
        ("def want(n):\n    if n: return n", "assert f(2) == want(2)", "pass"),
        ("def want(n): return n * n", "assert f(2) == want(2)", "assert f(want(1)) == want(1)"),
        ("def want(n): return [n]", "assert f(2) == want(2)", "assert f(2) in want(2)"),
        ("def want(n): return [n]", "w = want(2); w.sort(); assert f(2) == w", "pass"),
        ("def want(n): return f(n)", "assert f(2) == want(2)", "pass"),
        ("def want(n): return n\nthere = want", "assert f(2) == want(2)", "pass"),
        ("def want(n):\n    yield n", "assert f(2) == want(2)", "pass"),
        ("WANT = 4", "assert f(2) == WANT", "assert f(WANT) == 16"),
        ("WANT = 4", "assert f(2) == WANT", "if f(2): assert f(2) == WANT"),
        ("WANT = [4]", "assert [f(2)] == WANT", "assert len(WANT) == f(1)"),
        ("WANT = 4", "assert f(2) == WANT", "assert f(2) == WANT; self.test_a()"),
        ("WANT = 4\ndef late(): return WANT", "assert f(2) == WANT", "assert f(2) == WANT"),
    ],
)
def test_what_may_be_used_in_another_way_is_left_alone(shared: str, a: str, b: str) -> None:
    assert sites(suite_of(shared, a, b)) == []


def test_parameters_of_tests_that_share_an_oracle() -> None:
    rows = "import pytest\n\n@pytest.mark.parametrize('n', [1, 2, 3])\ndef test_a(n):\n"
    suite = module("def want(n):\n    return n * n\n\n" + rows + "    assert f(n) == want(n)\n")
    (site,) = sites(suite)
    assert site.cases == (CaseKey("test_it.py::test_a"),)


def test_tests_with_an_expectation_of_their_own_change_alone() -> None:
    """Then changing what they share would only leave fewer cases that change independently."""
    suite = suite_of(
        "WANT = 4", "assert f(2) == WANT", "assert f(3) == 9\n        assert f(2) == WANT"
    )
    changed = {frozenset(t.changed) for s in range(9) for t in make_twins(suite, IDS, seeded(s))}
    assert frozenset({IDS[1]}) in changed


@pytest.mark.parametrize(
    ("assertion", "is_found"),
    [
        ("m.assert_called_once_with('k', n=2)", True),
        ("m.get.assert_called_with(3)", True),
        ("m.assert_not_called()", True),
        ("m.assert_any_call(3)", False),
        ("m.assert_has_calls([call(3)])", False),
    ],
)
def test_assertions_of_mocks(assertion: str, is_found: bool) -> None:
    """Any of several calls may be like a changed one if the assertion looks at all of them."""
    found = find_sites(module(f"def test_a(m):\n    f(m)\n    {assertion}\n"))
    assert bool(found) is is_found


@pytest.mark.parametrize(
    ("more", "is_found"),
    [("test_a()", True), ("def test_b(): test_a()", False), ("def helper(): test_a()", False)],
)
def test_tests_that_others_call_stay(more: str, is_found: bool) -> None:
    """A call by the module itself counts as part of its import, which a change may break."""
    suite = module(f"def test_a():\n    assert f(2) == 4\n\n{more}\n")
    cases = {key.base for site in find_sites(suite) for key in site.cases}
    assert ("test_it.py::test_a" in cases) is is_found


def test_rows_with_an_expectation_of_their_own_change_alone() -> None:
    source = "import pytest\n\ndef want(n):\n    return n * n\n\n"
    source += "@pytest.mark.parametrize('n, s', [(2, 4), (3, 9)])\ndef test_a(n, s):\n"
    suite = module(source + "    assert f(n) == want(n)\n    assert f(n) == s\n")
    ids = [f"test_it.py::test_a[{row}]" for row in ("2-4", "3-9")]
    changed = {frozenset(t.changed) for s in range(9) for t in make_twins(suite, ids, seeded(s))}
    assert frozenset(ids[:1]) in changed
