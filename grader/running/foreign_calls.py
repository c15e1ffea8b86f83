"""Calls of a function in another language than Python, with plain data.

Each case is a run of one program, which is compiled once. It reads the arguments and shows what the
function returns, in its own words. The comparison is made here.
"""

import json
import re
import secrets
from dataclasses import replace

from grader import languages
from grader.judging.calls import judge_shown_call
from grader.judging.expressions import shown_values
from grader.model import CallCase, CallTests, CaseResult
from grader.model.errors import SuiteError
from grader.running.casewise import run_cases
from grader.running.programs import parts_of, stdin_batch
from grader.running.task import Graded, Task, require_cases
from grader.sandbox.contract import RunOutcome, Slot

_ENTRY_POINT = re.compile(r"(?:[\w$]+\.)?[\w$]+")
"""What a function may be called. The name becomes part of the driver's source. Any other text could
be a compile error there, which would be blamed on the submission."""


def run_foreign_calls(task: Task, tests: CallTests, slot: Slot) -> Graded:
    """Call the submission for each case and compare what it returns.

    Raises:
        SuiteError: The suite has no case, its function has a name that no function can have, calls
            cannot be made in the language, or an argument is not plain data.
        SandboxUnavailableError: The slot broke.
    """
    require_cases(tests.cases)
    language = task.language
    if language is None or language.call is None:
        message = f"functions are not called in {language.title if language else 'Python'} here"
        raise SuiteError(message)
    if _ENTRY_POINT.fullmatch(tests.entry_point) is None:
        message = (
            f"the function to call is {tests.entry_point[:80]!r}; expected a name, or a class and "
            "a name with a dot between them"
        )
        raise SuiteError(message)
    function = tests.entry_point.rpartition(".")[2]
    if language.reserved.issuperset(languages.spelled(function)):
        message = (
            f"the function to call is {function!r}, which cannot be the name of a function in "
            f"{language.title}"
        )
        raise SuiteError(message)
    mark = secrets.token_hex(8)
    count = len(tests.cases[0].args)
    parts = parts_of(task.code, language, tests.entry_point)
    code = language.as_library(parts.code)
    driver = languages.call_driver(code, tests.entry_point, count, mark)
    runs = tuple(_arguments(case) for case in tests.cases)
    batch = stdin_batch(task, runs, source=replace(parts, code=language.call(driver)))

    def judge(case: CallCase, outcome: RunOutcome) -> CaseResult:
        shown = next(iter(shown_values(outcome.stdout, mark, 1)), None)
        return judge_shown_call(case, tests.comparison, outcome, task.limits, language, shown)

    return run_cases(task, tests.cases, batch, slot, judge)


def _arguments(case: CallCase) -> bytes:
    """Return the arguments of a case as a JSON list.

    Raises:
        SuiteError: One is not plain data.
    """
    try:
        return json.dumps(list(case.args), ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        message = f"case {case.id} has an argument that cannot be passed: {error}"
        raise SuiteError(message) from error
