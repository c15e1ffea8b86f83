"""Labels in the form of data sets for reinforcement learning; all rows here are made up."""

import base64
import json
import pickle
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.model import (
    CallTests,
    Comparator,
    LimitOverrides,
    MiB,
    PytestTests,
    ScriptTests,
    StdinTests,
)
from grader.model.errors import LabelError, SuiteError
from grader.suites import parse_label
from grader.suites.preludes import LEETCODE
from tests.unit.suites.running import run_suite

PROGRAM = "print(2 * int(input()))\n"
FUNCTION = "def double(n):\n    return 2 * n\n"
METHOD = "class Solution:\n    def double(self, n):\n        return 2 * n\n"
CASES = [{"input": "2\n", "output": "4\n"}, {"input": "5\n", "output": "10\n"}]
CALLS = [{"input": [2], "output": 4}, {"input": [5], "output": 10}]
ASSERTS = ["assert double(2) == 4", "assert double(5) == 10"]


def pack(value: object) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(value))).decode()


PROGRAMS = {
    "verl lists": {"inputs": ["2\n", "5\n"], "outputs": ["4\n", "10\n"]},
    "SYNTHETIC-1 as Python text": {
        "verification_info": repr(
            {"language": "python", "test_cases": [{**case, "fn_name": None} for case in CASES]}
        )
    },
    "open-instruct, packed": pack(CASES),
    "open-instruct, packed JSON": pack(json.dumps(CASES)),
    "open-instruct, JSON in a row": {"ground_truth": json.dumps(CASES), "dataset": "code_stdio"},
    "open-instruct, packed in a row": {"ground_truth": pack(CASES)},
    "open-instruct, a list of labels": {"ground_truth": [pack(CASES)], "dataset": ["code_stdio"]},
    "DeepCoder": {"problem": "p", "tests": json.dumps(CASES), "solutions": [PROGRAM]},
    "DeepCoder, parallel": {
        "tests": json.dumps({"inputs": ["2\n", "5\n"], "outputs": ["4\n", "10\n"]})
    },
    "DeepCoder, LiveCodeBench": {
        "tests": json.dumps([{**case, "testtype": "stdin"} for case in CASES]),
        "metadata": {"func_name": None},
        "starter_code": "",
    },
    "open-r1 Codeforces": {
        "official_tests": CASES,
        "time_limit": 2.0,
        "memory_limit": 256.0,
        "input_mode": "stdio",
        "generated_checker": None,
        "interaction_format": None,
        "executable": True,
        "generated_tests": 0,
    },
    "Atropos": {
        "problem": "p",
        "tests": {"input": ["2\n", "5\n"], "output": ["4\n", "10\n"], "fn_name": "none"},
    },
    "CURE": {
        "question": "q",
        "test_input": ["2\n", "5\n"],
        "test_output": ["4\n", "10\n"],
        "test_method": "stdio",
        "test_time_limit": 1,
    },
    "ROLL": {
        "case_type": "input",
        "test_case_function": "None",
        "test_cases": json.dumps(
            [{"stdin": case["input"], "expected_stdout": case["output"]} for case in CASES]
        ),
    },
    "expected_output": [{"input": c["input"], "expected_output": c["output"]} for c in CASES],
    "stdin and stdout": [{"stdin": c["input"], "stdout": c["output"]} for c in CASES],
    "CodeContests+ without a checker": {"test_cases": CASES, "validator": "v", "checker": None},
    "Python text": repr({"inputs": ["2\n", "5\n"], "outputs": ["4\n", "10\n"]}),
}

FUNCTIONS = {
    "verl": {"inputs": [[2], [5]], "outputs": [4, 10], "fn_name": "double"},
    "SYNTHETIC-1": {
        "verification_info": repr(
            {"test_cases": [{**c, "fn_name": "double", "type": "function_call"} for c in CALLS]}
        )
    },
    "Atropos": {"tests": {"input": [[2], [5]], "output": [4, 10], "fn_name": "double"}},
    "arguments by name": {
        "entry_point": "double",
        "test_cases": [{"input": {"n": 2}, "expected": 4}, {"input": {"n": 5}, "expected": 10}],
    },
    "a value a line": {
        "fn_name": "double",
        "tests": [{"input": "2", "output": "4"}, {"input": "5", "output": "10"}],
    },
}

