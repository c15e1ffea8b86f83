"""The tests that `find_tests` finds in a source, compared with those that pytest collects."""

import gzip
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from grader.model import PytestTests, SuiteFile
from grader.model.errors import SuiteError
from grader.source.pytest_skips import RowSkips
from grader.source.pytest_tests import ExpectedTests, find_tests


def find(*sources: str) -> ExpectedTests:
    files = tuple(
        SuiteFile(path=f"test_{n}.py", content=source.encode()) for n, source in enumerate(sources)
    )
    return find_tests(PytestTests(files=files, test_paths=tuple(file.path for file in files)))


TRICKY = """
import unittest
from unittest import TestCase, IsolatedAsyncioTestCase

import pytest
import abc
from solution import *
from solution import test_of_the_submission


def test_plain(): ...


async def test_coroutine(): ...


def testing_prefix(): ...


def helper(): ...


@pytest.fixture
def test_fixture(): ...


@pytest.fixture(scope="module")
def test_fixture_with_arguments(): ...


@pytest.mark.parametrize("value", ["a", "b::c", "d[e]"])
@pytest.mark.parametrize("other", [1, 2])
def test_parametrized(value, other): ...


def test_removed(): ...


del test_removed


def test_redefined(): raise ValueError


def test_redefined(): ...


class TestPlain:
    def test_method(self): ...
    def helper(self): ...
    @staticmethod
    def test_static(): ...
    class TestInner:
        def test_deep(self): ...
    class Inner:
        def test_not_collected(self): ...


class TestWithConstructor:
    def __init__(self): ...
    def test_never(self): ...


class TestInheritsConstructor(TestWithConstructor):
    def test_never_either(self): ...


class Mixin:
    def test_mixed_in(self): ...
    def test_disabled(self): ...


class TestChild(Mixin, TestPlain):
    test_disabled = None
    def test_own(self): ...


class TestSwitchedOff:
    __test__ = False
    def test_off(self): ...


class TestSwitchedOnAgain(TestSwitchedOff):
    __test__ = True


class Case(unittest.TestCase):
    def test_case(self): ...
    def testCamel(self): ...
    def helper(self): ...
    class TestInside(unittest.TestCase):
        def test_in_case(self): ...


class ChildCase(Case):
    def test_child(self): ...


class MixedCase(Mixin, TestCase):
    test_disabled = None


class AsyncCase(IsolatedAsyncioTestCase):
    async def test_async(self): ...


class RunsItself(TestCase):
    def runTest(self): ...


class Base(TestCase):
    def test_hidden(self): ...


class Concrete(Base): ...


del Base


class Generic_(TestPlain, abc.ABC): ...


class TestGeneric(Generic_): ...


@unittest.skip("not now")
def test_skipped(): ...


@pytest.mark.skip
def test_marked_skip(): ...


@pytest.mark.xfail(reason="known")
def test_expected_to_fail(): assert False


@unittest.skip("whole class")
class SkippedCase(TestCase):
    def test_in_skipped(self): ...


class TestMarked:
    @unittest.expectedFailure
    def test_expected_failure(self): assert False
"""


def collected_by_pytest(folder: Path) -> list[str]:
    listing = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "--collect-only",
            "-q",
            "-c/dev/null",
            f"--rootdir={folder}",
            "-pno:cacheprovider",
            "-Wignore",
            ".",
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    ids = [line for line in listing.stdout.splitlines() if "::" in line]
    assert listing.returncode == 0, listing.stdout
    return [
        f"{path}::{name.partition('[')[0]}" for path, _, name in (i.partition("::") for i in ids)
    ]


def test_find_tests_finds_what_pytest_collects(tmp_path: Path) -> None:
    (tmp_path / "test_0.py").write_text(TRICKY)
    (tmp_path / "solution.py").write_text("def test_of_the_submission(): ...\n")
    expected = find(TRICKY)
    theirs = {"test_0.py::test_of_the_submission"}
    assert {*expected.required, *expected.waived} == {*collected_by_pytest(tmp_path)} - theirs
    assert expected.dynamic_paths == set()


