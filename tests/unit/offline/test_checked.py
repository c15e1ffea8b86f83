"""Rows of checked problems: written, read back, refused, and summed up."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.config.settings import Settings
from grader.model.errors import ConfigurationError
from grader.model.verdict import Verdict
from grader.offline.attacks import Attack
from grader.offline.checked import (
    SHOWN,
    Change,
    CheckSummary,
    Effort,
    Mutation,
    Paid,
    ProblemCheck,
    ProblemHealth,
    check_key,
    read_checked,
    row_of,
)
from grader.suites import ProblemIndex

PROBLEM = {"task_id": "p", "code": "x = 1", "test_list": ["assert x == 1"]}


def made(problem_id: str = "p", noticed: int = 3, **fields: Any) -> ProblemCheck:
    missed = (Change(line=3, before="a < b", after="a <= b"),)
    values: dict[str, Any] = {
        "health": ProblemHealth.OK,
        "verdicts": (Verdict.PASSED, Verdict.PASSED),
        "cpu_time_s": 0.25,
        "wall_time_s": 0.5,
        "cases": 2,
        "confirmable": 1,
        "mutants": Mutation(tried=4, noticed=noticed, missed=missed),
        "runs": 20,
        "tests": "key",
    }
    return ProblemCheck(id=problem_id, **{**values, **fields})


def paid(problem_id: str = "p") -> ProblemCheck:
    return made(
        problem_id,
        health=ProblemHealth.EXPLOITABLE,
        paid=(Paid(attack=Attack.EMPTY_LIST, code="def f():\n    return []\n"),),
    )


def read(path: Path, run: str, rows: Sequence[dict[str, Any]] = (PROBLEM,)) -> list[ProblemCheck]:
    found: list[ProblemCheck] = []
    with ProblemIndex.from_rows(rows) as problems:
        done = read_checked(path, run, problems, found.append)
    assert done == {each.id for each in found}
    return found


def write(path: Path, checks: Sequence[ProblemCheck], run: str = "run") -> None:
    with ProblemIndex.from_rows([PROBLEM]) as problems:
        text = problems.text("p")
        assert text is not None
        path.write_bytes(b"".join(row_of(check, text, run) for check in checks))


@pytest.mark.parametrize("check", [made(), paid(), made(mutants=None, cpu_time_s=None)])
def test_row_is_read_as_it_was_written(tmp_path: Path, check: ProblemCheck) -> None:
    write(tmp_path / "out.jsonl", [check])
    row = json.loads((tmp_path / "out.jsonl").read_text())
    assert row["strength"] == check.strength
    assert read(tmp_path / "out.jsonl", "run") == [check]


def test_rows_of_other_settings_or_problems_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    write(out, [made()])
    with pytest.raises(ConfigurationError, match="other settings"):
        read(out, "other")
    with pytest.raises(ConfigurationError, match="p differs"):
        read(out, "run", [{**PROBLEM, "code": "x = 2"}])
    with pytest.raises(ConfigurationError, match="p differs"):
        read(out, "run", [{**PROBLEM, "task_id": "q"}])


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "{}",
        '{"id": "p", "health": "well", "strength": 1, "_grader": {"input": "0", "run": "run"}}',
        '{"id": "p", "health": "ok", "strength": 1, "_grader": 3}',
        '{"id": "p", "health": "ok", "more": 1, "strength": 1, "_grader": {"input": "0"}}',
    ],
)
def test_malformed_row_is_refused_by_its_line(tmp_path: Path, line: str) -> None:
    write(tmp_path / "out.jsonl", [made()])
    with (tmp_path / "out.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(ConfigurationError, match=r"line 2 of .* was not written by"):
        read(tmp_path / "out.jsonl", "run")


def test_key_tells_settings_apart_that_may_find_something_else() -> None:
    settings, effort = Settings(), Effort(attacks=True, mutants=10)
    keys = {
        check_key(settings, effort),
        check_key(settings, replace(effort, attacks=False)),
        check_key(settings, replace(effort, mutants=11)),
        check_key(replace(settings, limits=replace(settings.limits, cpu_time_s=5)), effort),
    }
    assert len(keys) == 4
    assert check_key(replace(settings, slots=7), effort) in keys


def test_time_counts_as_measured_only_if_the_reference_passed() -> None:
    assert made().measured is not None
    assert made(verdicts=(Verdict.PASSED, Verdict.FAILED)).measured is None
    assert made(verdicts=()).measured is None


@pytest.mark.parametrize(
    ("check", "strength"),
    [
        (made(), 0.75),
        (made(noticed=4), 1.0),
        (paid(), 0.0),
        (made(mutants=None), None),
        (made(mutants=Mutation(tried=0, noticed=0)), None),
    ],
)
def test_strength(check: ProblemCheck, strength: float | None) -> None:
    assert check.strength == strength


def test_tally_keeps_the_strong_and_names_the_rest() -> None:
    tally = CheckSummary()
    checks = [
        made("strong", noticed=4),
        made("weak", noticed=1),
        paid("paid"),
        made("unknown", mutants=None),
        made("broken", health=ProblemHealth.BROKEN, mutants=None, verdicts=()),
        made("slow", health=ProblemHealth.SLOW),
    ]
    for check in checks:
        tally.add(check)
    assert tally.kept(0.75) == {"strong", "slow"}
    assert tally.kept(0.0) == {"strong", "slow", "weak", "paid"}
    assert tally.findings(None) == 3
    assert tally.findings(0.5) == 5
    order = ["broken", "paid", "slow", "unknown", "weak", "strong"]
    assert [check.id for check in tally.worst(10)] == order
    assert tally.median_strength == 0.5
    assert tally.as_json(0.75) == {
        "problems": 6,
        "healths": {"ok": 3, "exploitable": 1, "broken": 1, "slow": 1},
        "paid": {"empty-list": 1},
        "mutants": {"tried": 16, "noticed": 11},
        "twins": {"cases": 12, "confirmable": 6},
        "median_strength": 0.5,
        "runs": 120,
        "kept": 2,
    }


def test_tally_remembers_the_worst_of_many() -> None:
    tally = CheckSummary()
    for number in range(3 * SHOWN):
        tally.add(made(f"{number:05}", noticed=number % 2))
    tally.add(paid("last"))
    worst = tally.worst(2 * SHOWN)
    assert len(worst) == SHOWN
    assert worst[0].id == "last"
    assert {check.strength for check in worst[1:]} == {0.0}
