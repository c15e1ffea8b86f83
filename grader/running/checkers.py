"""Run a suite's checker program on outputs, in a sandbox of its own kind.

Neither the checker nor the submission is trusted, and neither may touch the other's process. A
checker that crashes or answers nonsense is a fault of the suite. But if it accepts an output that
is known to be right in the same case, the submission's output is at fault. Otherwise a submission
could turn its own failure into an internal error.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import assert_never

from grader.judging.compare import CheckResult
from grader.judging.report import read_report
from grader.model import Checker, CheckerKind, Limits, StdinCase
from grader.model.errors import SuiteError
from grader.running import answers
from grader.sandbox import payload
from grader.sandbox.contract import Program, RunBatch, RunOutcome, Slot
from sandbox_images.harness.wire import values

LIMITS = Limits()
"""The limits of a checker: the defaults, whatever the submission's are."""

_ENTRY_POINT = "check"
_ROLE = "checker"

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


Question = tuple[StdinCase, bytes]
"""A case, and what was printed for it."""

FindRight = Callable[[Sequence[StdinCase]], Sequence[bytes | None]]
"""Returns a right output for each case, or None if none is known."""


def run_checker(
    checker: Checker,
    questions: Sequence[Question],
    slot: Slot,
    find_right: FindRight,
) -> list[CheckResult]:
    """Return the checker's answer to each output.

    Args:
        checker: The program.
        questions: Cases, each with what the submission printed for it.
        slot: Where to run it. Nothing of the submission may be left there.
        find_right: Asked about the cases in which the checker failed.

    Raises:
        SuiteError: The checker says that the suite is wrong. Or it crashed, hit a limit or gave no
            valid answer, and may do so on right outputs, too.
        SandboxUnavailableError: The slot broke.
    """
    said = _ask(checker, questions, slot)
    doubts = [
        (case, each)
        for (case, _), each in zip(questions, said, strict=True)
        if isinstance(each, SuiteError)
    ]
    if doubts:
        _require_health(checker, doubts, slot, find_right)
    return [answers.at_fault(each) if isinstance(each, SuiteError) else each for each in said]


def _require_health(
    checker: Checker,
    doubts: Sequence[tuple[StdinCase, SuiteError]],
    slot: Slot,
    find_right: FindRight,
) -> None:
    """Make sure that a checker which failed accepts right outputs in the same cases.

    Raises:
        SuiteError: It does not, or no right output is known.
        SandboxUnavailableError: The slot broke.
    """
    cases = [case for case, _ in doubts]
    right = find_right(cases)
    controls = [(c, each) for c, each in zip(cases, right, strict=False) if each is not None]
    if len(controls) < len(cases):
        (_, first), *_ = doubts
        raise first
    for (_, error), control in zip(doubts, _ask(checker, controls, slot), strict=True):
        if isinstance(control, SuiteError) or not control.equal:
            raise error


def _ask(
    checker: Checker, questions: Sequence[Question], slot: Slot
) -> list[CheckResult | SuiteError]:
    """Return the checker's answer to each output, or its failure."""
    if not questions:
        return []
    source = checker.source
    if checker.kind is CheckerKind.TESTLIB:
        source = f"SOURCE = {checker.source!r}\n{_TESTLIB_ADAPTER}"
    runs = tuple(
        payload.calls(
            _ENTRY_POINT, [([case.stdin, output.decode("utf-8", "replace"), case.expected], {})]
        )
        for case, output in questions
    )
    batch = RunBatch(program=Program.CALL, source=source, runs=runs, limits=LIMITS)
    said: list[CheckResult | SuiteError] = []
    with closing(slot.run(batch)) as running:
        for outcome in running:
            try:
                said.append(_answer(checker, outcome))
            except answers.DeclaredFailureError:
                raise
            except SuiteError as error:
                said.append(error)
    return said


def _answer(checker: Checker, outcome: RunOutcome) -> CheckResult:
    report = read_report(outcome.report)
    if outcome.limit_hit is not None:
        raise answers.failed(_ROLE, f"it hit its {outcome.limit_hit} limit")
    if len(report.values) != 1:
        trouble = report.compile_error or report.uncaught
        raise answers.failed(_ROLE, answers.trouble_words(trouble) if trouble else "no answer")
    answer = values.decode(report.values[0])
    match checker.kind:
        case CheckerKind.TESTLIB:
            return answers.by_status(_ROLE, answer, outcome.stderr)
        case CheckerKind.FUNCTION:
            return answers.by_value(_ROLE, answer)
        case _ as unknown:
            assert_never(unknown)
