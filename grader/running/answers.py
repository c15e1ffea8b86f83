"""Reads what a suite's own program, a checker or an interactor, answers about a submission.

Programs in testlib's way answer by an exit status, Python functions by their value. An answer that
cannot be understood is a fault of the suite, not of the submission, unless the program is known to
be sound.
"""

import re

from grader.judging.compare.result import EQUAL, CheckResult, different, right_in_part
from grader.judging.report import Trouble
from grader.model import CheckerKind
from grader.model.errors import SuiteError
from grader.text.inert import quote

ACCEPTED, WRONG, PRESENTATION, FAILURE, POINTS = 0, 1, 2, 3, 7
"""The exit statuses of testlib. With `FAILURE` a program says that its suite is wrong."""
_FORMS = {4: PRESENTATION, 8: PRESENTATION}
"""Statuses with which testlib's own header says that an output goes on, or ends too early."""
_ICPC = {42: ACCEPTED, 43: WRONG}
"""The exit statuses of the ICPC's format, and what they are in testlib."""

_WORDS = {WRONG: "refused", PRESENTATION: "refused for its form"}
_POINTS_LINE = re.compile(rb"^points[ \t]+(\S{1,40})", re.MULTILINE)
_SAID_CHARS = 200


class DeclaredFailureError(SuiteError):
    """The suite's own program says that the suite is wrong.

    For instance, the submission found a better solution than the suite's own. Unlike a crash, which
    the submission could have caused, this is believed.
    """


def accepts(kind: CheckerKind, status: int | None) -> bool:
    """Tell whether an exit status accepts the output, or gives a share of the points."""
    if kind is CheckerKind.ICPC:
        return _ICPC.get(status or 0) == ACCEPTED
    return status in (ACCEPTED, POINTS)


def by_status(role: str, kind: CheckerKind, status: object, stderr: bytes) -> CheckResult:
    """Return the answer that an exit status gives.

    Args:
        role: "checker" or "interactor".
        kind: Says what the status means. That of a function is one of testlib.
        status: The program's exit status.
        stderr: What it wrote to standard error.

    Raises:
        DeclaredFailureError: It is `FAILURE`.
        SuiteError: It has no meaning, or it is `POINTS` and there is no share.
    """
    known = status
    if isinstance(status, int):
        known = _ICPC.get(status) if kind is CheckerKind.ICPC else _FORMS.get(status, status)
    match known:
        case 0:
            return EQUAL
        case 1 | 2:
            said = stderr.strip()
            words = f"{_WORDS[known]} by the suite's {role}"
            return different(f"{words}: {quote(said, _SAID_CHARS)}" if said else words)
        case 7:
            return right_in_part(_share(role, stderr))
        case _:
            said = stderr[-_SAID_CHARS:].strip()
            message = f"the suite's {role} ended with exit code {status!r:.20}: {quote(said)}"
            raise (DeclaredFailureError if known == FAILURE else SuiteError)(message)


def by_value(role: str, value: object) -> CheckResult:
    """Return the answer that a function's value gives: all, nothing, or a share of the points.

    Raises:
        SuiteError: It is none of these.
    """
    if isinstance(value, bool | int | float) and 0 <= value <= 1:
        return EQUAL if value == 1 else right_in_part(float(value)) if value else _refused(role)
    message = f"the suite's {role} answered {value!r:.100}"
    raise SuiteError(message)


def failed(role: str, why: str) -> SuiteError:
    """Return the error for a program that gave no answer."""
    return SuiteError(f"the suite's {role} failed: {why}")


def at_fault(error: SuiteError) -> CheckResult:
    """Return the refusal of a submission on which a sound program failed."""
    return different(f"{error}, on what the submission gave it and on nothing else")


def trouble_words(trouble: Trouble) -> str:
    """Return an exception of the suite's program in a few words."""
    return f"{trouble.type}: {trouble.message[:_SAID_CHARS]}"


def _refused(role: str) -> CheckResult:
    return different(f"{_WORDS[WRONG]} by the suite's {role}")


def _share(role: str, stderr: bytes) -> float:
    """Return the share of the points that a program wrote.

    The first such line must have one. If there are several, the least counts: the program may have
    repeated text of the submission.

    Raises:
        SuiteError: There is no such line, or the first one has no share.
    """
    shares = [_number(found[1]) for found in _POINTS_LINE.finditer(stderr)]
    if not shares or shares[0] is None:
        message = f"the suite's {role} gave points, but no `points SHARE` from 0 to 1"
        raise SuiteError(message)
    return min(share for share in shares if share is not None)


def _number(text: bytes) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number <= 1 else None
