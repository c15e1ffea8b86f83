"""Recorded exercises of Exercism's tracks."""

from dataclasses import replace
from pathlib import Path

import pytest

from grader.grading.grader import Grader
from grader.model import Submission
from grader.model.errors import GraderError
from grader.model.overrides import ExtractionRule
from grader.suites import parse_label
from tests.acceptance.data import grade_all, read_rows
from tests.compilers import need_in

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

REFUSED = {
    "bash": {"dnd-character", "palindrome-products"},
    "c": {
        *("binary-search", "complex-numbers", "protein-translation", "react", "robot-simulator"),
        "variable-length-quantity",
    },
    "cpp": {"food-chain", "meetup", "queen-attack"},
    "go": {"counter", "diffie-hellman"},
    "lua": {"pov", "queen-attack"},
    "java": {"dnd-character", "go-counting", "ledger"},
    "javascript": {"dominoes", "list-ops", "palindrome-products"},
    "perl5": set(),
    "php": {"binary"},
    "ruby": {"clock", "grade-school"},
    "rust": {"decimal", "doubly-linked-list", "gigasecond", "macros"},
    "typescript": {"complex-numbers", "pythagorean-triplet", "robot-name"},
}
"""Exercises with an assertion that cannot be taken apart, or with something else that is not
there."""
_NEEDS_MORE = {
    "cpp": {"bank-account"},
    "go": {"atbash-cipher", "change", "markdown"},
    "perl5": {"circular-buffer", "grade-school", "queen-attack"},
    "rust": {"prime-factors"},
}
"""Exercises whose example needs more threads than the sandbox allows, or perhaps a newer compiler
or another module than this machine has."""
_RIGHT_FROM_THE_START = {"go": {"markdown"}}
"""Exercises in which code that works is to be written better."""
_EASY = {"bash": 3, "php": 2}
"""How many cases of an exercise expect that nothing is printed, or any error."""


@pytest.mark.parametrize("track", REFUSED)
def test_examples_pass_and_files_to_begin_with_do_not(
    grader: Grader, data_dir: Path, track: str
) -> None:
    need_in(grader, "perl" if track == "perl5" else track)
    refused: set[str] = set()
    submissions: list[Submission] = []
    for row in read_rows(data_dir / f"languages/exercism_{track}.jsonl.gz"):
        if "config" not in row:  # C's row of Unity itself
            continue
        try:
            suite = parse_label(row)
        except GraderError:
            refused.add(row["slug"])
            continue
        begun = row["files"][row["config"]["solution"][0]]
        for kind, code in (("example", suite.reference), ("begun", begun)):
            graded = replace(suite, extraction=ExtractionRule.VERBATIM, reference=None)
            submissions.append(
                Submission(id=f"{kind} {row['slug']}", completion=code or "", suite=graded)
            )
    assert refused == REFUSED[track]
    reports = {
        id: report
        for id, report in grade_all(grader, submissions).items()
        if id.split()[1] not in _NEEDS_MORE.get(track, ())
        or (report.graded and report.verdict != "compile_error")
    }
    for id in _RIGHT_FROM_THE_START.get(track, ()):
        assert reports.pop(f"begun {id}").verdict == "passed"
    passed = {id for id, report in reports.items() if report.verdict == "passed"}
    assert passed == {id for id in reports if id.startswith("example")}
    most = _EASY.get(track, 0)
    assert all(report.passed <= most for id, report in reports.items() if id.startswith("begun"))
