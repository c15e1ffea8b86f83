"""How checkers and interactors are run, the programs of a suite that decide about outputs.

They may be in any language. One that has to be compiled is compiled in the sandbox, once per suite
and grader. What the compiler made is kept, and only slots ever use it.
"""

from dataclasses import dataclass, replace

from grader import languages
from grader.judging.languages import find_compile_error
from grader.languages import COMPILE_LIMITS, Language, SourceFile
from grader.model import Checker, CheckerKind, Limits, SuiteFile
from grader.model.errors import SuiteError
from grader.running import answers
from grader.running.programs import commands, files_beside, prepare
from grader.running.references import References
from grader.sandbox.contract import Commands, Program, RunBatch, Slot

_MESSAGES = "feedback"
"""The folder for messages that programs of kind icpc get. Nothing reads it."""
_MESSAGES_FILE = SuiteFile(path=f"{_MESSAGES}/.keep", content=b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A checker or interactor that a slot can execute, in another language than Python."""

    source: SourceFile
    files: tuple[SuiteFile, ...]
    commands: Commands
    limits: Limits


def arguments(checker: Checker) -> tuple[str, ...]:
    """Return a program's arguments. Paths are relative to the work area.

    Raises:
        SuiteError: It is a function, which cannot be called with paths.
    """
    match checker.kind:
        case CheckerKind.TESTLIB:
            return ("input", "output", "answer", *checker.arguments)
        case CheckerKind.ICPC:
            return ("input", "answer", f"{_MESSAGES}/", *checker.arguments)
        case CheckerKind.FUNCTION:
            message = f"functions that check or interact are in Python, not in {checker.language}"
            raise SuiteError(message)


def language_of(checker: Checker) -> Language | None:
    """Return the language of a checker or interactor; None for Python."""
    return languages.find(checker.language)


def compiled(
    role: str, checker: Checker, limits: Limits, slot: Slot, references: References
) -> Compiled | None:
    """Return how a checker or interactor is executed; None if it is in Python.

    Args:
        role: "checker" or "interactor".
        checker: The program.
        limits: Of one run; those of a run in C.
        slot: Where to compile it, if that has not been done yet.
        references: Remembers what the compiler made.

    Raises:
        SuiteError: It does not compile.
        SandboxUnavailableError: The slot broke.
    """
    language = language_of(checker)
    if language is None:
        return None
    source = prepare(language, checker.source)
    plain = commands(language, source, memory_bytes=limits.memory_bytes)
    called = replace(plain, only_checks=False, run=(*plain.run, *arguments(checker)))
    program = Compiled(
        source=source,
        files=(*_files(language, checker), _MESSAGES_FILE),
        commands=called,
        limits=language.limits(limits),
    )
    if not called.compile:
        return program
    key = f"{role} {language.name} {checker!r}".encode("utf-8", "surrogatepass")
    product = references.product(key, lambda: _compile(role, language, program, slot))
    return replace(program, commands=replace(called, product=product))


def _files(language: Language, checker: Checker) -> tuple[SuiteFile, ...]:
    """Return what is put beside the source: the suite's files, and libraries that it lacks."""
    own = {file.path for file in checker.files}
    libraries = tuple(
        SuiteFile(path=path, content=content)
        for path, content in language.libraries.items()
        if path not in own
    )
    return checker.files + libraries + files_beside(language)


def _compile(role: str, language: Language, program: Compiled, slot: Slot) -> bytes:
    """Return what the compiler makes of a program.

    Raises:
        SuiteError: It does not compile.
        SandboxUnavailableError: The slot broke.
    """
    batch = RunBatch(
        program=Program.COMMAND,
        source=program.source.code,
        source_path=program.source.path,
        files=program.files,
        runs=(),
        limits=program.limits,
        commands=replace(program.commands, keeps_product=True),
    )
    outcome, *_ = slot.run(batch)
    if (why := find_compile_error(outcome, language, COMPILE_LIMITS)) is not None:
        raise answers.failed(role, why.feedback)
    if not outcome.product:
        raise answers.failed(role, "what the compiler made of it is too large")
    return outcome.product
