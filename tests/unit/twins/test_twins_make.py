"""Twins as a whole: the cases that they change, which a right program fails, and only those."""

import re
import textwrap
from dataclasses import replace

import pytest

from grader.model import PytestTests, ScriptTests, SuiteFile
from grader.twins import (
    CaseKey,
    Statement,
    confirmable,
    find_sites,
    keys_of,
    propose,
)
from tests.unit.twins.running import make_twins, module, passed_cases, script, seeded

CODE = """
def double(x):
    return 2 * x


def half(x):
    if x % 2:
        raise ValueError(f"{x} is odd")
    return x // 2
"""
CASES = (
    "assert double(4) == 8",
    "assert half(8) == 4",
    "for x, want in [(2, 1), (6, 3)]:\n    assert half(x) == want",
    "assert double('ab') == 'abab'",
)


@pytest.mark.parametrize("seed", range(20))
def test_a_right_program_fails_the_changed_cases_and_no_others(seed: int) -> None:
    tests = script(*CASES)
    everything = {case.id for case in tests.cases}
    assert passed_cases(tests, CODE) == everything
    one, other = make_twins(tests, sorted(everything), seeded(seed))
    assert isinstance(one.tests, ScriptTests)
    assert isinstance(other.tests, ScriptTests)
    assert one.changed.keys() | other.changed.keys() == everything
    assert not one.changed.keys() & other.changed.keys()
    assert passed_cases(one.tests, CODE) == everything - one.changed.keys()
    assert passed_cases(other.tests, CODE) == everything - other.changed.keys()


def test_an_object_that_equals_everything_passes_changed_cases() -> None:
    code = "class Any:\n    def __eq__(self, other): return True\ndouble = half = lambda x: Any()"
    tests = script(*CASES)
    ids = [case.id for case in tests.cases]
    for twin in make_twins(tests, ids, seeded(1)):
        assert isinstance(twin.tests, ScriptTests)
        assert passed_cases(twin.tests, code) == set(ids)


def test_a_single_case_is_changed_in_both_twins_in_different_ways() -> None:
    tests = script("assert double(4) == 8\nassert double(5) == 10")
    one, other = make_twins(tests, ["0"], seeded(3))
    assert set(one.changed) == set(other.changed) == {"0"}
    assert len({one.tests, other.tests, tests}) == 3


def test_only_cases_that_passed_are_changed() -> None:
    tests = script(*CASES)
    twins = make_twins(tests, ["1", "3"], seeded(5))
    assert twins[0].changed.keys() | twins[1].changed.keys() == {"1", "3"}


def test_changes_keep_the_number_of_lines() -> None:
    tests = script(*CASES)
    for twin in make_twins(tests, [case.id for case in tests.cases], seeded(2)):
        assert isinstance(twin.tests, ScriptTests)
        for before, after in zip(tests.cases, twin.tests.cases, strict=True):
            assert before.source.count("\n") == after.source.count("\n")


PARAMETRISED = """
import pytest
from solution import double


@pytest.mark.parametrize("x, want", [(1, 2), (2, 4), pytest.param(3, 6, id="three")])
def test_double(x, want):
    assert double(x) == want


def test_text():
    assert double("a") == "aa"
"""


def test_each_row_of_parameters_is_a_case_of_its_own() -> None:
    ids = [
        "test_it.py::test_double[1-2]",
        "test_it.py::test_double[2-4]",
        "test_it.py::test_double[three]",
        "test_it.py::test_text",
    ]
    tests = module(PARAMETRISED)
    assert confirmable(tests, ids) == set(ids)
    seen = set()
    for seed in range(30):
        one, other = make_twins(tests, ids, seeded(seed))
        assert sorted([*one.changed, *other.changed]) == sorted(ids)
        seen.add(frozenset(one.changed))
    assert len(seen) > 5  # of 16


ROWS = "[(1, 2), (2, 4), pytest.param((3, 6), id='three')]"


