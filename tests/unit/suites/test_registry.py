import re
from pathlib import Path

import pytest

from grader.model import ExpressionTests, InteractiveTests, TestSuite
from grader.model.errors import LabelError
from grader.suites import FORMATS, Format, parse_label, parse_problem
from grader.suites.registry import recognise
from tests.unit.suites.running import run_suite

REPO = Path(__file__).resolve().parents[3]

WITH_TESTS = [known for known in FORMATS if known.name != "problem"]


def by_name(known: Format) -> str:
    return known.name


@pytest.mark.parametrize("known", FORMATS, ids=by_name)
def test_example_of_each_format_is_recognised_as_that_format(known: Format) -> None:
    assert recognise(known.example) is known


@pytest.mark.parametrize("known", WITH_TESTS, ids=by_name)
def test_example_of_each_format_becomes_a_suite(known: Format) -> None:
    assert isinstance(parse_label(known.example), TestSuite)


def runs_in_plain_python(suite: TestSuite) -> bool:
    return not isinstance(suite.tests, InteractiveTests | ExpressionTests)


@pytest.mark.parametrize(
    "known",
    [
        known
        for known in WITH_TESTS
        if (suite := parse_label(known.example)).reference and runs_in_plain_python(suite)
    ],
    ids=by_name,
)
def test_reference_of_each_example_passes_and_a_wrong_program_does_not(
    known: Format, tmp_path: Path
) -> None:
    suite = parse_label(known.example)
    assert suite.reference is not None
    wrong = suite.reference.replace("2", "3")
    assert wrong != suite.reference
    assert all(run_suite(suite, suite.reference, tmp_path))
    assert not all(run_suite(suite, wrong, tmp_path))


def test_names_of_formats_are_unique_and_precedence_names_known_ones() -> None:
    names = [known.name for known in FORMATS]
    assert len(set(names)) == len(names)
    assert {name for known in FORMATS for name in known.precedes} <= set(names)


def test_every_format_is_documented() -> None:
    page = (REPO / "docs/formats.md").read_text()
    documented = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert documented == {known.name for known in FORMATS}


def test_documented_precedences_are_those_of_the_registry() -> None:
    page = (REPO / "docs/formats.md").read_text()
    documented = set(re.findall(r"^- `(\w+)` wins over (.*)$", page, re.MULTILINE))
    assert documented == {
        (known.name, ", ".join(f"`{name}`" for name in known.precedes))
        for known in FORMATS
        if known.precedes
    }


def test_unknown_label_is_told_its_fields_and_the_nearest_formats() -> None:
    with pytest.raises(LabelError) as caught:
        parse_label({"task_id": "x", "prompt": "p", "entry_point": "f", "tset": "typo"})
    message = str(caught.value)
    assert "its fields: entry_point, prompt, task_id, tset" in message
    assert "nearest: humaneval (lacks test)" in message


def test_format_whose_fields_hold_other_contents_is_the_nearest() -> None:
    with pytest.raises(LabelError, match=r"nearest: humaneval \(has its fields, but with other"):
        parse_label({"entry_point": "f", "test": 5})


def test_label_near_no_format_gets_a_hint_to_the_list() -> None:
    with pytest.raises(LabelError, match="`grader formats` lists the known ones"):
        parse_label({"colour": "red", "task_id": "an id"})


def test_label_that_fits_two_formats_is_refused_with_their_names() -> None:
    both = {"inputs": ["1"], "outputs": ["1"], "assert_case": ["assert f(1) == 1"]}
    with pytest.raises(LabelError, match="fits several formats: inputs_outputs, assert_list"):
        parse_label(both)


def test_null_columns_count_as_absent() -> None:
    row = {"inputs": ["1"], "outputs": ["1"], "assert_case": None, "fn_name": None}
    assert parse_problem(row).format == "inputs_outputs"


def test_more_fields_than_a_message_can_hold_are_counted() -> None:
    with pytest.raises(LabelError, match="and 80 more"):
        parse_label({f"f{number:02}": 1 for number in range(100)})
