"""Turns the end of a run into a verdict and words: limit, compile error, exception, exit status."""

import re
import signal
from dataclasses import dataclass
from typing import assert_never

from grader.judging.report import Report, Trouble
from grader.model import KiB, Limits, MiB
from grader.model.verdict import LimitKind, Verdict
from grader.sandbox.contract import RunOutcome
from grader.text.inert import inert, quote

_MESSAGE_CHARS = 200
_LINE_CHARS = 120
_DEADLOCK = (
    "deadlock: both sides wait for input; is what the program prints flushed, and as much as asked?"
)
_NO_SPACE = re.compile(r"\[Errno 28\][^:]*(:)?")
_MISSING_MODULE = re.compile(r"No module named '[\w.]+'")
_MISSING_NAME = re.compile(r"cannot import name '([^']{1,100})'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The verdict of a run or of one of its cases, with the reason."""

    verdict: Verdict
    feedback: str


def find_fault(outcome: RunOutcome, report: Report, limits: Limits) -> Finding | None:
    """Return why a run did not end in order, or None if it did.

    A limit comes first, since what a killed program reports may be an effect of the limit.
    """
    if outcome.dialogue is not None and outcome.dialogue.deadlock:
        return Finding(verdict=Verdict.TIME_LIMIT, feedback=_DEADLOCK)
    kind = limit_hit(outcome)
    if kind is not None:
        return Finding(verdict=_limit_verdict(kind), feedback=_limit_words(kind, outcome, limits))
    if report.compile_error is not None:
        return Finding(verdict=Verdict.COMPILE_ERROR, feedback=_compile_words(report.compile_error))
    if report.uncaught is not None:
        return finding_of(report.uncaught)
    if outcome.exit_signal is not None or outcome.exit_code != 0:
        words = f"the program {exit_words(outcome)}"
        last_line = outcome.stderr[-4096:].rstrip().rpartition(b"\n")[2]
        if last_line:
            words = f"{words}; its last words on standard error: {quote(last_line, _LINE_CHARS)}"
        return Finding(verdict=Verdict.RUNTIME_ERROR, feedback=words)
    return None


def limit_hit(outcome: RunOutcome) -> LimitKind | None:
    """Return the limit that ended or spoiled a run."""
    if outcome.limit_hit is not None:
        return outcome.limit_hit
    if outcome.oom_killed:
        return LimitKind.MEMORY
    return LimitKind.OUTPUT if outcome.dropped_bytes else None


def finding_of(trouble: Trouble) -> Finding:
    """Return the finding for code that an uncaught exception ended."""
    # numpy raises an exception of its own if memory runs out.
    memory = trouble.type in ("MemoryError", "_ArrayMemoryError")
    verdict = Verdict.MEMORY_LIMIT if memory else Verdict.RUNTIME_ERROR
    return Finding(verdict=verdict, feedback=exception_words(trouble))


def exception_words(trouble: Trouble) -> str:
    """Return an exception as one line, with the last line of the submission in its traceback."""
    words = inert(trouble.type, 80) or "an exception"
    message = " ".join(trouble.message[: 4 * _MESSAGE_CHARS].split())
    if message:
        words = f"{words}: {inert(message, _MESSAGE_CHARS)}"
    missing = _MISSING_NAME.match(trouble.message) if trouble.type == "ImportError" else None
    if missing is not None:
        return f"the tests need {quote(missing[1])}, which the code does not define ({words})"
    full = _NO_SPACE.match(trouble.message) if trouble.type == "OSError" else None
    if full is not None:
        # The message names the file if it cannot be made, but not if it cannot grow.
        limit = "work_files, the number of files" if full[1] else "work_bytes, the bytes"
        words = f"{words}: limit {limit} in the work area, hit"
    own_line = trouble.traceback.rstrip().rpartition("\n")[2].strip()
    if trouble.type == "ModuleNotFoundError" and _MISSING_MODULE.match(trouble.message):
        needed_by = "the code needs" if own_line else "the tests need"
        words = f"{words}: {needed_by} a library that the sandbox does not have"
    if own_line:
        words = f"{words} (at {inert(own_line, _LINE_CHARS)})"
    return words


def exit_words(outcome: RunOutcome) -> str:
    """Return how a process ended, to follow its name: "ended with exit code 3"."""
    if outcome.exit_signal is None:
        return f"ended with exit code {outcome.exit_code}"
    try:
        name = signal.Signals(outcome.exit_signal).name
    except ValueError:
        name = str(outcome.exit_signal)
    return f"was ended by signal {name}"


def _compile_words(trouble: Trouble) -> str:
    place = "" if trouble.line is None else f" on line {trouble.line}"
    kind, message = inert(trouble.type, 80), inert(trouble.message, _MESSAGE_CHARS)
    return f"the code does not compile{place}: {kind}: {message}"


def _limit_verdict(kind: LimitKind) -> Verdict:
    match kind:
        case LimitKind.CPU_TIME | LimitKind.WALL_TIME | LimitKind.TOTAL_TIME:
            return Verdict.TIME_LIMIT
        case LimitKind.MEMORY:
            return Verdict.MEMORY_LIMIT
        case LimitKind.OUTPUT:
            return Verdict.OUTPUT_LIMIT
        case LimitKind.PROCESSES:  # a fork that fails is an exception like any other
            return Verdict.RUNTIME_ERROR
        case _ as unknown:
            assert_never(unknown)


def _limit_words(kind: LimitKind, outcome: RunOutcome, limits: Limits) -> str:
    usage = outcome.usage
    match kind:
        case LimitKind.CPU_TIME:
            return f"CPU time limit of {limits.cpu_time_s:g} s hit{_used_s(usage.cpu_time_s)}"
        case LimitKind.WALL_TIME:
            return (
                f"wall time limit of {limits.wall_time_s:g} s hit{_used_s(usage.wall_time_s)}"
                f" with {usage.cpu_time_s or 0:.2f} s of CPU time: does it wait for something?"
            )
        case LimitKind.TOTAL_TIME:
            return total_time_words(limits)
        case LimitKind.MEMORY:
            peak = usage.peak_memory_bytes
            used = "" if peak is None else f" (largest process: {_size(peak)})"
            return f"memory limit of {_size(limits.memory_bytes)} hit{used}"
        case LimitKind.OUTPUT:
            printed = len(outcome.stdout) + len(outcome.stderr) + outcome.dropped_bytes
            return f"output limit of {_size(limits.output_bytes)} hit ({printed} bytes printed)"
        case LimitKind.PROCESSES:
            return f"limit of {limits.processes} processes and threads hit"
        case _ as unknown:
            assert_never(unknown)


def total_time_words(limits: Limits) -> str:
    """Return the feedback for a case for which no time was left."""
    return (
        f"time limit of {limits.total_time_s:g} s for all cases together hit before this case began"
    )


def _used_s(seconds: float | None) -> str:
    return "" if seconds is None else f" (used {seconds:.2f} s)"


def _size(count: int) -> str:
    for unit, name in ((MiB, "MiB"), (KiB, "KiB")):
        if count >= unit:
            return f"{round(count / unit, 1):g} {name}"
    return f"{count} bytes"