def test_find_tests_waives_what_the_suite_marks() -> None:
    expected = find(TRICKY)
    assert expected.waived == {
        "test_0.py::test_skipped",
        "test_0.py::test_marked_skip",
        "test_0.py::test_expected_to_fail",
        "test_0.py::SkippedCase::test_in_skipped",
        "test_0.py::TestMarked::test_expected_failure",
    }
    assert not expected.waived & set(expected.required)


ROWS = """
import unittest
from unittest.mock import patch

import pytest
from pytest import mark

PAIRS = [(1, 2), (3, 4), (5, 6)]
GROWN = [1]
GROWN.append(2)
SHRUNK = [1, 2, 3]
del SHRUNK[1:]
EITHER = [1, 2, 3]
if len(PAIRS) == 3:
    EITHER = [1]
HIDDEN = [4]
TABLE = {"a": 1, "b": 2, "c": 3}
NAMED = list(zip(TABLE.values(), [4, 5, 6, 7]))


def bare(function):
    def test():
        ...
    return test


@pytest.fixture(params=["x", "y"])
def letter(request): return request.param


@pytest.fixture
def word(letter): return letter * 2


@pytest.fixture(params=[1, 2, 3])
def shadowed(request): return request.param


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_named(a, b): ...


@pytest.mark.parametrize("a, b", PAIRS + [(7, 8)], ids=str)
@mark.parametrize(argnames="c", argvalues=range(2))
def test_stacked(a, b, c): ...


@patch("os.sep", "/")
@pytest.mark.parametrize("a", [1, 2])
def test_below_another_decorator(a): ...


@bare
@pytest.mark.parametrize("a", [1, 2])
def test_lost(a): ...


@pytest.mark.parametrize("a", GROWN)
def test_grown(a): ...


@pytest.mark.parametrize("a", SHRUNK)
def test_shrunk(a): ...


@pytest.mark.parametrize("a", EITHER)
def test_either(a): ...


@pytest.mark.parametrize("a", [1, *HIDDEN, pytest.param(2, marks=pytest.mark.skip)])
def test_unpacked(a): ...


@pytest.mark.parametrize("a", [])
def test_without_rows(a): ...


@pytest.mark.parametrize("key, value", TABLE.items(), ids=TABLE.keys())
def test_table(key, value): ...


@pytest.mark.parametrize("a, b", list(zip([1, 2, 3], range(5, 9, 2))))
def test_zipped(a, b): ...


@pytest.mark.parametrize("a, b", NAMED)
def test_named_table(a, b): ...


@pytest.mark.parametrize("a", sorted([n * n for n in PAIRS[0] + (7,)] + [-n for n in (1, 2)]))
def test_made(a): ...


@pytest.mark.parametrize("a", [n for n in range(9) if n % 2])
def test_filtered(a): ...


@pytest.mark.parametrize("a", [n for n, _ in enumerate(PAIRS)])
def test_numbered(a): ...


def test_of_a_fixture(word, letter): ...


@pytest.mark.parametrize("word", ["z"])
def test_of_a_replaced_fixture(word): ...


def test_with_a_default(letter="z"): ...


@pytest.mark.parametrize("a", [1, 2])
class TestMarked:
    def test_one(self, a): ...

    @pytest.mark.parametrize("b", [1, 2, 3])
    def test_two(self, a, b): ...


class TestInherited(TestMarked):
    @pytest.fixture
    def shadowed(self): return 1

    def test_three(self, a, shadowed): ...


class CaseOfUnittest(unittest.TestCase):
    @pytest.mark.parametrize("a", [1, 2])
    def test_marked(self): ...
"""


def test_find_tests_counts_the_rows_that_a_source_shows(tmp_path: Path) -> None:
    (tmp_path / "test_0.py").write_text(ROWS)
    theirs = Counter(collected_by_pytest(tmp_path))
    rows = find(ROWS).rows
    assert all(theirs[id] >= count for id, count in rows.items())
    unknown = {"below_another_decorator": 1, "grown": 1, "unpacked": 2, "filtered": 1, "made": 3}
    for name, shown in unknown.items():
        id = f"test_0.py::test_{name}"
        assert rows.get(id, 1) == shown
        del theirs[id]
    assert {id: rows.get(id, 1) for id in theirs} == theirs


