"""Batches of programs that read standard input, in any language."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from grader import languages
from grader.judging.cases import result_of
from grader.judging.ending import Finding
from grader.judging.languages import find_compile_error
from grader.languages import COMPILE_LIMITS, Language
from grader.model import CallCase, CaseResult, MiB, StdinCase, SuiteFile
from grader.running.references import References
from grader.running.task import Task
from grader.sandbox import payload
from grader.sandbox.contract import Commands, Counterpart, Program, RunBatch, RunOutcome
from grader.source.files import find_main, split_files, why_refused

_SEEN = b""
"""Kept for a program that has come once, in place of what the compiler made of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A program as its files."""

    code: str
    """Of the file that begins the program."""
    path: str = "solution.py"
    """Of that file. For a single file in another language than Python, it is not used."""
    others: Mapping[str, str] = field(default_factory=dict)
    """The other files by path."""


def parts_of(code: str, language: Language | None, function: str | None = None) -> Parts:
    """Return the files of a submission.

    Args:
        code: One file, or several as in `grader.source.files`.
        language: Its language; None for Python.
        function: The function that is called, if it is not a program that runs.
    """
    files = split_files(code)
    if not files or why_refused(list(files)) is not None:
        return Parts(code=code)
    main = find_main(files, language, function)
    others = {path: content for path, content in files.items() if path != main}
    return Parts(code=files[main], path=main, others=others)


def stdin_batch(
    task: Task,
    runs: tuple[bytes, ...],
    *,
    source: str | Parts | None = None,
    interactor: Counterpart | None = None,
) -> RunBatch:
    """Return a batch with a run for each input.

    Args:
        task: The submission.
        runs: The inputs.
        source: Code in the same language to run instead of the submission's.
        interactor: The program to talk to, if there is one. It gets the inputs instead.
    """
    if not isinstance(source, Parts):
        source = parts_of(task.code if source is None else source, task.language)
    if task.language is None:
        return RunBatch(
            program=Program.STDIN,
            source=source.code,
            source_path=source.path,
            prelude=task.suite.prelude,
            runs=runs,
            limits=task.limits,
            files=_files(source.others),
            interactor=interactor,
        )
    prepared, others = _prepare_parts(task.language, source)
    memory_bytes = task.limits.memory_bytes - task.language.runtime_memory_bytes
    return RunBatch(
        program=Program.COMMAND,
        source=prepared.code,
        source_path=prepared.path,
        runs=runs,
        limits=task.limits,
        files=(*files_beside(task.language), *_files(others)),
        interactor=interactor,
        commands=commands(task.language, prepared, memory_bytes=memory_bytes, others=tuple(others)),
    )


def files_beside(language: Language) -> tuple[SuiteFile, ...]:
    """Return what lies beside every program."""
    return tuple(SuiteFile(path=path, content=content) for path, content in language.beside.items())


def _files(contents: Mapping[str, str]) -> tuple[SuiteFile, ...]:
    return tuple(
        SuiteFile(path=path, content=payload.text_bytes(content))
        for path, content in contents.items()
    )


def _prepare_parts(
    language: Language, parts: Parts
) -> tuple[languages.SourceFile, Mapping[str, str]]:
    """Return the file that begins a program, and the others by path.

    The first one gets the name that the language wants, in its own folder, unless that is taken.
    """
    prepared = prepare(language, parts.code)
    if not parts.others:
        return prepared, {}
    folder = parts.path[: parts.path.rfind("/") + 1]
    beside = {f"{folder}{path}": content for path, content in prepared.beside.items()}
    others = {**beside, **parts.others}
    path = f"{folder}{prepared.path}"
    if any(each == path or each.startswith(f"{path}/") for each in others):
        path = parts.path
    if language.imported is not None:
        others = {**language.imported({path: prepared.code, **others}), **others}
    return prepared._replace(path=path), others


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncompiled:
    """A program that does not compile."""

    outcome: RunOutcome
    """How the compiler ended. Forbidden calls are left out: the compiler made them."""
    why: Finding

    def result(self, case: StdinCase | CallCase) -> CaseResult:
        """Return the result of its first case."""
        return result_of(case, self.outcome, self.why)


def recall_product(task: Task, batch: RunBatch, references: References) -> RunBatch:
    """Return a batch with what the compiler made of an equal program, if that was kept.

    It is kept if a program comes for the second time, since most never do, and may be large.

    Args:
        task: The submission.
        batch: Its batch, from `stdin_batch`.
        references: Remembers what the compiler made.
    """
    commands = batch.commands
    if commands is None or not commands.compile or commands.only_checks:
        return batch
    key = _program_key(task, batch)
    product = references.known_product(key)
    if product is None:
        references.keep_product(key, _SEEN)
        return batch
    if product == _SEEN:
        return replace(batch, commands=replace(commands, keeps_product=True))
    return replace(batch, commands=replace(commands, product=product))


def _program_key(task: Task, batch: RunBatch) -> bytes:
    """Return all that the compiler's result depends on."""
    commands = batch.commands
    flags = () if commands is None else (commands.compile, sorted(commands.environment.items()))
    parts = (task.suite.image, flags, batch.source_path, batch.source, batch.files)
    return repr(parts).encode("utf-8", "surrogatepass")


def find_uncompiled(
    task: Task,
    batch: RunBatch,
    running: Iterator[RunOutcome],
    references: References | None = None,
) -> Uncompiled | None:
    """Return why a program cannot run; None if it compiles, or needs no compiler.

    If the compiler runs, its outcome is taken from `running`; those of the cases remain.

    Args:
        task: The submission.
        batch: Its batch, from `stdin_batch`.
        running: All outcomes of the batch.
        references: Remembers what the compiler made; None if that is not to be kept.
    """
    commands = batch.commands
    if commands is None or not commands.compile or commands.product is not None:
        return None
    assert task.language is not None  # noqa: S101 - the batch has commands
    compiled = next(running)
    why = find_compile_error(compiled, task.language, COMPILE_LIMITS)
    if why is None:
        if references is not None and compiled.product:
            references.keep_product(_program_key(task, batch), compiled.product)
        return None
    return Uncompiled(outcome=replace(compiled, forbidden_calls=()), why=why)


def prepare(language: Language, code: str) -> languages.SourceFile:
    """Return the file that holds some code."""
    if language.prepare is None:
        return languages.SourceFile(path=language.source, code=code)
    return language.prepare(code)


def commands(
    language: Language,
    source: languages.SourceFile,
    *,
    memory_bytes: int,
    others: tuple[str, ...] = (),
) -> Commands:
    """Return how a program is compiled and run.

    Args:
        language: The program's language.
        source: Its file.
        memory_bytes: The memory limit less what the language's runtime needs.
        others: The paths of its other files.
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

    folder = source.path.rpartition("/")[0]
    sources = (
        *(
            path
            for path in others
            if path.endswith(language.endings)
            and (language.imported is None or path.rpartition("/")[0] == folder)
        ),
        source.path,
    )
    return Commands(
        compile=tuple(
            filled
            for part in language.compile
            for filled in (sources if part == "{sources}" else (fill(part),))
        ),
        compile_limits=COMPILE_LIMITS,
        only_checks=language.only_checks,
        run=tuple(map(fill, language.run)),
        environment={name: fill(value) for name, value in language.environment.items()},
    )
