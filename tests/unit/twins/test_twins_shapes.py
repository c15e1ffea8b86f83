"""For each form of expectation, a right program passes the original and fails every change."""

import textwrap

import pytest

from grader.model import ScriptTests
from grader.twins import find_sites
from grader.twins.sites import sites_of
from tests.unit.twins.running import make_twins, module, passed_cases, passed_tests, script, seeded

CODE = """
import sys


def same(x):
    return x


def fail(kind, text="no"):
    raise kind(text)


class Tee:
    text = ""

    def write(self, text):
        self.text += text

    def __enter__(self):
        self.before, sys.stdout = sys.stdout, self
        return self

    def __exit__(self, *error):
        sys.stdout = self.before


class Box:
    def __init__(self, item):
        self.item = item

    def __eq__(self, other):
        return self.item == other.item

    def __enter__(self):
        return self

    def __exit__(self, *about):
        return True
"""
PRELUDE = """
import contextlib, datetime, math, unittest
from collections import Counter
from decimal import Decimal
from fractions import Fraction
import numpy as np
import pytest
"""
PANDAS = "import pandas as pd\nfrom pandas.testing import assert_frame_equal, assert_series_equal\n"

STATEMENTS = [
    "assert same(4) == 4",
    "assert 4 == same(4)",
    "assert same(-7) == -7",
    "assert same(0) == 0",
    "assert same(10**9 + 7) == 10**9 + 7",
    "assert same(0xFF) == 0xFF",
    "assert same(1_000_000) == 1_000_000",
    "assert same(2.5) == 2.5",
    "assert same(1e-7) == 1e-7",
    "assert same(0.0) == 0.0",
    "assert same(1+2j) == 1+2j",
    "assert same('Hello, World') == 'Hello, World'",
    "assert same('') == ''",
    "assert same('()[]') == '()[]'",
    r"assert same('a\n\tb') == 'a\n\tb'",
    "assert same('''one\ntwo''') == '''one\ntwo'''",
    "assert same('one two') == ('one '\n    'two')",
    "assert same(b'ab') == b'ab'",
    "assert same([1, 2, 2]) == [1, 2, 2]",
    "assert same([]) == []",
    "assert same(()) == ()",
    "assert same({}) == {}",
    "assert same((1, 'a')) == (1, 'a')",
    "assert same({1, 2}) == {1, 2}",
    "assert same({'a': [1, {'b': None}]}) == {'a': [1, {'b': None}]}",
    "assert sorted(same([3, 1])) == [1, 3]",
    "assert set(same([3, 1, 1])) == set([1, 1, 3])",
    "assert same(Counter('aab')) == Counter({'a': 2, 'b': 1})",
    "assert same(Counter({'a': 0, 'b': 1})) == Counter({'a': 0, 'b': 1})",
    "assert same(Decimal('1.50')) == Decimal('1.50')",
    "assert same(Fraction(1, 2)) == Fraction(1, 2)",
    "assert same(datetime.date(2024, 2, 29)) == datetime.date(2024, 2, 29)",
    "assert same('a-b') == '-'.join(['a', 'b'])",
    "assert same(True) == True",
    "assert same(True) is True",
    "assert same(None) is None",
    "assert same(1) is not None",
    "assert same(None) == None",
    "assert same(True)",
    "assert not same(False)",
    "assert not (same(0) or same(''))",
    "assert same(1) and same(2) == 2",
    "assert same(0) or same(2)",
    "assert same(3) != 4",
    "assert not same(3) < 3",
    "assert not same(3) > 3",
    "assert same(3) > 2",
    "assert same(3) >= 3",
    "assert 2 < same(3)",
    "assert same(3) <= 3",
    "assert 0 <= same(3) < 10",
    "assert same(3) == same(3) == 3",
    "assert same(3) in (1, 2, 3)",
    "assert same(3) not in [1, 2]",
    "assert isinstance(same(3), int)",
    "assert isinstance(same(3), (int, float))",
    "assert isinstance(same(Box(3)), Box)",
    "assert type(same(3)) == int",
    "assert len(same([1, 2])) == 2",
    "assert same(3.14159) == pytest.approx(3.14159)",
    "assert same(3.2) == pytest.approx(3.0, abs=0.5)",
    "assert pytest.approx([1.0, 2.0]) == same([1.0, 2.0])",
    "assert [0, 5] == pytest.approx(same([0, 5]), abs=30)",
    "got = pytest.approx(same([0, 5]), abs=30)\nassert [0, 5] == got",
    "assert [0, 5] == [pytest.approx(x, abs=30) for x in same([0, 5])]",
    "assert same([0, 5]) == [pytest.approx(0, abs=30), pytest.approx(5, abs=30)]",
    "n = 5\nassert n * 2 == pytest.approx(same(10), abs=30)",
    f"{PANDAS}assert_frame_equal(same(pd.DataFrame([0.0, 5.0])), pd.DataFrame([0.0, 5.0]))",
    f"{PANDAS}assert_frame_equal(same(pd.DataFrame([0.0, 5.0])), pd.DataFrame([0.0, 5.0]), atol=1)",
    "assert math.isclose(same(0.3), 0.1 + 0.2)",
    "assert np.allclose(same([1.0, 2.0]), [1.0, 2.0])",
    "assert np.allclose(same([]), [])",
    "want = []\nassert np.allclose(same([]), want)",
    "assert np.allclose(same(np.array([])), np.array([]))",
    "assert np.array_equal(same([]), [])",
    "np.testing.assert_allclose(same([]), [])",
    "np.testing.assert_array_equal(same([]), [])",
    "assert np.array_equal(same(np.array([1, 2])), np.array([1, 2]))",
    "np.testing.assert_allclose(same([1.0, 2.0]), [1.0, 2.0], rtol=1e-3)",
    "np.testing.assert_array_equal(same([1, 2]), [1, 2])",
    "assert abs(same(2.0) - 2.0) < 1e-6",
    "assert abs(5 - same(5.4)) <= 0.5",
    "assert round(same(2.71828), 2) == 2.72",
    "assert all(x > 0 for x in same([1, 2]))",
    "expected = [1, 2]\nassert same([1, 2]) == expected",
    "expected = {'a': 1}\nresult = same({'a': 1})\nassert result == expected, f'not {expected}'",
    "expected = [1, 2]\nassert len(same([1, 2])) == len(expected)\nassert same([1, 2]) == expected",
    "x, expected = 2, 2\nassert same(x) == expected",
    "pair = (2, 2)\nx, expected = pair\nassert same(x) == expected",
    "pair = (2, 2)\nassert same(pair[0]) == pair[1]",
    "row = {'x': [2], 'want': [2]}\nassert same(row['x']) == row['want']",
    "row = ([1], [2])\nrow[0].extend(same([3]))\nassert same([2]) == row[1]",
    "for x, want in [(1, 1), (2, 2)]:\n    assert same(x) == want",
    "table = [(1, 1), (2, 2)]\nfor x, want in table:\n    assert same(x) == want",
    "for i, (x, want) in enumerate([(1, 1), (2, 2)]):\n    assert same(x) == want, i",
    "for x, want in zip([1, 2], [1, 2]):\n    assert same(x) == want",
    "for x, want in {1: 1, 2: 2}.items():\n    assert same(x) == want",
    "for case in [{'x': 1, 'want': 1}]:\n    assert same(case['x']) == case['want']",
    "for case in [(1, 1), (2, 2)]:\n    x, want = case\n    assert same(x) == want",
    "for case in [(1, 1), (2, 2)]:\n    assert same(case[0]) == case[1]",
    "for x in [1, 2]:\n    assert same(x) > 0",
    "for _ in range(3):\n    assert same(1) == 1",
    "def check(f):\n    assert f(1) == 1\n    assert f(2) == 2\ncheck(same)",
    "def same_as(x, want):\n    assert same(x) == want\nsame_as(1, 1)",
    "def check(f, table):\n    for x, want in table:\n        assert f(x) == want\n"
    "check(same, [(1, 1)])",
    "with pytest.raises(ValueError):\n    fail(ValueError)",
    "with pytest.raises((KeyError, IndexError)):\n    fail(KeyError)",
    "with pytest.raises(ValueError, match='no') as found:\n    fail(ValueError)\n"
    "assert str(found.value) == 'no'",
    "pytest.raises(LookupError, fail, KeyError)",
    "with pytest.raises(Exception):\n    fail(KeyError)",
    "try:\n    fail(ValueError)\n    assert False\n"
    "except ValueError as e:\n    assert str(e) == 'no'",
    "try:\n    fail(ValueError)\nexcept ValueError:\n    pass\nelse:\n    raise AssertionError",
    "try:\n    assert same(1) == 1\nexcept Exception as e:\n    pytest.fail(str(e))",
    "try:\n    assert same(1) == 1\nfinally:\n    same(2)",
    "with contextlib.nullcontext():\n    assert same(1) == 1",
    "if same(1):\n    x = 2\nassert same(3) == 3",
    "if same(3) != 3:\n    raise AssertionError('not 3')",
    "want = [1]\nif same([1]) != want:\n    pytest.fail(f'not {want}')",
    "if not same(1):\n    raise AssertionError",
]


