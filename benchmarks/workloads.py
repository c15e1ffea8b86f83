"""What is run: reference solutions that all pass, so that every contestant does the same work."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from grader.model import PytestTests, ScriptTests, Submission, TestSuite
from grader.suites import parse_problem

REPO = Path(__file__).resolve().parent.parent
HUMANEVAL = ("../shared/data/humaneval.jsonl", "shared/data/humaneval.jsonl")
"""Where the recorded problems may lie, seen from the repository's root."""
EXAMPLES = "examples/problems.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One submission, in every form that a contestant may want."""

    submission: Submission
    files: Mapping[str, str]
    """What a reward function without a sandbox writes to disk: solution, tests, both."""
    program: str
    """The same as one program that raises where a test fails; empty for pytest suites."""


def check_samples() -> tuple[str, list[Sample]]:
    """Return HumanEval's references where they are recorded, else the examples' scripts."""
    for name in HUMANEVAL:
        if (REPO / name).is_file():
            return "HumanEval check()", list(_samples(REPO / name, ScriptTests))
    return "examples check() and assert", list(_samples(REPO / EXAMPLES, ScriptTests)) * 20


def pytest_samples() -> tuple[str, list[Sample]]:
    """Return the examples' pytest suites, each several times."""
    return "examples pytest", list(_samples(REPO / EXAMPLES, PytestTests)) * 12


def renumbered(samples: list[Sample]) -> list[Sample]:
    """Return the samples with ids that differ, for those that are repeated."""
    return [
        replace(sample, submission=replace(sample.submission, id=str(number)))
        for number, sample in enumerate(samples)
    ]


def _samples(path: Path, style: type[ScriptTests | PytestTests]) -> Iterator[Sample]:
    for line in path.read_text().splitlines():
        suite = parse_problem(json.loads(line))
        if isinstance(suite.tests, style):
            yield _sample(suite)


def _sample(suite: TestSuite) -> Sample:
    assert suite.reference is not None, suite.problem_id
    submission = Submission(
        id=suite.problem_id or "", completion=f"```python\n{suite.reference}\n```\n", suite=suite
    )
    solution = f"{suite.prelude}\n{suite.reference}\n"
    if isinstance(suite.tests, PytestTests):
        tests = {file.path: file.content.decode() for file in suite.tests.files}
        files = {suite.tests.solution_path: solution, **tests}
        return Sample(submission=submission, files=files, program="")
    assert isinstance(suite.tests, ScriptTests)
    cases = [case.source for case in suite.tests.cases]
    indented = "\n".join(f"    {line}" for case in cases for line in case.splitlines())
    module = f"{solution}\n{suite.tests.setup}\n\ndef test_all():\n{indented}\n"
    return Sample(
        submission=submission,
        files={"test_sample.py": module},
        program="\n".join([solution, suite.tests.setup, *cases, ""]),
    )
