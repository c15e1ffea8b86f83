import json

import pytest

from grader.model import (
    CallTests,
    Comparator,
    InteractiveTests,
    LimitOverrides,
    PytestTests,
    ScriptTests,
    StdinTests,
    TestSuite,
)
from grader.model.errors import LabelError, SuiteError
from grader.model.overrides import ExtractionRule
from grader.suites import parse_label, parse_problem, problem_id_of

CASES = {"inputs": ["2\n"], "outputs": ["4\n"]}
PYTEST_SOURCE = "from solution import double\n\n\ndef test_two():\n    assert double(2) == 4\n"


class OneProblem:
    """A file of problems with one problem."""

    def get(self, problem_id: str) -> TestSuite | None:
        return parse_label(CASES) if problem_id == "p0" else None


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        pytest.param(CASES, StdinTests, id="object"),
        pytest.param(json.dumps(CASES), StdinTests, id="json text"),
        pytest.param(json.dumps(json.dumps(CASES)), StdinTests, id="json text in json text"),
        pytest.param([{"input": "2\n", "output": "4\n"}], StdinTests, id="list of cases"),
        pytest.param(["assert double(2) == 4"], ScriptTests, id="list of asserts"),
        pytest.param('["assert double(2) == 4"]', ScriptTests, id="json list of asserts"),
        pytest.param("assert double(2) == 4", ScriptTests, id="assert lines"),
        pytest.param(
            "def check(candidate):\n    assert candidate(2) == 4", ScriptTests, id="check"
        ),
        pytest.param(PYTEST_SOURCE, PytestTests, id="pytest"),
        pytest.param('"""About."""\n' + PYTEST_SOURCE, PytestTests, id="source with docstring"),
        pytest.param(
            "import unittest\nclass T(unittest.TestCase):\n    def test_two(self):\n"
            "        self.assertEqual(double(2), 4)\n",
            PytestTests,
            id="unittest",
        ),
        pytest.param({"fn_name": "double", "inputs": [[2]], "outputs": [4]}, CallTests, id="calls"),
    ],
)
def test_label_of_each_shape_becomes_its_kind_of_tests(label: object, kind: type) -> None:
    assert isinstance(parse_label(label).tests, kind)


def labels_in_labels(depth: int) -> object:
    return {"label": labels_in_labels(depth - 1)} if depth else "assert f(1)"


@pytest.mark.parametrize(
    ("label", "message"),
    [
        pytest.param("", "the label is empty", id="empty"),
        pytest.param(" \n", "the label is empty", id="blank"),
        pytest.param("hello world", "neither JSON nor test source", id="prose"),
        pytest.param('{"inputs": [', "the label is not JSON", id="cut off"),
        pytest.param("[" * 100_000, "the label is not JSON", id="deep"),
        pytest.param("1" * 10_000, "neither JSON nor test source", id="number"),
        pytest.param(3, "but is int", id="int"),
        pytest.param(None, "but is NoneType", id="null"),
        pytest.param(b"\xff", "but is bytes", id="bytes"),
        pytest.param([1], "is a list, but not .* its first item is 1", id="list of numbers"),
        pytest.param({"inputs": 1, "outputs": []}, "must be lists", id="no list"),
        pytest.param({"inputs": [{}], "outputs": ["1"]}, "input 0 must be text", id="no text"),
        pytest.param({"tests": 3}, "no known format", id="wrong type"),
        pytest.param(
            labels_in_labels(7),
            "more than 6 deep",
            id="labels in labels",
        ),
        pytest.param(
            {"language": "cobol", "test_cases": [{"input": "1", "output": "1"}]},
            "the language 'cobol' is not graded; expected one of python, bash",
            id="other language",
        ),
    ],
)
def test_damaged_label_is_refused_with_the_reason(label: object, message: str) -> None:
    with pytest.raises(LabelError, match=message):
        parse_label(label)


@pytest.mark.parametrize(
    ("label", "message"),
    [
        pytest.param([], "no test case", id="no case"),
        pytest.param(["", " \n# nothing\n"], "no test case", id="nothing but comments"),
        pytest.param({"inputs": ["1", "2"], "outputs": ["1"]}, "2 inputs but 1 output", id="odd"),
        pytest.param("assert f(", "cannot parse the tests as Python", id="syntax"),
        pytest.param(
            {"inputs": ["1"], "outputs": ["1"], "suite": {"prelude": "import"}},
            "cannot parse the prelude as Python",
            id="prelude",
        ),
        pytest.param("import math", "assert nothing", id="no assert"),
        pytest.param("assert f('\0')", "cannot parse the tests as Python", id="null byte"),
        pytest.param("assert " + "(" * 5000 + ")" * 5000, "cannot parse", id="deep"),
        pytest.param({"inputs": ["\ud800"], "outputs": [""]}, "not Unicode", id="surrogate"),
        pytest.param({"test_list": ["assert f(1)", "f("]}, "cannot parse an assert", id="one"),
    ],
)
def test_broken_tests_are_a_suite_error_with_the_reason(label: object, message: str) -> None:
    with pytest.raises(SuiteError, match=message):
        parse_label(label)