@pytest.mark.parametrize(
    "fixture",
    [
        f"@pytest.fixture(params={ROWS})\ndef row(request):\n    return request.param\n",
        f"ROWS = {ROWS}\n@pytest.fixture(scope='module', params=ROWS)\n"
        "def row(request):\n    'A row.'\n    yield request.param\n",
    ],
)
@pytest.mark.parametrize(
    "test",
    ["x, want = row\n    assert double(x) == want", "assert double(row[0]) == row[1]"],
)
def test_each_parameter_of_a_fixture_is_a_case_of_its_own(fixture: str, test: str) -> None:
    top = "import pytest\nfrom solution import double\n\n"
    tests = module(f"{top}{fixture}\ndef test_it(row):\n    {test}\n")
    ids = [f"test_it.py::test_it[{row}]" for row in ("row0", "row1", "three")]
    assert confirmable(tests, ids) == set(ids)
    for twin in make_twins(tests, ids, seeded(1)):
        assert isinstance(twin.tests, PytestTests)
        changed = twin.tests.files[0].content.decode()
        assert "!=" not in changed
        right = {ids[n] for n, row in enumerate(["(1, 2)", "(2, 4)", "(3, 6)"]) if row in changed}
        assert right == {*ids} - twin.changed.keys()


def test_value_that_a_fixture_hands_out_is_changed_there() -> None:
    source = "import pytest\n\n@pytest.fixture\ndef want():\n    return {'a': 4}\n\n"
    tests = module(source + "def test_it(want):\n    assert double({'a': 2}) == want\n")
    for twin in make_twins(tests, ["test_it.py::test_it"], seeded(1)):
        assert isinstance(twin.tests, PytestTests)
        changed = twin.tests.files[0].content.decode()
        assert changed.endswith("assert double({'a': 2}) == want\n")
        assert "{'a': 4}" not in changed


def changed_ends(tests: PytestTests) -> set[str]:
    """Return the last lines that changes of the only test have, with `other(` for `other_value`."""
    sources = set()
    for seed in range(8):
        for twin in make_twins(tests, ["test_it.py::test_it"], seeded(seed)):
            assert isinstance(twin.tests, PytestTests)
            last = twin.tests.files[0].content.decode().splitlines()[-1].strip()
            made = r"\(lambda o, v: o\(o, v\)\).* else 0\)\)\(.*?__class__\), "
            sources.add(re.sub(made, "other(", last))
    return sources


FIXTURE = "@pytest.fixture\ndef {}:\n    return {}\n"


@pytest.mark.parametrize(
    ("above", "is_own"),
    [
        ("@pytest.mark.parametrize('x', [n * 2 for n in range(3)])", True),
        ("@pytest.mark.parametrize('x', ROWS)", False),
        ("@given(st.integers())", True),
        ("@given(x=st.integers())", True),
        (FIXTURE.format("x()", "math.pi"), True),
        (FIXTURE.format("y()", "3") + FIXTURE.format("x(y)", "y"), True),
        (FIXTURE.format("y()", "ROWS") + FIXTURE.format("x(y)", "y"), False),
        (FIXTURE.format("x()", "double(2)"), False),
        (FIXTURE.format("x(tmp_path)", "tmp_path"), False),
    ],
)
def test_side_that_the_tests_compute_is_replaced_by_another_value(
    above: str, *, is_own: bool
) -> None:
    """If neither side certainly is the tests' own, it is either side."""
    top = "import math\nimport pytest\nfrom hypothesis import given, strategies as st\n"
    top += "from solution import ROWS, double\n\n"
    tests = module(f"{top}{above}\ndef test_it(x):\n    assert x + x == double(x)\n")
    changed = {"assert other(x + x) == double(x)"}
    if not is_own:
        changed.add("assert x + x == other(double(x))")
    assert changed_ends(tests) == changed


@pytest.mark.parametrize(
    ("helpers", "is_own"),
    [
        ({"helpers.py": "import math\nSAME = math.inf"}, True),
        ({"tests/helpers.py": "from data import SAME", "data.py": "SAME = 4"}, True),
        ({"helpers.py": "from solution import double\nSAME = double(2)"}, False),
        ({"helpers.py": "from data import SAME", "data.py": "import solution; SAME = 4"}, False),
        ({"helpers.py": "from .solution import SAME"}, False),
        ({"helpers.py": "import importlib; SAME = importlib.import_module('solution').X"}, False),
        ({"helpers.py": "from solution import X\nSAME = print 'Python 2'"}, False),
        ({"data/solution.py": "", "helpers.py": "from solution import SAME"}, False),
        ({}, False),
    ],
)
def test_value_of_a_module_of_the_suite_is_replaced_by_another_value(
    helpers: dict[str, str], *, is_own: bool
) -> None:
    """It may be an object that equals everything, on purpose."""
    top = "from helpers import SAME\nfrom solution import double\n"
    tests = module(f"{top}def test_it():\n    assert SAME == double(2)\n")
    files = [SuiteFile(path=path, content=text.encode()) for path, text in helpers.items()]
    tests = replace(tests, files=(*tests.files, *files))
    assert changed_ends(tests) == {"assert other(SAME) == double(2)"}
    assert {site.computed for site in find_sites(tests)} == {is_own}


