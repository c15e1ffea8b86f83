"""Suites that no submission can pass, since the sandbox lacks something that their tests need."""

import re
from dataclasses import replace

from grader.judging.shared import NEVER_CAME
from grader.model import CaseResult, PytestTests
from grader.model.errors import SuiteError
from grader.running.references import References
from grader.running.suite_run import run_together
from grader.running.task import Graded, Task
from grader.sandbox.contract import Slot

_LACKS = re.compile(
    r"the tests need a library that the sandbox does not have"
    r"|FixtureLookupError:"  # a fixture of a plugin, such as `mocker`
    r"|async def functions are not natively supported"
    r"|attempted relative import"
    r"|skipped itself: could not import '"
)
_STAND_IN = """\
from unittest.mock import MagicMock


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return MagicMock()
"""
"""A submission that has every name. What the tests lack with it, they lack with any."""


def require_what_tests_need(task: Task, graded: Graded, slot: Slot, references: References) -> None:
    """Make sure that a submission has not failed for something that the sandbox lacks.

    What its run says of that is not believed, since the submission may have made it up. So the
    tests are run again with a stand-in. If the suite has a reference, nothing is run here, since
    the reference has shown whether the suite can be passed.

    Args:
        task: The submission and its suite, whose tests are code.
        graded: The results of the submission.
        slot: Where to run the stand-in.
        references: Remembers the answer.

    Raises:
        SuiteError: The tests need something that the sandbox does not have.
    """
    if task.suite.reference is not None or _lack(task, graded.cases) is None:
        return
    lack = references.lack(task.suite, lambda: _of_stand_in(task, slot))
    if lack is not None:
        message = f"no submission can pass the suite here: {lack}"
        raise SuiteError(message)


def _of_stand_in(task: Task, slot: Slot) -> str | None:
    stand_in = replace(task, code=_STAND_IN, stop_early=False, notes_failures=False)
    return _lack(task, run_together(stand_in, slot).cases)


def _lack(task: Task, cases: tuple[CaseResult, ...]) -> str | None:
    """Return what says that something is lacking; None if nothing does."""
    files = task.suite.tests.files if isinstance(task.suite.tests, PytestTests) else ()
    if any(b"importorskip" in file.content for file in files) and all(
        case.feedback == NEVER_CAME for case in cases
    ):
        return "the tests skip themselves, as if a library were missing"
    return next((case.feedback for case in cases if _LACKS.search(case.feedback)), None)
