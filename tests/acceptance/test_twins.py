"""Twins of recorded suites, in plain Python: what is right must fail every changed expectation.

The shares of what can be changed are those that were found; they may grow.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from agreement.pairs import Outcome, Pair
from agreement.plain import Plain
from agreement.sources import honest, recorded
from grader.model import PytestTests, ScriptTests
from grader.twins import Lineup, Site, Twin, confirmable, find_sites, keys_of, propose
from tests.acceptance.data import sample

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """How much of a file can be changed."""

    file: str
    share: float
    """At least, of the cases that pass."""
    size: int | None
    """How many suites are run if not all are wanted."""


CHANGED = (
    Changed(file="humaneval.jsonl", share=1.0, size=30),
    Changed(file="mbpp.jsonl", share=1.0, size=30),
    Changed(file="mbpp_sanitized.jsonl", share=1.0, size=30),
    Changed(file="leetcodedataset_v0.3.1_test.jsonl.gz", share=1.0, size=10),
    Changed(file="quixbugs_python.jsonl", share=0.5, size=5),
    Changed(file="exercism_python.jsonl.gz", share=0.95, size=15),
    Changed(file="kodcode_demo.jsonl.gz", share=0.95, size=15),
    Changed(file="classeval.jsonl.gz", share=0.95, size=10),
    Changed(file="bigcodebench_hard.jsonl.gz", share=0.75, size=5),
)


@pytest.fixture
def plain(tmp_path: Path) -> Plain:
    """Plain Python without what it remembers of other runs."""
    return Plain(tmp_path)


@pytest.mark.parametrize("changed", [pytest.param(each, id=each.file) for each in CHANGED])
def test_references_fail_what_is_changed_and_pass_the_rest(
    plain: Plain, data_dir: Path, changed: Changed
) -> None:
    pairs = sample(recorded.read(data_dir / changed.file).pairs, changed.size)
    passed, able = check_all(plain, pairs)
    assert able >= changed.share * passed


@pytest.mark.parametrize("file", honest.FILES)
def test_honest_programs_fail_what_is_changed_and_pass_the_rest(
    plain: Plain, shared_dir: Path, file: str
) -> None:
    passed, able = check_all(plain, sample(honest.read(shared_dir / "redteam" / file).pairs, 15))
    assert able > passed / 2


def check_all(plain: Plain, pairs: Sequence[Pair]) -> tuple[int, int]:
    """Check pairs; return how many cases pass, and how many of them can be changed."""
    passed = able = 0
    unjust: list[str] = []
    disturbed: set[str] = set()
    for pair in pairs:
        tests = pair.suite.tests
        if isinstance(tests, ScriptTests | PytestTests):
            original = plain.judge_anew(pair)
            right = [id for id, holds in original.cases.items() if holds]
            passed += len(right)
            able += len(confirmable(tests, list(original.cases)) & set(right))
            keys = keys_of(list(original.cases))
            for twin, lost in run_twins(plain, pair, tests, original):
                changed = {id for id in right if twin.pick(keys[id]) is not None}
                unjust += [f"{pair.id} {id}: {twin.tests}" for id in changed - lost]
                if lost & set(right) - changed:
                    disturbed.add(pair.id)
    assert unjust == []
    # Some tests leave their files behind when they fail, or call each other.
    assert len(disturbed) <= max(1, len(pairs) // 10), disturbed
    return passed, able


def run_twins(
    plain: Plain, pair: Pair, tests: ScriptTests | PytestTests, original: Outcome
) -> Iterator[tuple[Twin, set[str]]]:
    """Yield the twins of a suite with the cases that its own program fails there."""
    ids = list(original.cases)
    rng = random.SystemRandom()
    approved: list[Site] = []
    for proposal in propose(tests, rng):
        lost = failed(plain, pair, proposal.twin, ids)
        approved += proposal.approved([keys_of(ids)[id] for id in lost])
    for twin in Lineup(tests, (*find_sites(tests), *approved), rng).twins():
        if twin.changed:
            yield twin, failed(plain, pair, twin, ids)


def failed(plain: Plain, pair: Pair, twin: Twin, ids: Sequence[str]) -> set[str]:
    """Return the cases that a program fails in a twin of its suite, by their original ids."""
    suite = replace(pair.suite, tests=twin.tests)
    outcome = plain.judge_anew(replace(pair, suite=suite))
    keys = keys_of(list(outcome.cases))
    passed = {keys[id] for id, holds in outcome.cases.items() if holds}
    return {id for id, key in keys_of(ids).items() if key not in passed}
