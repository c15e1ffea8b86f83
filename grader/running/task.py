"""What is to be run for a submission, and what came of it."""

from collections.abc import Iterable
from dataclasses import dataclass

from grader.languages import Language
from grader.model import CaseResult, Limits, TestSuite
from grader.model.errors import SuiteError
from grader.model.verdict import Integrity, Verdict
from grader.sandbox.contract import RunOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A submission whose code was found, with everything that decides how it runs."""

    suite: TestSuite
    code: str
    limits: Limits
    stop_early: bool
    require: Integrity | None
    """The least integrity that will do."""
    notes_failures: bool = True
    """Whether a case fails if the submission catches an assertion's failure, for tests in one
    process with it."""
    language: Language | None = None
    """What the code is in; None for Python."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """What running a task came to."""

    cases: tuple[CaseResult, ...]
    outcomes: tuple[RunOutcome, ...]
    integrity: Integrity
    tampered: bool = False
    """Whether a case passed that expected something wrong."""


def isolated(cases: Iterable[CaseResult], outcomes: Iterable[RunOutcome]) -> Graded:
    """Return what came of a task whose cases had a run each and were judged outside of them."""
    return Graded(
        cases=tuple(cases),
        outcomes=tuple(outcomes),
        integrity=Integrity.ISOLATED,
    )


def is_decided(task: Task, last: CaseResult) -> bool:
    """Tell whether no further case needs to run: a compile error is one for all of them."""
    lost = last.verdict is not Verdict.PASSED
    return lost and (task.stop_early or last.verdict is Verdict.COMPILE_ERROR)


def require_cases(cases: tuple[object, ...]) -> None:
    """Make sure that there is something to pass.

    Raises:
        SuiteError: There is not.
    """
    if not cases:
        message = "the suite has no case"
        raise SuiteError(message)