COMPUTED = [
    "n = 4\nassert same(n * 3) == n * 3",
    "n = 4\nassert n * 3 == same(n * 3)",
    "for n in range(-3, 4, 2):\n    assert same(n / 2) == n / 2",
    "def triple(n):\n    return 3 * n\nfor n in range(4):\n    assert same(3 * n) == triple(n)",
    "xs = [3, 1]\nassert same(sorted(xs)) == sorted(xs)",
    "x = 'ab'.upper()\nassert same(x) == x",
    "x = b'ab'.upper()\nassert same(x) == x",
    "x = tuple([1, 2])\nassert same(x) == x",
    "x = set([1, 2])\nassert same(x) == x",
    "x = dict(a=1)\nassert same(x) == x",
    "x = bool(1)\nassert same(x) == x",
    "x = math.inf\nassert same(x) == x",
    "x = [math.nan]\nassert same(x) == x",
    "x = 10 ** 300 * 1.0\nassert same(x) == x",
    "x = Decimal(3) / 7\nassert same(x) == x",
    "x = datetime.date.today()\nassert same(x) == x",
    "x = Counter('aab')\nassert same(x) == x",
]
"""The expected value is computed by the tests."""


@pytest.mark.parametrize("source", COMPUTED)
def test_object_that_equals_everything_passes_a_change_of_a_computed_value(source: str) -> None:
    poser = "class Poser:\n    def __eq__(self, other):\n        return True\n"
    poser += "def same(x):\n    return Poser()\n"
    tests = ScriptTests(cases=script(source).cases, setup=PRELUDE)
    for twin in make_twins(tests, ["0"], seeded(1)):
        assert twin.changed
        assert passed_cases(twin.tests, CODE) == set()
        assert passed_cases(twin.tests, f"{CODE}\n{poser}") == {"0"}


