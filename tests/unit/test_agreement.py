"""The parts of the agreement runs that decide what is compared with what."""

import ast
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agreement import compared
from agreement.edits import Text
from agreement.mutants import mutants
from agreement.ours import Graded, Way
from agreement.pairs import Outcome, Pair, differences
from agreement.sources.cpython import _turned, _without_accelerator
from agreement.sources.trimmed import without
from grader.model import PytestTests, ScriptCase, ScriptTests, SuiteFile, TestSuite

CODE = '''def clamp(value, low, high):
    """Keep 0 <= value."""  # €
    if value < low and not high:
        return low
    result = min(value, high) + 1
    print(f"{result + 1}")
    return result
'''

SCRIPT = ScriptTests(cases=(ScriptCase(id="0", source="assert clamp(1, 0, 2) == 2"),))


def pair(code: str = CODE, tests: ScriptTests | PytestTests = SCRIPT) -> Pair:
    return Pair(id="p", code=code, suite=TestSuite(tests=tests, format="test"), reference=code)


# ---------------------------------------------------------------- edits and mutants


def test_edit_changes_its_node_and_nothing_else() -> None:
    text = Text('x = "ä€"; y = (1 +\n  2)  # ö\nz = 3\n')
    assert isinstance(text.tree.body[1], ast.Assign)
    edit = text.over(text.tree.body[1].value, "four")
    assert text.edited([edit]) == 'x = "ä€"; y = (four)  # ö\nz = 3\n'


@given(st.integers(min_value=0, max_value=40))
def test_mutants_are_as_many_as_asked_for_differ_and_compile(count: int) -> None:
    found = mutants(pair(), count)
    assert len(found) == min(count, 11)
    assert len({each.code for each in found} | {CODE}) == len(found) + 1
    for each in found:
        ast.parse(each.code)
        assert each.reference == CODE
        assert len(set(each.code.splitlines()) ^ set(CODE.splitlines())) <= 2, each.mutation


def test_mutants_are_the_same_in_every_run() -> None:
    assert mutants(pair(), 5) == mutants(pair(), 5)


def test_what_is_no_python_has_no_mutants() -> None:
    assert mutants(pair("def f(:\n"), 5) == []


# ---------------------------------------------------------------- suites made to fit

MODULE = b"""import unittest

class Base:
    def test_a(self): pass
    def test_b(self): pass

class TestOne(Base, unittest.TestCase):
    class Inner:
        def test_c(self): pass

def test_d():
    assert True

def test_e(): assert False"""


def test_tests_are_taken_out_where_they_are_inherited_and_nowhere_else() -> None:
    tests = PytestTests(
        files=(SuiteFile(path="t.py", content=MODULE), SuiteFile(path="u.py", content=MODULE)),
        test_paths=("t.py", "u.py"),
    )
    cases = {"t.py::TestOne::test_a": False, "t.py::TestOne::test_b": True}
    cases |= {"t.py::test_e[0]": True, "t.py::test_e[1]": False, "u.py": False}
    left = without(pair(tests=tests), Outcome(passed=False, verdict="", cases=cases))
    assert isinstance(left.suite.tests, PytestTests)
    assert left.suite.tests.test_paths == ("t.py",)
    changed, untouched = (file.content for file in left.suite.tests.files)
    assert untouched == MODULE
    namespace: dict[str, object] = {}
    exec(changed, namespace)  # noqa: S102 - what is above, with two lines more
    assert "test_e" not in namespace
    one, base = namespace["TestOne"], namespace["Base"]
    assert (one.test_a, callable(one.test_b), callable(base.test_a)) == (None, True, True)  # type: ignore[attr-defined]


def test_mixin_that_is_no_test_by_itself_leaves_its_tests_to_those_that_inherit_them() -> None:
    source = (
        b"class TestMixin:\n    def test_a(self): pass\n\nclass TestOne(TestMixin):\n    x = 1\n"
    )
    tests = PytestTests(files=(SuiteFile(path="t.py", content=source),), test_paths=("t.py",))
    cases = {"t.py::TestMixin::test_a": False, "t.py::TestOne::test_a": True}
    left = without(pair(tests=tests), Outcome(passed=False, verdict="", cases=cases))
    assert isinstance(left.suite.tests, PytestTests)
    assert left.suite.tests.files[0].content == (
        b"class TestMixin:\n    def test_a(self): pass\n    __test__ = False\n\n"
        b"class TestOne(TestMixin):\n    x = 1\n    __test__ = True\n"
    )


