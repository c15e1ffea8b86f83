"""HumanEval, MBPP, EvalPlus, LeetCodeDataset and plain source: suites that are scripts."""

from pathlib import Path
from typing import Any

import pytest

from grader.model import CallTests, PytestTests, ScriptTests, TestSuite
from grader.model.errors import LabelError, SuiteError
from grader.suites import parse_label
from tests.unit.suites.running import run_suite

HUMANEVAL = {
    "task_id": "HumanEval/0",
    "prompt": "def double(n):\n",
    "entry_point": "double",
    "canonical_solution": "    return 2 * n\n",
    "test": "def check(candidate):\n    assert candidate(2) == 4\n",
}


def script(suite: TestSuite) -> ScriptTests:
    assert isinstance(suite.tests, ScriptTests)
    return suite.tests


def test_humaneval_calls_check_with_the_entry_point() -> None:
    suite = parse_label(HUMANEVAL)
    assert [case.id for case in script(suite).cases] == ["check"]
    assert script(suite).cases[0].source.endswith("\n\ncheck(double)\n")
    assert (suite.continues_prompt, suite.entry_point) == (True, "double")
    assert suite.limits.cpu_time_s == 3.0
    assert suite.prelude == ""


def test_humaneval_does_not_call_check_twice() -> None:
    suite = parse_label({**HUMANEVAL, "test": HUMANEVAL["test"] + "check(double)\n"})
    assert script(suite).cases[0].source.count("check(double)") == 1


def test_humaneval_reference_that_is_a_whole_program_stays_without_the_prompt() -> None:
    whole = "import math\ndef double(n):\n    return 2 * n\n"
    assert parse_label({**HUMANEVAL, "canonical_solution": whole}).reference == whole


def test_humaneval_program_that_does_not_parse_is_a_suite_error() -> None:
    with pytest.raises(SuiteError, match="cannot parse the tests"):
        parse_label({**HUMANEVAL, "test": "def check(candidate):\nassert"})


@pytest.mark.parametrize("language", ["Kotlin", "OCaml", "Scala"])
def test_humanevalpack_of_another_language_is_refused(language: str) -> None:
    row = {**HUMANEVAL, "task_id": f"{language}/0", "declaration": "", "buggy_solution": ""}
    with pytest.raises(LabelError, match=f"'{language}'.*(not graded|can be graded in)"):
        parse_label(row)


def test_mbpp_setup_runs_after_the_code(tmp_path: Path) -> None:
    suite = parse_label(
        {
            "task_id": 1,
            "code": "class Box:\r\n    value = 4",
            "test_setup_code": "box = Box()",
            "test_list": ["assert box.value == 4", "assert box.value == 5"],
            "challenge_test_list": ["assert box.value == 6"],
        }
    )
    assert suite.reference == "class Box:\n    value = 4"
    assert run_suite(suite, suite.reference, tmp_path) == [True, False]


def test_mbpp_asserts_may_use_test_imports(tmp_path: Path) -> None:
    suite = parse_label(
        {
            "code": "def area(r):\n    return 3 * r * r",
            "test_imports": ["import math"],
            "test_list": ["assert math.isclose(area(1), 3)"],
        }
    )
    assert suite.entry_point == "area"
    assert run_suite(suite, suite.reference or "", tmp_path) == [True]


def test_mbppplus_program_replaces_the_asserts() -> None:
    suite = parse_label({"code": "def f(): ...", "test_list": ["assert 0"], "test": "assert f"})
    assert [case.source for case in script(suite).cases] == ["assert f"]


def calls(suite: TestSuite) -> CallTests:
    assert isinstance(suite.tests, CallTests)
    return suite.tests


def evalplus(**fields: Any) -> TestSuite:
    row = {
        "task_id": "Mbpp/1",
        "prompt": "",
        "entry_point": "f",
        "canonical_solution": "def f(x):\n    return x\n",
        "base_input": [[1]],
        "plus_input": [[2], [3]],
        "atol": 0,
        "assertion": "assert f(1) == 1",
    }
    return parse_label({**row, **fields})


def test_evalplus_cases_are_base_and_plus_inputs(tmp_path: Path) -> None:
    suite = evalplus()
    assert [case.id for case in calls(suite).cases] == ["base/0", "plus/0", "plus/1"]
    assert run_suite(suite, "def f(x):\n    return min(x, 2)\n", tmp_path) == [True, True, False]


