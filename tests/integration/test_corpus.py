"""Small programs of our own, each with the verdict that it must get.

tests/corpus/SUITE/label.toml is a label, tests/corpus/SUITE/PROGRAM/solution.py a completion, and
expect.toml beside it what must come out: the verdict and, if they matter, the verdicts of
single cases, the limit that was hit, the fraction of the points, where the tests ran, and words
of the feedback.

The native backend runs them in CI. What Docker adds is the container, which tests/contract,
tests/hostile and the examples have in each run; `make test-slow` has all programs in it, too.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from grader.config.settings import SandboxChoice
from grader.grading.grader import Grader
from grader.model import GradeReport, Submission
from grader.model.verdict import Verdict
from grader.suites import parse_label
from tests.conftest import REPO, docker_settings

CORPUS = REPO / "tests/corpus"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What must come out of a program."""

    about: str
    verdict: str
    limit: str | None = None
    integrity: str | None = None
    score: float | None = None
    """The fraction of the points, to four digits."""
    feedback: str = ""
    """Words that it holds."""
    cases: dict[str, str] = field(default_factory=dict)
    """Some cases, by id, with their verdicts."""

    def differences(self, report: GradeReport) -> list[str]:
        """Say in which respects a report differs."""
        verdicts = {case.id: str(case.verdict) for case in report.cases}
        pairs: dict[str, tuple[object, object]] = {
            "verdict": (str(report.verdict), self.verdict),
            "feedback": (self.feedback in report.feedback, True),
            **{case: (verdicts.get(case), verdict) for case, verdict in self.cases.items()},
        }
        if self.limit is not None:
            pairs["limit"] = (report.limit_hit, self.limit)
        if self.integrity is not None:
            pairs["integrity"] = (report.integrity, self.integrity)
        if self.score is not None:
            pairs["score"] = (round(report.score, 4), self.score)
        return [
            f"{name} is {got}, expected {wanted}"
            for name, (got, wanted) in pairs.items()
            if got != wanted
        ]


PROGRAMS = sorted(path.parent for path in CORPUS.glob("*/*/expect.toml"))


def read_expectation(program: Path) -> Expectation:
    return Expectation(**tomllib.loads((program / "expect.toml").read_text("utf-8")))


def read_submission(program: Path) -> Submission:
    label = tomllib.loads((program.parent / "label.toml").read_text("utf-8"))
    completion = (program / "solution.py").read_text("utf-8")
    name = str(program.relative_to(CORPUS))
    return Submission(id=name, completion=completion, suite=parse_label(label))


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("native", id="native"),
        pytest.param("docker", id="docker", marks=(pytest.mark.docker, pytest.mark.slow)),
    ],
)
def grader(request: pytest.FixtureRequest) -> Iterator[Grader]:
    request.getfixturevalue(f"{request.param}_sandbox")  # the machine has one, or this skips
    choice = SandboxChoice(request.param)
    settings = replace(docker_settings(), sandbox=choice, policy="fraction", slots=1)
    with Grader(settings) as grader:
        yield grader


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "program", [pytest.param(path, id=str(path.relative_to(CORPUS))) for path in PROGRAMS]
)
def test_program_gets_its_verdict(grader: Grader, program: Path) -> None:
    expected = read_expectation(program)
    report = grader.grade(read_submission(program))
    assert not expected.differences(report), f"{expected.about}; {report.feedback}"


def test_corpus_has_every_verdict_that_a_submission_can_get() -> None:
    found = {read_expectation(program).verdict for program in PROGRAMS}
    assert found == set(Verdict) - {Verdict.SKIPPED}


def test_every_program_is_whole() -> None:
    folders = {path for path in CORPUS.glob("*/*") if path.is_dir()}
    assert folders == set(PROGRAMS)
    assert all((program / "solution.py").is_file() for program in PROGRAMS)
    assert all((program.parent / "label.toml").is_file() for program in PROGRAMS)
