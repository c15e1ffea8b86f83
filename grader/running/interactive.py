"""Programs that talk to an interactor of the suite, each in a run of its own.

Neither is trusted, and neither may touch the other's process; see
sandbox_images/harness/slot/interaction.py. The one that ended first decides the verdict. If the
program crashed first, the verdict is that of the crash, and it does not matter what the interactor
then said. If the interactor refused first, the verdict is the refusal, although the program may
have crashed when the dialogue broke off. If it accepted first, the program must still end in
order.

An interactor that crashes or gives no answer is a fault of the suite. But if it accepts the suite's
reference in the same case, the program is at fault. Otherwise a program could turn its own failure
into an internal error.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from grader.judging.cases import find_failure, judge_checked
from grader.judging.compare import CheckResult
from grader.judging.compare.result import different
from grader.judging.ending import exit_words
from grader.judging.report import read_report
from grader.model import (
    CaseResult,
    CheckerKind,
    InteractiveTests,
    Interactor,
    Limits,
    MiB,
    StdinCase,
)
from grader.model.errors import SuiteError
from grader.model.verdict import Verdict
from grader.running import answers, deciders
from grader.running.casewise import run_cases
from grader.running.programs import find_uncompiled, stdin_batch
from grader.running.references import References
from grader.running.task import Graded, Task, require_cases
from grader.sandbox.contract import Counterpart, Dialogue, RunBatch, RunOutcome, Slot
from grader.sandbox.payload import text_bytes
from grader.text.inert import quote

LIMITS = Limits(memory_bytes=256 * MiB, output_bytes=16 * MiB)
"""The limits of an interactor, whatever the submission's are."""

_ROLE = "interactor"
_LINE_CHARS = 80

_WITH_PATHS = """
import os
import sys
os.makedirs("feedback", exist_ok=True)
sys.argv = ["interactor", *ARGUMENTS]
exec(compile(SOURCE, "interactor.py", "exec"), {"__name__": "__main__"})
"""

_FUNCTION = """
import sys

def _read(name):
    with open(name, encoding="utf-8", errors="surrogatepass", newline="") as file:
        return file.read()

names = {"__name__": "interactor"}
sys.stdout.reconfigure(line_buffering=True)
exec(compile(SOURCE, "interactor.py", "exec"), names)
try:
    answer = names["interact"](_read("input"), _read("answer"))
except SystemExit as stop:
    raise TypeError("interact must return a value, but ended the program") from stop
if isinstance(answer, (bool, int, float)) and 0 <= answer <= 1:
    if 0 < answer < 1:
        sys.stderr.write(f"\\npoints {float(answer)!r}\\n")
        raise SystemExit(7)
    raise SystemExit(0 if answer else 1)
raise TypeError(f"interact must return a bool, or a number from 0 to 1, but gave {answer!r:.100}")
"""
"""Turns the function's value into an exit status of testlib."""


def run_interactive(
    task: Task, tests: InteractiveTests, slot: Slot, references: References
) -> Graded:
    """Have a program talk to the suite's interactor, once per case.

    Raises:
        SuiteError: The suite has no case, or its interactor does not compile, failed, or says that
            the suite is wrong.
        SandboxUnavailableError: The slot broke.
    """
    require_cases(tests.cases)
    doubts: list[tuple[StdinCase, SuiteError]] = []
    kind = tests.interactor.kind
    interactor = _counterpart(tests.interactor, slot, references)

    def judge(case: StdinCase, outcome: RunOutcome) -> CaseResult:
        try:
            return _judge(case, outcome, task, kind)
        except answers.DeclaredFailureError:
            raise
        except SuiteError as error:
            doubts.append((case, error))
            return _blame(case, outcome, task, error)

    batch = _batch(task, interactor, tests.cases)
    graded = run_cases(task, tests.cases, batch, slot, judge, references)
    if doubts:
        _require_health(task, interactor, kind, doubts, slot)
    return graded


def _counterpart(interactor: Interactor, slot: Slot, references: References) -> Counterpart:
    """Return the interactor as a slot runs it, without answers yet."""
    program = deciders.compiled(_ROLE, interactor, LIMITS, slot, references)
    if program is None:
        return Counterpart(
            source=_adapted(interactor), files=interactor.files, answers=(), limits=LIMITS
        )
    return Counterpart(
        source=program.source.code,
        source_path=program.source.path,
        files=program.files,
        answers=(),
        limits=program.limits,
        commands=program.commands,
    )