SCRIPTS = {
    "verl": {"assert_case": ASSERTS, "inputs": ["", ""], "outputs": [None, None]},
    "OpenCodeInstruct": {"input": "p", "output": FUNCTION, "unit_tests": json.dumps(ASSERTS)},
    "OpenCodeInstruct, Python text": {"unit_tests": repr(ASSERTS)},
    "open-instruct, packed": pack(ASSERTS),
    "ROLL": {"case_type": "assert", "test_cases": [{"assert_code": text} for text in ASSERTS]},
    "SandboxFusion, MBPP": {
        "id": 1,
        "content": "c",
        "labels": '{"test_setup_code": "four = 4"}',
        "test_list": json.dumps(["assert double(2) == four"]),
    },
    "SandboxFusion, MHPP": {"id": 1, "content": "c", "labels": "{}", "test": "\n".join(ASSERTS)},
    "SandboxFusion, AutoEval": {
        "id": 1,
        "content": "c",
        "labels": {"programming_language": "python"},
        "test": {"code": "\n".join(ASSERTS), "asset": "{}"},
    },
    "asserts with setup": {
        "test_list": ["assert double(2) == four"],
        "test_setup_code": "four = 4",
        "test_imports": '["import math"]',
    },
    "HumanEval-X": {
        "task_id": "Python/0",
        "prompt": "def double(n):\n",
        "declaration": "def double(n):\n",
        "canonical_solution": "    return 2 * n\n",
        "test": "def check(double):\n    assert double(2) == 4\n\ncheck(double)\n",
        "example_test": "",
    },
}

METHODS = {
    "Skywork-OR1": {
        "entry_point": "Solution().double",
        "import_prefix": "from typing import *\n\n",
        "test_code": "def check(candidate):\n    assert candidate(n=2) == 4\n",
    },
    "rLLM": {
        "functional": "def check(candidate):\n    assert candidate(2) == 4\n\n"
        "check(Solution().double)\n"
    },
    "ROLL, check_based": {
        "case_type": "check_based",
        "test_cases": [
            {
                "assert_code": "def check(candidate):\n    assert candidate(2) == 4\n",
                "import_prefix": "from math import inf\n",
                "entry_point": "Solution().double",
            }
        ],
    },
}


@pytest.mark.parametrize(
    ("label", "code", "kind"),
    [
        *(pytest.param(row, PROGRAM, StdinTests, id=name) for name, row in PROGRAMS.items()),
        *(pytest.param(row, FUNCTION, CallTests, id=f"call {n}") for n, row in FUNCTIONS.items()),
        *(pytest.param(row, FUNCTION, ScriptTests, id=f"script {n}") for n, row in SCRIPTS.items()),
        *(pytest.param(row, METHOD, ScriptTests, id=f"method {n}") for n, row in METHODS.items()),
    ],
)
def test_label_is_read_and_tells_right_from_wrong(
    label: object, code: str, kind: type, tmp_path: Path
) -> None:
    suite = parse_label(label)
    assert isinstance(suite.tests, kind)
    if isinstance(suite.tests, CallTests) and suite.tests.cases[0].kwargs:
        assert suite.tests.cases[0].kwargs == {"n": 2}  # the helper passes no names
        return
    assert all(run_suite(suite, code, tmp_path))
    assert not all(run_suite(suite, code.replace("2 *", "3 *"), tmp_path))


def test_evoeval_row_expects_what_its_reference_returns() -> None:
    row = {
        "task_id": "EvoEval/0",
        "prompt": "def double(n):\n",
        "entry_point": "double",
        "canonical_solution": "    return 2 * n\n",
        "inputs": ["2", "5"],
    }
    suite = parse_label(row)
    assert isinstance(suite.tests, CallTests)
    assert suite.tests.asks_reference
    assert [case.args for case in suite.tests.cases] == [(2,), (5,)]


def as_arrays(value: Any) -> Any:
    """Return a label as Parquet readers give it: lists are arrays, at any depth."""
    if isinstance(value, dict):
        return {name: as_arrays(item) for name, item in value.items()}
    if isinstance(value, list):
        array = np.empty(len(value), dtype=object)
        array[:] = [as_arrays(item) for item in value]
        return array
    return value


ALL_ROWS = {
    f"{number} {name}": row
    for number, rows in enumerate((PROGRAMS, FUNCTIONS, SCRIPTS, METHODS))
    for name, row in rows.items()
}


@pytest.mark.parametrize("spell", [as_arrays, json.dumps, repr], ids=["arrays", "JSON", "Python"])
@pytest.mark.parametrize("label", ALL_ROWS.values(), ids=ALL_ROWS.keys())
def test_label_says_the_same_in_every_spelling(
    label: object, spell: Callable[[object], object]
) -> None:
    if isinstance(label, str) and spell is repr:
        spell = json.dumps
    assert parse_label(spell(label)) == parse_label(label)


