import json
import re
import sys

import pytest

from grader.cli.check_summary import print_summary
from grader.offline.attacks import Attack
from grader.offline.checked import Change, CheckSummary, Mutation, Paid, ProblemCheck, ProblemHealth


def tally_of(*checks: ProblemCheck) -> CheckSummary:
    tally = CheckSummary()
    for check in checks:
        tally.add(check)
    return tally


PAID = ProblemCheck(
    id="\x1b[31mpaid",
    health=ProblemHealth.EXPLOITABLE,
    feedback="submissions pass: zero\x1b[2J" + "x" * 500,
    paid=(Paid(attack=Attack.ZERO, code=""),),
    runs=19,
)
WEAK = ProblemCheck(
    id="weak",
    health=ProblemHealth.OK,
    mutants=Mutation(
        tried=4, noticed=1, missed=(Change(line=2, before="a < b", after="a <= b"),) * 3
    ),
    cases=3,
    confirmable=2,
    runs=21,
)
STRONG = ProblemCheck(
    id="strong", health=ProblemHealth.OK, mutants=Mutation(tried=4, noticed=4), runs=21
)


def shown(
    tally: CheckSummary,
    capsys: pytest.CaptureFixture[str],
    *,
    min_strength: float | None = None,
    as_json: bool = False,
) -> str:
    print_summary(
        tally, elapsed_s=2.04, earlier_runs=19, min_strength=min_strength, as_json=as_json
    )
    return capsys.readouterr().out


def test_findings_come_first_and_all_is_summed_up(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(tally_of(STRONG, WEAK, PAID), capsys)
    lines = text.splitlines()
    assert lines[0].startswith("exploitable  ␛[31mpaid: submissions pass: zero␛[2J")
    assert len(lines[0]) < 250
    assert lines[1:] == [
        "3 problems: 2 ok, 1 exploitable",
        "attacks that pass: zero by 1",
        "changes noticed: 5 of 8 (62.5 %)",
        "cases with a twin: 2 of 3",
        "median strength: 0.25",
        "42 runs in 2.0 s",
    ]


def test_problem_that_is_too_weak_is_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(tally_of(STRONG, WEAK), capsys, min_strength=0.5).splitlines()
    assert lines[0].startswith("ok           weak: not noticed: line 2: a < b → a <= b; line 2:")
    assert "2 problems: 2 ok" in lines[1]


def test_problem_of_unknown_strength_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    untried = ProblemCheck(id="untried", health=ProblemHealth.OK, runs=9)
    lines = shown(tally_of(untried), capsys, min_strength=0.5).splitlines()
    assert lines[0] == "ok           untried: no change of the reference was tried"


def test_terminal_shows_a_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "160")
    printed = shown(tally_of(STRONG, WEAK, PAID), capsys, min_strength=0.5)
    text = re.sub(r"\x1b\[\d+m", "", printed)
    assert text.split()[:3] == ["problem", "health", "strength"]
    assert "␛[31mpaid" in text
    assert "1 of 4   2 of 3" in text
    assert "strong" not in text.replace("strength", "")
    assert not {"\x1b[31m", "\x1b[2J"} & set(re.findall(r"\x1b\[\d+\w", printed))


def test_json_is_all_that_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    summary = json.loads(shown(tally_of(STRONG, PAID), capsys, min_strength=0.5, as_json=True))
    assert summary["problems"] == 2
    assert summary["paid"] == {"zero": 1}
    assert summary["kept"] == 1
    assert summary["elapsed_s"] == 2.0


def test_more_findings_than_are_shown_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    broken = [ProblemCheck(id=str(number), health=ProblemHealth.BROKEN) for number in range(45)]
    assert "5 more with findings; -o OUT writes all of them" in shown(tally_of(*broken), capsys)


def test_empty_file_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert "0 problems: the file is empty" in shown(tally_of(), capsys)
