"""Run a suite's checker program on outputs, in a sandbox of its own kind.

The checker is the suite's code and the output the submission's: both are hostile to us, and
neither may meet the other's process. A checker that crashes or answers nonsense is a fault of
the suite, never a wrong answer.
"""

from collections.abc import Sequence
from contextlib import closing
from typing import assert_never

from grader.compare import CheckResult
from grader.execution import answers
from grader.judging.report import read_report
from grader.model import Checker, CheckerKind, Limits, StdinCase
from grader.sandbox import payload
from grader.sandbox.base import Job, Program, RunOutcome, Slot
from sandbox_images.harness import values

LIMITS = Limits()
"""Of a checker: the defaults, whatever the submission's are."""

_ENTRY_POINT = "check"
_WHO = "checker"

_TESTLIB_ADAPTER = '''
def check(input, output, answer):
    """Call a checker program as testlib does, and return its exit status."""
    import sys

    for name, text in (("input", input), ("output", output), ("answer", answer)):
        with open(name, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
            file.write(text)
    sys.argv = ["checker", "input", "output", "answer"]
    try:
        exec(compile(SOURCE, "checker.py", "exec"), {"__name__": "__main__"})
    except SystemExit as stop:
        return stop.code or 0
    return 0
'''


def run_checker(
    checker: Checker, questions: Sequence[tuple[StdinCase, bytes]], slot: Slot
) -> list[CheckResult]:
    """Return what the checker says of each output.

    Args:
        checker: The program.
        questions: Cases, each with what the submission printed for it.
        slot: Where to run it; nothing of the submission is left there.

    Raises:
        SuiteError: The checker crashed, hit a limit or gave no answer that means anything.
        SandboxUnavailableError: The slot broke.
    """
    if not questions:
        return []
    source = checker.source
    if checker.kind is CheckerKind.TESTLIB:
        source = f"SOURCE = {checker.source!r}\n{_TESTLIB_ADAPTER}"
    runs = tuple(
        payload.call(
            _ENTRY_POINT, [case.stdin, output.decode("utf-8", "replace"), case.expected], {}
        )
        for case, output in questions
    )
    job = Job(program=Program.CALL, source=source, runs=runs, limits=LIMITS)
    with closing(slot.run(job)) as running:
        return [_answer(checker, outcome) for outcome in running]


def _answer(checker: Checker, outcome: RunOutcome) -> CheckResult:
    report = read_report(outcome.report)
    if outcome.limit_hit is not None:
        raise answers.failed(_WHO, f"it hit its {outcome.limit_hit} limit")
    if len(report.values) != 1:
        trouble = report.compile_error or report.uncaught
        raise answers.failed(_WHO, answers.trouble_words(trouble) if trouble else "no answer")
    answer = values.decode(report.values[0])
    match checker.kind:
        case CheckerKind.TESTLIB:
            return answers.by_status(_WHO, answer, outcome.stderr)
        case CheckerKind.FUNCTION:
            return answers.by_value(_WHO, answer)
        case _ as unknown:
            assert_never(unknown)
