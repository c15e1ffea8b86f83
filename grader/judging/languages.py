"""Turns messages of compilers and runtimes of languages other than Python into verdicts."""

import re

from grader.judging.ending import Finding, exit_words, limit_hit
from grader.judging.report import read_report
from grader.languages import ErrorWords, Language
from grader.model.limits import Limits
from grader.model.verdict import LimitKind, Verdict
from grader.sandbox.contract import RunOutcome
from grader.text.inert import inert

_READ_BYTES = 64 * 1024
_MESSAGE_CHARS = 300


def find_compile_error(outcome: RunOutcome, language: Language, limits: Limits) -> Finding | None:
    """Return why compiling failed, or None if it did not.

    Args:
        outcome: The outcome of the compiler's run.
        language: The language of the code.
        limits: The limits of the compiler's run.
    """
    kind = limit_hit(outcome)
    if kind is not None:
        return _compile_error(f"compiling hit its {_of_limit(kind, limits)}")
    said = _read(outcome.stderr) + "\n" + _read(outcome.stdout)
    if outcome.exit_code != 0:
        message, line = _matched(language.compile_words, said)
        place = "" if line is None else f" on line {line}"
        words = message or _first_line(said) or f"the compiler {exit_words(outcome)}"
        return _compile_error(f"the code does not compile{place}: {words}")
    trouble = read_report(outcome.report).compile_error
    if trouble is not None:
        # Code that runs while it is compiled can report anything, such as an empty message.
        words = inert(trouble.message, _MESSAGE_CHARS)
        return _compile_error(words or "what the compiler made cannot be used")
    return None


def find_runtime_error(outcome: RunOutcome, language: Language, limits: Limits) -> Finding | None:
    """Return the runtime error that a program's own output describes, or None if it does not.

    Args:
        outcome: The outcome of a run that hit no limit and did not end with exit code 0.
        language: The language of the code.
        limits: The limits of the run.
    """
    said = _read(outcome.stderr)
    message, line = _matched(language.runtime_words, said)
    place = "" if line is None else f" (at line {line})"
    if any(words in said for words in language.out_of_memory):
        size = f"memory limit of {limits.memory_bytes // (1024 * 1024)} MiB hit"
        words = f"{size}: {message}{place}" if message else size
        return Finding(verdict=Verdict.MEMORY_LIMIT, feedback=words)
    if not message:
        return None
    words = f"{message}{place}; the program {exit_words(outcome)}"
    return Finding(verdict=Verdict.RUNTIME_ERROR, feedback=words)


def _compile_error(words: str) -> Finding:
    return Finding(verdict=Verdict.COMPILE_ERROR, feedback=words)


def _of_limit(kind: LimitKind, limits: Limits) -> str:
    match kind:
        case LimitKind.CPU_TIME:
            return f"CPU time limit of {limits.cpu_time_s:g} s"
        case LimitKind.WALL_TIME | LimitKind.TOTAL_TIME:
            return f"wall time limit of {limits.wall_time_s:g} s"
        case LimitKind.MEMORY:
            return f"memory limit of {limits.memory_bytes // (1024 * 1024)} MiB"
        case LimitKind.OUTPUT:
            return f"output limit of {limits.output_bytes // 1024} KiB"
        case LimitKind.PROCESSES:
            return f"limit of {limits.processes} processes"


def _read(stream: bytes) -> str:
    return stream[:_READ_BYTES].decode("utf-8", "replace")


def _matched(words: ErrorWords, said: str) -> tuple[str, str | None]:
    """Return the message and the number of the line that it is about, as far as they are found."""
    message = words.message.search(said)
    line = words.line.search(said) if words.line is not None else None
    groups = [group for group in message.groups() if group] if message else []
    return _shown(groups[0]) if groups else "", None if line is None else line["line"]


def _first_line(said: str) -> str:
    found = re.search(r"\S.*", said)
    return _shown(found[0]) if found else ""


def _shown(words: str) -> str:
    return inert(" ".join(words.split()), _MESSAGE_CHARS)