CASE = st.fixed_dictionaries({"input": st.text(max_size=8), "output": st.text(max_size=8)})


@given(st.lists(CASE, min_size=1, max_size=4))
def test_cases_are_the_same_however_they_are_packed(cases: list[dict[str, str]]) -> None:
    plain = parse_label(cases).tests
    spellings = [json.dumps(cases), repr(cases), pack(cases), pack(json.dumps(cases))]
    for text in spellings:
        assert parse_label(text).tests == plain
        for field in ("tests", "test_cases", "official_tests", "ground_truth", "label"):
            assert parse_label({field: text}).tests == plain
    lists = {name: [case[name] for case in cases] for name in ("input", "output")}
    assert parse_label({"tests": json.dumps(lists)}).tests == plain


@pytest.mark.parametrize(
    "value", [eval, Path("x"), {"a": {1, 2}}, [1 + 2j]], ids=["call", "object", "set", "complex"]
)
def test_nothing_but_plain_data_is_unpickled(value: object) -> None:
    for label in (pack(value), {"tests": pack(value)}, {"ground_truth": pack([value])}):
        with pytest.raises(LabelError):
            parse_label(label)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        pytest.param({"suffix": "\nprint(x)"}, "suffix", id="fill in the middle"),
        pytest.param({"input_mode": "file"}, "input_mode is 'file'", id="files"),
        pytest.param({"input_file": "in.txt"}, "input_file is 'in.txt'", id="file to read"),
        pytest.param({"input_mode": ["file"]}, "input_mode is", id="no text"),
        pytest.param({"output_file": "out.txt"}, "output_file is 'out.txt'", id="file to write"),
        pytest.param({"interaction_format": "You ask"}, "interaction_format", id="interactive"),
        pytest.param({"executable": False}, "executable is false", id="no tests to run"),
        pytest.param({"checker": "def judge(): ..."}, "must define check", id="other checker"),
        pytest.param({"checker": {"source": 3}}, "checker.source must be text", id="no checker"),
        pytest.param({"checker": 3}, "must be source text or an object .* but is 3", id="number"),
        pytest.param({"interactor": "print()"}, "must define interact", id="other interactor"),
        pytest.param(
            {"suite": {"comparison": {"comparator": "checker", "checker": "x = 1"}}},
            "comparison.checker must define check",
            id="other checker inside",
        ),
        pytest.param({"time_limit": 500}, "up to 100 for seconds, or from 1000", id="which unit"),
        pytest.param({"generated_checker": "def ("}, "cannot parse", id="damaged checker"),
        pytest.param(
            {"language": "brainfuck"}, "'brainfuck' is not graded; expected", id="language"
        ),
    ],
)
def test_row_with_an_unsupported_deciding_field_is_refused(
    more: dict[str, object], message: str
) -> None:
    with pytest.raises((LabelError, SuiteError), match=message):
        parse_label({"test_cases": CASES, **more})


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"language": 10**5000}, id="to show"),
        pytest.param({"time_limit": {"seconds": 10**5000}}, id="to compute with"),
        pytest.param({"test_cases": f'[{{"input": 1{"0" * 5000}, "output": "1"}}]'}, id="to print"),
    ],
)
def test_row_with_an_integer_too_large_for_its_place_is_refused(more: dict[str, object]) -> None:
    with pytest.raises(LabelError, match="a value of the label cannot be read"):
        parse_label({"test_cases": CASES, **more})


@pytest.mark.parametrize(
    "row",
    [
        pytest.param({"fn_name": "double", "test_cases": CALLS}, id="calls"),
        pytest.param({"test_list": ASSERTS}, id="asserts"),
    ],
)
def test_checker_for_other_than_stdin_tests_is_refused(row: dict[str, object]) -> None:
    with pytest.raises(LabelError, match="only for programs that read and print"):
        parse_label({**row, "checker": "def check(input, output, answer): return True"})


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"checker": "def check(input, output, answer):\n    return True\n"}, "return True"),
        ({"generated_checker": "print(1)"}, "SOURCE = 'print(1)'"),
    ],
)
def test_checker_of_a_row_judges_in_any_format(given: dict[str, object], wanted: str) -> None:
    for row in ({"official_tests": CASES}, {"inputs": ["1"], "outputs": ["1"]}):
        tests = parse_label({**row, **given}).tests
        assert isinstance(tests, StdinTests)
        assert tests.comparison.comparator is Comparator.CHECKER
        assert tests.comparison.checker is not None
        assert wanted in tests.comparison.checker.source


def limits(**row: object) -> LimitOverrides:
    return parse_label({"test_cases": CASES, **row}).limits


