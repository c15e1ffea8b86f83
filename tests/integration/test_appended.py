"""Answers to rows of McEval and HumanEval-X, graded in a native jail."""

from collections.abc import Iterator
from typing import Any

import pytest

from grader import languages
from grader.config.settings import SandboxChoice, Settings
from grader.grading.grader import Grader
from grader.model import GradeReport, Submission
from grader.model.verdict import Integrity
from grader.suites import parse_label
from tests.appended_rows import APPENDED, JAVA
from tests.conftest import missing

LABELS: dict[str, dict[str, Any]] = {
    **{language: row.label for language, row in APPENDED.items()},
    "java": JAVA,
}


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    with Grader(Settings(sandbox=SandboxChoice.NATIVE, slots=1)) as opened:
        yield opened


def grade(grader: Grader, language: str, code: str) -> GradeReport:
    if lacking := languages.missing([languages.languages()[language]]):
        missing(language, f"there is no {', '.join(lacking)}")
    completion = f"Here it is:\n\n```{language}\n{code}\n```\n"
    suite = parse_label(LABELS[language])
    return grader.grade(Submission(id="answer", completion=completion, suite=suite))


@pytest.mark.parametrize("language", LABELS)
def test_whole_answer_and_continuation_pass(grader: Grader, language: str) -> None:
    solution = LABELS[language]["canonical_solution"]
    whole = grade(grader, language, f"{parse_label(LABELS[language]).prompt}{solution}")
    assert whole.verdict == "passed", whole.feedback
    assert whole.integrity is Integrity.ISOLATED
    if language in {"lua", "ruby"}:
        assert grade(grader, language, solution).verdict == "passed"


@pytest.mark.parametrize("language", LABELS)
def test_wrong_answer_fails(grader: Grader, language: str) -> None:
    solution = LABELS[language]["canonical_solution"]
    wrong = solution.replace("2", "3").replace("n + n", "n + n + 1")
    report = grade(grader, language, f"{parse_label(LABELS[language]).prompt}{wrong}")
    assert report.verdict == "failed", report.feedback
    assert "expected" in report.feedback


@pytest.mark.parametrize("language", APPENDED)
def test_answer_that_ends_with_exit_code_0_is_not_paid(grader: Grader, language: str) -> None:
    report = grade(grader, language, APPENDED[language].leaves)
    assert (report.verdict, report.passed) == ("runtime_error", 0), report.feedback
    assert "ended before this expression had a value" in report.feedback
