"""How many of the recorded suites that are code can be judged apart from the submission.

Each suite's own reference solution passes, and the report says which way. Those that cannot be
split are listed in docs/known-limitations.md with what they would need.
"""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from grader.engine import Grader
from grader.model import Submission
from grader.rules import ExtractionRule
from grader.verdict import Integrity, Verdict
from tests.acceptance.data import everything_is_wanted, grade_all, read_problems, sample

FILES = {
    "humaneval.jsonl": 6,
    "mbpp.jsonl": 12,
    "mbppplus_v0.2.0.jsonl.gz": 6,
    "quixbugs_python.jsonl": 4,
    "exercism_python.jsonl.gz": 10,
    "kodcode_demo.jsonl.gz": 8,
    "leetcodedataset_v0.3.1_test.jsonl.gz": 6,
    "classeval.jsonl.gz": 8,
}
"""How many suites of each are taken where not all are."""

PREFIXES = {"ClassEval": "ClassEval_", "Exercism": "", "MBPP+": "Mbpp/"}

LEAST_SHARE = 0.95

DRAWN_AT_RANDOM = 2
"""Suites whose references draw at random, and so pass or are split in some runs only."""


def _listed(repo: Path) -> set[str]:
    """Return the suites that the documentation says cannot be split."""
    text = (repo / "docs/known-limitations.md").read_text()
    rows = re.findall(r"^\| (ClassEval|Exercism|MBPP\+) \| ([^|]+) \|", text, re.MULTILINE)
    assert rows, "the list is gone"
    return {PREFIXES[kind] + name for kind, names in rows for name in re.findall(r"\w+", names)}


def _documented_counts(repo: Path) -> tuple[int, int]:
    """Return of how many suites the documentation says that they pass, and that they are split."""
    text = (repo / "docs/known-limitations.md").read_text()
    found = re.search(r"Of ([\d,]+) suites[^.]*?, ([\d,]+) were judged split", text, re.DOTALL)
    assert found, "the counts are gone"
    passed, split = (int(number.replace(",", "")) for number in found.groups())
    return passed, split


@pytest.mark.timeout(1800)
def test_suites_are_split_but_for_those_that_are_listed(
    native_grader: Grader, shared_dir: Path, repo_dir: Path
) -> None:
    known = _listed(repo_dir)
    passed_count = split_count = 0
    surprises: list[str] = []
    for file, size in FILES.items():
        problems = [p for p in read_problems(shared_dir / "data" / file) if p.suite.reference]
        reports = grade_all(
            native_grader,
            (
                Submission(
                    id=problem.id,
                    completion=problem.suite.reference or "",
                    suite=replace(problem.suite, extraction=ExtractionRule.VERBATIM),
                )
                for problem in sample(problems, size)
            ),
        )
        # A suite whose reference fails here either way, for want of a package, says nothing.
        passed = {id: r for id, r in reports.items() if r.verdict is Verdict.PASSED}
        split = {id for id, r in passed.items() if r.integrity is Integrity.SPLIT}
        surprises += [f"{file}: {id}" for id in passed if id not in split | known]
        passed_count += len(passed)
        split_count += len(split)
    assert surprises == []
    if everything_is_wanted():
        assert split_count / passed_count >= LEAST_SHARE
        documented_passed, documented_split = _documented_counts(repo_dir)
        assert abs(passed_count - documented_passed) <= DRAWN_AT_RANDOM
        assert abs(split_count - documented_split) <= DRAWN_AT_RANDOM
