"""Recorded programs and answers in other languages than Python.

Rows whose verdict differs from the record are named here, and docs/known-disagreements.md has the
reasons; no other may differ.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from grader.grading.grader import Grader
from grader.model import LimitOverrides, Submission, TestSuite, Verdict
from grader.model.overrides import ExtractionRule
from grader.suites import parse_label
from tests.acceptance.data import Row, grade_all, read_rows, sample
from tests.compilers import need_in

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

FILE = "languages/codenet_c_and_codestral_rust.jsonl.gz"
RUST = {
    "s000061454": Verdict.RUNTIME_ERROR,
    "s110919613": Verdict.OUTPUT_LIMIT,
    "s264203612": Verdict.PASSED,
    "s388748526": Verdict.PASSED,
}
"""Rows of CodeNet whose translation to Rust has another verdict here than on record."""
RECORDED = {
    "passed": Verdict.PASSED,
    "wrong_answer": Verdict.FAILED,
    "runtime_error": Verdict.RUNTIME_ERROR,
    "compile_error": Verdict.COMPILE_ERROR,
    "time_limit": Verdict.TIME_LIMIT,
}


@pytest.fixture(autouse=True)
def _compilers(grader: Grader) -> None:
    need_in(grader, "c", "rust")


@pytest.fixture(scope="module")
def rows(data_dir: Path) -> list[Row]:
    return sample(list(read_rows(data_dir / FILE)), 40)


def submission(row: Row, language: str, code: str) -> Submission:
    label = {"inputs": [row["input"]], "outputs": [row["output"]], "language": language}
    suite: TestSuite = replace(
        parse_label(label),
        extraction=ExtractionRule.VERBATIM,
        limits=LimitOverrides(cpu_time_s=10.0),
    )
    return Submission(id=str(row["id"]), completion=code, suite=suite)


def test_programs_of_codenet_pass(grader: Grader, rows: list[Row]) -> None:
    reports = grade_all(grader, (submission(row, "c", row["c_code"]) for row in rows))
    differing = {id: report.feedback for id, report in reports.items() if report.passed != 1}
    assert differing == {}


def test_translations_to_rust_get_their_recorded_verdicts(grader: Grader, rows: list[Row]) -> None:
    def translations() -> Iterator[Submission]:
        for row in rows:
            if row["rust_code"] is not None:
                yield submission(row, "rust", row["rust_code"])

    recorded = {str(row["id"]): RECORDED.get(row["rust_verdict"]) for row in rows}
    reports = grade_all(grader, translations())
    differing = {
        id: report.verdict for id, report in reports.items() if report.verdict is not recorded[id]
    }
    assert differing == {id: verdict for id, verdict in RUST.items() if id in reports}
