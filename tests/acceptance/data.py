"""The recorded data beside the repository: its rows, its problems, and a fair sample of them."""

import gzip
import json
import os
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from grader.grading.grader import Grader
from grader.model import GradeReport, Submission, TestSuite
from grader.model.verdict import Verdict
from grader.suites import parse_problem, problem_id_of

Row = Mapping[str, Any]
T = TypeVar("T")

FULL_VARIABLE = "ACCEPTANCE_FULL"
"""If it is set, all rows are graded: `make acceptance-full`."""

QUIXBUGS_SUPPORT_ROW = "_support"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A row that states a problem."""

    id: str
    row: Row
    suite: TestSuite


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a JSONL file, gzipped or not."""
    data = path.read_bytes()
    for line in (gzip.decompress(data) if path.suffix == ".gz" else data).splitlines():
        yield json.loads(line)


def read_problems(path: Path) -> list[Problem]:
    """Return the problems of a file; every row must be one."""
    rows = [row for row in read_rows(path) if row.get("name") != QUIXBUGS_SUPPORT_ROW]
    problems = [
        Problem(id=str(problem_id_of(row)), row=row, suite=parse_problem(row)) for row in rows
    ]
    assert len({problem.id for problem in problems}) == len(problems), "ids are not unique"
    return problems


def everything_is_wanted() -> bool:
    """Tell whether this run is to leave nothing out; see `FULL_VARIABLE`."""
    return bool(os.environ.get(FULL_VARIABLE))


def sample(items: Sequence[T], size: int | None) -> list[T]:
    """Return so many of the items, the same ones in every run.

    All of them if `size` is None, or if all are wanted.
    """
    if size is None or size >= len(items) or everything_is_wanted():
        return list(items)
    return random.Random(len(items)).sample(items, size)  # noqa: S311 - not for security


def grade_all(grader: Grader, submissions: Iterable[Submission]) -> dict[str, GradeReport]:
    """Return the reports by the submissions' ids."""
    reports = {}
    # Those of one image one after the other: a slot has one, and opening it takes its time.
    ordered = sorted(submissions, key=lambda submission: submission.suite.image)
    for submission, report in grader.as_completed(ordered):
        assert submission.id not in reports, submission.id
        reports[submission.id] = report
    return reports


def lost(reports: Mapping[str, GradeReport]) -> dict[str, str]:
    """Return what became of those that did not pass: verdict and feedback."""
    return {
        id: f"{report.verdict}: {report.feedback}"
        for id, report in reports.items()
        if report.verdict is not Verdict.PASSED
    }