def test_method_that_two_bases_inherit_is_that_of_the_later_base_if_only_that_has_another() -> None:
    tests = module(
        "import unittest\nfrom solution import same\n\n"
        "class Base(unittest.TestCase):\n"
        "    def test_it(self):\n        self.assertEqual(same(1), 1)\n\n"
        "class Left(Base):\n    pass\n\n"
        "class Right(Base):\n"
        "    def test_it(self):\n        self.assertEqual(same(2), 2)\n\n"
        "class Both(Left, Right):\n    pass\n"
    )
    found = {frozenset(key.base for key in site.cases) for site in find_sites(tests)}
    ids = {name: f"test_it.py::{name}::test_it" for name in ("Base", "Left", "Right", "Both")}
    assert found == {frozenset({ids["Base"], ids["Left"]}), frozenset({ids["Right"], ids["Both"]})}


@pytest.mark.parametrize(
    ("made", "is_changed"),
    [
        ("@pytest.fixture\ndef pool():\n    return Pool(3)\n", True),
        ("@pytest.fixture\ndef pool():\n    'Yield one.'\n    yield Pool(3)\n", True),
        ("@pytest.fixture\ndef pool():\n    return quiet(3)\n", False),
        ("def own(n):\n    return n\n@pytest.fixture\ndef pool():\n    return own(3)\n", False),
        (
            "@pytest.fixture(params=[Pool(3)])\ndef pool(request):\n    return request.param\n",
            False,
        ),
        ("@pytest.fixture\ndef pool():\n    made = Pool(3)\n    return made\n", False),
    ],
)
def test_block_of_a_context_manager_that_a_fixture_takes_from_the_submission_is_changed(
    made: str, *, is_changed: bool
) -> None:
    """The suite's own may catch what the submission raises on purpose."""
    tests = module(
        "import pytest\nfrom helpers import quiet\nfrom solution import Pool\n\n"
        f"{made}\ndef test_it(pool):\n    with pool as same:\n        assert same.size == 3\n\n"
        "def test_other(pool):\n    with pool:\n        assert pool.size == 3\n"
    )
    helpers = b"import contextlib\ndef quiet(n):\n    return contextlib.suppress(ValueError)\n"
    tests = replace(tests, files=(*tests.files, SuiteFile(path="helpers.py", content=helpers)))
    changed = {key.base for site in find_sites(tests) for key in site.cases}
    assert changed == ({"test_it.py::test_it", "test_it.py::test_other"} if is_changed else set())


@pytest.mark.parametrize(
    "other",
    [
        "@pytest.fixture\ndef made(want):\n    return double(want)\n",
        "def test_other(want):\n    assert double(want) == 8\n",
        "def test_other(request):\n    assert double(request.getfixturevalue('want')) == 8\n",
        "from other import *\n",
        "class TestOther:\n    @pytest.fixture\n    def want(self):\n        return 4\n",
    ],
)
def test_value_of_a_fixture_that_others_may_use_stays(other: str) -> None:
    source = "import pytest\nfrom solution import double\n\n"
    source += "@pytest.fixture\ndef want():\n    return 4\n\n"
    tests = module(source + "def test_it(want):\n    assert double(2) == want\n\n" + other)
    for seed in range(5):
        for twin in make_twins(tests, ["test_it.py::test_it"], seeded(seed)):
            assert isinstance(twin.tests, PytestTests)
            assert "return 4" in twin.tests.files[0].content.decode()


def test_cases_of_a_changed_suite_are_found_by_test_and_number() -> None:
    original = ["t.py::test_a[1-2]", "t.py::test_a[2-4]", "t.py::test_b"]
    changed = ["t.py::test_a[1-3]", "t.py::test_a[2-4]", "t.py::test_b"]
    assert [*keys_of(original).values()] == [*keys_of(changed).values()]


def test_sites_know_the_statement_that_fails() -> None:
    sites = find_sites(script("x = double(1)\n\nassert (\n    x\n    == 2\n)"))
    assert {site.statements for site in sites} == {(Statement("0", 3, 6),)}


