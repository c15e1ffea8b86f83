"""Inputs and outputs, LiveCodeBench, CodeContests, SandboxFusion, styles and envelopes."""

import base64
import json
import pickle
import zlib
from pathlib import Path
from typing import Any

import pytest

from grader.model import (
    CallTests,
    Comparator,
    LimitOverrides,
    MiB,
    ScriptTests,
    StdinTests,
    TestSuite,
)
from grader.model.errors import LabelError, SuiteError
from grader.model.overrides import ExtractionRule
from grader.suites import parse_label
from tests.unit.suites.running import run_suite


def stdin(suite: TestSuite) -> StdinTests:
    assert isinstance(suite.tests, StdinTests)
    return suite.tests


def calls(suite: TestSuite) -> CallTests:
    assert isinstance(suite.tests, CallTests)
    return suite.tests


def pack(value: object) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(value))).decode()


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        pytest.param("1\r\n2\r\n", "1\n2\n", id="line ends"),
        pytest.param(["1", "2"], "1\n2", id="list of lines"),
        pytest.param(7, "7", id="number"),
    ],
)
def test_stdin_values_become_text(given: object, wanted: str) -> None:
    suite = parse_label({"inputs": [given], "outputs": [given]})
    case = stdin(suite).cases[0]
    assert (case.stdin, case.expected) == (wanted, wanted)
    assert stdin(suite).comparison.comparator is Comparator.FLOATS


@pytest.mark.parametrize(
    ("given", "args"),
    [
        pytest.param([[1, 2], "a"], ([1, 2], "a"), id="list of arguments"),
        pytest.param('[1, 2]\n"a"', ([1, 2], "a"), id="a json value a line"),
        pytest.param([{"1": "a", "-2": "b"}], ({1: "a", -2: "b"},), id="integer keys"),
        pytest.param([{"1": "a", "x": "b"}], ({"1": "a", "x": "b"},), id="text keys"),
        pytest.param([], (), id="no argument"),
    ],
)
def test_call_inputs_become_arguments(given: object, args: tuple[object, ...]) -> None:
    suite = parse_label({"fn_name": "f", "inputs": [given], "outputs": [1]})
    assert calls(suite).cases[0].args == args


@pytest.mark.parametrize(
    ("outputs", "expected", "alternatives"),
    [
        pytest.param([[4], [6]], 4, ([4],), id="each wrapped in a list"),
        pytest.param([[4], 6], [4], (), id="only some wrapped"),
        pytest.param([[4, 5], [6]], [4, 5], (), id="lists of two"),
        pytest.param(["4", "6"], "4", (), id="text beside values"),
        pytest.param(["[4]", "[6]"], "[4]", ([4],), id="text of lists beside values"),
        pytest.param(["abc", "d"], "abc", (), id="plain text"),
        pytest.param([None, 1], None, (), id="null"),
    ],
)
def test_call_outputs_become_expected_values(
    outputs: list[object], expected: object, alternatives: tuple[object, ...]
) -> None:
    suite = parse_label({"fn_name": "f", "inputs": [[1], [2]], "outputs": outputs})
    case = calls(suite).cases[0]
    assert (case.expected, case.alternatives) == (expected, alternatives)
    assert calls(suite).comparison.tuples_as_lists


@pytest.mark.parametrize(
    ("more", "entry_point"),
    [
        ({}, "f"),
        ({"starter_code": "class Solution:\n    def f(self, n):\n"}, "Solution.f"),
        ({"solutions": ["class Solution:\n    def f(self, n): ..."]}, "Solution.f"),
        ({"starter_code": "def f(n):\n"}, "f"),
    ],
)
def test_function_is_a_method_if_the_row_has_the_class(
    more: dict[str, object], entry_point: str
) -> None:
    tests = {"fn_name": "f", "inputs": [[1]], "outputs": [1]}
    suite = parse_label({"input_output": json.dumps(tests), **more})
    assert calls(suite).entry_point == entry_point
    assert suite.entry_point == entry_point.partition(".")[0]


