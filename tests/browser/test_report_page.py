"""The report of a graded file in a browser: charts, filters, keys, links, and hostile rows."""

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from grader.model import Conditions, ExtractionRule, Limits, MiB, Usage
from grader.model.verdict import Verdict
from grader.report.document import Document
from grader.report.index import GradedFile
from tests.browser.conftest import OpenPage, grade_file, serious_findings
from tests.browser.test_sample_page import HOSTILE
from tests.factories import make_report
from tests.graded import Row, write_graded

if TYPE_CHECKING:
    from playwright.sync_api import Page

Write = Callable[..., str]
"""Writes the report of graded files and returns its address."""

EXAMPLES = 69
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def graded_values() -> list[Row]:
    """Rows with many different rewards and shares of limits, some of them bounds of bins."""
    conditions = Conditions(
        image="python",
        format="asserts",
        extraction=ExtractionRule.AUTO,
        extraction_note="",
        stop_early=False,
        limits=Limits(cpu_time_s=1.0, memory_bytes=100 * MiB),
    )
    return [
        Row(
            id=f"row {n}",
            completion=f"the answer is {n}",
            report=make_report(
                Verdict.FAILED,
                reward=(n - 20) / 20,
                score=n / 40,
                usage=Usage(cpu_time_s=n / 30, peak_memory_bytes=n * MiB * 3),
                conditions=conditions,
                code=f"def f(a, b):\n    return a < {n} and 'x'\n",
            ),
        )
        for n in range(41)
    ]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(*files: Path) -> str:
        page = tmp_path / "report.html"
        page.write_text(Document(*(GradedFile(file) for file in files)).one_file(), "utf-8")
        return page.as_uri()

    return write


def opened(open_page: OpenPage, address: str, **options: object) -> "Page":
    page = open_page(address, **options)
    page.wait_for_selector("html[data-ready]")
    return page


def count(page: "Page") -> str:
    return page.locator("#samples .count").inner_text()


def names(page: "Page") -> list[str]:
    return page.locator("#samples a.open").all_inner_texts()


# ---------------------------------------------------------------- the overview


def test_overview_draws_the_summary_of_the_file(
    open_page: OpenPage, write: Write, graded: Path
) -> None:
    page = opened(open_page, write(graded))
    assert count(page) == f"{EXAMPLES} samples"
    assert page.locator(".chart svg[role=img]").count() >= 5
    label = page.locator(".chart svg").first.get_attribute("aria-label") or ""
    rows = [json.loads(line) for line in graded.read_text("utf-8").splitlines()]
    passed = sum(row["report"]["verdict"] == "passed" for row in rows)
    assert f"Passed {passed}," in label
    assert f"{passed} of {EXAMPLES} graded" in page.locator(".tiles").inner_text()
    assert page.locator("#problems tbody tr").count() == 20


def test_nothing_on_the_page_is_wider_than_a_phone(
    open_page: OpenPage, write: Write, graded: Path
) -> None:
    page = opened(open_page, write(graded), viewport={"width": 390, "height": 800})
    page.get_by_label("Group samples by").select_option("problem")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    cut = "[...document.querySelectorAll('.cards')].filter((e) => e.scrollWidth > e.clientWidth)"
    assert page.evaluate(f"{cut}.length") == 0
    page.goto(f"{page.url}#stdin%2Fbus%231")
    page.wait_for_selector("#sample-name")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_no_serious_finding_of_accessibility(
    open_page: OpenPage, write: Write, graded: Path, axe: str
) -> None:
    page = opened(open_page, write(graded, graded), color_scheme="light")
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        assert serious_findings(page, axe) == []
    page.locator("#help-open").click()
    assert serious_findings(page, axe) == []
    page.keyboard.press("Escape")
    page.locator("#samples a.open").first.click()
    page.wait_for_selector("#sample-name")
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        assert serious_findings(page, axe) == []