def test_rows_that_double_in_each_line_take_no_room() -> None:
    lines = ["import pytest", "T0 = [1, 2]", *(f"T{n} = T{n - 1} + T{n - 1}" for n in range(1, 60))]
    test = "@pytest.mark.parametrize('x', T59)\ndef test_a(x): ...\n"
    assert find("\n".join([*lines, test])).rows == {}


def test_find_tests_keeps_the_order_of_modules_and_tests() -> None:
    expected = find("def test_b(): ...\ndef test_a(): ...\n", "def test_c(): ...\n")
    assert expected.required == ("test_0.py::test_b", "test_0.py::test_a", "test_1.py::test_c")


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(
            "import pytest\npytestmark = pytest.mark.skip\ndef test_a(): ...", id="module"
        ),
        pytest.param(
            "import pytest\npytestmark = [pytest.mark.skip('x')]\ndef test_a(): ...", id="l"
        ),
        pytest.param("", id="empty"),
        pytest.param("def helper(): ...", id="no test"),
        pytest.param("class TestA:\n    def helper(self): ...", id="class without test"),
        pytest.param("from solution import *", id="only the submission's"),
        pytest.param("def test_a(: ...", id="does not parse"),
        pytest.param("x = '\0'", id="NUL"),
        pytest.param("(" * 10_000, id="parser bomb"),
    ],
)
def test_suite_without_a_test_to_pass_is_the_suites_fault(source: str) -> None:
    with pytest.raises(SuiteError, match=r"test_0\.py"):
        find(source)


def test_suite_that_lacks_its_module_is_the_suites_fault() -> None:
    with pytest.raises(SuiteError, match=r"'test_x\.py' is not among"):
        find_tests(PytestTests(files=(), test_paths=("test_x.py",)))


def test_suite_without_modules_is_the_suites_fault() -> None:
    with pytest.raises(SuiteError, match="without modules"):
        find_tests(PytestTests(files=(), test_paths=()))


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("from helpers import *", id="star import"),
        pytest.param("from helpers import TestShared", id="imported class"),
        pytest.param("from helpers import make\ntest_made = make()", id="made"),
        pytest.param("from helpers import make\nTestA, TestB = make()", id="made together"),
        pytest.param("from helpers import make\n[(_, *TestRest)] = make()", id="nested targets"),
        pytest.param("from helpers import make\ntest_made: object = make()", id="annotated"),
        pytest.param("from helpers import make\nprint(test_made := make())", id="walrus"),
        pytest.param("from helpers import made\nfor TestEach in made: ...", id="loop's target"),
        pytest.param("from helpers import made\nwith made as TestInside: ...", id="with"),
        pytest.param("from helpers import made\nmatch made:\n    case TestAny: ...", id="match"),
        pytest.param("try:\n    import test_it\nexcept ImportError: ...", id="import in a try"),
        pytest.param(
            "from helpers import make\nclass TestA:\n    test_a, test_b = make()", id="in a class"
        ),
        pytest.param(
            "class TestA:\n    if True:\n        def test_a(self): ...", id="conditional method"
        ),
        pytest.param("if True:\n    def test_a(): ...", id="conditional"),
        pytest.param("from helpers import Base\nclass Child(Base): ...", id="unknown base"),
        pytest.param("for n in range(3):\n    def test_n(): ...", id="loop"),
        pytest.param("for n in range(3): globals()[f'test_{n}'] = print", id="globals"),
        pytest.param("def make(name): globals().update({name: print})", id="globals, later"),
        pytest.param("class TestA:\n    vars()['test_' + 'a'] = print", id="names of a class"),
    ],
)
def test_module_that_may_have_more_tests_is_known_as_such(source: str) -> None:
    assert find(source).dynamic_paths == {"test_0.py"}


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("test_later: object", id="annotation alone"),
        pytest.param("test_data = [1, 2]\ntest_name: str = 'x'", id="literals"),
        pytest.param("every = [test for test in (1, 2)]", id="a comprehension's own name"),
        pytest.param("made = lambda: (test_made := 1)", id="a lambda's own name"),
        pytest.param("def helper():\n    test_made = 1", id="a function's own name"),
        pytest.param("with open('x') as file: text = file.read()", id="other names"),
    ],
)
def test_names_that_tests_cannot_have_are_not_a_sign_of_more_tests(source: str) -> None:
    assert find(f"{source}\ndef test_a(): ...").dynamic_paths == set()


