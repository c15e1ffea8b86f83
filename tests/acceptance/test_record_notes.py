"""What the README of the recorded data says beside the counts: why a suite's rules are its own."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from grader.grading.grader import Grader
from grader.model import GradeReport, PytestTests, ScriptTests, Submission, SuiteFile
from grader.model.verdict import Verdict
from grader.suites.formats import livecodebench
from tests.acceptance.data import Problem, grade_all, read_problems, read_rows
from tests.acceptance.test_recorded import program_of

pytestmark = pytest.mark.slow

STAR_IMPORT = b"from solution import *\n"


def failed(reports: Mapping[str, GradeReport]) -> set[str]:
    return {id for id, report in reports.items() if report.verdict is not Verdict.PASSED}


def test_setup_of_mbpp_before_the_code_fails_two_rows(
    native_grader: Grader, data_dir: Path
) -> None:
    rows = [each for each in read_problems(data_dir / "mbpp.jsonl") if each.row["test_setup_code"]]
    reports = grade_all(native_grader, map(setup_first, rows))
    assert failed(reports) == {"367", "927"}


def setup_first(problem: Problem) -> Submission:
    """Return a reference whose setup runs before it; without a reference to look at."""
    suite = problem.suite
    assert isinstance(suite.tests, ScriptTests)
    assert suite.reference is not None
    before = replace(
        suite, tests=replace(suite.tests, setup=""), prelude=suite.tests.setup, reference=None
    )
    return Submission(id=problem.id, completion=suite.reference, suite=before)


FLIPPED = {f"MBPP/{number}" for number in (252, 255, 359, 411, 486, 488)}


def test_prelude_of_imports_passes_six_programs_that_failed_on_record(
    native_grader: Grader, data_dir: Path
) -> None:
    """So an import prelude is a property of the suite, and not a habit."""
    rows = [
        row
        for row in read_rows(data_dir / "rec_ldb_mbpp_codellama.jsonl.gz")
        if not row["is_solved"]
    ]
    assert len(rows) == 500 - 256
    reports = grade_all(native_grader, (program_of(row, livecodebench.PRELUDE) for row in rows))
    assert {row["task_id"] for row in rows} - failed(reports) == FLIPPED


def test_leetcode_has_eighteen_rows_that_need_sortedcontainers(data_dir: Path) -> None:
    problems = read_problems(data_dir / "leetcodedataset_v0.3.1_test.jsonl.gz")
    assert len(problems) - sum(each.suite.image == "science" for each in problems) == 210


def test_tests_of_kodcode_as_given_pass_145_references(
    native_grader: Grader, data_dir: Path
) -> None:
    """85 of them do not import what they test; two more are generators."""
    problems = read_problems(data_dir / "kodcode_demo.jsonl.gz")
    reports = grade_all(native_grader, map(as_given, problems))
    assert len(problems) - len(failed(reports)) == 145


def as_given(problem: Problem) -> Submission:
    """Return a reference with its tests as they stand in the row; nothing may look at it."""
    suite = problem.suite
    assert isinstance(suite.tests, PytestTests)
    assert suite.reference is not None
    (file,) = suite.tests.files
    bare = SuiteFile(path=file.path, content=file.content.removeprefix(STAR_IMPORT))
    assert bare != file
    tests = replace(suite.tests, files=(bare,))
    return Submission(
        id=problem.id,
        completion=suite.reference,
        suite=replace(suite, tests=tests, reference=None),
    )