UNKNOWN = [
    "x = same(2)\nassert same(2) == x",
    "def twice(n):\n    return same(n) * 2\nassert same(4) == twice(2)",
    "x = 0\nfor n in same([1, 2]):\n    x += n\nassert same(3) == x",
    "assert same(Box(3)) == same(Box(3))",
    "assert list(same([1])) == list(same((1,)))",
]
"""The expected value may come from the submission."""


@pytest.mark.parametrize("source", STATEMENTS + COMPUTED + UNKNOWN)
def test_a_right_program_fails_every_change(source: str) -> None:
    tests = script(source)
    code = CODE + PRELUDE
    assert passed_cases(tests, code) == {"0"}
    tests = ScriptTests(cases=tests.cases, setup=PRELUDE)
    assert find_sites(tests)
    changed = set()
    for seed in range(6):
        for twin in make_twins(tests, ["0"], seeded(seed), sites=[*sites_of(tests, seeded(seed))]):
            assert isinstance(twin.tests, ScriptTests)
            assert twin.tests != tests
            assert passed_cases(twin.tests, code) == set(), twin.tests.cases[0].source
            changed.add(twin.tests)
    assert changed


METHODS = [
    "self.assertEqual(same(4), 4)",
    "self.assertEqual([1, 2], same([1, 2]), 'as it is')",
    "self.assertEqual(first=same(4), second=4)\nself.assertTrue(same(1))",
    "self.assertListEqual(same([1]), [1])",
    "self.assertDictEqual(same({'a': 1}), {'a': 1})",
    "self.assertCountEqual(same([2, 1]), [1, 2])",
    "self.assertNotEqual(same(4), 5)",
    "self.assertTrue(same(True))",
    "self.assertTrue(same(4) == 4)",
    "self.assertTrue(not same(0))",
    "self.assertFalse(same(0))",
    "self.assertFalse(same(0) or same(''))",
    "self.assertIs(same(True), True)",
    "self.assertIsNone(same(None))",
    "self.assertIsNotNone(same(1))",
    "self.assertIn(1, same([1]))",
    "self.assertNotIn(2, same([1]))",
    "self.assertIsInstance(same([1]), list)",
    "self.assertGreater(same(2), 1)",
    "self.assertLessEqual(same(2), 2)",
    "self.assertAlmostEqual(same(0.1), 0.1)",
    "self.assertAlmostEqual(same(10.2), 10, delta=0.5)",
    "self.assertAlmostEqual(same(3.1), 3, places=0)",
    "self.assertRegex(same('abc'), r'b')",
    "with self.assertRaises(ValueError) as err:\n    fail(ValueError)\n"
    "self.assertEqual(type(err.exception), ValueError)\n"
    "self.assertEqual(err.exception.args[0], 'no')",
    "self.assertRaises(ZeroDivisionError, fail, ZeroDivisionError)",
    "with self.assertRaisesRegex(ValueError, 'n.'):\n    fail(ValueError)",
    "with self.assertRaisesText(ValueError):\n    fail(ValueError)",
    "for x, want in [(1, 1), (2, 2)]:\n    with self.subTest(x=x):\n"
    "        self.assertEqual(same(x), want)",
    "self.expect(3, 3)",
]
CLASS = """{prelude}
from solution import fail, same


class TestIt(unittest.TestCase):
    def test_it(self):
{body}

    def assertRaisesText(self, kind):
        return self.assertRaisesRegex(kind, r".+")

    def expect(self, x, want):
        self.assertEqual(same(x), want)
"""