@pytest.mark.parametrize(
    ("label", "has_prelude"),
    [
        pytest.param({"input_output": '{"inputs": ["1"], "outputs": ["1"]}'}, True, id="apps"),
        pytest.param({"inputs": ["1"], "outputs": ["1"]}, True, id="prime"),
        pytest.param([{"input": "1", "output": "1"}], False, id="programs of open-r1"),
        pytest.param([{"input": [1], "output": 1, "fn_name": "f"}], True, id="calls"),
    ],
)
def test_prelude_is_that_of_the_harness(label: object, has_prelude: bool) -> None:
    assert ("from typing import *" in parse_label(label).prelude) is has_prelude


def test_method_may_use_typing_names_without_import(tmp_path: Path) -> None:
    suite = parse_label({"fn_name": "f", "inputs": [[[1, 2]]], "outputs": [3]})
    code = "def f(x: List[int]) -> Optional[int]:\n    return sum(x)\n"
    assert run_suite(suite, code, tmp_path) == [True]


def test_apps_row_without_tests_is_a_suite_error() -> None:
    with pytest.raises(SuiteError, match="input_output is empty"):
        parse_label({"input_output": "", "question": "q"})


@pytest.mark.parametrize(
    ("limits", "wanted"),
    [
        ({"time_limit": {"seconds": 2, "nanos": 500_000_000}}, LimitOverrides(cpu_time_s=2.5)),
        ({"time_limit": "1.5 seconds"}, LimitOverrides(cpu_time_s=1.5)),
        ({"time_limit": 30}, LimitOverrides(cpu_time_s=30.0, wall_time_s=60.0)),
        ({"time_limit": None, "memory_limit_bytes": MiB}, LimitOverrides(memory_bytes=MiB)),
        ({"memory_limit": "256.0 megabytes"}, LimitOverrides(memory_bytes=256 << 20)),
        ({"time_limit": 0, "memory_limit_bytes": 0}, LimitOverrides()),
    ],
)
def test_limits_of_a_row_are_read(limits: dict[str, object], wanted: LimitOverrides) -> None:
    row = {"public_tests": {"input": ["1"], "output": ["1"]}, **limits}
    assert parse_label(row).limits == wanted


@pytest.mark.parametrize("limit", ["soon", "2 fortnights", -1, float("nan"), [1], True])
def test_limit_that_is_not_a_number_is_refused(limit: object) -> None:
    with pytest.raises(LabelError, match="time_limit must be a number with a known unit"):
        parse_label({"public_tests": {"input": ["1"], "output": ["1"]}, "time_limit": limit})


def test_cases_carry_points_and_groups() -> None:
    cases = [
        {"input": "1", "output": "1", "points": 2, "group": "small"},
        {"input": "2", "output": "2", "points": 0.5},
    ]
    found = [(case.points, case.group) for case in stdin(parse_label(cases)).cases]
    assert found == [(2.0, "small"), (0.5, None)]


