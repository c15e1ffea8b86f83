"""QuixBugs, Exercism, BigCodeBench, ClassEval, KodCode, DS-1000 and pytest modules."""

import json
from pathlib import Path
from typing import Any

import pytest

from grader.model import PytestTests, TestSuite
from grader.model.errors import LabelError, SuiteError
from grader.suites import parse_label
from tests.unit.suites.running import run_suite

GOOD = "def double(n):\n    return 2 * n\n"
UNITTEST = (
    "import unittest\n\n\nclass Test(unittest.TestCase):\n"
    "    def test_two(self):\n        self.assertEqual(double(2), 4)\n"
)


def pytest_tests(suite: TestSuite) -> PytestTests:
    assert isinstance(suite.tests, PytestTests)
    return suite.tests


def contents(suite: TestSuite) -> dict[str, str]:
    return {file.path: file.content.decode() for file in pytest_tests(suite).files}


def quixbugs(**fields: Any) -> TestSuite:
    test = (
        "import pytest\nfrom load_testdata import load_json_testcases\nfrom node import Node\n\n"
        "if pytest.use_correct:\n    from correct_python_programs.double import double\n"
        "else:\n    from python_programs.double import double\n\n\n"
        '@pytest.mark.parametrize("given,wanted", load_json_testcases(double.__name__))\n'
        "def test_double(given, wanted):\n"
        "    if not pytest.run_slow and given == [9]:\n        pytest.skip('slow')\n"
        "    assert double(*given) == wanted\n"
        "    assert Node(1).successors == []\n"
    )
    row = {
        "name": "double",
        "buggy": "def double(n):\n    return n\n",
        "correct": GOOD,
        "pytest": test,
        "json_testcases": "[[2], 4]\n[[9], 0]\n\n[[3], 6]\n",
    }
    return parse_label({**row, **fields})


def test_quixbugs_submission_is_the_module_under_test(tmp_path: Path) -> None:
    suite = quixbugs()
    assert pytest_tests(suite).solution_path == "python_programs/double.py"
    assert run_suite(suite, GOOD, tmp_path) == [True]
    assert run_suite(suite, "def double(n):\n    return n\n", tmp_path) == [False]


def test_quixbugs_inputs_do_not_depend_on_a_name_that_the_submission_chooses(
    tmp_path: Path,
) -> None:
    assert run_suite(quixbugs(), "double = lambda n: 2 * n\n", tmp_path) == [True]


def test_quixbugs_inputs_that_the_test_skips_are_left_out() -> None:
    data = contents(quixbugs())["python_testcases/testcases.jsonl"]
    assert [json.loads(line) for line in data.splitlines()] == [[[2], 4], [[3], 6]]


def test_quixbugs_name_cannot_lead_out_of_its_folder() -> None:
    with pytest.raises(LabelError, match="must be a module name"):
        quixbugs(name="../conftest")


def test_quixbugs_row_of_shared_files_is_refused_as_such() -> None:
    with pytest.raises(LabelError, match="not a problem"):
        parse_label({"name": "_support", "files": {"conftest.py": ""}})


def exercism(config: dict[str, list[str]] | None = None, **more: Any) -> TestSuite:
    config = config or {
        "solution": ["double.py"],
        "test": ["double_test.py", "test_utils.py"],
        "example": [".meta/example.py"],
    }
    files = {
        ".meta/config.json": json.dumps({"files": config}),
        ".meta/example.py": GOOD,
        ".docs/instructions.md": "# Instructions",
        "double.py": "def double(n):\n    pass\n",
        "double_test.py": "import unittest\nfrom test_utils import FOUR\n"
        "from double import (\n    double,\n)\n\n\nclass DoubleTest(unittest.TestCase):\n"
        "    def test_two(self):\n        self.assertEqual(double(2), FOUR)\n",
        "test_utils.py": "FOUR = 4\n",
        "data.txt": "4\n",
    }
    return parse_label({"slug": "double", "files": files, **more})


