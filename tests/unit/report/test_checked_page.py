"""The page of checked problems: its content, and that hostile text in it is inert."""

import re
from html.parser import HTMLParser
from typing import Any

from grader.offline.attacks import Attack
from grader.offline.checked import (
    SHOWN,
    Change,
    CheckSummary,
    Mutation,
    Paid,
    ProblemCheck,
    ProblemHealth,
)
from grader.report.checked import MAX_CODE_CHARS, page

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e'\"><img src=x onerror=alert(2)>"


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]


def made(problem_id: str, **fields: Any) -> ProblemCheck:
    values: dict[str, Any] = {
        "health": ProblemHealth.OK,
        "mutants": Mutation(tried=4, noticed=4),
        "runs": 20,
    }
    return ProblemCheck(id=problem_id, **{**values, **fields})


def paid(problem_id: str, code: str) -> ProblemCheck:
    return made(
        problem_id,
        health=ProblemHealth.EXPLOITABLE,
        feedback=f"submissions pass: {code[:80]}",
        paid=(Paid(attack=Attack.EMPTY_LIST, code=code),),
    )


def page_of(*checks: ProblemCheck, title: str = "problems.jsonl") -> str:
    tally = CheckSummary()
    for check in checks:
        tally.add(check)
    return page(title, tally)


def test_page_shows_paid_attacks_and_missed_changes() -> None:
    missed = (Change(line=7, before="a < b", after="a <= b"),)
    weak = made("weak", mutants=Mutation(tried=4, noticed=3, missed=missed))
    html = page_of(weak, paid("paid", "def f():\n    return []"), made("strong"))
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))
    assert text.index("paid exploitable 0.00") < text.index("weak ok 0.75 3 of 4")
    assert "Passes, though it returns an empty list" in text
    assert "def f(): return []" in text
    assert "line 7: a &lt; b → a &lt;= b" in text
    assert "strong ok 1.00 4 of 4" in text


def test_page_needs_nothing_else_and_runs_nothing() -> None:
    html = page_of(paid("p", "x"))
    assert not re.search(r"(src|href)=[\"'](?!#|data:)", html)
    assert "script-src 'none'" in html
    assert "<script" not in html


def test_hostile_text_is_shown_and_does_nothing() -> None:
    change = Change(line=1, before=HOSTILE, after=HOSTILE)
    check = made(
        HOSTILE,
        health=ProblemHealth.EXPLOITABLE,
        feedback=HOSTILE,
        format=HOSTILE,
        mutants=Mutation(tried=1, noticed=0, missed=(change,)),
        paid=(Paid(attack=Attack.ZERO, code=HOSTILE),),
    )
    parser = _Tags()
    html = page_of(check, title=HOSTILE)
    parser.feed(html)
    assert not {"script", "img"} & set(parser.tags)
    assert not {"\x1b", "\u202e"} & set(html)
    assert html.count("&lt;script&gt;alert(1)") >= 6


def test_page_of_many_problems_stays_small() -> None:
    code = "x" * (MAX_CODE_CHARS // 100)
    html = page_of(*(paid(f"p{number}", code) for number in range(3 * SHOWN)))
    assert len(html) < MAX_CODE_CHARS + 1_500_000
    assert html.count(code) == 100
    assert "Its code had no room here" in html
    assert f"{2 * SHOWN} more are only in the rows" in html


def test_page_of_no_problem_says_so() -> None:
    assert "0 ok" in page_of()
