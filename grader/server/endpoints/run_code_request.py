"""What a client of `POST /run_code` asks for, and the run batch that is made of it."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from grader import languages
from grader.config.settings import Settings
from grader.languages import Language
from grader.model import Limits, MiB, SuiteFile
from grader.model.errors import InputError, LabelError
from grader.running import programs
from grader.sandbox.contract import Program, RunBatch
from grader.sandbox.payload import text_bytes
from grader.sessions.local import require_inside

_MOST_FILES = 1000


def _refuse_boolean(value: object) -> object:
    if isinstance(value, bool):
        message = f"expected a number, found the boolean {value}"
        raise ValueError(message)
    return value


_Number = TypeVar("_Number", int, float)
SentNumber = Annotated[_Number, BeforeValidator(_refuse_boolean)]
"""A number of a request, or text of one, as SandboxFusion takes it; pydantic alone takes booleans
too."""


class RunCodeRequest(BaseModel):
    """A program and what it is given. Fields that are not listed are ignored."""

    model_config = ConfigDict(frozen=True)

    code: str
    language: str = Field(description="python, or a language of docs/languages.md")
    stdin: str | None = None
    compile_timeout: SentNumber[float] = Field(
        default=10, allow_inf_nan=False, description="seconds"
    )
    run_timeout: SentNumber[float] = Field(
        default=10, allow_inf_nan=False, description="seconds of CPU time and of wall time"
    )
    memory_limit_MB: SentNumber[int] = Field(
        default=-1, description="MiB; -1 for the service's own limit"
    )
    files: dict[str, str | None] = Field(default={}, description="base64 by relative path")
    fetch_files: list[str] = Field(default=[], description="paths to return afterwards")


def batch_of(body: RunCodeRequest, settings: Settings) -> RunBatch:
    """Return what is to be run.

    Raises:
        InputError: It cannot be, and why.
    """
    if not settings.server.run_code:
        message = "this service runs no programs (server.run_code)"
        raise InputError(message)
    language = _language(body.language)
    most_s = settings.server.max_time_s
    for name, value in (
        ("compile_timeout", body.compile_timeout),
        ("run_timeout", body.run_timeout),
    ):
        if not 0 < value <= most_s:
            message = f"{name} is {value:g} s; expected more than 0 and at most {most_s:g}"
            raise InputError(message)
    limits = replace(
        settings.limits,
        cpu_time_s=body.run_timeout,
        wall_time_s=body.run_timeout,
        memory_bytes=_memory_bytes(body.memory_limit_MB, settings),
    )
    files = decoded_files(body.files)
    require_paths(body.fetch_files)
    if language is not None:
        return _other_batch(body, language, limits, files)
    return RunBatch(
        program=Program.STDIN,
        source=body.code,
        source_path=_free_path(files),
        runs=(text_bytes(body.stdin or ""),),
        limits=limits,
        files=files,
    )


def _language(name: str) -> Language | None:
    """Return the language that a client names; None for Python.

    Raises:
        InputError: It names none that runs here.
    """
    try:
        named = languages.named(name)
    except LabelError as error:
        raise InputError(str(error)) from error
    if named == languages.ANY:
        message = f"the language is {name!r}; expected the one that the program is in"
        raise InputError(message)
    return languages.find(named)


def _other_batch(
    body: RunCodeRequest, language: Language, limits: Limits, files: tuple[SuiteFile, ...]
) -> RunBatch:
    """Return what is to be run of a program that is not in Python.

    Its time is the client's, unscaled; `compile_timeout` limits the compiler.

    Raises:
        InputError: It cannot be, and why.
    """
    if body.fetch_files:
        message = f"fetch_files is for programs in Python only, and this one is in {language.title}"
        raise InputError(message)
    source = programs.prepare(language, body.code)
    if any(file.path.partition("/")[0] == source.path for file in files):
        message = f"files has {source.path}, which is the name of the program itself"
        raise InputError(message)
    commands = programs.commands(language, source, memory_bytes=limits.memory_bytes)
    compile_limits = replace(
        commands.compile_limits,
        cpu_time_s=body.compile_timeout,
        wall_time_s=body.compile_timeout,
    )
    memory_bytes = limits.memory_bytes + language.runtime_memory_bytes
    return RunBatch(
        program=Program.COMMAND,
        source=source.code,
        source_path=source.path,
        runs=(text_bytes(body.stdin or ""),),
        limits=replace(limits, memory_bytes=memory_bytes),
        files=(*files, *programs.files_beside(language)),
        commands=replace(commands, compile_limits=compile_limits),
    )


def _memory_bytes(limit_mb: int, settings: Settings) -> int:
    if limit_mb <= 0:
        return settings.limits.memory_bytes
    if limit_mb * MiB > settings.server.max_memory_bytes:
        most = settings.server.max_memory_bytes // MiB
        message = f"memory_limit_MB is {limit_mb}; this service allows {most}"
        raise InputError(message)
    return limit_mb * MiB


def require_paths(paths: Sequence[str]) -> None:
    """Make sure that paths are of files in the work area, and not too many.

    Raises:
        InputError: They are not.
    """
    for path in paths[:_MOST_FILES]:
        require_inside(path)
    if len(paths) > _MOST_FILES:
        message = f"{len(paths)} fetch_files; at most {_MOST_FILES} are taken"
        raise InputError(message)


def decoded_files(given: Mapping[str, str | None]) -> tuple[SuiteFile, ...]:
    """Return files whose contents are sent as base64.

    Raises:
        InputError: There are too many, or one has no content or no place.
    """
    if len(given) > _MOST_FILES:
        message = f"{len(given)} files; at most {_MOST_FILES} are taken"
        raise InputError(message)
    files = []
    for path, text in given.items():
        require_inside(path)
        try:
            content = base64.b64decode(text or "", validate=True)
        except (binascii.Error, ValueError) as error:
            message = f"the content of {path} is not base64: {error}"
            raise InputError(message) from error
        files.append(SuiteFile(path=path, content=content))
    paths = {file.path for file in files}
    for path in paths:
        parents = path.split("/")[:-1]
        if any("/".join(parents[: depth + 1]) in paths for depth in range(len(parents))):
            message = f"{path} is below the path of another file"
            raise InputError(message)
    return tuple(files)


def _free_path(files: tuple[SuiteFile, ...]) -> str:
    """Return where the program is put: beside the files, under a name that none of them has."""
    taken = {file.path.partition("/")[0] for file in files}
    number = 0
    while (path := f"main{number or ''}.py") in taken:
        number += 1
    return path
