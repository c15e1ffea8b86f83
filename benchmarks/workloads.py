"""What is run: solutions that all pass, so that every contestant does the same work."""

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from grader.model import PytestTests, ScriptTests, StdinTests, Submission, TestSuite
from grader.suites import ProblemIndex, parse_label, parse_problem

REPO = Path(__file__).resolve().parent.parent
RECORDED = ("../shared/data", "shared/data")
"""Where the recorded problems may lie, seen from the repository's root."""
EXAMPLES = "examples/problems.jsonl"
_LIVECODEBENCH_ANSWERS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One submission, in every form that a contestant may want."""

    submission: Submission
    files: Mapping[str, str]
    """What a reward function without a sandbox writes to disk: solution, tests, both."""
    programs: tuple[str, ...]
    """The same as programs that raise if a test fails, one for each run that the suite takes;
    none for pytest suites."""

    @property
    def runs(self) -> int:
        """How many programs there are to run, which is what rates count."""
        return len(self.programs) or 1


def check_samples() -> tuple[str, list[Sample]]:
    """Return HumanEval's references if they are recorded, else the examples' scripts."""
    recorded = find_recorded("humaneval.jsonl")
    if recorded is not None:
        return "HumanEval check()", list(_samples(recorded, ScriptTests))
    return "examples check() and assert", list(_samples(REPO / EXAMPLES, ScriptTests)) * 20


def stdin_samples() -> tuple[str, list[Sample]]:
    """Return recorded answers to LiveCodeBench with its public cases, else the examples' cases."""
    answers = find_recorded("rec_lcb_qwen3_8b.jsonl.gz")
    problems = find_recorded("livecodebench_public_tests.jsonl.gz")
    if answers is None or problems is None:
        return "examples stdin cases", list(_samples(REPO / EXAMPLES, StdinTests)) * 12
    samples: list[Sample] = []
    with ProblemIndex.load(problems) as index, gzip.open(answers, "rt") as lines:
        for row in map(json.loads, lines):
            if row["graded_list"][0] and len(samples) < _LIVECODEBENCH_ANSWERS:
                suite = parse_label({"problem": row["question_id"]}, problems=index)
                if isinstance(suite.tests, StdinTests):
                    suite = replace(suite, reference=row["code_list"][0])
                    samples.append(_sample(suite))
    return "LiveCodeBench stdin cases", samples


def pytest_samples() -> tuple[str, list[Sample]]:
    """Return the examples' pytest suites, each several times."""
    return "examples pytest", list(_samples(REPO / EXAMPLES, PytestTests)) * 12


def renumbered(samples: list[Sample]) -> list[Sample]:
    """Return the samples with ids that differ, for those that are repeated."""
    return [
        replace(sample, submission=replace(sample.submission, id=str(number)))
        for number, sample in enumerate(samples)
    ]


def find_recorded(name: str) -> Path | None:
    """Return a recorded file; None if this machine does not have it."""
    paths = (REPO / folder / name for folder in RECORDED)
    return next((path for path in paths if path.is_file()), None)


def _samples(path: Path, style: type[StdinTests | ScriptTests | PytestTests]) -> Iterator[Sample]:
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
        return Sample(submission=submission, files=files, programs=())
    if isinstance(suite.tests, StdinTests):
        given = "import io, sys\nsys.stdin = io.StringIO({!r})\n{}"
        programs = (given.format(case.stdin, solution) for case in suite.tests.cases)
        return Sample(submission=submission, files={}, programs=tuple(programs))
    assert isinstance(suite.tests, ScriptTests)
    cases = [case.source for case in suite.tests.cases]
    indented = "\n".join(f"    {line}" for case in cases for line in case.splitlines())
    module = f"{solution}\n{suite.tests.setup}\n\ndef test_all():\n{indented}\n"
    return Sample(
        submission=submission,
        files={"test_sample.py": module},
        programs=("\n".join([solution, suite.tests.setup, *cases, ""]),),
    )