@pytest.mark.parametrize("body", METHODS)
def test_a_right_program_fails_every_change_of_a_unittest_method(body: str) -> None:
    source = CLASS.format(prelude=PRELUDE, body=textwrap.indent(body, " " * 8))
    tests = module(source)
    id = "test_it.py::TestIt::test_it"
    assert passed_tests(tests, CODE) == {id}
    for seed in range(6):
        sites = [*sites_of(tests, seeded(seed))]
        assert sites
        for twin in make_twins(tests, [id], seeded(seed), sites=sites):
            assert list(twin.changed) == [id]
            assert passed_tests(twin.tests, CODE) == set()
        joint = [*sites_of(tests, seeded(seed), joint=True)]
        assert joint
        for twin in make_twins(tests, [id], seeded(seed), sites=joint):
            assert passed_tests(twin.tests, CODE) == set()


UNCERTAIN = [
    pytest.param("if same(1):\n    assert same(1) == 1", id="under a condition"),
    pytest.param("while same(0):\n    assert same(1) == 1", id="in a loop that may not run"),
    pytest.param("for x in same([]):\n    assert same(x) == 1", id="over what may be empty"),
    pytest.param("for x in []:\n    assert same(x) == 1", id="over nothing"),
    pytest.param(
        "table = [1]\nsame(table).clear()\nfor x in table:\n    assert same(1) == 1",
        id="over a table that the submission gets",
    ),
    pytest.param(
        "for x in [1, 2]:\n    if x:\n        continue\n    assert same(1) == 1",
        id="after continue",
    ),
    pytest.param("try:\n    assert same(1) == 1\nexcept AssertionError:\n    pass", id="caught"),
    pytest.param("with contextlib.suppress(Exception):\n    assert same(1) == 1", id="suppressed"),
    pytest.param(
        "@contextlib.contextmanager\ndef tries():\n    try:\n        yield\n"
        "    except ValueError:\n        pass\nwith tries():\n    assert fail(ValueError) == 1",
        id="in a context of the tests",
    ),
    pytest.param(
        "class Tries:\n    @contextlib.contextmanager\n    def tries(self):\n        try:\n"
        "            yield\n        except ValueError:\n            pass\n"
        "with Tries().tries():\n    assert fail(ValueError) == 1",
        id="in a context that an object of the tests makes",
    ),
    pytest.param(
        "for context in [contextlib.suppress(ValueError)]:\n"
        "    with context:\n        assert fail(ValueError) == 1",
        id="in a context with a name",
    ),
    pytest.param(
        "with Box(1):\n    assert {}[1] == 1",
        id="in a context of the submission, with an error of the tests' own",
    ),
    pytest.param(
        "with Box(1):\n    x = same(1)\n    assert x == 1",
        id="later in a context of the submission",
    ),
    pytest.param(
        "with Box(1):\n    assert same(1) == 1\ntry:\n    pass\nexcept AssertionError:\n    pass",
        id="in a context of the submission, by a suite that catches failures",
    ),
    pytest.param("def later():\n    assert same(1) == 1", id="in a function that is not called"),
    pytest.param(
        "def check():\n    if same(1):\n        return\n    assert same(1) == 1\ncheck()",
        id="after return",
    ),
    pytest.param("def check():\n    yield\n    assert same(1) == 1\ncheck()", id="in a generator"),
    pytest.param("x = 3\nassert same(x) == x", id="an input that is expected back"),
    pytest.param(
        "x = 'a'\nwith Tee() as tee:\n    print(x, end='')\nassert tee.text == x",
        id="printed in a context of the submission",
    ),
    pytest.param(
        "x = 'a'\ntee = Tee()\nprint(x, end='', file=tee)\nassert tee.text == x",
        id="printed to an object of the submission",
    ),
    pytest.param(
        "x = 'a'\ntee = Tee()\nbefore, sys.stdout = sys.stdout, tee\nprint(x, end='')\n"
        "sys.stdout = before\nassert tee.text == x",
        id="printed while standard output is an object of the submission",
    ),
    pytest.param("assert same([1, 2]) == same([1, 2])\nassert True", id="turned only"),
    pytest.param(
        "want = [2, 1]\nwant.sort()\nwant = same(want)\nassert want == sorted(want)",
        id="what is changed before it is compared",
    ),
    pytest.param(
        f"{PANDAS}assert_series_equal(same(pd.Series([1], name='a')), pd.Series([1], name='b'), "
        "check_names=False)",
        id="a comparison that leaves something out",
    ),
    pytest.param("assert 1 == 1", id="nothing of the submission"),
    pytest.param("assert same(Box(1)) == Box(1)", id="an argument that equality may ignore"),
    pytest.param("same(1)", id="no assertion"),
]
TURNED_ONLY = ("==", "!=", "(None, 1)", ")", "(lambda o, v: ")
"""What a change begins with. `(None, 1)` replaces `Box(1)`, which never equals a tuple; the last
two are put around a value."""