def test_long_value_is_shown_in_part() -> None:
    label = {"inputs": ["1"], "outputs": ["1"], "suite": {"limits": {"cpu_time_s": "9" * 100_000}}}
    with pytest.raises(LabelError, match=r"cpu_time_s must be .*, but is '9+\.\.\.$") as found:
        parse_label(label)
    assert len(str(found.value)) < 200


def test_short_label_resolves_through_the_problems() -> None:
    suite = parse_label('{"problem": "p0"}', problems=OneProblem())
    assert isinstance(suite.tests, StdinTests)


def test_short_label_may_override_what_its_problem_says() -> None:
    label = {"problem": "p0", "suite": {"limits": {"cpu_time_s": 1.5}}}
    assert parse_label(label, problems=OneProblem()).limits == LimitOverrides(cpu_time_s=1.5)


def test_short_label_without_problems_says_what_to_set() -> None:
    with pytest.raises(LabelError, match="--problems or GRADER_PROBLEMS"):
        parse_label({"problem": "p0"})


def test_short_label_of_an_unknown_problem_names_it() -> None:
    with pytest.raises(LabelError, match="'p1', which the file of problems lacks"):
        parse_label({"problem": "p1"}, problems=OneProblem())


def test_suite_object_overrides_properties() -> None:
    overrides = {
        "comparison": {"comparator": "exact"},
        "extraction": "first_block",
        "limits": {"cpu_time_s": 2, "memory_bytes": 1 << 20},
        "prelude": "import math\n",
        "image": "science",
    }
    suite = parse_label({**CASES, "suite": overrides})
    assert isinstance(suite.tests, StdinTests)
    assert suite.tests.comparison.comparator is Comparator.EXACT
    assert suite.extraction is ExtractionRule.FIRST_BLOCK
    assert suite.limits == LimitOverrides(cpu_time_s=2, memory_bytes=1 << 20)
    assert (suite.prelude, suite.image) == ("import math\n", "science")


def test_checker_of_the_suite_object_selects_its_comparator() -> None:
    checker = {"source": "def check(input, output, answer):\n    return True\n"}
    suite = parse_label({**CASES, "suite": {"comparison": {"checker": checker}}})
    assert isinstance(suite.tests, StdinTests)
    assert suite.tests.comparison.comparator is Comparator.CHECKER


def test_interactor_of_the_suite_object_makes_stdin_tests_interactive() -> None:
    suite = parse_label({**CASES, "suite": {"interactor": "def interact(*_):\n    return True\n"}})
    assert isinstance(suite.tests, InteractiveTests)
    assert suite.tests.cases == stdin_of(CASES).cases


def stdin_of(label: object) -> StdinTests:
    tests = parse_label(label).tests
    assert isinstance(tests, StdinTests)
    return tests


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        pytest.param(
            {"interactor": 1}, "interactor must be source text or an object", id="interactor"
        ),
        pytest.param({"interactor": {"kind": "function"}}, "source must be text", id="no source"),
        pytest.param(
            {"interactor": {"source": "", "kind": "c"}}, "function, icpc, but is", id="kind"
        ),
        pytest.param(
            {"interactor": "", "comparison": {"comparator": "exact"}}, "without a", id="both"
        ),
        pytest.param("fast", "suite must be an object", id="text"),
        pytest.param({"limit": {}}, "suite has no limit; it has limits", id="unknown name"),
        pytest.param({"limits": {"cpu_time": 1}}, "limits has no cpu_time", id="unknown limit"),
        pytest.param({"limits": {"cpu_time_s": 0}}, "expected at least 0.01", id="zero limit"),
        pytest.param({"limits": {"wall_time_s": 1e-300}}, "expected at least 0.01", id="no time"),
        pytest.param({"limits": {"work_files": 10**400}}, "at most 1125899906842624", id="huge"),
        pytest.param({"limits": {"memory_bytes": 1.5}}, "a whole number", id="half a byte"),
        pytest.param({"limits": {"processes": True}}, "a whole number", id="bool"),
        pytest.param({"extraction": "guess"}, "must be one of auto,", id="unknown rule"),
        pytest.param({"comparison": {"comparator": "fuzzy"}}, "one of exact,", id="comparator"),
        pytest.param({"comparison": {"abs_tol": "1"}}, "a number from 0", id="text tolerance"),
        pytest.param({"comparison": {"nan_equal": 1}}, "true or false", id="number for bool"),
        pytest.param({"comparison": {"comparator": "checker"}}, "a checker, and only", id="none"),
        pytest.param({"prelude": 3}, "prelude must be text", id="prelude"),
    ],
)
def test_wrong_override_is_refused_with_what_was_expected(overrides: object, message: str) -> None:
    with pytest.raises(LabelError, match=message):
        parse_label({**CASES, "suite": overrides})