def test_classes_that_may_be_given_tests_at_run_time_are_those_that_are_not_skipped() -> None:
    found = find(
        "import pytest, unittest\n"
        "class TestA:\n    def test_a(self): ...\n"
        "class Plain: ...\n"
        "@unittest.skip('no')\nclass TestB(unittest.TestCase):\n    def test_b(self): ...\n"
        "def test_c(): ...\n"
    )
    assert found.classes == {"test_0.py::TestA", "test_0.py::Plain"}
    assert (
        find(
            "import pytest\npytestmark = pytest.mark.skip\nclass TestA: ...", "def test_b(): ..."
        ).classes
        == set()
    )


@pytest.mark.parametrize("gone", ["del (test_a, test_b)", "test_a, test_b = None, None"])
def test_deleted_names_are_not_tests(gone: str) -> None:
    definitions = "def test_a(): ...\ndef test_b(): ...\ndef test_c(): ..."
    methods = definitions.replace("\n", "\n    ").replace("()", "(self)")
    found = find(f"{definitions}\n{gone}\nclass TestIt:\n    {methods}\n    {gone}")
    assert found.required == ("test_0.py::test_c", "test_0.py::TestIt::test_c")


def test_base_of_another_module_is_not_the_modules_own_class_of_that_name() -> None:
    found = find(
        "import unittest\n"
        "class TestCase(unittest.TestCase):\n    def test_a(self): ...\n"
        "class TestOther(unittest.TestCase):\n    def test_b(self): ...\n"
        "class Outer:\n    class Inner(unittest.TestCase):\n        def test_c(self): ...\n"
        "class TestDeep(Outer.Inner): ...\n"
    )
    assert [base.partition("::")[2] for base in found.required] == [
        "TestCase::test_a",
        "TestOther::test_b",
        "TestDeep::test_c",
    ]
    assert found.dynamic_paths == set()


def test_conditional_marks_do_not_waive_a_test() -> None:
    expected = find(
        "import pytest, unittest, sys\n"
        "@pytest.mark.skipif(sys.platform == 'win32', reason='x')\ndef test_a(): ...\n"
        "@unittest.skipUnless(True, 'x')\ndef test_b(): ...\n"
        "@pytest.mark.xfail(sys.platform == 'win32', reason='x')\ndef test_c(): ...\n"
    )
    assert [base.partition("::")[2] for base in expected.required] == ["test_a", "test_b", "test_c"]
    assert expected.waived == set()


def test_marks_whose_condition_is_sure_to_hold_waive_a_test() -> None:
    expected = find(
        "import os, platform, pytest, sys, unittest\n"
        "@pytest.mark.skipif(sys.platform != 'linux', reason='x')\ndef test_a(): ...\n"
        "@pytest.mark.skipif('sys.platform.startswith(\"linux\")', reason='x')\ndef test_b(): ...\n"
        "@unittest.skipUnless(os.name == 'nt', 'x')\ndef test_c(): ...\n"
        "@unittest.skipIf(sys.version_info >= (3, 8) and True, 'x')\ndef test_d(): ...\n"
        "@pytest.mark.xfail(platform.system() == 'Linux')\ndef test_e(): ...\n"
        "@pytest.mark.skipif(sys.version_info < (3, 12), reason='x')\ndef test_f(): ...\n"
        "@pytest.mark.skipif(solution.missing, reason='x')\ndef test_g(): ...\n"
        "@pytest.mark.skipif({1: True}[0], reason='x')\ndef test_h(): ...\n"
        # Warnings are errors here; the escape in the condition must not matter.
        "@pytest.mark.skipif(r'sys.platform != \"\\ \"', reason='x')\ndef test_i(): ...\n"
        "@pytest.mark.skipif('import sys', reason='x')\ndef test_j(): ...\n"
    )
    left = [base.partition("::")[2] for base in expected.required]
    assert left == ["test_a", "test_f", "test_g", "test_h", "test_j"]