@pytest.mark.parametrize(
    ("row", "seconds"),
    [
        ({"time_limit": 2.0}, 2.0),
        ({"time_limit": "2"}, 2.0),
        ({"time_limit": "2 sec"}, 2.0),
        ({"time_limit": "2 seconds"}, 2.0),
        ({"time_limit": "1500 ms"}, 1.5),
        ({"time_limit": "2000ms"}, 2.0),
        ({"time_limit_ms": 2000}, 2.0),
        ({"time_limit_s": 2}, 2.0),
        ({"time_limit_millis": 1500, "time_limit": 9}, 1.5),
        ({"time_limit_per_language": {"c": 1}, "time_limit": 9}, 9.0),
        ({"test_time_limit": 3}, 3.0),
        ({"time_limit": 0, "time_limit_ms": 500}, 0.5),
        ({"time_limit": {"seconds": 1, "nanos": 500_000_000}}, 1.5),
        ({"time_limit": 2000}, 2.0),
    ],
)
def test_time_limits_are_read_by_name_and_unit(row: dict[str, object], seconds: float) -> None:
    assert limits(**row).cpu_time_s == seconds


@pytest.mark.parametrize(
    ("row", "size"),
    [
        ({"memory_limit": 256}, 256 * MiB),
        ({"memory_limit": 256.0}, 256 * MiB),
        ({"memory_limit": "256 MiB"}, 256 * MiB),
        ({"memory_limit": "256MB"}, 256 * MiB),
        ({"memory_limit": "256 megabytes"}, 256 * MiB),
        ({"memory_limit": "1 GB"}, 1024 * MiB),
        ({"memory_limit": "65536 KB"}, 64 * MiB),
        ({"memory_limit": 268435456}, 256 * MiB),
        ({"memory_limit": "268435456 bytes"}, 256 * MiB),
        ({"memory_limit_bytes": 268435456}, 256 * MiB),
        ({"memory_limit_MB": 256}, 256 * MiB),
        ({"memory_limit_kb": 65536}, 64 * MiB),
        ({"memory_limit_MiB": 256, "memory_limit": 64}, 256 * MiB),
        ({"memory_limit_gb": 1}, 1024 * MiB),
    ],
)
def test_memory_limits_are_read_by_name_and_unit(row: dict[str, object], size: int) -> None:
    assert limits(**row).memory_bytes == size


@pytest.mark.parametrize(
    "row",
    [
        {"time_limit": 500},
        {"time_limit": "2 fortnights"},
        {"time_limit": -1},
        {"memory_limit": 262144},
        {"memory_limit": "256 bananas"},
        {"memory_limit": True},
        {"memory_limit": 10**400},
    ],
)
def test_limit_without_a_clear_unit_is_refused(row: dict[str, object]) -> None:
    with pytest.raises(LabelError, match="must be a number with a known unit"):
        limits(**row)


@given(st.integers(1, 100), st.sampled_from(["s", "sec", " seconds", "S"]))
def test_time_is_the_same_in_every_unit(seconds: int, unit: str) -> None:
    assert limits(time_limit=f"{seconds}{unit}") == limits(time_limit=seconds)
    assert limits(time_limit=f"{seconds * 1000} ms") == limits(time_limit=seconds)


@pytest.mark.parametrize(
    ("output", "right"),
    [
        pytest.param("True", [True, "True"], id="Python's True"),
        pytest.param("(1, 2)", [[1, 2], "(1, 2)"], id="tuple"),
        pytest.param("None", [None, "None"], id="None"),
        pytest.param("{'1': 2}", [{1: 2}, {"1": 2}, "{'1': 2}"], id="dict"),
        pytest.param('{"1": 2}', [{1: 2}, {"1": 2}], id="keys of digits"),
        pytest.param({"1": 2}, [{1: 2}, {"1": 2}], id="object"),
        pytest.param("007", ["007"], id="digits that are not a number"),
        pytest.param("4", [4], id="JSON is what it is"),
    ],
)
def test_expected_text_has_each_of_its_readings(output: object, right: list[object]) -> None:
    tests = parse_label({"fn_name": "f", "inputs": ["1", "2"], "outputs": [output, [1, 2]]}).tests
    assert isinstance(tests, CallTests)
    found = (tests.cases[0].expected, *tests.cases[0].alternatives)
    assert [list(value) if isinstance(value, tuple) else value for value in found] == right


def test_text_beside_values_is_text() -> None:
    label = {"fn_name": "add", "inputs": [["12", "3"], ["1", "1"]], "outputs": ["15", "2"]}
    tests = parse_label(label).tests
    assert isinstance(tests, CallTests)
    assert [(case.expected, case.alternatives) for case in tests.cases] == [("15", ()), ("2", ())]