def test_rows_that_other_fixtures_multiply_are_not_changed() -> None:
    """Their position does not tell which case has which parameters."""
    tests = module(PARAMETRISED)
    ids = [f"test_it.py::test_double[{mode}-{row}]" for mode in "ab" for row in range(3)]
    assert confirmable(tests, ids) == set()
    for twin in make_twins(tests, ids, seeded(1), collected=ids):
        assert twin.changed == {}
        assert twin.tests == tests


def test_cases_that_did_not_pass_count_for_the_position_of_the_others() -> None:
    tests = module(PARAMETRISED)
    ids = [f"test_it.py::test_double[{row}]" for row in range(3)]
    for seed in range(10):
        for twin in make_twins(tests, ids[2:], seeded(seed), collected=ids):
            assert set(twin.changed) == set(ids[2:])
            assert isinstance(twin.tests, type(tests))
            changed = twin.tests.files[0].content.decode()
            assert "(1, 2), (2, 4)" in changed
            assert "pytest.param(3, 6, " not in changed


def test_a_constant_that_two_tests_share_changes_for_both() -> None:
    """If only the comparisons changed, the right value would still be in the module."""
    source = "WANT = 4\n\n\ndef test_a():\n    assert f(2) == WANT\n\n\n"
    source += "def test_b():\n    assert f(3) == WANT\n"
    ids = ["test_it.py::test_a", "test_it.py::test_b"]
    for twin in make_twins(module(source), ids, seeded(1)):
        assert isinstance(twin.tests, PytestTests)
        text = twin.tests.files[0].content.decode()
        assert ("WANT = 4" in text) is (not twin.changed)
        assert set(twin.changed) in (set(), set(ids))
        assert text.count("== WANT") == 2


@pytest.mark.parametrize(
    "source",
    ["assert f(1) == '\ud800'", "assert f(1) == " + "[" * 90 + "]" * 90, "assert f(1) == 1 +" * 3],
)
def test_source_that_is_hard_to_read_has_no_site_or_a_right_one(source: str) -> None:
    for twin in make_twins(script(source), ["0"], seeded(1)):
        assert (twin.tests == script(source)) is (not twin.changed)


def test_long_sums_are_read() -> None:
    tests = script("assert f(1) == " + "+".join(["1"] * 3000))
    make_twins(tests, ["0"], seeded(1))


def test_messages_and_comments_agree_with_what_is_changed() -> None:
    source = (
        "def check(f):\n"
        '    """Expects 1234."""\n'
        "    # 1234 is right\n"
        "    assert f(1) == 1234, 'not 1234'  # 1234\n"
        "check(g)"
    )
    for twin in make_twins(script(source), ["0"], seeded(4)):
        assert isinstance(twin.tests, ScriptTests)
        assert "1234" not in twin.tests.cases[0].source


THIEF = """
printed = []
def print(*args, flush=False): printed.append(" ".join(map(str, args)))
def f(_x): return eval(printed[-1].rpartition("is ")[2]) if printed else None
"""
"""Knows nothing but what the tests print."""


@pytest.mark.parametrize(
    "source",
    [
        "print('right is 1234')\nassert f(1) == 1234",
        "print('right is', 1234)\nassert f(1) == 1234, 'it is 1234'",
        "print(f'for {1}: right is 1234')\nassert f(1) == 1234",
        "print('right is', [12, 34])\nassert f(1) == [12, 34]",
        "print('right is [12, 34]')\nassert f(1) == [12, 34]",
        "def check(f):\n    print('is %d' % 1234)\n    assert f(1) == 1234\ncheck(f)",
        "for i, n in enumerate([1234]):\n    print('is', n, flush=True)\n    assert f(i) == n",
        "assert f(0) is None or True\nprint('is 1234')\nassert f(1) == 1234",
    ],
)
def test_prints_agree_with_what_is_changed(source: str) -> None:
    tests = script(source)
    ran = passed_cases(tests, THIEF)
    assert ran == {"0"}
    for twin in make_twins(tests, ["0"], seeded(4)):
        assert passed_cases(twin.tests, THIEF) == {"0"}
    for twin in make_twins(tests, ["0"], seeded(4), sites=find_sites(tests, joint=True)):
        assert "0" in twin.changed
        assert passed_cases(twin.tests, THIEF) == {"0"}


