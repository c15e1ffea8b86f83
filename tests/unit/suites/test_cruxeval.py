"""CRUXEval: an answer predicts a value, which is extracted as a program of its own."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.config.settings import Settings
from grader.extract import extract
from grader.grading.pipeline import find_code
from grader.model import Submission
from grader.model.errors import LabelError
from grader.model.overrides import ExtractionRule
from grader.suites import parse_label
from tests.unit.suites.running import run_suite

OUTPUT = {
    "id": "sample_7",
    "code": "def f(text, n):\n    return text[:n] * 2",
    "input": "'grade', 2",
    "output": "'grgr'",
}
INPUT = {**OUTPUT, "mode": "input"}
EMPTY = {**OUTPUT, "code": "def f(a):\n    return set(a) - {1}", "input": "[1]", "output": "set()"}
NAMED = {
    "function_name": "total",
    "code": "def total(numbers):\n    return sum(numbers)",
    "input": "total(numbers = [1, 2])",
    "output": "3",
}


def code_of(label: object, answer: str) -> str | None:
    submission = Submission(id="s", completion=answer, suite=parse_label(label))
    return find_code(submission, Settings())[1].code


@pytest.mark.parametrize(
    ("label", "answer", "is_right"),
    [
        pytest.param(OUTPUT, "[ANSWER]\nassert f('grade', 2) == 'grgr'\n[/ANSWER]", True, id="tag"),
        pytest.param(OUTPUT, "[ANSWER]\nassert f('grade', 2) == 'grgr'", True, id="cut at stop"),
        pytest.param(OUTPUT, " 'grgr' # done", True, id="rest of an assertion"),
        pytest.param(OUTPUT, "```python\nassert 'grgr' == f('', 2)\n```", True, id="turned"),
        pytest.param(OUTPUT, "It is `assert f('grade', 2) == \"gr\" * 2`.", True, id="in prose"),
        pytest.param(OUTPUT, "[ANSWER]'gr'[/ANSWER] or [ANSWER]'grgr'[/ANSWER]", True, id="last"),
        pytest.param(OUTPUT, "assert f('grade', 2) == 'gr'", False, id="another value"),
        pytest.param(EMPTY, "assert f([1]) == set()", True, id="empty set"),
        pytest.param(EMPTY, "assert f([1]) == {}", False, id="empty dict"),
        pytest.param(INPUT, "[ANSWER]\nassert f('grape', 2) == 'grgr'\n[/ANSWER]", True, id="call"),
        pytest.param(INPUT, "f(n=2, text='gr' + 'a' * 9)", True, id="call alone"),
        pytest.param(INPUT, "assert f('gra', 3) == 'grgr'", False, id="call of another value"),
        pytest.param(NAMED, "assert total(numbers = [1, 2]) == 3", True, id="whole call"),
        pytest.param({**NAMED, "mode": "input"}, "total([4, -1])", True, id="whole call, input"),
    ],
)
def test_prediction_is_compared_by_value(
    label: dict[str, Any], answer: str, *, is_right: bool, tmp_path: Path
) -> None:
    suite = parse_label(label)
    assert run_suite(suite, suite.reference or "", tmp_path) == [True]
    assert run_suite(suite, code_of(label, answer) or "", tmp_path) == [is_right]


@pytest.mark.parametrize(
    ("label", "answer"),
    [
        pytest.param(OUTPUT, "f('grade', 2)", id="only the call"),
        pytest.param(OUTPUT, "assert f('grade', 2) == f('grade', 2)", id="calls f again"),
        pytest.param(OUTPUT, "assert f('grade', 2) == ??", id="question"),
        pytest.param(OUTPUT, "def predicted():\n    return 'grgr'", id="program"),
        pytest.param(INPUT, "assert f(exec('f = str')) == 'grgr'", id="replaces f"),
        pytest.param(INPUT, "f((lambda: 1)())", id="code of its own"),
        pytest.param(INPUT, "f(str.__class__, 2)", id="attribute"),
        pytest.param(INPUT, "'grade', 2", id="arguments alone"),
        pytest.param(INPUT, "g('grade', 2)", id="another function"),
    ],
)
def test_nothing_but_a_prediction_is_taken(label: dict[str, Any], answer: str) -> None:
    assert code_of(label, answer) is None


def test_no_setting_replaces_the_rule() -> None:
    submission = Submission(id="s", completion="def predicted(): ...", suite=parse_label(INPUT))
    rule, found = find_code(submission, Settings(extraction=ExtractionRule.VERBATIM))
    assert (rule, found.code) == (ExtractionRule.PREDICTED_INPUT, None)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(VALUES)
def test_any_literal_is_found_as_it_was_written(value: object) -> None:
    answer = f"[ANSWER]\nassert f(1) == {value!r}\n[/ANSWER]"
    code = extract(answer, rule=ExtractionRule.PREDICTED_OUTPUT, entry_point="f").code
    assert code == f"def predicted():\n    return (\n{value!r}\n    )\n"


@given(st.text("[]()ANSWER/assert f(1)=='x'`\n", max_size=40))
def test_no_text_is_an_error(text: str) -> None:
    for rule in (ExtractionRule.PREDICTED_OUTPUT, ExtractionRule.PREDICTED_INPUT):
        extract(text, rule=rule, entry_point="f")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"mode": "both"}, "mode is 'both': expected 'output' or 'input'"),
        ({"output": "f(1)"}, "output must be a literal"),
        ({"code": "def g(): ..."}, "cruxeval .has its fields"),
    ],
)
def test_row_that_does_not_fit_says_why(changed: dict[str, str], message: str) -> None:
    with pytest.raises(LabelError, match=message):
        parse_label({**OUTPUT, **changed})