def test_wrapped_objects_may_have_numbers_or_text_for_keys() -> None:
    tests = parse_label({"fn_name": "f", "inputs": [[1]], "outputs": [[{"1": 2}]]}).tests
    assert isinstance(tests, CallTests)
    case = tests.cases[0]
    assert {1: 2} in (case.expected, *case.alternatives)
    assert {"1": 2} in (case.expected, *case.alternatives)


def test_two_fields_for_one_part_must_be_equal() -> None:
    case = {"input": "1", "output": "1", "expected_output": "2"}
    with pytest.raises(LabelError, match="has output and expected_output, which differ"):
        parse_label([case])
    same = parse_label([{**case, "expected_output": "1"}])
    assert same == parse_label([{"input": "1", "output": "1"}])


@pytest.mark.parametrize(
    ("tests", "path"),
    [
        pytest.param(
            "import torch\n\ndef test_f():\n    assert f(torch.ones(1)) == 1\n",
            "solution.py",
            id="library beside bare names",
        ),
        pytest.param(
            "import torch\nfrom model import f\n\ndef test_f():\n    assert f(torch) == 1\n",
            "model.py",
            id="library beside the submission",
        ),
        pytest.param(
            "from torch import nn\nfrom model import f\n\ndef test_f():\n    assert f(nn) == 1\n",
            "model.py",
            id="the solution tells which",
        ),
        pytest.param(
            "import ledger\n\ndef test_f():\n    assert ledger.f() == 1\n",
            "ledger.py",
            id="module of the submission",
        ),
        pytest.param(
            "from ledger import *\n\ndef test_f():\n    assert f() == 1\n", "ledger.py", id="star"
        ),
    ],
)
def test_library_that_tests_import_is_not_the_submission(tests: str, path: str) -> None:
    suite = parse_label({"tests": tests, "solution": "def f(x=0):\n    return 1\n"})
    assert isinstance(suite.tests, PytestTests)
    assert suite.tests.solution_path == path


def test_leetcode_rows_have_the_prelude_of_their_harness(tmp_path: Path) -> None:
    program = (
        "def check(candidate):\n"
        "    assert is_same_list(candidate(list_node([1, 2]), tree_node([3, None, 4])),"
        " list_node([7, 2]))\n\n"
        "check(Solution().add)\n"
    )
    code = (
        "class Solution:\n"
        "    def add(self, head: Optional[ListNode], root: Optional[TreeNode]):\n"
        "        least = min(inf, root.right.val)\n"
        "        values = [head.val + bisect.bisect_left([1, 2, 6], 5) + least]\n"
        "        return ListNode(values[0], head.next)\n"
    )
    suite = parse_label({"functional": program})
    assert suite.prelude.startswith(LEETCODE[:40])
    assert run_suite(suite, code, tmp_path) == [True]
    assert run_suite(suite, code.replace("+ least", "- least"), tmp_path) == [False]


def test_helpers_of_a_prelude_are_the_tests_own(tmp_path: Path) -> None:
    program = "def check(f):\n    assert is_same_list(f(), list_node([1]))\n\ncheck(Solution().f)\n"
    cheat = (
        "def is_same_list(one, other):\n    return True\n\n"
        "class Solution:\n    def f(self):\n        return None\n"
    )
    assert run_suite(parse_label({"functional": program}), cheat, tmp_path) == [False]


def test_verl_asserts_beside_filled_lists_are_refused() -> None:
    row = {"assert_case": ["assert f(1)"], "inputs": [""], "outputs": ["4"]}
    with pytest.raises(LabelError, match="fits several formats"):
        parse_label(row)


def test_roll_tests_of_the_answers_text_are_refused() -> None:
    with pytest.raises(LabelError, match="case_type is 'text'"):
        parse_label({"case_type": "text", "test_cases": [{"assert_code": "assert {response}"}]})


def test_evoeval_inputs_are_given_as_they_were_written(tmp_path: Path) -> None:
    row = {
        "prompt": "def kinds(*values):\n",
        "entry_point": "kinds",
        "canonical_solution": "    return [type(value).__name__ for value in values]\n",
        "inputs": ["(1, 2), {3}", "{1: 'a'}, [()]"],
    }
    wanted = (
        "def kinds(*values):\n"
        "    if values == ((1, 2), {3}):\n"
        "        return ['tuple', 'set']\n"
        "    return ['dict', 'list'] if values == ({1: 'a'}, [()]) else []\n"
    )
    assert run_suite(parse_label(row), wanted, tmp_path) == [True, True]