@pytest.mark.parametrize(
    "source",
    [
        "print(f(1234))\nassert f(1) == 1234",
        "print({1234: 5}[1234])\nassert f(1) == 1234",
        "with Tee() as tee:\n    print(1234)\nassert int(tee.text) == 1234",
        "start()\nprint(1234)\nassert int(stop()) == 1234",
        "def say():\n    print(1234)\nassert int(heard(say)) == 1234",
        "@heard\ndef say():\n    print(1234)\nassert int(say()) == 1234",
        "print(1234, file=held)\nassert int(held.text) == 1234",
    ],
)
def test_print_that_does_more_than_print_is_left_alone(source: str) -> None:
    printed = source[: source.index("assert")]
    for twin in make_twins(script(source), ["0"], seeded(4)):
        assert isinstance(twin.tests, ScriptTests)
        assert twin.tests.cases[0].source.startswith(printed)


def test_a_proposal_counts_once_the_reference_has_failed_it() -> None:
    code = "class Pair:\n    def __init__(self, a, b): self.a = a\n"
    code += "    def __eq__(self, other): return self.a == other.a\n"
    tests = script("assert Pair(1, 2) == Pair(1, 2)", "assert Pair(3, 4) == Pair(3, 4)")
    outcomes = set()
    for seed in range(30):
        (proposal,) = propose(tests, seeded(seed))
        assert proposal.sites.keys() == {CaseKey("0"), CaseKey("1")}
        failed = {"0", "1"} - passed_cases(proposal.twin.tests, code)
        approved = proposal.approved([CaseKey(id) for id in failed])
        sites = (*find_sites(tests), *approved)
        outcomes.add(frozenset(failed))
        for twin in make_twins(tests, ["0", "1"], seeded(seed), sites=sites):
            assert passed_cases(twin.tests, code) == {"0", "1"} - set(twin.changed)
    assert len(outcomes) > 1  # equality ignores b, and some proposals change only that


def test_each_expectation_that_no_certain_change_reaches_is_proposed() -> None:
    lines = [
        "a = Pair(1, 2)",
        "assert a.a == 1",
        "assert a + a == Pair(2, 4)",
        "assert a == Pair(1, 2)",
    ]
    tests = script("\n".join(lines))
    proposals = propose(tests, seeded(1))
    changed = []
    for proposal in proposals:
        assert isinstance(proposal.twin.tests, ScriptTests)
        now = proposal.twin.tests.cases[0].source.splitlines()
        changed += [number for number, line in enumerate(now) if line != lines[number]]
    assert sorted(changed) == [2, 3]


def test_row_whose_value_the_docstring_mentions_is_changed_for_its_own_case_only() -> None:
    rows = ["(270, 255)", "(300, 255)", "(-20, 0)"]
    source = (
        "import pytest\nfrom solution import clip\n\n"
        f"@pytest.mark.parametrize('raw, wanted', [{', '.join(rows)}], ids=['a', 'b', 'c'])\n"
        'def test_clip(raw, wanted):\n    """Clip to 0-255."""\n    assert clip(raw) == wanted\n'
    )
    tests = module(source)
    ids = [f"test_it.py::test_clip[{row}]" for row in "abc"]
    assert {site.cases for site in find_sites(tests)} == {
        (CaseKey("test_it.py::test_clip", row, len(rows)),) for row in range(len(rows))
    }
    for twin in make_twins(tests, ids, seeded(1)):
        assert isinstance(twin.tests, PytestTests)
        changed = twin.tests.files[0].content.decode()
        kept = {id for id, row in zip(ids, rows, strict=True) if row in changed}
        assert kept == {*ids} - twin.changed.keys()


def test_change_of_one_row_is_no_change_of_all() -> None:
    tests = module(
        "import pytest\nfrom solution import f\n\n"
        "@pytest.mark.parametrize('x, wanted', [(n, 11), (m, 12), (k, 13)])\n"
        "def test_f(x, wanted):\n    assert f(x) == {'value': wanted, 'about': 'my row'}\n"
    )
    for _ in range(20):
        find_sites.cache_clear()
        for site in find_sites(tests, joint=True):
            assert len(site.cases) == 1
            if site.cases[0].row is None:
                assert all(any('"' in e.text or "'" in e.text for e in c) for c in site.changes)


