"""What is to be run for a submission, and the results."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from grader.judging.suspicion import signs_of_calls
from grader.languages import Language
from grader.model import CaseResult, Limits, TestSuite
from grader.model.errors import SuiteError
from grader.model.verdict import Integrity, Suspicion, Verdict
from grader.sandbox.contract import RunOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A submission whose code was found, with everything that decides how it runs."""

    suite: TestSuite
    code: str
    limits: Limits
    stop_early: bool
    require: Integrity | None
    """The least integrity that is accepted; None for any."""
    notes_failures: bool = True
    """Whether a case fails if the submission catches a failed assertion's error. Only for tests
    that share a process with the submission."""
    language: Language | None = None
    """What the code is in; None for Python."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """The results of running a task."""

    cases: tuple[CaseResult, ...]
    outcomes: tuple[RunOutcome, ...]
    integrity: Integrity
    tampered: bool = False
    """Whether a case passed although it expected something wrong."""
    signs: frozenset[Suspicion] = frozenset()
    """Signs of an attack in the runs."""


def isolated(
    cases: Iterable[CaseResult], outcomes: Sequence[RunOutcome], signs: Iterable[Suspicion] = ()
) -> Graded:
    """Return the results of a task whose outcomes were judged outside the sandbox.

    Args:
        cases: The results of the cases.
        outcomes: The outcomes of the runs.
        signs: Signs of an attack in their reports.
    """
    return Graded(
        cases=tuple(cases),
        outcomes=tuple(outcomes),
        integrity=Integrity.ISOLATED,
        signs=frozenset(chain(signs, *map(signs_of_calls, outcomes))),
    )


def is_decided(task: Task, last: CaseResult) -> bool:
    """Tell whether no further case needs to run. A compile error decides all cases."""
    lost = last.verdict is not Verdict.PASSED
    return lost and (task.stop_early or last.verdict is Verdict.COMPILE_ERROR)


def require_cases(cases: tuple[object, ...]) -> None:
    """Make sure that a suite has a case.

    Raises:
        SuiteError: It has none.
    """
    if not cases:
        message = "the suite has no case"
        raise SuiteError(message)