def test_exercism_tests_run_beside_their_helpers(tmp_path: Path) -> None:
    suite = exercism()
    assert pytest_tests(suite).test_paths == ("double_test.py",)
    assert suite.entry_point == "double"
    assert run_suite(suite, GOOD, tmp_path) == [True]


def test_exercism_example_and_stub_never_reach_the_sandbox() -> None:
    suite = exercism()
    assert set(contents(suite)) == {"double_test.py", "test_utils.py", "data.txt"}
    assert suite.reference == GOOD


def test_exercism_of_another_language_is_refused() -> None:
    with pytest.raises(LabelError, match="language not supported: 'rust'"):
        exercism(language="rust")
    with pytest.raises(LabelError, match=r"language not supported: .*'double\.jl'"):
        exercism({"solution": ["double.jl"], "test": ["double_test.jl"]})
    with pytest.raises(LabelError, match=r"'src/d\.kt'.* graded in python, bash, .*lua, .*php"):
        exercism({"solution": ["src/d.kt"], "test": ["d.kt"]})


def test_exercism_without_a_test_is_a_suite_error() -> None:
    with pytest.raises(SuiteError, match="contains a test"):
        exercism({"solution": ["double.py"], "test": ["test_utils.py"]})


def test_exercism_with_two_solution_files_is_refused() -> None:
    with pytest.raises(LabelError, match="one solution file, but its config names 2"):
        exercism({"solution": ["double.py", "b.py"], "test": ["double_test.py"]})


def test_bigcodebench_tests_use_what_the_prompt_imports(tmp_path: Path) -> None:
    suite = parse_label(
        {
            "task_id": "BigCodeBench/0",
            "complete_prompt": 'import math\ndef double(n):\n    """Doc."""\n',
            "code_prompt": "import math\ndef double(n):\n",
            "canonical_solution": "    return 2 * n",
            "entry_point": "double",
            "test": UNITTEST + "        self.assertTrue(math.pi)\n",
        }
    )
    assert suite.continues_prompt
    assert suite.reference is not None
    assert run_suite(suite, suite.reference, tmp_path) == [True]
    assert run_suite(suite, GOOD, tmp_path) == [True]


def test_bigcodebench_label_of_nemo_gym_is_read_through_its_envelope() -> None:
    metadata = {"task_id": "B/1", "test": UNITTEST, "entry_point": "f", "code_prompt": "def f():\n"}
    suite = parse_label({"verifier_metadata": metadata})
    assert (suite.format, suite.problem_id) == ("nemo_gym", "B/1")
    assert suite.prelude == "def f():\n    pass\n\n"


def test_unittest_without_a_test_is_a_suite_error() -> None:
    with pytest.raises(SuiteError, match="define no test"):
        parse_label({"test": "import unittest\n", "entry_point": "f", "code_prompt": "def f():"})


def test_classeval_imports_are_the_prelude() -> None:
    suite = parse_label(
        {
            "class_name": "Box",
            "solution_code": "class Box: ...",
            "test": UNITTEST,
            "test_classes": ["Test"],
            "import_statement": ["import math", "from os import path"],
        }
    )
    assert suite.prelude == "import math\nfrom os import path\n"
    assert suite.entry_point == "Box"


def test_kodcode_test_without_its_import_sees_the_solution(tmp_path: Path) -> None:
    test = "def test_two():\n    assert double(2) == 4\n"
    suite = parse_label({"question_id": "q", "solution": GOOD, "test_code": test})
    assert run_suite(suite, GOOD, tmp_path) == [True]


def test_kodcode_trial_without_test_functions_is_a_script() -> None:
    suite = parse_label({"solution": GOOD, "test": "assert double(2) == 4"})
    assert suite.format == "asserts"


def test_kodcode_tests_that_do_not_parse_are_a_suite_error() -> None:
    with pytest.raises(SuiteError, match="cannot parse the tests"):
        parse_label({"solution": GOOD, "test": "def test_f(:"})