def test_what_rows_share_is_not_changed_if_it_may_make_no_difference_in_a_row() -> None:
    tests = module(
        "import pytest\nfrom solution import f\n\n"
        "@pytest.mark.parametrize('x, wanted', [(n, 11), (m, 1), (k, 2)])\n"
        "def test_f(x, wanted):\n    assert f(x) == max(wanted, 3)\n"
    )
    for _ in range(10):
        find_sites.cache_clear()
        sites = find_sites(tests)
        assert sites
        assert all(key.row is not None for site in sites for key in site.cases)


@pytest.mark.parametrize("joint", [True, False])
def test_objects_of_another_type_show_nothing_about_an_equality_of_the_program(joint: bool) -> None:
    lines = ["v = V(1, 2)", "assert v.x == 1", "assert v + v == V(2, 4)"]
    sites = find_sites(script("\n".join(lines)), joint=joint)
    assert sites
    assert {site.has_blind for site in sites} == {joint}


@pytest.mark.parametrize("side", ["any_id", "[any_id, n]"])
def test_what_may_be_the_tests_own_wildcard_is_replaced_itself(side: str) -> None:
    """A fixture of another file may return an object that equals everything."""
    source = f"from solution import f, n\n\ndef test_f(any_id):\n    assert f(1).id == {side}\n"
    start = source.rindex(side)
    sites = find_sites(module(source))
    assert sites
    assert {change[0].start for site in sites for change in site.changes} == {start}


def test_id_of_a_row_agrees_with_what_is_changed() -> None:
    rows = [f"pytest.param({n}, {n * n}, id='{n} to {n * n}')" for n in (11, 12, 13)]
    tests = module(
        "import pytest\nfrom solution import square\n\n"
        f"@pytest.mark.parametrize('n, wanted', [{', '.join(rows)}])\n"
        "def test_square(n, wanted):\n    assert square(n) == wanted\n"
    )
    ids = [f"test_it.py::test_square[{n} to {n * n}]" for n in (11, 12, 13)]
    for twin in make_twins(tests, ids, seeded(1)):
        assert isinstance(twin.tests, PytestTests)
        changed = twin.tests.files[0].content.decode()
        found = re.findall(r"param\((\d+), (\d+), id='(\d+) to (\d+)'\)", changed)
        assert [row[:2] for row in found] == [row[2:] for row in found]
        is_right = [int(n) ** 2 == int(wanted) for n, wanted, *_ in found]
        assert is_right == [id not in twin.changed for id in ids]


@pytest.mark.parametrize(
    "after",
    [
        "from other import test_double",
        "from other import *",
        "if True:\n    from other import test_double",
        "try:\n    def test_double():\n        pass\nexcept ImportError:\n    pass",
        "test_double = None",
        "for test_double in ():\n    pass",
        "class test_double:\n    pass",
        "del test_double",
    ],
)
def test_test_whose_name_is_bound_again_is_not_changed(after: str) -> None:
    function = "def test_double(self=None):\n    assert double(2) == 4\n"
    top = "from solution import double\n\n"
    assert find_sites(module(top + function))
    assert not find_sites(module(top + function + after))
    if "*" not in after:
        in_class = top + "class TestIt:\n" + textwrap.indent(function, "    ")
        assert find_sites(module(in_class))
        assert not find_sites(module(in_class + textwrap.indent(after, "    ")))


@pytest.mark.parametrize(
    ("cases", "is_own"),
    [
        (("want = 91\nassert f(1) == want", "want = 82\nassert f(2) == want"), True),
        (("want: int = 91\nassert f(1) == want", "want = 82\nassert f(2) == want"), True),
        (("want = 90 + 1\nassert f(1) == want", "want = 80 + 2\nassert f(2) == want"), True),
        (("want = 91\nassert f(1) == want", "assert f(1) == want\nwant = 82"), False),
        (("want = 91\nassert f(1) == want", "want = want + 1\nassert f(2) == want"), False),
        (("want = 91\nassert f(1) == want", "def later(): return want\nassert f(2) == 82"), False),
    ],
)
def test_variable_that_no_other_case_needs_is_changed_where_it_gets_its_value(
    cases: tuple[str, str], *, is_own: bool
) -> None:
    """A submission can read the variables of a script's tests by name."""
    tests = script(*cases)
    for twin in make_twins(tests, ["0"], seeded(1), collected=["0", "1"]):
        assert isinstance(twin.tests, ScriptTests)
        binding, asserted = twin.tests.cases[0].source.splitlines()
        before, _ = cases[0].splitlines()
        if twin.changed:
            assert (asserted == "assert f(1) == want") is is_own
            assert (binding == before) is not is_own