def test_module_of_the_library_is_turned_into_the_submission() -> None:
    source = (
        "import heapq, os\nimport heapq as h\nfrom heapq import merge as m\n"
        "py = import_fresh_module('heapq', blocked=['_heapq'])\nheapq.merge('heapq')\n"
        "@mock.patch('heapq.merge')\ndef test(): pass\n"
    )
    assert _turned(source, "heapq") == (
        "import solution as heapq, os\nimport solution as h\nfrom solution import merge as m\n"
        "py = import_fresh_module('solution', blocked=['_heapq'])\nheapq.merge('heapq')\n"
        "@mock.patch('solution.merge')\ndef test(): pass\n"
    )


def test_module_of_a_package_is_turned_by_its_whole_name() -> None:
    source = "import html.parser\nimport html\np = html.parser.HTMLParser(html.escape)\n"
    turned = "import solution\nimport html\np = solution.HTMLParser(html.escape)\n"
    assert _turned(source, "html.parser") == turned


def test_submission_does_not_import_itself_from_c() -> None:
    source = "try:\n    from _heapq import *\nexcept ImportError:\n    pass\nimport _io\n"
    assert _without_accelerator(source, "heapq") == "pass\nimport _io\n"


# ---------------------------------------------------------------- both sides


def outcome(*passed: bool, verdict: str = "said") -> Outcome:
    cases = {str(number): each for number, each in enumerate(passed)}
    return Outcome(passed=all(passed), verdict=verdict, cases=cases)


@pytest.mark.parametrize(
    ("plain", "ours", "cases"),
    [
        pytest.param(outcome(True, True), outcome(True, True), [], id="both pass"),
        pytest.param(outcome(True, False), outcome(True, False), [], id="both fail"),
        pytest.param(outcome(True, False), outcome(True), [""], id="case never got to"),
        pytest.param(outcome(True, True), outcome(True, False), ["", "1"], id="honest fails"),
        pytest.param(outcome(False), outcome(True), ["", "0"], id="wrong is paid"),
        pytest.param(outcome(True, False), outcome(False, True), ["0", "1"], id="other cases"),
    ],
)
def test_differences_are_of_the_whole_and_of_each_case(
    plain: Outcome, ours: Outcome, cases: list[str]
) -> None:
    assert [each.case for each in differences(plain, ours)] == cases


def graded(ours: Outcome, *, mutation: str = "") -> Graded:
    of = replace(pair(), mutation=mutation)
    return Graded(pair=of, way=Way.HIDDEN, outcome=ours, integrity="split")


def test_error_of_ours_is_a_difference_where_plain_python_has_a_verdict() -> None:
    ours = outcome(False, verdict="internal_error")
    judged = compared.compare(outcome(False), graded(ours, mutation="line 1"))
    assert judged.differs


def test_suite_that_its_own_program_fails_must_only_not_be_paid() -> None:
    assert not compared.compare(outcome(True, False), graded(outcome(False))).differs
    assert compared.compare(outcome(True, False), graded(outcome(True))).differs


def test_difference_is_unsteady_if_plain_python_changes_its_mind() -> None:
    first = compared.compare(outcome(True), graded(outcome(False)))
    assert compared.confirm(first, outcome(False), graded(outcome(False))).unsteady
    alone = compared.confirm(first, outcome(True), graded(outcome(True)))
    assert alone.differs
    assert alone.note == "agrees when it is graded alone"


def test_only_what_the_documentation_lists_may_differ() -> None:
    judged = [compared.compare(outcome(True), graded(outcome(False)))]
    heading = "## Where plain Python says otherwise\n\n"
    assert compared.unlisted(judged, f"{heading}| `q` |\n\n## Other\n\n`p`\n") == ["p"]
    assert compared.unlisted(judged, f"{heading}| `p` |\n") == []
    mutant = replace(pair(), id="p~3", mutation="line 1")
    of_mutant = [replace(judged[0], graded=replace(judged[0].graded, pair=mutant))]
    assert compared.unlisted(of_mutant, f"{heading}| `q` |\n") == ["p~3"]
    assert compared.unlisted(of_mutant, f"{heading}| `p` |\n") == []