def test_ds1000_context_gets_the_submission_as_text(tmp_path: Path) -> None:
    suite = parse_label(
        {
            "code_context": "def test_execution(solution):\n    names = {'n': 2}\n"
            "    exec(solution, names)\n    assert names['result'] == 4\n\n"
            "def test_string(solution):\n    assert 'for' not in solution\n",
            "metadata": {"problem_id": 3},
        }
    )
    assert suite.problem_id == "3"
    assert run_suite(suite, "n = 2\nresult = n + n\n", tmp_path) == [True]
    assert run_suite(suite, "n = 2\nresult = n + n  # for\n", tmp_path) == [False]
    assert run_suite(suite, "n = 2\nresult = n\n", tmp_path) == [False]


def test_ds1000_without_its_function_is_a_suite_error() -> None:
    with pytest.raises(SuiteError, match="defines no test_execution"):
        parse_label({"code_context": "x = 1", "metadata": {}})


FOLDER: dict[str, Any] = {
    "files": {
        "tests/test_double.py": "from pack.double import double\n\n\n"
        "def test_all(numbers):\n    assert [double(n) for n in numbers] == [2, 4]\n",
        "conftest.py": "import pathlib\nimport pytest\n\n\n@pytest.fixture\n"
        "def numbers():\n    data = pathlib.Path(__file__).with_name('numbers.bin')\n"
        "    return list(data.read_bytes())\n",
        "numbers.bin": {"base64": "AQI="},
    },
    "solution_path": "pack/double.py",
}


def test_folder_may_have_helpers_data_and_a_conftest(tmp_path: Path) -> None:
    suite = parse_label(FOLDER)
    assert pytest_tests(suite).test_paths == ("tests/test_double.py",)
    assert run_suite(suite, GOOD, tmp_path) == [True]
    assert run_suite(suite, "def double(n):\n    return n\n", tmp_path) == [False]


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../x.py", "a/../x.py", "a//x.py", "./x.py", "", "a\\x", "a\0", "x" * 201],
)
def test_path_that_leads_out_of_the_folder_is_refused(path: str) -> None:
    with pytest.raises(LabelError, match="must be relative and stay inside"):
        parse_label({**FOLDER, "files": {**FOLDER["files"], path: ""}})
    with pytest.raises(LabelError, match=r"must be relative and stay inside|must be text"):
        parse_label({**FOLDER, "solution_path": path})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"solution_path": "conftest.py"}, "where the submission goes"),
        ({"test_paths": ["tests/other.py"]}, "lack the tests tests/other.py"),
        ({"files": {"test_a.py": "", "test_a.py/b.py": ""}}, "both a file and the folder"),
        ({"solution_path": "conftest.py/solution.py"}, "both a file and the folder"),
        ({"solution_path": "tests"}, "both a file and the folder"),
        ({"files": {"test_a.py": 3}}, "must be text or"),
        ({"files": {"test_a.py": {"base64": "?"}}}, "not base64"),
    ],
)
def test_folder_with_inconsistent_paths_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(LabelError, match=message):
        parse_label({**FOLDER, **fields})


def test_folder_without_a_test_is_a_suite_error() -> None:
    with pytest.raises(SuiteError, match="test_paths names none"):
        parse_label({**FOLDER, "files": {"conftest.py": ""}})


def test_pytest_module_names_the_solution_by_what_it_imports(tmp_path: Path) -> None:
    text = (
        "import pytest\nfrom pack.mod import double\ndef test_two():\n    assert double(2) == 4\n"
    )
    suite = parse_label(text)
    assert pytest_tests(suite).solution_path == "pack/mod.py"
    assert suite.entry_point == "double"
    assert run_suite(suite, GOOD, tmp_path) == [True]


def test_pytest_module_that_imports_nothing_sees_the_solution(tmp_path: Path) -> None:
    suite = parse_label("def test_two():\n    assert double(2) == 4\n")
    assert run_suite(suite, GOOD, tmp_path) == [True]


def test_pytest_module_with_two_unknown_imports_is_a_suite_error() -> None:
    with pytest.raises(SuiteError, match="they import: one, two"):
        parse_label("import one\nimport two\ndef test_two():\n    assert one.f()\n")
