"""What a client of `POST /run_code` is told."""

from enum import StrEnum

from pydantic import BaseModel, Field

from grader.judging.ending import limit_hit
from grader.judging.report import Trouble
from grader.model.verdict import LimitKind
from grader.sandbox.contract import COMPILING, RunOutcome
from grader.server.programs.fetching import FetchedRun

_WORDS_CHARS = 1000
_KILLED = -9
"""The return code of a program that was killed."""


class Status(StrEnum):
    """The outcome as a whole."""

    SUCCESS = "Success"
    """The program ended by itself with exit code 0."""
    FAILED = "Failed"
    SANDBOX_ERROR = "SandboxError"
    """The program was not run, or failed for another reason than its own."""


class CommandStatus(StrEnum):
    """How one step ended."""

    FINISHED = "Finished"
    """It ended by itself, or was killed for its memory or output; the return code tells which."""
    ERROR = "Error"
    TIME_LIMIT_EXCEEDED = "TimeLimitExceeded"


class CommandResult(BaseModel):
    """One step."""

    status: CommandStatus
    execution_time: float | None = Field(default=None, description="seconds")
    return_code: int | None = Field(default=None, description="negative: the signal")
    stdout: str | None = None
    stderr: str | None = None


class RunCodeResponse(BaseModel):
    """The answer about a program."""

    status: Status
    message: str
    compile_result: CommandResult | None = None
    run_result: CommandResult | None = None
    executor_pod_name: str | None = None
    files: dict[str, str] = {}


_COMPILED = CommandResult(status=CommandStatus.FINISHED, return_code=0, stdout="", stderr="")
"""The compiler's result if a program could be run."""


def describe(shown: FetchedRun, *, is_compiled: bool = False) -> RunCodeResponse:
    """Return what a client is told of a run.

    Args:
        shown: The run.
        is_compiled: Whether compiling was a step of its own before it.
    """
    outcome = shown.outcome
    if outcome.index == COMPILING:
        return _not_compiled(outcome, shown.compile_error)
    if shown.compile_error is not None and outcome.limit_hit is None:
        return _compile_error(shown.compile_error, outcome)
    step, message = _step(outcome)
    succeeded = step.status is CommandStatus.FINISHED and step.return_code == 0
    return RunCodeResponse(
        status=Status.SUCCESS if succeeded else Status.FAILED,
        message=message,
        compile_result=_COMPILED if is_compiled else None,
        run_result=step,
        files=dict(shown.files),
    )


def _step(outcome: RunOutcome) -> tuple[CommandResult, str]:
    message = ""
    status, code = CommandStatus.FINISHED, outcome.exit_code
    if outcome.exit_signal is not None:
        code = -outcome.exit_signal
    kind = limit_hit(outcome)
    match kind:
        case LimitKind.CPU_TIME | LimitKind.WALL_TIME | LimitKind.TOTAL_TIME:
            status, code = CommandStatus.TIME_LIMIT_EXCEEDED, None
            message = f"the limit of {kind.value.replace('_', ' ')} was hit"
        case LimitKind.MEMORY:
            code, message = code or _KILLED, "the limit of memory was hit"
        case LimitKind.OUTPUT if code is not None:
            message = f"{outcome.dropped_bytes} bytes of output were dropped"
        case LimitKind.OUTPUT | LimitKind.PROCESSES:
            code, message = _KILLED, f"the limit of {kind.value} was hit"
        case None if code is None:
            status, message = CommandStatus.ERROR, "the program did not end by itself"
        case None:
            pass
    step = CommandResult(
        status=status,
        execution_time=outcome.usage.wall_time_s,
        return_code=code,
        stdout=outcome.stdout.decode("utf-8", "replace"),
        stderr=outcome.stderr.decode("utf-8", "replace"),
    )
    return step, message


def _not_compiled(outcome: RunOutcome, trouble: Trouble | None) -> RunCodeResponse:
    """Return the answer for a program of another language that does not compile."""
    step, message = _step(outcome)
    if step.return_code == 0:  # the compiler ended in order, but its result cannot be kept
        step.return_code = 1
    words = message or ("" if trouble is None else trouble.message)
    return RunCodeResponse(
        status=Status.FAILED,
        message=f"the program does not compile{words and ': '}{words}",
        compile_result=step,
    )


def _compile_error(trouble: Trouble, outcome: RunOutcome) -> RunCodeResponse:
    where = "" if trouble.line is None else f'  File "main.py", line {trouble.line}\n'
    step = CommandResult(
        status=CommandStatus.FINISHED,
        execution_time=outcome.usage.wall_time_s,
        return_code=1,
        stdout="",
        stderr=f"{where}{trouble.type}: {trouble.message}\n",
    )
    return RunCodeResponse(
        status=Status.FAILED, message="the program does not compile", compile_result=step
    )


def sandbox_error(message: str) -> RunCodeResponse:
    """Return the answer if something other than the program failed."""
    return RunCodeResponse(status=Status.SANDBOX_ERROR, message=message[:_WORDS_CHARS])
