"""The closed vocabularies of a report: verdicts, limits and how far a verdict can be trusted."""

from collections.abc import Iterable
from enum import StrEnum


class Verdict(StrEnum):
    """What became of one case, or of a whole submission."""

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
    """Ours alone: retried, then reported; never a reward signal."""
    SKIPPED = "skipped"
    """A case that was not run or that skipped itself; never the verdict of a submission."""

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
"""Worst first: when cases differ, the submission gets the earliest of theirs."""

LIMIT_VERDICTS = frozenset({Verdict.TIME_LIMIT, Verdict.MEMORY_LIMIT, Verdict.OUTPUT_LIMIT})
"""A run was stopped because it reached a limit."""


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict that wins by `PRECEDENCE`.

    Raises:
        ValueError: There is no verdict to choose from: an empty suite proves nothing.
    """
    return min(verdicts, key=PRECEDENCE.index)


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of a submission from those of its cases.

    It passes only where every case passed: one that was skipped has shown nothing, so it
    makes the whole `FAILED`.

    Raises:
        ValueError: There is no case: an empty suite proves nothing.
    """
    verdict = worst(verdicts)
    return Verdict.FAILED if verdict is Verdict.SKIPPED else verdict


class LimitKind(StrEnum):
    """Which ceiling of `Limits` was hit."""

    CPU_TIME = "cpu_time"
    WALL_TIME = "wall_time"
    TOTAL_TIME = "total_time"
    """Of all runs of a submission together; no single run hits it."""
    MEMORY = "memory"
    OUTPUT = "output"
    PROCESSES = "processes"


class Suspicion(StrEnum):
    """A sign that a submission worked on its grader; see `grader.judging.suspicion`."""

    EARLY_EXIT = "early_exit"
    """The process ended by itself before its tests were over."""
    TWIN = "twin"
    """A case passed that expected something wrong."""
    LOOKED = "looked"
    """It looked at its tests, or at frames or objects that are not its own."""
    FORGED_REPORT = "forged_report"
    """A case was reported more than once."""
    FORGED_FRAME = "forged_frame"
    """The submission's process said what no honest one says to the tests' process."""
    FORBIDDEN_CALL = "forbidden_call"
    """It made a system call that no honest program needs."""
    NETWORK = "network"
    """It tried to reach a network."""


class Integrity(StrEnum):
    """Where the verdict was computed, as seen from the submission; the strongest first."""

    ISOLATED = "isolated"
    """Outputs were compared outside the sandbox; expected values never entered it."""
    SPLIT = "split"
    """Tests ran in a judge process; the submission ran in another."""
    CONFIRMED = "confirmed"
    """Tests and submission shared one process, and what passed was confirmed by twins: the same
    tests with expectations changed in secret, which a right submission does not pass."""
    SHARED = "shared"
    """Tests and submission shared one process, and a case that passed has no twin."""