def test_the_button_changes_light_and_dark(open_page: OpenPage, write: Write, graded: Path) -> None:
    page = opened(open_page, write(graded), color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(ground)
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate(ground) != before
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate(ground) == before


def test_printing_leaves_out_the_controls(open_page: OpenPage, write: Write, graded: Path) -> None:
    page = opened(open_page, write(graded))
    page.emulate_media(media="print")
    assert not page.locator("#search").is_visible()
    assert page.locator("#samples table").is_visible()
    assert len(page.pdf()) > 10_000


# ---------------------------------------------------------------- filters, by mouse and by keys


def test_filters_add_up_and_are_cleared(open_page: OpenPage, write: Write, graded: Path) -> None:
    page = opened(open_page, write(graded))
    chip = page.locator('.chip[data-verdict="failed"]')
    chip.click()
    assert chip.get_attribute("aria-pressed") == "true"
    failed = int(chip.locator(".num").inner_text())
    assert count(page) == f"{failed} of {EXAMPLES} samples"
    page.get_by_label("Search").fill("stdin bus")
    assert names(page) == ["stdin/bus#1"]
    page.get_by_role("button", name="Clear").click()
    assert count(page) == f"{EXAMPLES} samples"
    page.get_by_role("button", name="hit a limit").click()
    verdicts = {text.strip() for text in page.locator("#samples td .badge").all_inner_texts()}
    assert verdicts == {"TLE", "MLE", "OLE"}


def test_failures_come_first_and_then_problems_stay_together(
    open_page: OpenPage, write: Write, graded: Path
) -> None:
    page = opened(open_page, write(graded))
    rows = page.locator("#samples tbody tr").all()
    shown = [row.locator("td").nth(0).inner_text().strip() for row in rows]
    assert "AC" in shown
    assert shown == sorted(shown, key=lambda verdict: verdict == "AC")
    problems = [name.rpartition("#")[0] for name in names(page)[: len(shown) - shown.count("AC")]]
    assert len([*itertools.groupby(problems)]) == len(set(problems))


def test_what_was_chosen_stays_when_the_page_is_reloaded(
    open_page: OpenPage, write: Write, graded: Path
) -> None:
    page = opened(open_page, write(graded), color_scheme="light")
    page.get_by_role("button", name="Light or dark").click()
    page.locator('.chip[data-verdict="failed"]').click()
    page.get_by_label("Search").fill("s")
    page.locator("#samples th", has_text="Sample").get_by_role("button").click()
    page.locator("#samples th", has_text="Sample").get_by_role("button").click()
    page.get_by_label("Group samples by").select_option("problem")
    page.locator("#groups").get_by_role("link", name="stdin/bus").click()
    before, found = names(page), count(page)
    assert before == sorted(before, reverse=True)
    page.get_by_role("link", name=before[0]).click()
    page.wait_for_selector("#sample-name")
    page.reload()
    page.wait_for_selector("#sample-name")
    page.keyboard.press("Escape")
    page.locator("#list").wait_for()
    assert (names(page), count(page)) == (before, found)
    assert page.get_by_label("Search").input_value() == "s"
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.keyboard.press("Escape")
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert count(page) == f"{EXAMPLES} samples"


def test_samples_that_are_shown_are_grouped_and_a_group_leads_to_its_own(
    open_page: OpenPage, write: Write, graded: Path
) -> None:
    page = opened(open_page, write(graded))
    groups = page.locator("#groups tbody tr")
    assert groups.count() == 0
    page.get_by_label("Group samples by").select_option("label format")
    sizes = [int(row.locator("td").nth(1).inner_text()) for row in groups.all()]
    assert len(sizes) > 3
    assert sum(sizes) == EXAMPLES
    assert sizes == sorted(sizes, reverse=True)
    page.get_by_label("Group samples by").select_option("verdict")
    page.get_by_label("Search").fill("stdin/bus")
    assert {row.locator("td").nth(0).inner_text() for row in groups.all()} == {
        "Passed",
        "Wrong answer",
        "Runtime error",
        "Compile error",
    }
    page.locator("#groups").get_by_role("link", name="Wrong answer").click()
    assert names(page) == ["stdin/bus#1"]
    page.locator("#group-filter").click()
    assert len(names(page)) == 4


def test_each_bar_finds_as_many_samples_as_it_counts(
    open_page: OpenPage, write: Write, tmp_path: Path
) -> None:
    file = write_graded(tmp_path / "values.jsonl", graded_values())
    page = opened(open_page, write(file))
    for chart in page.locator(".chart").all()[:4]:
        told = chart.locator("svg").get_attribute("aria-label") or ""
        counts = [int(number) for number in re.findall(r" (\d+)(?=,|$)", told)]
        assert sum(counts) == len(graded_values())
        found = []
        for bar in chart.locator("[data-search]").all():
            bar.dispatch_event("click")
            found.append(len(page.evaluate("samples.shown")))
            bar.dispatch_event("click")
            assert page.get_by_label("Search").input_value() == ""
        assert [each for each in found if each] == counts


SEARCHES = {
    "reward>=0.9": 3,
    "reward=-1": 1,
    "step>=0": 0,  # no row has a value
    "row reward<0 cpu<0.1": 3,
    'name="row 7"': 1,
    "name:ROW verdict=failed ungraded=false": 41,
    '"row 3"': 11,
    "odd=1": 0,  # a word, since there is no such column
    "reward<much": 0,  # a word, since that is no number
    '\\ ( " [': 0,
}
"""What is typed, and how many of the rows of `graded_values` are found."""
CODE_SEARCHES = {
    "RETURN a < 7 and": 1,
    "answer is 3": 11,
    "b):return": 0,  # not over lines
    "<span": 0,
    "'x'": 41,
}
"""The same for what is typed into the search in code."""


def test_search_takes_conditions_on_columns(
    open_page: OpenPage, write: Write, tmp_path: Path
) -> None:
    page = opened(open_page, write(write_graded(tmp_path / "values.jsonl", graded_values())))
    found = {}
    for typed in SEARCHES:
        page.get_by_label("Search").fill(typed)
        found[typed] = page.evaluate("samples.shown.length")
    assert found == SEARCHES


def test_code_is_searched_in_the_one_file(
    open_page: OpenPage, write: Write, tmp_path: Path
) -> None:
    page = opened(open_page, write(write_graded(tmp_path / "values.jsonl", graded_values())))
    found = {}
    searching = page.locator("#code-told", has_text="searching")
    for typed in CODE_SEARCHES:
        page.get_by_label("In code").fill(typed)
        searching.wait_for(state="detached")
        found[typed] = page.evaluate("samples.shown.length")
    assert found == CODE_SEARCHES
    page.get_by_label("In code").fill("answer is 40")
    page.reload()
    page.get_by_text("1 of 41 samples", exact=True).wait_for()


def test_a_problem_leads_to_its_samples(open_page: OpenPage, write: Write, graded: Path) -> None:
    page = opened(open_page, write(graded))
    page.locator("#problems").get_by_role("link", name="stdin/bus", exact=True).click()
    assert sorted(names(page)) == [f"stdin/bus#{n}" for n in range(4)]
    page.locator("#group-filter").click()
    assert count(page) == f"{EXAMPLES} samples"


def test_columns_sort_both_ways(open_page: OpenPage, write: Write, graded: Path) -> None:
    page = opened(open_page, write(graded))
    head = page.locator("#samples th", has_text="Reward")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert page.locator("#samples tbody tr").first.locator("td").nth(2).inner_text() == "+1.00"
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert (
        page.locator("#samples tbody tr").first.locator("td").nth(2).inner_text()
        == "\N{MINUS SIGN}1.00"
    )


def test_everything_can_be_reached_by_keys(open_page: OpenPage, write: Write, graded: Path) -> None:
    page = opened(open_page, write(graded))
    page.keyboard.press("/")
    page.keyboard.type("stdin/bus#")
    assert len(names(page)) == 4
    page.keyboard.press("Escape")
    assert count(page) == f"{EXAMPLES} samples"
    assert page.get_by_label("Search").input_value() == ""
    first, second = names(page)[:2]
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.textContent") == first
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.textContent") == second
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_selector("#sample-name")
    assert page.locator("#sample-name").inner_text() == first
    page.keyboard.press("n")
    page.get_by_role("heading", name=second).wait_for()
    page.keyboard.press("k")
    page.get_by_role("heading", name=first).wait_for()
    page.keyboard.press("j")
    page.get_by_role("heading", name=second).wait_for()
    page.keyboard.press("Escape")
    page.locator("#list").wait_for()
    assert page.evaluate("document.activeElement.textContent") == second
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()


# ---------------------------------------------------------------- one sample


def test_an_address_leads_to_one_sample_down_to_its_cases(
    open_page: OpenPage, write: Write, graded: Path
) -> None:
    page = opened(open_page, f"{write(graded)}#stdin%2Fbus%231")
    page.wait_for_selector("#sample-name")
    assert page.title() == "stdin/bus#1 · grader"
    text = page.locator("#sample").inner_text()
    for words in ("Wrong answer", "+0.30", "Being right in every case would have earned +1.00"):
        assert words in text
    case = page.locator("details.case").first
    assert [each.inner_text().strip() for each in case.locator("pre").all()[1:3]] == ["6", "9"]
    assert page.locator("pre.code .k").count() > 0
    assert not page.locator("pre.completion").is_visible()
    page.get_by_text("Completion as it came").click()
    assert "```python" in page.locator("pre.completion").inner_text()


def test_an_address_of_nothing_leads_to_all_samples(
    open_page: OpenPage, write: Write, graded: Path
) -> None:
    page = opened(open_page, f"{write(graded)}#%ff-no-such")
    assert page.locator("#list").is_visible()
    assert page.locator("#unknown").inner_text() == "This report has no sample %ff-no-such."
    page.get_by_role("link", name="Problems", exact=True).click()
    page.locator("#unknown").wait_for(state="hidden")


def test_samples_of_any_name_have_an_address(
    open_page: OpenPage, write: Write, tmp_path: Path
) -> None:
    ids = ["samples", "@2", "a", "a", "x/y#1?&=%25 ö", "", "__proto__"]
    rows = [Row(id=id, report=make_report(feedback=f"row {n}")) for n, id in enumerate(ids)]
    page = opened(open_page, write(write_graded(tmp_path / "names.jsonl", rows)))
    for number in range(len(ids)):
        page.locator("#samples a.open").nth(number).click()
        page.locator(".feedback", has_text=f"row {number}").wait_for()
        page.get_by_role("link", name="All samples").click()


def test_two_files_show_flips_and_their_reasons(
    open_page: OpenPage, write: Write, graded: Path, graded_before: Path
) -> None:
    page = opened(open_page, write(graded, graded_before))
    text = page.locator("#flips").inner_text()
    assert "24 samples in both" in text
    assert re.search(r"\d+ the extraction rule \(verbatim → auto\)", text)
    assert f"{EXAMPLES - 24} samples are only in the new run" in text
    page.get_by_role("button", name="flipped").click()
    shown = count(page)
    assert re.search(rf"^(\d+) of {EXAMPLES} samples$", shown)
    assert f"{shown.split()[0]} with another verdict" in text
    page.get_by_role("button", name="Clear").click()
    page.get_by_role("link", name="Show the samples that flipped").click()
    assert count(page) == shown
    page.get_by_label("Group samples by").select_option("what else differs")
    assert "the extraction rule" in page.locator("#groups tbody tr").first.inner_text()
    page.locator("#samples").get_by_role("link", name="stdin/bus#1").click()
    page.wait_for_selector("#sample-name")
    flipped = page.locator("#sample .better", has_text="Flipped").inner_text()
    assert "it was CE Compile error with reward" in " ".join(flipped.split())
    assert "the extraction rule (verbatim → auto)" in flipped


def test_two_files_stand_side_by_side_down_to_the_completions(
    open_page: OpenPage, write: Write, tmp_path: Path
) -> None:
    new = Row(completion="x = 2\nprint(x)\n<b>", report=make_report(Verdict.FAILED))
    old = Row(completion="x = 1\nprint(x)\n<b>", report=make_report(Verdict.PASSED))
    files = [
        write_graded(tmp_path / f"{name}.jsonl", [*[row] * 5, Row(id="b", report=old.report)])
        for name, row in (("new", new), ("old", old))
    ]
    page = opened(open_page, write(*files))
    problems = page.locator("#problems tbody tr").all_inner_texts()
    assert [row.split("\t")[0] for row in problems] == ["a", "b"]
    assert "\t+1.00\t\N{MINUS SIGN}2.00\tworse" in problems[0]
    assert names(page) == ["a"] * 5 + ["b"]
    page.locator("#samples").get_by_role("button", name="Change").click()
    assert names(page) == ["b"] + ["a"] * 5
    page.get_by_label("Search").fill("before=passed change<0")
    assert names(page) == ["a"] * 5
    rows = page.locator("#compared tbody tr").all_inner_texts()
    assert rows[0].split("\t")[:4] == ["Reward", "1", "-0.667", "-1.67"]
    assert rows[0].endswith("worse")
    page.locator("#samples a.open").first.click()
    page.wait_for_selector("#sample-name")
    lines = page.locator("#sample .diff pre > span").all_inner_texts()
    assert lines == ["−x = 1", "+x = 2", " print(x)", " <b>"]  # noqa: RUF001 - a minus sign
    assert page.locator("#sample pre.completion").last.inner_text() == "x = 1\nprint(x)\n<b>"


# ---------------------------------------------------------------- recorded batches


@pytest.mark.parametrize(
    ("samples", "options", "passed"),
    [
        pytest.param(
            "rec_humaneval_gpt35_azure.jsonl",
            ("--problems", "humaneval.jsonl"),
            29,
            id="humaneval",
            marks=pytest.mark.slow,
        ),
        pytest.param("mbpp.jsonl", ("--completion-key", "code"), 40, id="mbpp"),
    ],
)
def test_recorded_batch_is_shown_down_to_every_sample(
    open_page: OpenPage,
    write: Write,
    repo_dir: Path,
    shared_dir: Path,
    tmp_path: Path,
    samples: str,
    options: tuple[str, ...],
    passed: int,
) -> None:
    data = shared_dir / "data"
    options = tuple(str(data / each) if each.endswith(".jsonl") else each for each in options)
    out = tmp_path / "graded.jsonl"
    grade_file(repo_dir, data / samples, out, "--limit", "40", *options)
    page = opened(open_page, write(out))
    assert count(page) == "40 samples"
    assert f"{passed} of 40 graded" in page.locator(".tiles").inner_text()
    shown = page.evaluate(
        """async () => {
            const texts = [];
            for (const row of samples.rows) {
                location.hash = address(row);
                await show();
                texts.push(byId('sample-content').textContent);
            }
            return texts;
        }"""
    )
    assert all("def " in text for text in shown)
    assert sum("every case ran and was right" in text for text in shown) == passed


# ---------------------------------------------------------------- hostile rows


def assert_rows_are_inert(page: "Page", rows: int) -> None:
    """Open every row of a page and look for anything that could act."""
    for place in ["", *(f"#@{line}" for line in range(1, rows + 1))]:
        found = page.evaluate(
            """async (place) => {
                location.hash = place;
                await show();
                return {
                    name: opened
                        && byId('sample-name').textContent.startsWith(`row ${opened.line} `),
                    wide: document.documentElement.scrollWidth > innerWidth,
                    alive: [...document.querySelectorAll('*')].filter((e) =>
                        e.matches('img,iframe,object,embed,base,form')
                        || [...e.attributes].some((a) => a.name.startsWith('on'))).length,
                    away: [...document.links].filter((a) => a.protocol !== 'file:').length,
                };
            }""",
            place,
        )
        name = bool(place) or None
        assert found == {"name": name, "wide": False, "alive": 0, "away": 0}, place


def hostile_row(number: int, text: str) -> Row:
    report = make_report(
        Verdict.INTERNAL_ERROR if number % 3 == 0 else Verdict.FAILED,
        feedback=text[:500],
        code=text,
        policy=text[:50],
    )
    return Row(id=f"row {number} {text[:80]}", problem=text[:100], completion=text, report=report)


def test_hostile_rows_are_shown_as_text(open_page: OpenPage, write: Write, tmp_path: Path) -> None:
    rows = [hostile_row(number, text) for number, text in enumerate(HOSTILE, start=1)]
    page = opened(open_page, write(write_graded(tmp_path / "hostile.jsonl", rows)))
    assert_rows_are_inert(page, len(rows))


def test_rows_of_the_red_team_are_shown_as_text(
    open_page: OpenPage, write: Write, tmp_path: Path, shared_dir: Path
) -> None:
    lines = [
        line
        for name in ("exploits", "honest")
        for line in (shared_dir / f"redteam/{name}.jsonl").read_text("utf-8").splitlines()
    ]
    codes = [json.loads(line)["code"] for line in lines]
    rows = [hostile_row(number, code) for number, code in enumerate(codes, start=1)]
    page = opened(open_page, write(write_graded(tmp_path / "red.jsonl", rows)))
    assert_rows_are_inert(page, len(rows))
