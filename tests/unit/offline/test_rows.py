import json
from collections.abc import Mapping
from typing import Any

import pytest

from grader.model import LimitOverrides, TestSuite
from grader.offline.finder import SuiteFinder
from grader.offline.rows import RowRules, RowSample, output_line, refusal, samples
from grader.offline.source import Row
from grader.source.files import split_files
from tests.factories import make_report, make_suite

ASSERTS = ["assert add(1, 2) == 3"]
RULES = RowRules(run="0" * 24)


def read(
    row: object,
    *,
    problems: Mapping[str, TestSuite] | None = None,
    rules: RowRules = RULES,
) -> list[RowSample]:
    text = row if isinstance(row, bytes) else json.dumps(row).encode()
    return samples(Row(number=7, text=text, progress=None), SuiteFinder(problems), rules)


def completions(row: object, **options: Any) -> list[str]:
    found = []
    for sample in read(row, **options):
        assert sample.submission is not None, sample.problem
        found.append(sample.submission.completion)
    return found


def refused(row: object, **options: Any) -> str:
    (sample,) = read(row, **options)
    assert sample.submission is None
    return sample.problem


def written(sample: RowSample) -> dict[str, Any]:
    line = output_line(sample, make_report())
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    row: dict[str, Any] = json.loads(line)
    return row


@pytest.mark.parametrize(
    ("fields", "completion"),
    [
        pytest.param({"completion": "c", "response": "r"}, "c", id="completion first"),
        pytest.param({"response": "r", "solution": "s", "query": "q"}, "r", id="then response"),
        pytest.param({"query": "q", "solution": "s"}, "s", id="then solution"),
        pytest.param({"query": "q"}, "q", id="then query"),
        pytest.param({"completion": None, "response": "r"}, "r", id="null is not there"),
        pytest.param({"completion": ""}, "", id="empty is there"),
        pytest.param(
            {
                "completion": [
                    {"role": "user", "content": "u"},
                    {"role": "assistant", "content": "a"},
                    {"role": "user", "content": "v"},
                ]
            },
            "a",
            id="last answer of a chat",
        ),
    ],
)
def test_completion_is_found(fields: dict[str, Any], completion: str) -> None:
    assert completions({**fields, "label": ASSERTS}) == [completion]


def test_completion_key_names_the_field() -> None:
    rules = RowRules(run="", completion_key="text")
    assert completions({"completion": "c", "text": "t", "label": ASSERTS}, rules=rules) == ["t"]


def test_list_is_several_samples_each_with_its_own_row() -> None:
    row = {"task_id": "add", "completion": ["one", "two"], "label": ASSERTS}
    rows = [written(sample) for sample in read(row)]
    assert [out["completion"] for out in rows] == ["one", "two"]
    assert [out["_grader"]["sample"] for out in rows] == [0, 1]
    assert {out["_grader"]["problem"] for out in rows} == {"add"}


def test_object_of_texts_by_path_is_a_completion_of_several_files() -> None:
    files = {"main.rb": "puts f", "f.rb": "def f = 1"}
    found = completions({"completion": files, "label": ASSERTS})
    assert [split_files(text) for text in found] == [
        {path: f"{text}\n" for path, text in files.items()}
    ]
    assert completions({"completion": {"main.rb": "puts 1"}, "label": ASSERTS}) == ["puts 1"]


def test_list_of_chats_is_several_samples() -> None:
    chats = [[{"role": "assistant", "content": "a"}], [{"role": "assistant", "content": "b"}]]
    assert completions({"completion": chats, "label": ASSERTS}) == ["a", "b"]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        pytest.param(b"{", "not JSON", id="not json"),
        pytest.param([1], "an array; expected an object", id="array"),
        pytest.param(
            {"text": "c", "label": ASSERTS},
            "no completion: found the fields text, label; expected completion or response or "
            "solution or query; name the field by --completion-key, as in --completion-key text",
            id="no completion",
        ),
        pytest.param({"completion": 3, "label": ASSERTS}, "holds a number", id="number"),
        pytest.param({"completion": [], "label": ASSERTS}, "an empty list", id="no sample"),
        pytest.param(
            {"completion": [{"role": "user", "content": "f?"}], "label": ASSERTS},
            "a chat without a message of the role assistant",
            id="no answer in a chat",
        ),
        pytest.param(
            {"completion": ["a", None], "label": ASSERTS}, "holds a list with", id="hole in a list"
        ),
        pytest.param(
            {"completion": "c"},
            "no tests: there is no field label; name the field of the tests by --label-key (the",
            id="no label",
        ),
        pytest.param(
            {"completion": "c", "task_id": "p1"},
            "by --label-key, or the file that has problem 'p1' by --problems (the row is not",
            id="no file of problems",
        ),
        pytest.param({"completion": "c", "label": {"x": 1}}, "no known format", id="unknown label"),
        pytest.param({"completion": "c", "label": "{"}, "label", id="label not json"),
    ],
)
def test_row_that_cannot_be_graded_says_why(row: object, problem: str) -> None:
    assert problem in refused(row)


def test_row_that_cannot_be_graded_is_written_with_the_reason() -> None:
    (sample,) = read({"id": "x", "text": "c", "label": ASSERTS})
    out = json.loads(output_line(sample, refusal(sample, "binary")))
    assert out["text"] == "c"
    assert out["report"]["verdict"] == "internal_error"
    assert out["report"]["graded"] is False
    assert out["report"]["reward"] == 0.0
    assert out["report"]["policy"] == "binary"
    assert out["report"]["feedback"].startswith("row 7: no completion")


