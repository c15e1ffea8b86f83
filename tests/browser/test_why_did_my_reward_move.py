"""The clicks of docs/how-to/why-did-my-reward-move.md, on a run whose reward falls at step 40."""

from pathlib import Path

import pytest

from grader.model.verdict import Suspicion, Verdict
from grader.offline.recording import RecordedSample, SampleRecorder
from grader.report.document import Document
from grader.report.index import GradedFile, Stretch
from tests.browser.conftest import OpenPage, serious_findings
from tests.factories import make_report


def record(folder: Path) -> None:
    """Record a run: from step 40 on, `hacked` is passed by attacks, and `fine` is not solved."""
    with SampleRecorder(folder, 1 << 30) as recorder:
        for step in range(30, 50):
            is_late = step >= 40
            for problem in ("fine", "hacked", "never"):
                is_hack = is_late and problem == "hacked"
                is_solved = is_hack or (problem == "fine" and not is_late)
                report = make_report(
                    Verdict.PASSED if is_solved else Verdict.FAILED,
                    suspicion=(Suspicion.EARLY_EXIT,) if is_hack else (),
                )
                recorder.write(
                    [
                        RecordedSample(
                            id=problem, prompt="", completion="", report=report, at=1.0, step=step
                        )
                    ]
                )


def test_tasks_of_a_day_are_done_by_their_clicks(open_page: OpenPage, tmp_path: Path) -> None:
    record(tmp_path / "run")
    page_file = tmp_path / "run.html"
    page_file.write_text(Document(GradedFile(tmp_path / "run")).one_file(), "utf-8")
    page = open_page(page_file.as_uri())
    page.wait_for_selector("html[data-ready]")

    signs = page.locator("#trends figure", has_text="Signs of an attack, %")
    signs.get_by_role("button", name="ends early").click()
    assert page.locator("#samples .count").inner_text() == "10 of 60 samples"
    assert page.get_by_label("Search").input_value() == 'suspicion:"early exit"'
    families = page.locator("#trends figure", has_text="Attacks by family, %")
    families.get_by_role("button", name="ending early").click()
    assert page.locator("#samples .count").inner_text() == "10 of 60 samples"
    assert page.get_by_label("Search").input_value() == (
        'suspicion:"early exit" family:"ending early"'
    )
    page.get_by_role("button", name="Clear").click()
    chart = signs.locator("svg")
    lines = [line.bounding_box() for line in chart.locator(".axis.x path").all()]
    places = [box["x"] for box in lines if box is not None]
    for place, step, count in ((min(places), "30", 3), (max(places), "49", 3)):
        chart.scroll_into_view_if_needed()
        box = chart.bounding_box()
        assert box is not None
        chart.click(position={"x": place - box["x"], "y": box["height"] / 2})
        assert page.locator("#samples .count").inner_text() == f"{count} of 60 samples"
        assert page.locator("#samples tbody td.num").first.inner_text() == step
    page.get_by_role("button", name="Clear").click()
    for field in ("first-step", "last-step"):
        page.locator(f"#{field}").fill("40")
    assert page.locator("#samples .count").inner_text() == "3 of 60 samples"
    assert page.locator("#samples tbody td.num").first.inner_text() == "40"
    page.get_by_role("button", name="Clear").click()

    problems = page.locator("#problems")
    assert problems.locator("a.open").all_inner_texts()[0] == "never"
    problems.get_by_role("button", name="Change").click()
    assert problems.locator("a.open").first.inner_text() == "hacked"
    problems.get_by_role("button", name="paid").click()
    problems.locator("a.open").first.click()
    assert page.locator("#samples .count").inner_text() == "20 of 60 samples"
    assert "early exit" in page.locator("#samples tbody").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_stretches_of_a_run_side_by_side_are_accessible(
    open_page: OpenPage, tmp_path: Path, axe: str, scheme: str
) -> None:
    record(tmp_path / "run")
    late, early = (
        GradedFile(tmp_path / "run", Stretch(first=first, last=first + 9)) for first in (40, 30)
    )
    page_file = tmp_path / "run.html"
    page_file.write_text(Document(late, early).one_file(), "utf-8")
    page = open_page(page_file.as_uri(), color_scheme=scheme)
    page.wait_for_selector("html[data-ready]")
    assert page.locator("#compared tr.worse").count() > 1
    assert page.locator("#trends svg").count() > 1
    assert serious_findings(page, axe) == []
