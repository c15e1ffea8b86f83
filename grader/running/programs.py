"""Batches of programs that read standard input, in any language."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from grader import languages
from grader.judging import verdicts
from grader.judging.ending import Finding
from grader.judging.languages import find_compile_error
from grader.languages import COMPILE_LIMITS, Language
from grader.model import CallCase, CaseResult, MiB, StdinCase
from grader.running.task import Task
from grader.sandbox.contract import Commands, Counterpart, Program, RunBatch, RunOutcome


def stdin_batch(
    task: Task,
    runs: tuple[bytes, ...],
    *,
    source: str | None = None,
    interactor: Counterpart | None = None,
) -> RunBatch:
    """Return a batch with a run for each input.

    Args:
        task: The submission.
        runs: The inputs.
        source: Code in the same language to run instead of the submission's.
        interactor: The program to talk to, if there is one. It gets the inputs instead.
    """
    code = task.code if source is None else source
    if task.language is None:
        return RunBatch(
            program=Program.STDIN,
            source=code,
            prelude=task.suite.prelude,
            runs=runs,
            limits=task.limits,
            interactor=interactor,
        )
    prepared = prepare(task.language, code)
    memory_bytes = task.limits.memory_bytes - task.language.runtime_memory_bytes
    return RunBatch(
        program=Program.COMMAND,
        source=prepared.code,
        source_path=prepared.path,
        runs=runs,
        limits=task.limits,
        interactor=interactor,
        commands=commands(task.language, prepared, memory_bytes=memory_bytes),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncompiled:
    """A program that does not compile."""

    outcome: RunOutcome
    """How the compiler ended. Forbidden calls are left out: the compiler made them."""
    why: Finding

    def result(self, case: StdinCase | CallCase) -> CaseResult:
        """Return the result of its first case."""
        return verdicts.judge_uncompiled(case, self.outcome, self.why)


def find_uncompiled(task: Task, running: Iterator[RunOutcome]) -> Uncompiled | None:
    """Return why a program cannot run; None if it compiles, or needs no compiler.

    If there is a compiler, its outcome is taken from `running`; those of the cases remain.

    Args:
        task: The submission.
        running: All outcomes of a batch of `stdin_batch`.
    """
    if task.language is None or not task.language.compile:
        return None
    compiled = next(running)
    why = find_compile_error(compiled, task.language, COMPILE_LIMITS)
    if why is None:
        return None
    return Uncompiled(outcome=replace(compiled, forbidden_calls=()), why=why)


def prepare(language: Language, code: str) -> languages.SourceFile:
    """Return the file that holds some code."""
    if language.prepare is None:
        return languages.SourceFile(path=language.source, code=code)
    return language.prepare(code)


def commands(language: Language, source: languages.SourceFile, *, memory_bytes: int) -> Commands:
    """Return how a program is compiled and run.

    Args:
        language: The program's language.
        source: Its file.
        memory_bytes: The memory limit less what the language's runtime needs.
    """
    values = {
        "{source}": source.path,
        "{entry}": source.entry,
        "{format}": source.format,
        "{memory_mib}": str(max(1, memory_bytes // MiB)),
    }

    def fill(part: str) -> str:
        for name, value in values.items():
            part = part.replace(name, value)
        return part

    return Commands(
        compile=tuple(map(fill, language.compile)),
        compile_limits=COMPILE_LIMITS,
        run=tuple(map(fill, language.run)),
        environment={name: fill(value) for name, value in language.environment.items()},
    )
