"""References and recorded wrong solutions of HumanEval-X, HumanEvalPack and McEval.

docs/known-disagreements.md has the reasons for what is named here; no other row may differ.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from grader.grading.grader import Grader
from grader.model import Submission
from grader.model.errors import GraderError
from grader.model.overrides import ExtractionRule
from grader.suites import parse_label
from tests.acceptance.data import Row, grade_all, read_rows, sample
from tests.compilers import need_in

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

REFUSED = {
    "humanevalx_cpp": "32 38 50 137",
    "humanevalx_go": "32 38 50",
    "humanevalx_java": "32 38 50",
    "humanevalx_js": "32 38 50 51",
    "humanevalx_rust": "10 32 38 50",
    "mceval_java": "46 53",
    "mceval_perl": "7 9 34",
    "mceval_typescript": "7",
}
"""Numbers of rows with an assertion that cannot be taken apart."""
BROKEN = {
    "humanevalx_cpp": "22 162",
    "humanevalx_js": "71 112 155 162",
    "humanevalx_rust": "53 91 137 162",
    "mceval_cpp": "25 38",
    "mceval_lua": "1",
    "mceval_php": "32",
}
"""Numbers of rows whose reference does not pass."""
FLAKY = {"humanevalx_go": "95", "mceval_c": "38"}
"""Numbers of rows whose reference passes by chance."""
PASSING = {"cpp": "23"}
"""Numbers of wrong solutions that their own tests pass."""
FILES = [
    *(f"humanevalx_{name}" for name in ("cpp", "go", "java", "js", "rust")),
    *(f"mceval_{name}" for name in ("c", "cpp", "csharp", "go", "java", "javascript", "lua")),
    *(f"mceval_{name}" for name in ("perl", "php", "r", "ruby", "rust", "shell")),
    *(f"mceval_{name}" for name in ("haskell", "typescript")),
]


def number(row: Row) -> str:
    return str(row["task_id"]).partition("/")[2]


def named(rows: dict[str, str], file: str) -> set[str]:
    return set(rows.get(file, "").split())


def submissions(
    grader: Grader, rows: list[Row], field: str, refused: set[str]
) -> Iterator[Submission]:
    for row in rows:
        try:
            suite = parse_label(row)
        except GraderError:
            refused.add(number(row))
            continue
        need_in(grader, suite.language)
        code = f"{suite.prompt}{row[field]}"
        suite = replace(suite, extraction=ExtractionRule.VERBATIM, reference=None)
        yield Submission(id=number(row), completion=code, suite=suite)


@pytest.mark.parametrize("file", FILES)
def test_references_pass(grader: Grader, data_dir: Path, file: str) -> None:
    rows = sample(list(read_rows(data_dir / f"languages/{file}.jsonl.gz")), 25)
    ids = {number(row) for row in rows}
    refused: set[str] = set()
    reports = grade_all(grader, submissions(grader, rows, "canonical_solution", refused))
    assert refused == named(REFUSED, file) & ids
    failed = {
        id: report.feedback
        for id, report in reports.items()
        if report.verdict != "passed" and id not in named(FLAKY, file)
    }
    assert failed.keys() == named(BROKEN, file) & ids, failed


@pytest.mark.parametrize("name", ["cpp", "go", "java", "js", "rust"])
def test_wrong_solutions_do_not_pass(grader: Grader, data_dir: Path, name: str) -> None:
    rows = sample(list(read_rows(data_dir / f"humanevalpack_{name}.jsonl.gz")), 25)
    reports = grade_all(grader, submissions(grader, rows, "buggy_solution", set()))
    assert len(reports) > 20
    passed = {id for id, report in reports.items() if report.verdict == "passed"}
    assert passed == named(PASSING, name) & reports.keys()
