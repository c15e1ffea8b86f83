"""A sample's view, from a report and from a row."""

import json
from typing import Any

import pytest

from grader.model import CaseResult, Conditions, Evidence, Limits, Usage
from grader.model.errors import InputError
from grader.model.overrides import ExtractionRule
from grader.model.verdict import LimitKind, Verdict
from grader.model.wire import report_json
from grader.report.pages import one_file, render, sample_fragment, script_json
from grader.report.problems import ProblemReader
from grader.report.rows import read_row
from grader.report.sample import view_of
from grader.suites import ProblemIndex
from tests.factories import make_report

CONDITIONS = Conditions(
    format="asserts",
    image="python",
    extraction=ExtractionRule.AUTO,
    extraction_note="Took block 2 of 2.",
    limits=Limits(cpu_time_s=2),
)


def test_view_measures_the_heaviest_run_against_the_limits() -> None:
    cases = tuple(
        CaseResult(id=str(n), verdict=Verdict.TIME_LIMIT, usage=Usage(cpu_time_s=n + 0.5))
        for n in range(2)
    )
    report = make_report(
        Verdict.TIME_LIMIT, cases=cases, limit_hit=LimitKind.CPU_TIME, conditions=CONDITIONS
    )
    cpu, wall, _ = view_of(report, id="x", completion="").limits
    assert (cpu.used, cpu.limit, cpu.share, cpu.hit) == ("1.50 s", "2.00 s", 0.75, True)
    assert (wall.used, wall.share, wall.hit) == ("not measured", None, False)


@pytest.mark.parametrize(
    ("hit", "limit"),
    [(None, "20.00 s, not counting waits for a CPU"), (LimitKind.WALL_TIME, "20.00 s")],
)
def test_time_beyond_a_limit_that_was_not_hit_is_explained(
    hit: LimitKind | None, limit: str
) -> None:
    report = make_report(usage=Usage(wall_time_s=104.7), limit_hit=hit, conditions=CONDITIONS)
    _, wall, _ = view_of(report, id="x", completion="").limits
    assert (wall.used, wall.limit) == ("104.70 s", limit)


def test_view_shows_cases_that_did_not_pass_first() -> None:
    cases = (
        CaseResult(id="a", verdict=Verdict.PASSED),
        CaseResult(id="b", verdict=Verdict.FAILED, evidence=Evidence(expected="1\n", got="2\n")),
    )
    view = view_of(make_report(Verdict.FAILED, cases=cases), id="x", completion="")
    assert [case.id for case in view.cases] == ["b", "a"]
    assert [(line.kind, line.text) for line in view.cases[0].diff] == [
        ("missing", "1"),
        ("extra", "2"),
    ]


def test_row_is_read_back_with_its_completion() -> None:
    row = {
        "id": 7,
        "completion": "not this",
        "answer": "x = 1",
        "report": json.loads(report_json(make_report(conditions=CONDITIONS))),
        "_grader": {"line": 3, "sample": 1, "problem": "p", "field": "answer"},
    }
    found = read_row(json.dumps(row).encode(), 9)
    assert (found.id, found.name, found.problem_id) == ("7", "7#1", "p")
    assert found.completion == "x = 1"
    assert found.report.conditions == CONDITIONS


@pytest.mark.parametrize("line", [b"{}", b"[", b'{"report": {"verdict": "great"}}'])
def test_row_of_something_else_is_refused_by_its_line(line: bytes) -> None:
    with pytest.raises(InputError, match="line 4 was not written by"):
        read_row(line, 4)


def test_row_that_was_not_graded_is_refused_with_the_likely_reason() -> None:
    with pytest.raises(InputError, match=r"line 4 .* no field 'report'; expected a graded row"):
        read_row(b'{"id": "a", "completion": "c"}', 4)


@pytest.mark.parametrize(
    ("prompt", "shown"),
    [
        pytest.param("Add <b>two</b>", "Add &lt;b&gt;two&lt;/b&gt;</pre>", id="text"),
        pytest.param("", None, id="none"),
        pytest.param([{"role": "user"}], None, id="no text"),
    ],
)
def test_prompt_of_a_row_stands_beside_its_code(prompt: object, shown: str | None) -> None:
    report = json.loads(report_json(make_report()))
    row = read_row(json.dumps({"completion": "", "prompt": prompt, "report": report}).encode(), 1)
    html = sample_fragment(row.view())
    assert ("Prompt</h4>" in html) == (shown is not None)
    assert shown is None or shown in html


SUITE = {"inputs": ["1\n"], "outputs": ["2\n"], "solution": "print(<2>)"}


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        pytest.param({"id": "p"}, True, id="by the id"),
        pytest.param({"id": "q", "label": SUITE}, True, id="by the label"),
        pytest.param({"id": "q"}, False, id="unknown"),
        pytest.param({"id": "q", "label": {"odd": 1}}, False, id="bad label"),
        pytest.param({"id": "q", "label": "[" * 100_000}, False, id="large label"),
    ],
)
def test_reference_of_a_problem_stands_beside_the_code(row: dict[str, Any], shown: bool) -> None:
    report = json.loads(report_json(make_report()))
    origin = {"line": 1, "problem": row["id"]}
    text = json.dumps({"completion": "", **row, "report": report, "_grader": origin})
    with ProblemIndex.from_rows([{"task_id": "p", "prompt": "Print <2>.", **SUITE}]) as problems:
        html = sample_fragment(read_row(text.encode(), 1).view(ProblemReader(problems)))
    assert ('aria-label="Reference"' in html) == shown
    assert ("Print &lt;2&gt;." in html) == (row["id"] == "p")


def test_value_in_a_template_is_escaped_and_visible() -> None:
    view = view_of(make_report(feedback="\x1b<b>"), id="<i>\u202e", completion="</pre>")
    html = sample_fragment(view)
    assert '<span class="sym">␛</span>&lt;b&gt;' in html
    assert "&lt;i&gt;" in html
    assert not {"\x1b", "\u202e"} & set(html)
    assert "&lt;/pre&gt;" in html


def test_value_without_a_filter_is_visible_too() -> None:
    html = render(
        "onefile.html", title="<\x1b>", top="", main="", policy="", styles=(), scripts=(), data={}
    )
    assert "<title>&lt;␛&gt; · grader</title>" in html


def test_one_file_allows_just_its_own_script() -> None:
    html = one_file("t", "", scripts=["let a = 1;"], data={"rows": ["</script><!--"]})
    assert "script-src 'sha256-" in html
    assert "unsafe" not in html
    assert "</script><!--" not in html


def test_script_json_is_json_that_ends_no_element() -> None:
    value = {"a": "</script>&\u2028<!--"}
    text = script_json(value)
    assert json.loads(text) == value
    assert not set("<>&\u2028") & set(text)


def test_answer_is_not_shown_as_code() -> None:
    report = make_report(Verdict.FAILED, sandbox=None, code="41", policy="math", integrity=None)
    view = view_of(report, id="x", completion="So it is 41.")
    assert not view.is_code
    html = sample_fragment(view)
    assert "Answer that was found" in html
    assert "failed: it is not right." in html
    assert "Usage against limits" not in html


def test_row_with_a_blank_id_is_named_by_its_line() -> None:
    row = {"id": " ", "report": json.loads(report_json(make_report()))}
    assert read_row(json.dumps(row).encode(), 9).name == "@9"