@pytest.mark.parametrize(
    ("fields", "code", "passed"),
    [
        pytest.param({"base_input": [[1.0]]}, "return x + 9e-7", True, id="float in tolerance"),
        pytest.param({"base_input": [[1.0]]}, "return x + 9e-6", False, id="float beyond it"),
        pytest.param({"base_input": [[1]]}, "return x + 9e-7", False, id="integers are exact"),
        pytest.param({"base_input": [[1]], "atol": 0.1}, "return x + 0.05", True, id="atol of row"),
        pytest.param({"base_input": [[[1.0]]]}, "return [x[0] + 9e-7]", True, id="list of floats"),
        pytest.param({"base_input": [[[1.0]]]}, "return {x[0] + 9e-7}", False, id="other type"),
        pytest.param({"base_input": [[[1.0]]]}, "return x + x", False, id="other length"),
        pytest.param({"base_input": [[[[1], 2.0]]]}, "return x", True, id="nested"),
        pytest.param({"base_input": [["a"]]}, "return None", False, id="text"),
        pytest.param({"base_input": [[[3, 1]]]}, "x.sort(); return [3, 1]", True, id="own copy"),
        pytest.param(
            {"base_input": [[10**400]], "canonical_solution": "def f(x):\n    return x ** 20\n"},
            "return x",
            False,
            id="more digits than Python shows",
        ),
    ],
)
def test_evalplus_compares_with_what_the_reference_returns(
    fields: dict[str, Any], code: str, passed: bool, tmp_path: Path
) -> None:
    suite = evalplus(plus_input=[], **fields)
    assert run_suite(suite, f"def f(x):\n    {code}\n", tmp_path) == [passed]


@pytest.mark.parametrize(
    ("entry_point", "reference", "code", "passed"),
    [
        ("similar_elements", "return [1, 2]", "return (2, 1, 1)", True),
        ("similar_elements", "return [1, 2]", "return (2, 3)", False),
        ("check_str", "return 'found'", "return True", True),
        ("check_str", "return 'found'", "return 'other'", True),
        ("check_str", "return 'found'", "return None", False),
        ("check_str", "return None", "return False", True),
        ("find_zero", "return -0.5", "return -0.5 + 1e-8", True),
        ("find_zero", "return -0.5", "return 0.5", False),
    ],
)
def test_evalplus_special_oracles(
    entry_point: str, reference: str, code: str, passed: bool, tmp_path: Path
) -> None:
    suite = evalplus(
        entry_point=entry_point,
        canonical_solution=f"def {entry_point}(x):\n    {reference}\n",
        base_input=[[[1.0, 2.0]]],
        plus_input={},
        assertion="assert True",
    )
    assert run_suite(suite, f"def {entry_point}(x):\n    {code}\n", tmp_path) == [passed]


@pytest.mark.parametrize(
    ("assertion", "given", "shown"),
    [
        pytest.param("assert f((1, 2))", [[3, 4]], "((3, 4),)", id="tuple"),
        pytest.param("assert f([(1, 2)])", [[[3, 4]]], "([(3, 4)],)", id="tuples in a list"),
        pytest.param("assert f((1, 2))", [[[3], 4]], "(([3], 4),)", id="list deeper than shown"),
        pytest.param("assert f((((1,),),))", [[[[[3]]]]], "(((((3,),),),),)", id="any depth"),
        pytest.param("assert f([1]) and f((1,))", [[3]], "([3],)", id="both kinds"),
        pytest.param("assert f({'k': (1,)})", [{"a": [2]}], "({'a': (2,)},)", id="in a dict"),
        pytest.param("assert g((1, 2))", [[3, 4]], "([3, 4],)", id="another function"),
    ],
)
def test_evalplus_tuples_are_restored_from_the_assertions(
    assertion: str, given: list[Any], shown: str, tmp_path: Path
) -> None:
    suite = evalplus(
        canonical_solution="def f(*x):\n    return repr(x)\n",
        base_input=[given],
        plus_input=[],
        assertion=assertion,
    )
    assert run_suite(suite, f"def f(*x):\n    return {shown!r}\n", tmp_path) == [True]


def test_evalplus_complex_numbers_are_restored_from_the_contract(tmp_path: Path) -> None:
    suite = evalplus(
        canonical_solution="def f(*x):\n    return repr(x)\n",
        base_input=[["1.5", "(1+2j)"]],
        plus_input=[],
        contract="assert isinstance(x, complex)",
    )
    assert run_suite(suite, "def f(*x):\n    return '(1.5, (1+2j))'\n", tmp_path) == [True]


def test_evalplus_without_inputs_has_no_case() -> None:
    with pytest.raises(SuiteError, match="no test case"):
        evalplus(base_input=[])


