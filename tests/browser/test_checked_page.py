"""The page of `grader check` in a browser: readable in both schemes, with hostile rows."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from grader.offline.attacks import Attack
from grader.offline.checked import Change, CheckSummary, Mutation, Paid, ProblemCheck, ProblemHealth
from grader.report.checked import page
from tests.browser import test_sample_page
from tests.browser.conftest import OpenPage, serious_findings

if TYPE_CHECKING:
    from playwright.sync_api import Page

HOSTILE = "\n".join(test_sample_page.HOSTILE)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


@pytest.fixture
def address(tmp_path: Path) -> str:
    tally = CheckSummary()
    missed = (Change(line=3, before=HOSTILE, after="a <= b"),)
    mutants = Mutation(tried=4, noticed=3, missed=missed)
    tally.add(ProblemCheck(id="weak", health=ProblemHealth.OK, mutants=mutants))
    paid = Paid(attack=Attack.EMPTY_LIST, code=f"def f():\n    return []\n{HOSTILE}")
    tally.add(
        ProblemCheck(id=HOSTILE, health=ProblemHealth.EXPLOITABLE, feedback=HOSTILE, paid=(paid,))
    )
    file = tmp_path / "check.html"
    file.write_text(page(HOSTILE, tally), "utf-8")
    return file.as_uri()


def test_code_of_an_attack_opens(open_page: OpenPage, address: str) -> None:
    shown: Page = open_page(address)
    code = shown.get_by_text("return []")
    assert not code.is_visible()
    shown.get_by_text("empty-list", exact=True).click()
    assert code.is_visible()
    assert shown.locator("tbody tr").count() == 2


@pytest.mark.parametrize("scheme", SCHEMES)
def test_page_is_accessible(
    open_page: OpenPage, address: str, axe: str, scheme: Literal["light", "dark"]
) -> None:
    shown = open_page(address, color_scheme=scheme, bypass_csp=True)
    shown.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert serious_findings(shown, axe) == []


@pytest.mark.parametrize("width", [360, 1300])
def test_page_fits_its_window(open_page: OpenPage, address: str, width: int) -> None:
    shown = open_page(address, viewport={"width": width, "height": 800})
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    table = shown.locator("#problems .scroll")
    assert table.evaluate("each => each.scrollWidth <= each.clientWidth")
