"""Recorded answers to MultiPL-E's rows against their recorded verdicts.

docs/known-disagreements.md has the reasons for what is named here; no other row may differ.
"""

import json
from pathlib import Path

import pytest

from grader.grading.grader import Grader
from grader.model import Submission
from grader.model.errors import GraderError
from grader.suites import parse_label
from tests.acceptance.data import read_rows, sample
from tests.acceptance.test_appended import named
from tests.compilers import need_in

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

REFUSED = {"js": "51"}
"""Numbers of rows whose tests cannot be read."""
PASSING = {
    "cpp": "39 72 94 104 126",
    "cs": "7 58 62 70 74 106 148 152",
    "go": "0 3 20 36 49 57 69 73 81 84 97 106 113 117 121 131 135 143 147 159",
    "java": "36 82 106 156 160",
    "rs": "82 116 119",
}
"""Numbers of answers that pass although they fail on record."""
FAILING = {
    "php": "17 19 41 47 49 77 83 91 99 100 101 103 115 127 130 132 133 134 137 139 140 148 151 160",
    "sh": "39",
}
"""Numbers of answers that fail although they pass on record."""


def number(name: str) -> str:
    return name.split("_")[1]


@pytest.mark.parametrize(
    "name", ["cpp", "cs", "go", "java", "js", "lua", "php", "pl", "r", "rb", "rs", "sh", "ts"]
)
def test_answers_get_their_recorded_verdicts(grader: Grader, data_dir: Path, name: str) -> None:
    recorded = json.loads((data_dir / "languages/VERDICTS.json").read_text())
    verdicts: dict[str, bool] = recorded[f"multiple_humaneval_{name}"]["verdicts"]
    rows = read_rows(data_dir / f"languages/multiple_humaneval_{name}.jsonl.gz")
    submissions: list[Submission] = []
    refused: set[str] = set()
    for row in sample([row for row in rows if row["name"] in verdicts], 25):
        try:
            suite = parse_label(row)
        except GraderError:
            refused.add(number(row["name"]))
            continue
        need_in(grader, suite.language)
        submissions.append(Submission(id=row["name"], completion=row["gpt_solution"], suite=suite))
    passed = {
        submission.id: report.verdict == "passed"
        for submission, report in grader.as_completed(submissions)
    }
    ids = {number(id) for id in passed} | refused
    assert refused == named(REFUSED, name) & ids
    assert {number(id) for id in passed if passed[id] and not verdicts[id]} == (
        named(PASSING, name) & ids
    )
    assert {number(id) for id in passed if verdicts[id] and not passed[id]} == (
        named(FAILING, name) & ids
    )
