"""The page of a graded sample, also with hostile text of the model."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grader.model import CaseResult, Evidence
from grader.model.verdict import Suspicion, Verdict
from grader.report.pages import STYLES, one_file, sample_fragment
from grader.report.sample import view_of
from tests.browser.conftest import OpenPage
from tests.factories import make_report

if TYPE_CHECKING:
    from playwright.sync_api import Page

HOSTILE = (
    "</pre></details><script>alert(1)</script><img src=x onerror=alert(2)>",
    "</script><!--<script>alert(3)</script>",
    '" onmouseover="alert(4)" x=\'{{ 7 * 7 }}{% raw %}',
    "<a href='javascript:alert(5)'>x</a><style>*{display:none}</style><base href='//evil.test/'>",
    "<meta http-equiv=refresh content='0;url=http://evil.test/'><iframe src=http://evil.test/>",
    "<link rel=stylesheet href=http://evil.test/x.css><svg onload=alert(6)>",
    "\x1b[2J\x1b]8;;http://evil.test\x07click\x1b]8;;\x07\r\x00",
    "\u202etxt.exe\u2066\u200b\ufeff\ud800\U000e0041",
    "&lt;b&gt;&amp;#39;\u2028\u2029",
    "e" + "\u0301" * 500,
    "W" * 20_000,
    "\n" * 3_000,
)


def page_of(folder: Path, text: str) -> str:
    """Write a sample with `text` in every place that others may fill; return its address."""
    case = CaseResult(
        id=text[:400],
        verdict=Verdict.FAILED,
        feedback=text[:500],
        group=text[:50],
        evidence=Evidence(
            input=text[:2000],
            expected=text[:2000],
            got=f"x{text[:1999]}",
            stdout=text[:2000],
            stderr=text[:2000],
        ),
    )
    report = make_report(
        Verdict.FAILED,
        feedback=text[:500],
        code=text,
        cases=(case,),
        suspicion=(Suspicion.NETWORK,),
        output=case.evidence,
        policy=text[:100],
    )
    view = view_of(report, id=text[:1000], completion=text, problem_id=f"p{text[:900]}")
    file = folder / "sample.html"
    file.write_text(one_file(text[:100], sample_fragment(view)), "utf-8")
    return file.as_uri()


def assert_inert(page: "Page") -> None:
    found = page.evaluate(
        """() => ({
            wide: document.documentElement.scrollWidth > innerWidth,
            alive: [...document.querySelectorAll('*')].filter((e) =>
                e.matches('img,iframe,object,embed,base,svg,form,script:not([type])')
                || e.matches('link:not([rel=icon][href="data:,"])')
                || [...e.attributes].some((a) => a.name.startsWith('on'))).length,
            links: [...document.links].map((a) => a.getAttribute('href')),
            sheets: document.styleSheets.length,
        })"""
    )
    assert found == {"wide": False, "alive": 0, "links": ["#main"], "sheets": len(STYLES)}
    text = page.evaluate("document.body.textContent")
    assert not set(text) & set("\x00\x07\x1b\u200b\u202e\u2066\ufeff\U000e0041")


def test_hostile_text_is_shown_as_text(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(page_of(tmp_path, "plain"))
    for text in HOSTILE:
        page.goto(page_of(tmp_path, text))
        assert_inert(page)


def test_every_row_of_the_red_team_is_shown_as_text(
    open_page: OpenPage, tmp_path: Path, shared_dir: Path
) -> None:
    rows = [
        json.loads(line)
        for name in ("exploits", "honest")
        for line in (shared_dir / f"redteam/{name}.jsonl").read_text("utf-8").splitlines()
    ]
    assert len(rows) > 100
    page = open_page(page_of(tmp_path, "plain"))
    for start in range(0, len(rows), 20):  # together, since each page takes its time
        text = "\n".join(row["code"] for row in rows[start : start + 20])
        page.goto(page_of(tmp_path, text))
        assert_inert(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_sample_follows_the_colour_scheme(
    open_page: OpenPage, tmp_path: Path, scheme: str
) -> None:
    page = open_page(page_of(tmp_path, "x"), color_scheme=scheme)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(246, 247, 249)", "dark": "rgb(18, 22, 27)"}[scheme]