def test_leetcode_prompt_is_the_prelude(tmp_path: Path) -> None:
    suite = parse_label(
        {
            "task_id": "double",
            "prompt": "from math import *\n",
            "completion": "class Solution:\n    def double(self, n):\n"
            "        return 2 * floor(n)\n",
            "entry_point": "Solution().double",
            "test": "def check(candidate):\n    assert candidate(n = 2.5) == 4\n",
            "response": "not a reference",
            "input_output": [],
        }
    )
    assert (suite.format, suite.entry_point) == ("leetcode", "Solution")
    assert run_suite(suite, suite.reference or "", tmp_path) == [True]


@pytest.mark.parametrize(
    ("label", "entry_point"),
    [
        ("def check(double):\n    assert double(2) == 4", None),
        ("def check(candidate):\n    assert candidate(2) == 4\ncheck(double)", "double"),
        ("def check(candidate):\n    assert candidate(2) == 4", None),
        (
            {"tests": "def check(c):\n    assert c(2) == 4", "entry_point": "double"},
            "double",
        ),
        (
            {"functional": "def check(c):\n    assert c(2) == 4\ncheck(Box().double)"},
            "Box",
        ),
    ],
)
def test_check_source_finds_its_candidate(
    label: object, entry_point: str | None, tmp_path: Path
) -> None:
    suite = parse_label(label)
    code = (
        "from math import floor\n"
        "def helper(n):\n    return 2 * n\n"
        "class Box:\n    def double(self, n):\n        return helper(n)\n"
        "def double(n):\n    return helper(n)\n"
    )
    assert suite.entry_point == entry_point
    assert run_suite(suite, code, tmp_path) == [True]
    assert run_suite(suite, code.replace("2 * n", "3 * n"), tmp_path) == [False]


def test_functional_label_has_the_prelude_of_its_harness(tmp_path: Path) -> None:
    check = "def check(candidate):\n    assert candidate([2]) == 4\ncheck(Box().double)"
    code = "class Box:\n    def double(self, given: List[int]):\n        return 2 * given[0]\n"
    assert run_suite(parse_label({"functional": check}), code, tmp_path) == [True]


def test_assert_lines_are_cases_in_one_namespace(tmp_path: Path) -> None:
    suite = parse_label(
        "from solution import double\nx = 2\nassert double(x) == 4\nassert double(x) == 5\n"
        "x = 3\nassert double(x) == 6\n"
    )
    assert suite.entry_point == "double"
    assert run_suite(suite, "def double(n):\n    return 2 * n\n", tmp_path) == [True, False, True]


UNITTEST = (
    "import sys\nimport unittest\n\nclass T(unittest.TestCase):\n    def test_a(self):\n"
    "        self.assertEqual(double(2), 4)\n\n"
)


@pytest.mark.parametrize(
    "label",
    [
        pytest.param(["    assert double(2) == 4"], id="indented assert"),
        pytest.param("    assert double(2) == 4\n    assert double(3) == 6\n", id="indented"),
        pytest.param("from double import double\nassert double(2) == 4", id="another module"),
        pytest.param("from my_code import double as f\nassert f(2) == 4", id="another name"),
        pytest.param(
            "def assert_four(x):\n    if x != 4: raise AssertionError(x)\nassert_four(double(2))\n",
            id="function that asserts",
        ),
        pytest.param("import sys\nassert double(2) == 4\nsys.exit(0)\n", id="exit"),
        pytest.param("assert double(2) == 4\nexit()\n", id="exit of site"),
    ],
)
def test_scripts_of_many_kinds_run(tmp_path: Path, label: object) -> None:
    suite = parse_label(label)
    assert script(suite).cases
    assert all(run_suite(suite, "def double(n):\n    return 2 * n\n", tmp_path))
    assert not any(run_suite(suite, "def double(n):\n    return 3 * n\n", tmp_path))


@pytest.mark.parametrize(
    "statement",
    ["unittest.main()", "unittest.main(verbosity=2)", "sys.exit(unittest.main())", "sys.exit(0)"],
)
def test_tests_do_not_run_themselves_and_exit(statement: str) -> None:
    suite = parse_label(UNITTEST + statement)
    assert isinstance(suite.tests, PytestTests)
    (file,) = suite.tests.files
    assert statement.encode() not in file.content
    guarded = f"if __name__ == '__main__':\n    {statement}\n"
    suite = parse_label(UNITTEST + guarded)
    assert isinstance(suite.tests, PytestTests)
    (file,) = suite.tests.files
    assert guarded.encode() in file.content


def test_scripts_that_assert_by_methods_of_unittest_alone_are_refused() -> None:
    with pytest.raises(SuiteError, match="assert nothing"):  # no twin could confirm a pass
        parse_label("import unittest\nunittest.TestCase().assertEqual(double(2), 4)")