@pytest.mark.parametrize("source", UNCERTAIN)
def test_expectation_that_a_right_program_may_pass_is_not_changed(source: str) -> None:
    """Only the comparison itself may be negated, which a right program always fails."""
    tests = ScriptTests(cases=script(source).cases, setup=PRELUDE)
    for seed in range(4):
        for site in sites_of(tests, seeded(seed)):
            texts = [edit.text for change in site.changes for edit in change]
            assert all(text.startswith(TURNED_ONLY) for text in texts)
            for twin in make_twins(tests, ["0"], seeded(seed), sites=[site]):
                assert passed_cases(twin.tests, CODE) == set()


@pytest.mark.parametrize(
    "decorator",
    ["@pytest.mark.xfail", "@unittest.expectedFailure", "@retried", "@pytest.fixture"],
)
def test_test_whose_failure_may_be_swallowed_is_not_changed(decorator: str) -> None:
    source = f"import pytest, unittest\n\n{decorator}\ndef test_it():\n    assert same(1) == 1\n"
    other = "\ndef test_other():\n    assert same(2) == 2\n"
    sites = find_sites(module(source + other))
    assert {where.base for site in sites for where in site.cases} == {"test_it.py::test_other"}


@pytest.mark.parametrize(
    ("raised", "never"),
    [
        ("ValueError", {"OSError", "FileNotFoundError", "IndexError"}),
        ("LookupError", {"KeyError", "IndexError"}),
        ("ArithmeticError", {"ZeroDivisionError"}),
        ("OSError", {"FileNotFoundError", "ValueError"}),
        ("Exception", {"ValueError", "KeyError", "TypeError"}),
        ("Unknown", {"ValueError", "KeyError", "TypeError"}),
    ],
)
def test_exceptions_are_replaced_by_those_that_cannot_be_of_both_kinds(
    raised: str, never: set[str]
) -> None:
    tests = script(f"import pytest\nwith pytest.raises({raised}):\n    f()")
    texts = {
        edit.text
        for seed in range(10)
        for site in sites_of(tests, seeded(seed))
        for change in site.changes
        for edit in change
    }
    assert texts
    assert not texts & never
