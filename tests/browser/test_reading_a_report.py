"""The three questions of docs/reading-a-report.md, answered with the clicks that it names."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grader.report.document import Document
from grader.report.index import GradedFile
from tests.browser.conftest import OpenPage

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture
def page(open_page: OpenPage, graded: Path, tmp_path: Path) -> "Page":
    file = tmp_path / "report.html"
    file.write_text(Document(GradedFile(graded)).one_file(), "utf-8")
    page = open_page(file.as_uri())
    page.wait_for_selector("html[data-ready]")
    return page


def open_sample(page: "Page", name: str) -> None:
    page.locator("#samples").get_by_role("link", name=name, exact=True).click()
    page.get_by_role("heading", name=name, exact=True).wait_for()


def section(page: "Page", title: str) -> str:
    return page.locator("section", has=page.get_by_role("heading", name=title)).last.inner_text()


def test_why_a_program_that_runs_to_its_end_has_little(page: "Page") -> None:
    page.get_by_label("Search").fill("bus#1")
    open_sample(page, "stdin/bus#1")
    why = section(page, "Why")
    assert "1 of 3 cases passed" in why
    assert "gives reward +0.3" in why
    assert "Being right in every case would have earned +1.00" in why
    case = page.locator("details.case[open]").first.inner_text()
    assert "Expected\n6\n\nGot\n9" in case
    assert page.locator("pre.code .l").nth(4).inner_text().strip() == "load += on"


def test_why_a_program_without_a_wrong_case_has_less_than_nothing(page: "Page") -> None:
    page.get_by_role("button", name="hit a limit").click()
    open_sample(page, "pytest/roman#2")
    assert "CPU time limit hit" in page.locator("aside").inner_text().replace("\n", " ")
    cases = page.locator("details.case").all_inner_texts()
    assert "test_to_roman[1-I]" in cases[0]
    assert all("not run" in case for case in cases[1:])
    why = section(page, "Why")
    assert "-0.5 a limit" in why
    assert "within the time limit would have earned +0.00" in why


def test_why_an_answer_in_words_has_nothing(page: "Page") -> None:
    page.locator(".chip", has_text="No code").click()
    open_sample(page, "stdin/words#3")
    assert "has no code block and does not read as code" in section(page, "Why")
    assert page.locator("pre.completion").is_visible()
