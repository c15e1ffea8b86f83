"""The enumerations of a report: verdicts, limits, signs of attacks, and integrity."""

from collections.abc import Iterable
from enum import StrEnum


class Verdict(StrEnum):
    """The result of one case, or of a whole submission."""

    PASSED = "passed"
    FAILED = "failed"
    RUNTIME_ERROR = "runtime_error"
    COMPILE_ERROR = "compile_error"
    TIME_LIMIT = "time_limit"
    MEMORY_LIMIT = "memory_limit"
    OUTPUT_LIMIT = "output_limit"
    NO_CODE = "no_code"
    TAMPERED = "tampered"
    INTERNAL_ERROR = "internal_error"
    """The grader failed: retried, then reported; never a reward signal."""
    SKIPPED = "skipped"
    """A case that did not run or skipped itself; never the verdict of a submission."""

    @property
    def code(self) -> str:
        """The field's short code, such as "AC" or "TLE"."""
        return _CODES[self]


_CODES = {
    Verdict.PASSED: "AC",
    Verdict.FAILED: "WA",
    Verdict.RUNTIME_ERROR: "RE",
    Verdict.COMPILE_ERROR: "CE",
    Verdict.TIME_LIMIT: "TLE",
    Verdict.MEMORY_LIMIT: "MLE",
    Verdict.OUTPUT_LIMIT: "OLE",
    Verdict.NO_CODE: "NC",
    Verdict.TAMPERED: "TA",
    Verdict.INTERNAL_ERROR: "IE",
    Verdict.SKIPPED: "SK",
}

PRECEDENCE = (
    Verdict.INTERNAL_ERROR,
    Verdict.TAMPERED,
    Verdict.NO_CODE,
    Verdict.COMPILE_ERROR,
    Verdict.TIME_LIMIT,
    Verdict.MEMORY_LIMIT,
    Verdict.OUTPUT_LIMIT,
    Verdict.RUNTIME_ERROR,
    Verdict.FAILED,
    Verdict.SKIPPED,
    Verdict.PASSED,
)
"""Worst first: if cases differ, the submission gets the first of their verdicts."""

LIMIT_VERDICTS = frozenset({Verdict.TIME_LIMIT, Verdict.MEMORY_LIMIT, Verdict.OUTPUT_LIMIT})
"""Verdicts of runs that were stopped at a limit."""


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict that wins by `PRECEDENCE`.

    Raises:
        ValueError: There is no verdict.
    """
    return min(verdicts, key=PRECEDENCE.index)


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of a submission from those of its cases.

    It passes only if every case passed. A skipped case proves nothing, so the submission is
    `FAILED` then.

    Raises:
        ValueError: There is no case, and an empty suite proves nothing.
    """
    verdict = worst(verdicts)
    return Verdict.FAILED if verdict is Verdict.SKIPPED else verdict


class LimitKind(StrEnum):
    """Which of the `Limits` a run hit."""

    CPU_TIME = "cpu_time"
    WALL_TIME = "wall_time"
    TOTAL_TIME = "total_time"
    """The total of all runs of a submission; no single run hits it."""
    MEMORY = "memory"
    OUTPUT = "output"
    PROCESSES = "processes"


class Suspicion(StrEnum):
    """A sign that a submission attacked the grader; see `grader.judging.suspicion`."""

    EARLY_EXIT = "early_exit"
    """Its process ended before its tests were over."""
    TWIN = "twin"
    """A case of a twin passed although its expectation is wrong."""
    LOOKED = "looked"
    """It read its tests, or frames or objects that are not its own."""
    FORGED_REPORT = "forged_report"
    """A case was reported more than once."""
    FORGED_FRAME = "forged_frame"
    """The candidate sent a message to the judge that no honest one sends."""
    FORBIDDEN_CALL = "forbidden_call"
    """It made a system call that no honest program needs."""
    NETWORK = "network"
    """It tried to reach a network."""


class Integrity(StrEnum):
    """How well the submission was kept away from its tests; strongest first."""

    ISOLATED = "isolated"
    """Outputs were compared outside the sandbox; expected values never entered it."""
    SPLIT = "split"
    """Tests ran in the judge; the submission ran in another process, the candidate."""
    CONFIRMED = "confirmed"
    """Tests and submission shared one process, and passed cases were confirmed by twins: copies of
    the suite with secretly changed expectations, which a right submission does not pass."""
    SHARED = "shared"
    """Tests and submission shared one process, and a case that passed has no twin."""
