"""Submissions that solve nothing, against recorded suites: what passes is the suite's fault.

An attack that the grader passes and plain Python fails would be a fault of the grader's.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from agreement.pairs import Pair
from agreement.plain import Plain
from agreement.sources import recorded
from grader.grading.grader import Grader
from grader.model.verdict import Verdict
from grader.offline.attacks import attacks_on
from tests.acceptance.data import grade_all, sample

pytestmark = pytest.mark.slow

FILES = (
    "humaneval.jsonl",
    "mbpp.jsonl",
    "humanevalplus_v0.1.10.jsonl.gz",
    "mbppplus_originfmt.jsonl.gz",
    "leetcodedataset_v0.3.1_test.jsonl.gz",
    "quixbugs_python.jsonl",
    "exercism_python.jsonl.gz",
    "kodcode_demo.jsonl.gz",
    "classeval.jsonl.gz",
)
EACH = 8
"""Problems of a file."""


def attacked(pair: Pair) -> list[Pair]:
    """Return the attacks on a pair's suite as pairs of their own."""
    suite = replace(pair.suite, reference=pair.reference)
    return [
        replace(pair, id=f"{pair.id} {attack}", code=source, mutation=attack)
        for attack, source in attacks_on(suite).items()
    ]


@pytest.mark.parametrize("file", FILES)
def test_no_attack_passes_that_plain_python_fails(
    file: str, native_grader: Grader, data_dir: Path, tmp_path: Path
) -> None:
    pairs = sample(recorded.read(data_dir / file).pairs, EACH)
    attacks = {each.id: each for pair in pairs for each in attacked(pair)}
    reports = grade_all(
        native_grader, (each.submission(with_reference=False) for each in attacks.values())
    )
    paid = [id for id, report in reports.items() if report.verdict is Verdict.PASSED]
    plain = Plain(tmp_path)
    assert [id for id in paid if not plain.judge(attacks[id]).passed] == []
    assert len(paid) < len(attacks) / 4
