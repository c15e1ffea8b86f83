"""How far the verdicts on recorded suites that are code can be trusted.

Each suite's own reference solution passes, and the report says how it was judged: apart from its
tests, or in one process with them and confirmed by twins.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from grader.grading.grader import Grader
from grader.model import Submission
from grader.model.overrides import ExtractionRule
from grader.model.verdict import Integrity, Verdict
from tests.acceptance.data import grade_all, read_problems, sample

FILES = {
    "humaneval.jsonl": (12, Integrity.SPLIT, 0.9),
    "mbpp.jsonl": (24, Integrity.SPLIT, 0.9),
    "exercism_python.jsonl.gz": (10, Integrity.CONFIRMED, 0.8),
    "kodcode_demo.jsonl.gz": (12, Integrity.CONFIRMED, 0.9),
    "leetcodedataset_v0.3.1_test.jsonl.gz": (6, Integrity.SPLIT, 0.8),
    "classeval.jsonl.gz": (8, Integrity.CONFIRMED, 0.8),
}
"""How many suites of each are taken if not all are, and which share of those whose reference
passes has at least what integrity."""


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("file", FILES)
def test_references_pass_with_integrity(native_grader: Grader, shared_dir: Path, file: str) -> None:
    size, least, share = FILES[file]
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
    # A suite whose reference fails here, for want of a package, says nothing.
    found = Counter(r.integrity for r in reports.values() if r.verdict is Verdict.PASSED)
    order = [*Integrity]
    enough = sum(n for kind, n in found.items() if kind and order.index(kind) <= order.index(least))
    assert found
    assert enough >= share * found.total(), found