def test_line_that_is_not_json_is_kept_as_text() -> None:
    (sample,) = read(b'{"completion": oops\xff')
    out = json.loads(output_line(sample, refusal(sample, "graded")))
    assert out["_grader"]["text"] == '{"completion": oops\N{REPLACEMENT CHARACTER}'
    assert out["_grader"]["line"] == 7


def test_fields_go_out_digit_for_digit() -> None:
    text = b'{"id":1.10, "big": 1e400, "completion":"\\u00e9\\ud800","label":["assert 1"] }'
    (sample,) = read(text)
    assert output_line(sample, make_report()).startswith(text[:-1].rstrip())


def test_report_of_an_earlier_run_is_replaced() -> None:
    row = {"id": "x", "report": {"old": 1}, "_grader": {"old": 1}, "completion": "c"}
    out = written(read({**row, "label": ASSERTS})[0])
    assert out["report"]["verdict"] == "passed"
    assert out["_grader"]["line"] == 7
    assert out["id"] == "x"


def test_object_without_a_field_is_written_whole() -> None:
    (sample,) = read(b"{}")
    assert set(json.loads(output_line(sample, refusal(sample, "graded")))) == {"report", "_grader"}


@pytest.mark.parametrize(
    ("row", "found"),
    [
        pytest.param({"task_id": "a", "id": "s-1"}, "a", id="task_id"),
        pytest.param({"id": "b"}, "b", id="id"),
        pytest.param({"task_id": 3}, "3", id="number"),
        pytest.param({"task_id": "unknown", "id": "b"}, "b", id="the one that is known"),
        pytest.param({"id": "a", "label": ASSERTS}, "a", id="problems before labels"),
        pytest.param({"id": "unknown", "label": ASSERTS}, None, id="label where there is none"),
        pytest.param({"label": {"problem": "b"}}, "b", id="label that names a problem"),
    ],
)
def test_tests_are_found_by_id(row: dict[str, Any], found: str | None) -> None:
    problems = {name: make_suite(problem_id=name) for name in ("a", "b", "3")}
    (sample,) = read({**row, "completion": "c"}, problems=problems)
    assert sample.submission is not None, sample.problem
    assert sample.submission.suite.problem_id == found


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        pytest.param({"id": "x"}, "no label, and the file of problems lacks 'x'", id="unknown id"),
        pytest.param({}, "no label, and no id to find a problem by", id="no id"),
    ],
)
def test_row_without_a_problem_says_what_was_looked_for(row: dict[str, Any], problem: str) -> None:
    said = refused({**row, "completion": "c"}, problems={})
    assert problem in said
    assert "(the row is not itself a label: the label is in no known format" in said


def test_problem_row_that_carries_a_completion_needs_no_label() -> None:
    row = {
        "task_id": "HumanEval/0",
        "prompt": "def double(n):\n",
        "entry_point": "double",
        "test": "def check(candidate):\n    assert candidate(2) == 4\n",
        "completion": "    return 2 * n\n",
    }
    (sample,) = read(row)
    assert sample.submission is not None, sample.problem
    assert sample.submission.suite.format == "humaneval"
    assert sample.problem_id == "HumanEval/0"


def test_prompt_of_messages_is_no_prefix() -> None:
    row = {"prompt": [{"role": "user", "content": "u"}], "completion": "c", "label": ASSERTS}
    (sample,) = read(row)
    assert sample.submission is not None
    assert sample.submission.prompt == ""


def test_given_limits_win_over_those_of_the_suite() -> None:
    suite = make_suite(limits=LimitOverrides(cpu_time_s=3.0, processes=9))
    rules = RowRules(run="", limits=LimitOverrides(cpu_time_s=1.0))
    (sample,) = read({"id": "add", "completion": "c"}, problems={"add": suite}, rules=rules)
    assert sample.submission is not None
    assert sample.submission.suite.limits == LimitOverrides(cpu_time_s=1.0, processes=9)


@pytest.mark.parametrize(
    ("row", "row_id"),
    [({"id": 5, "task_id": "t"}, "5"), ({"task_id": "t"}, "t"), ({}, "7")],
)
def test_row_is_called_by_its_id_or_its_number(row: dict[str, Any], row_id: str) -> None:
    assert read({**row, "completion": "c", "label": ASSERTS})[0].id == row_id


@pytest.mark.parametrize(
    ("language", "completion", "expected"),
    [
        pytest.param("cpp", "int main() {}", "cpp", id="name"),
        pytest.param("C++", "int main() {}", "cpp", id="alias"),
        pytest.param("pl", "print(1)", "python", id="Polish"),
        pytest.param("pl", "```pl\nprint 1\n```", "perl", id="Perl"),
        pytest.param("c", "```c++\nint main() {}\n```", "python", id="another fence"),
        pytest.param("English", "print(1)", "python", id="of the prompt"),
        pytest.param("", "```\nprint(1)\n```", "python", id="none"),
        pytest.param(7, "print(1)", "python", id="no text"),
    ],
)
def test_language_beside_the_label_counts_if_it_is_that_of_the_code(
    language: object, completion: str, expected: str
) -> None:
    label = {"inputs": ["1"], "outputs": ["1"]}
    row = {"completion": completion, "label": label, "language": language}
    (sample,) = read(row)
    assert sample.submission is not None
    assert sample.submission.suite.language == expected