def test_comparison_cannot_be_overridden_if_the_tests_compare_themselves() -> None:
    with pytest.raises(LabelError, match="do their own comparing"):
        parse_label({"tests": "assert f(1)", "suite": {"comparison": {"comparator": "exact"}}})


@pytest.mark.parametrize(
    ("row", "problem_id"),
    [
        ({"task_id": "HumanEval/0", "id": "other"}, "HumanEval/0"),
        ({"task_id": 11}, "11"),
        ({"id": "", "slug": "two-fer"}, "two-fer"),
        ({"id": True, "name": "n"}, "n"),
        ({"verifier_metadata": {"task_id": "t"}}, "t"),
        ({"metadata": {"problem_id": 0}}, "0"),
        ({"extra_info": {"index": 7}}, "7"),
        ({"prompt": "p"}, None),
    ],
)
def test_problem_id_is_the_first_field_that_holds_one(
    row: dict[str, object], problem_id: str | None
) -> None:
    assert problem_id_of(row) == problem_id


def test_problem_row_keeps_its_id_if_its_format_reads_none() -> None:
    assert parse_problem({**CASES, "slug": "double"}).problem_id == "double"


def test_prompt_of_an_envelope_does_not_replace_a_code_prompt() -> None:
    code = "import math\n\n\ndef root(n):\n"
    problem = {
        "task_id": "r",
        "prompt": code,
        "entry_point": "root",
        "test": "def check(candidate):\n    assert candidate(4) == 2\n",
    }
    suite = parse_label({"label": problem, "prompt": [{"role": "user", "content": "Continue."}]})
    assert suite.continues_prompt
    assert suite.prompt == code


@pytest.mark.parametrize(
    ("checker", "language", "kind"),
    [
        pytest.param("def check(i, o, a): ...", "python", "function", id="function"),
        pytest.param("#include <ios>\nint main() {}", "cpp", "testlib", id="includes"),
        pytest.param("```rust\nfn main() {}\n```", "rust", "testlib", id="fence"),
        pytest.param({"source": "x", "name": "a/check.cc"}, "cpp", "testlib", id="name"),
        pytest.param({"source": "x", "name": "check.py"}, "python", "function", id="python name"),
        pytest.param({"source": "x", "language": "C++20"}, "cpp20", "testlib", id="language"),
        pytest.param(
            {"source": "x", "language": "c", "name": "a.py", "kind": "icpc"}, "c", "icpc", id="all"
        ),
    ],
)
def test_checker_says_its_language(checker: object, language: str, kind: str) -> None:
    tests = parse_label({**CASES, "checker": checker}).tests
    assert isinstance(tests, StdinTests)
    found = tests.comparison.checker
    assert found is not None
    assert (found.language, found.kind) == (language, kind)
    assert "```" not in found.source


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        pytest.param({"language": "any"}, "one language, but is 'any'", id="any"),
        pytest.param({"language": "brainfuck"}, "is not graded", id="unknown language"),
        pytest.param({"name": "check"}, "ending tells no language", id="name without ending"),
        pytest.param({"name": "x.cpp", "kind": "function"}, "only Python", id="function in C++"),
        pytest.param({"files": ["a"]}, "object of texts by path", id="files"),
        pytest.param({"files": {"../a": ""}}, "stay inside", id="path that leaves"),
        pytest.param({"arguments": "a"}, "list of texts", id="arguments"),
    ],
)
def test_wrong_checker_is_refused_with_what_was_expected(
    fields: dict[str, object], message: str
) -> None:
    with pytest.raises(LabelError, match=message):
        parse_label({**CASES, "checker": {"source": "x", **fields}})
