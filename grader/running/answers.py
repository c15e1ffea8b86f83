"""What a suite's own program, a checker or an interactor, says of a submission.

Both say it as testlib's do, by an exit status, or as Python functions, by a value. What means
nothing is a fault of the suite and no wrong answer, unless the program is known to be sound.
"""

import re

from grader.judging.compare.result import EQUAL, CheckResult, different, right_in_part
from grader.judging.report import Trouble
from grader.model.errors import SuiteError
from grader.text.inert import quote

ACCEPTED, WRONG, PRESENTATION, FAILURE, POINTS = 0, 1, 2, 3, 7
"""The exit statuses of testlib. With `FAILURE` a program says that its suite is wrong."""

_WORDS = {WRONG: "refused", PRESENTATION: "refused for its form"}
_POINTS_LINE = re.compile(rb"^points[ \t]+(\S{1,40})", re.MULTILINE)
_SAID_CHARS = 200


class DeclaredFailureError(SuiteError):
    """The suite's own program says that the suite is wrong.

    An answer may be better than the best that the suite knows. That is no crash, which what the
    program read could have caused, and is believed.
    """


def by_status(who: str, status: object, stderr: bytes) -> CheckResult:
    """Return what an exit status says.

    Args:
        who: "checker" or "interactor".
        status: The program's exit status.
        stderr: What it wrote to standard error.

    Raises:
        DeclaredFailureError: It is `FAILURE`.
        SuiteError: It is none that judges, or there is no share for `POINTS`.
    """
    match status:
        case 0:
            return EQUAL
        case 1 | 2:
            said = stderr.strip()
            words = f"{_WORDS[status]} by the suite's {who}"
            return different(f"{words}: {quote(said, _SAID_CHARS)}" if said else words)
        case 7:
            return right_in_part(_share(who, stderr))
        case _:
            said = stderr[-_SAID_CHARS:].strip()
            message = f"the suite's {who} ended with exit code {status!r:.20}: {quote(said)}"
            raise (DeclaredFailureError if status == FAILURE else SuiteError)(message)


def by_value(who: str, value: object) -> CheckResult:
    """Return what a function's value says: whether all is right, or a share of the points.

    Raises:
        SuiteError: It is neither.
    """
    if isinstance(value, bool | int | float) and 0 <= value <= 1:
        return EQUAL if value == 1 else right_in_part(float(value)) if value else _refused(who)
    message = f"the suite's {who} answered {value!r:.100}"
    raise SuiteError(message)


def failed(who: str, why: str) -> SuiteError:
    """Return the error of a program that came to no answer."""
    return SuiteError(f"the suite's {who} failed: {why}")


def at_fault(error: SuiteError) -> CheckResult:
    """Return the refusal of what made a program fail that is known to be sound."""
    return different(f"{error}, on what the submission gave it and on nothing else")


def trouble_words(trouble: Trouble) -> str:
    """Return an exception of the suite's program in a few words."""
    return f"{trouble.type}: {trouble.message[:_SAID_CHARS]}"


def _refused(who: str) -> CheckResult:
    return different(f"{_WORDS[WRONG]} by the suite's {who}")


def _share(who: str, stderr: bytes) -> float:
    """Return the share of the points that was written.

    The least, where there are several lines like that: the program may have written out
    something of the submission's.
    """
    shares = [_number(found[1]) for found in _POINTS_LINE.finditer(stderr)]
    known = [share for share in shares if share is not None]
    if not known:
        message = f"the suite's {who} gave points, but no `points SHARE` from 0 to 1"
        raise SuiteError(message)
    return min(known)


def _number(text: bytes) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number <= 1 else None