@pytest.mark.parametrize("points", [-1, "1", True, float("nan"), float("inf")])
def test_points_that_are_not_a_number_are_refused(points: object) -> None:
    with pytest.raises(LabelError, match="points must be a number"):
        parse_label([{"input": "1", "output": "1", "points": points}])


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        ([{"input": "1"}], "an object with input and output"),
        ([{"input": [1], "output": 1, "type": "function_call"}], "has no fn_name"),
        ([{"input": "1", "output": "1", "type": "telepathy"}], "unknown type 'telepathy'"),
        (
            [{"input": [1], "output": 1, "fn_name": "f"}, {"input": "1", "output": "1"}],
            "different functions, or none",
        ),
    ],
)
def test_case_of_unknown_form_is_refused(cases: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(LabelError, match=message):
        parse_label({"test_cases": cases})


def test_verification_info_names_the_language_of_its_programs() -> None:
    info = {"language": "C++", "test_cases": [{"input": "1", "output": "1"}]}
    suite = parse_label({"verification_info": json.dumps(info)})
    assert (suite.language, suite.image) == ("cpp", "cpp")


@pytest.mark.parametrize(
    ("language", "found"),
    [
        pytest.param("cpp", "cpp", id="its own name"),
        pytest.param(" Node.js ", "javascript", id="another name"),
        pytest.param("any", "any", id="any"),
        pytest.param("Python 3", "python", id="python"),
        pytest.param("", "python", id="empty"),
        pytest.param(None, "python", id="null"),
    ],
)
def test_label_names_the_language_of_its_programs(language: str | None, found: str) -> None:
    suite = parse_label({"inputs": ["1"], "outputs": ["1"], "language": language})
    assert suite.language == found


def test_suite_settings_name_the_language_of_its_programs() -> None:
    suite = parse_label({"inputs": ["1"], "outputs": ["1"], "suite": {"language": "rs"}})
    assert (suite.language, suite.image) == ("rust", "rust")


@pytest.mark.parametrize("language", ["kotlin", "C-", "english", 3, ["cpp"]])
def test_label_in_a_language_that_is_not_graded_is_refused(language: object) -> None:
    with pytest.raises(LabelError, match=r"language"):
        parse_label({"inputs": ["1"], "outputs": ["1"], "language": language})


CALLS = {"inputs": [[2]], "outputs": [4], "fn_name": "double"}


def test_calls_are_made_in_the_language_of_the_label() -> None:
    suite = parse_label({**CALLS, "language": "C++"})
    assert (suite.language, suite.image) == ("cpp", "cpp")
    assert calls(suite).entry_point == "double"


@pytest.mark.parametrize(
    ("row", "language", "message"),
    [
        pytest.param(
            {"test_list": ["assert double(2) == 4"]}, "cpp", "only Python is graded", id="asserts"
        ),
        pytest.param(CALLS, "lua", "called in Python, cpp, cpp20, go, java", id="no driver"),
        pytest.param(CALLS, "any", "called in Python, cpp, cpp20, go, java", id="any language"),
        pytest.param({**CALLS, "inputs": [{"n": 2}]}, "java", "no arguments by name", id="names"),
    ],
)
def test_tests_that_cannot_be_run_in_a_language_are_refused(
    row: dict[str, Any], language: str, message: str
) -> None:
    with pytest.raises(LabelError, match=message):
        parse_label({**row, "language": language})


def test_rllm_cases_take_their_function_from_metadata() -> None:
    case = {"input": "2", "output": "4", "testtype": "functional", "metadata": {"func_name": "f"}}
    assert calls(parse_label({"ground_truth": [case]})).entry_point == "f"


def livecodebench(**fields: Any) -> TestSuite:
    case = {"input": '[1, 2]\n"a"', "output": "[3]", "testtype": "functional"}
    row = {
        "question_id": "q",
        "starter_code": "class Solution:\n    def total(self, x: List[int], y: str) -> List[int]:",
        "public_test_cases": json.dumps([case]),
    }
    return parse_label({**row, **fields})


def test_livecodebench_calls_a_method_of_solution(tmp_path: Path) -> None:
    suite = livecodebench()
    assert calls(suite).entry_point == "Solution.total"
    assert calls(suite).cases[0].args == ([1, 2], "a")
    assert suite.extraction is ExtractionRule.LIVECODEBENCH
    assert suite.limits.cpu_time_s == 6.0
    code = "class Solution:\n    def total(self, x: List[int], y: str):\n        return (sum(x),)\n"
    assert run_suite(suite, code, tmp_path) == [True]


def test_livecodebench_metadata_names_the_function() -> None:
    suite = livecodebench(metadata='{"func_name": "sum"}', starter_code="")
    assert calls(suite).entry_point == "Solution.sum"


def test_livecodebench_without_a_name_for_the_function_is_refused() -> None:
    with pytest.raises(LabelError, match="neither metadata nor starter_code names"):
        livecodebench(starter_code="")


def test_livecodebench_private_tests_follow_the_public_ones() -> None:
    public = json.dumps([{"input": "1", "output": "1", "testtype": "stdin"}])
    private = pack(json.dumps([{"input": "2", "output": "2", "testtype": "stdin"}]))
    suite = livecodebench(public_test_cases=public, private_test_cases=private)
    assert [case.stdin for case in stdin(suite).cases] == ["1", "2"]


@pytest.mark.parametrize(
    ("expected", "printed", "equal"),
    [("1.0", "1", True), ("1", "1.0000001", False), (str(2**70), str(2**70 + 1), False)],
)
def test_livecodebench_compares_tokens_as_decimals(
    expected: str, printed: str, equal: bool, tmp_path: Path
) -> None:
    case = {"input": "", "output": expected, "testtype": "stdin"}
    suite = livecodebench(public_test_cases=json.dumps([case]))
    assert run_suite(suite, f"print('{printed}')", tmp_path) == [equal]


def test_livecodebench_of_mixed_types_is_refused() -> None:
    cases = [{"input": "1", "output": "1", "testtype": kind} for kind in ("stdin", "functional")]
    with pytest.raises(LabelError, match="more than one testtype"):
        livecodebench(public_test_cases=json.dumps(cases))


def test_livecodebench_field_that_would_run_code_is_refused() -> None:
    with pytest.raises(LabelError, match="more than plain data"):
        livecodebench(private_test_cases=pack(eval))


def test_codecontests_tests_of_all_three_kinds_count() -> None:
    tests = {"input": ["1"], "output": ["1"]}
    row = {
        "name": "n",
        "public_tests": tests,
        "private_tests": tests,
        "generated_tests": tests,
        "solutions": {"language": [1, 2, 3], "solution": ["print 1", "int main", "print(1)"]},
    }
    suite = parse_label(row)
    assert [case.id for case in stdin(suite).cases] == ["public/0", "private/0", "generated/0"]
    assert suite.reference == "print(1)"


@pytest.mark.parametrize(
    ("test", "kind"),
    [
        pytest.param('[{"input": {"stdin": "1"}, "output": {"stdout": "1"}}]', StdinTests, id="io"),
        pytest.param(
            pack({"input_output": '{"inputs": ["1"], "outputs": ["2"]}'}), StdinTests, id="packed"
        ),
        pytest.param(
            pack({"input_output": '{"inputs": ["1"], "outputs": ["2"], "fn_name": "f"}'}),
            CallTests,
            id="packed calls",
        ),
    ],
)
def test_sandboxfusion_tests_are_told_apart_by_their_form(test: str, kind: type) -> None:
    suite = parse_label({"id": 3, "content": "q", "labels": "{}", "test": test})
    assert isinstance(suite.tests, kind)
    assert (suite.format, suite.problem_id, suite.prompt) == ("sandboxfusion", "3", "q")


def test_styled_stdin_is_compared_by_lines() -> None:
    label = {"style": "stdin_stdout", "tests": [{"input": "", "output": "1 2\n"}]}
    assert stdin(parse_label(label)).comparison.comparator is Comparator.LINES


def test_styled_calls_may_have_a_tolerance_and_keyword_arguments() -> None:
    case = {"args": [1], "kwargs": {"b": 2}, "expected": 3}
    tests = {"entry_point": "f", "cases": [case], "float_tol": 1e-3}
    found = calls(parse_label({"style": "function_call", "tests": tests}))
    assert (found.cases[0].args, found.cases[0].kwargs) == ((1,), {"b": 2})
    assert (found.comparison.comparator, found.comparison.abs_tol) == (Comparator.FLOATS, 1e-3)


def test_styled_label_of_an_unknown_style_is_refused() -> None:
    with pytest.raises(LabelError, match="unknown style 'mystery'; known: pytest"):
        parse_label({"style": "mystery", "tests": ""})


CASES = {"inputs": ["1"], "outputs": ["1"]}


@pytest.mark.parametrize(
    "row",
    [
        {"reward_model": {"ground_truth": json.dumps(CASES)}},
        {"reward_spec": {"ground_truth": json.dumps(CASES)}},
        {"ground_truth": CASES},
        {"label": json.dumps(CASES)},
        {"verifier_metadata": {"unit_tests": CASES}},
    ],
    ids=["verl", "skyrl", "rllm", "label", "nemo_gym"],
)
def test_envelope_gives_the_suite_of_its_inner_label(
    row: dict[str, object], request: pytest.FixtureRequest
) -> None:
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    suite = parse_label({**row, "prompt": messages, "id": "p0"})
    assert [case.stdin for case in stdin(suite).cases] == ["1"]
    assert suite.format == request.node.callspec.id
    if suite.format != "nemo_gym":
        assert (suite.prompt, suite.problem_id) == ("u", "p0")


def test_verl_assert_cases_are_read() -> None:
    truth = json.dumps({"assert_case": ["assert f(1) == 1", "assert f(2) == 2"]})
    suite = parse_label({"reward_model": {"ground_truth": truth}})
    assert isinstance(suite.tests, ScriptTests)
    assert len(suite.tests.cases) == 2


def test_envelope_without_a_label_is_refused() -> None:
    with pytest.raises(LabelError, match="NoneType"):
        parse_label({"reward_model": {"style": "rule"}})