def test_skips_of_rows_are_read_from_a_tests_source() -> None:
    expected = find(
        "import pytest\n"
        "@pytest.mark.parametrize('x', [1, 2, 30])\n"
        "def test_a(x):\n    if x > 9: pytest.skip('too slow')\n    assert f(x)\n"
        "class TestB:\n    def test_c(self): self.skipTest('here')\n"
        "def test_d(): ...\n"
        "def test_e():\n    if f() is None: pytest.skip('the submission can have this')\n"
        "def test_f():\n    try: f()\n    except KeyError: pytest.skip('and this')\n"
        "@pytest.mark.parametrize('x, y', ROWS)\n"
        "def test_g(x, y):\n    if x == y: pytest.skip(reason='other')\n"
        "@pytest.mark.parametrize('x', [1, pytest.param(2, marks=pytest.mark.skip), pytest.param(\n"
        "    3, marks=[pytest.mark.xfail]), pytest.param(4, marks=pytest.mark.skip('later'))])\n"
        "def test_h(x): ...\n"
        "@pytest.mark.parametrize('a, b', zip((1, 2), ('x', 'y')))\n"
        "def test_z(a, b):\n    if (a, b) == (2, 'y') or a == 2: pytest.skip('zipped')\n"
        "@pytest.mark.parametrize('a', [n * n for n in range(5)])\n"
        "def test_c(a):\n    if a > 2: pytest.skip('made')\n"
        "TEXTS = ['a', 'bc']\n"
        "@pytest.mark.parametrize('text', TEXTS + ['def'])\n"
        "def test_i(text):\n"
        "    if len(text) > 2 and 'd' in text:\n"
        "        if text is not None: pytest.skip('long')\n"
        "    if text == 'bc':\n        if unknown(text): pytest.skip('never read')\n"
    )
    assert expected.row_skips == {
        "test_0.py::test_a": RowSkips(reasons=frozenset({"too slow"}), most=1),
        "test_0.py::TestB::test_c": RowSkips(reasons=frozenset({"here"}), most=None),
        "test_0.py::test_g": RowSkips(reasons=frozenset({"other"}), most=None),
        "test_0.py::test_h": RowSkips(
            reasons=frozenset({"unconditional skip", "later"}), most=2, xfails=1
        ),
        "test_0.py::test_z": RowSkips(reasons=frozenset({"zipped"}), most=None),
        "test_0.py::test_c": RowSkips(reasons=frozenset({"made"}), most=None),
        "test_0.py::test_i": RowSkips(reasons=frozenset({"long"}), most=1),
    }


# ---------------------------------------------------------------- the suites that people have


def test_every_recorded_exercism_suite_is_seen_whole(shared_dir: Path) -> None:
    """The number that unittest's own loader counts; one is marked as skipped in its suite."""
    found = waived = 0
    with gzip.open(shared_dir / "data" / "exercism_python.jsonl.gz", "rt") as rows:
        for row in map(json.loads, rows):
            modules = {p: text for p, text in row["files"].items() if p.endswith("_test.py")}
            files = tuple(SuiteFile(path=p, content=t.encode()) for p, t in modules.items())
            expected = find_tests(PytestTests(files=files, test_paths=tuple(modules)))
            assert expected.dynamic_paths == set(), row["slug"]
            found += len(expected.required)
            waived += len(expected.waived)
    assert (found + waived, waived) == (2196, 1)


def test_every_recorded_kodcode_suite_has_tests(shared_dir: Path) -> None:
    with gzip.open(shared_dir / "data" / "kodcode_demo.jsonl.gz", "rt") as rows:
        counts = [len(find(json.loads(row)["test_code"]).required) for row in rows]
    assert len(counts) == 232
    assert min(counts) > 0
