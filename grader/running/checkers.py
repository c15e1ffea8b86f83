"""Run a suite's checker program on outputs, each in a run of its own.

Neither the checker nor the submission is trusted, and neither may touch the other's process. A
checker that crashes or answers nonsense is a fault of the suite. But if it accepts an output that
is known to be right in the same case, the submission's output is at fault. Otherwise a submission
could turn its own failure into an internal error.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace

from grader.judging.compare import CheckResult
from grader.judging.ending import exit_words
from grader.judging.languages import find_runtime_error
from grader.judging.report import read_report
from grader.model import Checker, CheckerKind, Limits, StdinCase
from grader.model.errors import SuiteError
from grader.running import answers, deciders
from grader.running.references import References
from grader.sandbox import payload
from grader.sandbox.contract import Program, RunBatch, RunOutcome, Slot
from sandbox_images.harness.wire import values

LIMITS = Limits()
"""The limits of a checker: the defaults, whatever the submission's are."""

_ENTRY_POINT = "check"
_ROLE = "checker"

_ADAPTER = '''
def check(input, output, answer):
    """Call a checker program with paths, and return its exit status."""
    import os
    import sys

    for name, text in (("input", input), ("output", output), ("answer", answer)):
        with open(name, "w", encoding="utf-8", errors="surrogatepass", newline="") as file:
            file.write(text)
    os.makedirs("feedback", exist_ok=True)
    sys.argv = ["checker", *ARGUMENTS]
    sys.stdin = open("output", encoding="utf-8", errors="surrogateescape")
    try:
        exec(compile(SOURCE, "checker.py", "exec"), {"__name__": "__main__"})
    except SystemExit as stop:
        if stop.code is None or isinstance(stop.code, int):
            return int(stop.code or 0)
        print(stop.code, file=sys.stderr)
        return 1  # as Python ends
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
    references: References,
    find_right: FindRight,
) -> list[CheckResult]:
    """Return the checker's answer to each output.

    Args:
        checker: The program.
        questions: Cases, each with what the submission printed for it.
        slot: Where to run it. Nothing of the submission may be left there.
        references: Remembers what a compiler made of it.
        find_right: Asked about the cases in which the checker failed.

    Raises:
        SuiteError: The checker does not compile, or says that the suite is wrong. Or it crashed,
            hit a limit or gave no valid answer, and may do so on right outputs, too.
        SandboxUnavailableError: The slot broke.
    """
    program = deciders.compiled(_ROLE, checker, LIMITS, slot, references) if questions else None

    def ask(questions: Sequence[Question]) -> list[CheckResult | SuiteError]:
        batch = _calls(checker, questions) if program is None else _runs(program, questions)
        return _ask(checker, questions, batch, slot) if questions else []

    said = ask(questions)
    doubts = [
        (case, each)
        for (case, _), each in zip(questions, said, strict=True)
        if isinstance(each, SuiteError)
    ]
    if doubts:
        _require_health(doubts, ask, find_right)
    return [answers.at_fault(each) if isinstance(each, SuiteError) else each for each in said]


def _require_health(
    doubts: Sequence[tuple[StdinCase, SuiteError]],
    ask: Callable[[Sequence[Question]], list[CheckResult | SuiteError]],
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
    for (_, error), control in zip(doubts, ask(controls), strict=True):
        if isinstance(control, SuiteError) or not control.equal:
            raise error


def _calls(checker: Checker, questions: Sequence[Question]) -> RunBatch:
    """Return a batch that asks a checker in Python."""
    source = checker.source
    if checker.kind is not CheckerKind.FUNCTION:
        given = f"SOURCE = {source!r}\nARGUMENTS = {deciders.arguments(checker)!r}\n"
        source = f"{given}{_ADAPTER}"
    runs = tuple(
        payload.calls(
            _ENTRY_POINT, [([case.stdin, output.decode("utf-8", "replace"), case.expected], {})]
        )
        for case, output in questions
    )
    return RunBatch(
        program=Program.CALL, source=source, runs=runs, files=checker.files, limits=LIMITS
    )


def _runs(program: deciders.Compiled, questions: Sequence[Question]) -> RunBatch:
    """Return a batch that asks a checker in another language."""
    outputs = tuple(output for _, output in questions)
    return RunBatch(
        program=Program.COMMAND,
        source=program.source.code,
        source_path=program.source.path,
        files=program.files,
        runs=outputs,
        run_files={
            "input": tuple(payload.text_bytes(case.stdin) for case, _ in questions),
            "output": outputs,
            "answer": tuple(payload.text_bytes(case.expected) for case, _ in questions),
        },
        limits=program.limits,
        commands=replace(program.commands, compile=()),
    )


def _ask(
    checker: Checker, questions: Sequence[Question], batch: RunBatch, slot: Slot
) -> list[CheckResult | SuiteError]:
    """Return the checker's answer to each output, or its failure."""
    said: list[CheckResult | SuiteError] = []
    with closing(slot.run(batch)) as running:
        for (case, _), outcome in zip(questions, running, strict=True):
            try:
                said.append(_answer(checker, case, outcome))
            except answers.DeclaredFailureError:
                raise
            except SuiteError as error:
                said.append(error)
    return said


def _answer(checker: Checker, case: StdinCase, outcome: RunOutcome) -> CheckResult:
    report = read_report(outcome.report)
    if outcome.limit_hit is not None:
        raise answers.failed(_ROLE, f"it hit its {outcome.limit_hit} limit")
    language = deciders.language_of(checker)
    status: object = outcome.exit_code
    if trouble := report.compile_error or report.uncaught:
        raise answers.failed(_ROLE, answers.trouble_words(trouble))
    if language is None:
        if len(report.values) != 1:
            raise answers.failed(_ROLE, "no answer")
        status = values.decode(report.values[0])
        if checker.kind is CheckerKind.FUNCTION:
            return answers.by_value(_ROLE, status)
    elif outcome.exit_code is None:
        raise answers.failed(_ROLE, f"it {exit_words(outcome)}")
    # Many runtimes end with testlib's exit code for wrong output if an exception is not caught. If
    # no right output is known, a doubt would be a fault of the suite. Then it must not depend on
    # words, which may be the submission's.
    elif (outcome.exit_code and case.expected.strip()) and (
        crash := find_runtime_error(outcome, language, language.limits(LIMITS))
    ):
        raise answers.failed(_ROLE, crash.feedback)
    return answers.by_status(_ROLE, checker.kind, status, outcome.stderr)