def _batch(task: Task, interactor: Counterpart, cases: Sequence[StdinCase]) -> RunBatch:
    expected = tuple(text_bytes(case.expected) for case in cases)
    runs = tuple(text_bytes(case.stdin) for case in cases)
    return stdin_batch(task, runs, interactor=replace(interactor, answers=expected))


def _require_health(
    task: Task,
    interactor: Counterpart,
    kind: CheckerKind,
    doubts: list[tuple[StdinCase, SuiteError]],
    slot: Slot,
) -> None:
    """If the interactor failed, require that it accepts the reference in the same cases.

    Raises:
        SuiteError: It does not accept the reference, or there is none.
        SandboxUnavailableError: The slot broke.
    """
    (_, first), *_ = doubts
    reference = task.suite.reference
    if reference is None or reference == task.code:
        raise first
    control = replace(task, code=reference)
    cases = [case for case, _ in doubts]
    batch = _batch(control, interactor, cases)
    with closing(slot.run(batch)) as running:
        if find_uncompiled(control, batch, running) is not None:
            raise first
        for (case, error), outcome in zip(doubts, running, strict=True):
            try:
                is_healthy = _judge(case, outcome, task, kind).verdict is Verdict.PASSED
            except SuiteError:
                is_healthy = False
            if not is_healthy:
                raise error


def _blame(case: StdinCase, outcome: RunOutcome, task: Task, error: SuiteError) -> CaseResult:
    """Return the result of a case in which the interactor failed, if the program is at fault."""
    failure = find_failure(case, outcome, task.limits, task.language)
    if failure is not None and outcome.dialogue and not outcome.dialogue.interactor_first:
        return failure
    return judge_checked(case, outcome, answers.at_fault(error))


def _adapted(interactor: Interactor) -> str:
    """Return a program that runs an interactor in Python."""
    source = f"SOURCE = {interactor.source!r}\n"
    if interactor.kind is CheckerKind.FUNCTION:
        return source + _FUNCTION
    return f"{source}ARGUMENTS = {deciders.arguments(interactor)!r}\n{_WITH_PATHS}"


def _judge(case: StdinCase, outcome: RunOutcome, task: Task, kind: CheckerKind) -> CaseResult:
    dialogue = outcome.dialogue
    if dialogue is None:
        raise ValueError(outcome)
    if dialogue.interactor.limit_hit is not None:
        raise answers.failed(_ROLE, f"it hit its {dialogue.interactor.limit_hit} limit")
    failure = find_failure(case, outcome, task.limits, task.language)
    if failure is not None and not dialogue.interactor_first:
        return failure
    said = _answer(dialogue, kind)
    if failure is not None and answers.accepts(kind, dialogue.interactor.exit_code):
        return failure
    return judge_checked(case, outcome, _with_last_words(said, outcome, dialogue))


def _answer(dialogue: Dialogue, kind: CheckerKind) -> CheckResult:
    outcome = dialogue.interactor
    report = read_report(outcome.report)
    trouble = report.compile_error or report.uncaught
    if trouble is not None and trouble.type == "EOFError" and not dialogue.interactor_first:
        return different("the program ended before the suite's interactor was done")
    if trouble is not None:
        raise answers.failed(_ROLE, answers.trouble_words(trouble))
    if outcome.exit_code is None:
        raise answers.failed(_ROLE, f"it {exit_words(outcome)}")
    return answers.by_status(_ROLE, kind, outcome.exit_code, outcome.stderr)


def _with_last_words(said: CheckResult, outcome: RunOutcome, dialogue: Dialogue) -> CheckResult:
    """Add the last lines of both programs to a refusal."""
    if said.equal:
        return said
    theirs, ours = (_last_line(stream) for stream in (outcome.stdout, dialogue.interactor.stdout))
    words = f"{said.difference}; last said: {theirs} by the program, {ours} to it"
    return different(words, share=said.share)


def _last_line(stream: bytes) -> str:
    lines = stream.rstrip().rsplit(b"\n", 1)
    return quote(lines[-1], _LINE_CHARS) if lines[-1] else "nothing"
