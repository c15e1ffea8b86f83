"""A sample of `make agreement`: examples and their mutants, by plain Python and by the grader."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agreement import compared
from agreement.mutants import mutants
from agreement.ours import Way, graded
from agreement.pairs import Pair
from agreement.plain import NotPlainError, Plain, can_hide
from agreement.sources import recorded
from grader.config.settings import Settings
from grader.grading.grader import Grader
from grader.model import (
    CallTests,
    Checker,
    Comparator,
    Comparison,
    PytestTests,
    ScriptTests,
    StdinCase,
    StdinTests,
    TestSuite,
)
from grader.sandbox.native.backend import NativeSandbox

KINDS = (StdinTests, CallTests, ScriptTests, PytestTests)
EACH = 3
"""How many examples of each kind of suite are taken."""


@pytest.fixture
def examples(repo_dir: Path) -> list[Pair]:
    """A few examples of each kind that have a reference and need no program of the suite."""
    every = recorded.read(repo_dir / "examples/problems.jsonl").pairs
    of_kinds = ([pair for pair in every if isinstance(pair.suite.tests, kind)] for kind in KINDS)
    return [pair for pairs in of_kinds for pair in pairs[:EACH]]


def with_mutants(pairs: list[Pair]) -> Iterator[Pair]:
    for pair in pairs:
        yield pair
        # A mutant is only ever run as another user.
        yield from mutants(pair, 1 if can_hide() else 0)


def test_examples_and_their_mutants_fare_as_in_plain_python(
    examples: list[Pair], native_sandbox: NativeSandbox, tmp_path: Path
) -> None:
    plain = Plain(tmp_path)
    judged = []
    with Grader(Settings(slots=1, stop_early=False), sandbox=native_sandbox) as grader:
        for pair in with_mutants(examples):
            outcome = plain.judge(pair)
            for way in (Way.HIDDEN, Way.KNOWN):
                report = grader.grade(pair.submission(with_reference=way is Way.KNOWN))
                judged.append(compared.compare(outcome, graded(pair, way, report)))
    kinds = {type(each.pair.suite.tests) for each in judged if each.plain.passed}
    assert kinds == set(KINDS)
    assert any(not each.plain.passed for each in judged) == can_hide()
    assert [each.as_json() for each in judged if each.differs] == []


def test_what_plain_python_says_is_kept(examples: list[Pair], tmp_path: Path) -> None:
    plain = Plain(tmp_path)
    first = plain.judge(examples[-1])
    assert first.passed
    assert any(first.cases.values())
    (kept,) = tmp_path.rglob("*.json")
    kept.write_text(kept.read_text().replace("exit code 0", "kept"))
    assert plain.judge(examples[-1]).verdict == "kept"
    other = replace(examples[-1], code="raise SystemExit(3)\n")
    assert not plain.judge(other).passed


def test_suite_with_a_program_of_its_own_is_not_for_plain_python(tmp_path: Path) -> None:
    checker = Checker(source="def check(input, output, answer):\n    return True\n")
    comparison = Comparison(comparator=Comparator.CHECKER, checker=checker)
    cases = (StdinCase(id="0", stdin="", expected=""),)
    suite = TestSuite(tests=StdinTests(cases=cases, comparison=comparison), format="test")
    with pytest.raises(NotPlainError):
        Plain(tmp_path).judge(Pair(id="p", code="", suite=suite, reference=""))
