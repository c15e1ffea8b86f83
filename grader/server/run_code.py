"""`POST /run_code` and `GET /v1/ping`, as clients of SandboxFusion expect them; verl is one.

A program runs once, its output comes back, and nothing is judged: right or wrong is decided by
the client. Whatever is not the program's doing is an answer of status 200 with `SandboxError`;
only an overload is a 504, which clients try again.
"""

import base64
import binascii
import logging
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Body, HTTPException, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from grader.errors import GraderError, InputError
from grader.judging.ending import limit_hit
from grader.judging.report import Trouble, read_report
from grader.model import MiB, SuiteFile
from grader.sandbox.base import Job, Program, RunOutcome
from grader.server.attend import StoppingError
from grader.server.engine import Engine
from grader.server.fetching import Fetching, Shown
from grader.server.problem import REFUSALS, Problem
from grader.server.programs import NoSlotInTimeError
from grader.server.visit import Visit, current_visit
from grader.settings import Settings
from grader.verdict import LimitKind
from grader.wire import json_bytes

_log = logging.getLogger(__name__)

LANGUAGE = "python"
_CLIENT_GRACE_S = 10.0
"""Clients wait for the two timeouts that they ask for, and this much longer."""
_OWN_TIME_S = 2.0
"""What remains of that for starting, stopping and the way back."""
_FETCH_BYTES = 8 * MiB
_MOST_FILES = 1000
_PATH_CHARS = 200
_WORDS_CHARS = 1000
_KILLED = -9
"""The return code of a program that was killed."""


class Status(StrEnum):
    """How it went as a whole."""

    SUCCESS = "Success"
    """The program ended by itself with exit code 0."""
    FAILED = "Failed"
    SANDBOX_ERROR = "SandboxError"
    """Not the program's doing."""


class CommandStatus(StrEnum):
    """How one step ended."""

    FINISHED = "Finished"
    """By itself, or killed for its memory or its output; the return code tells."""
    ERROR = "Error"
    TIME_LIMIT_EXCEEDED = "TimeLimitExceeded"


class RunCodeRequest(BaseModel):
    """A program and what it is given. Fields that are not listed are ignored."""

    model_config = ConfigDict(frozen=True)

    code: str
    language: str = Field(description=f"only {LANGUAGE} runs here")
    stdin: str | None = None
    compile_timeout: float = Field(default=10, allow_inf_nan=False, description="seconds")
    run_timeout: float = Field(
        default=10, allow_inf_nan=False, description="seconds of CPU time and of wall time"
    )
    memory_limit_MB: int = Field(default=-1, description="MiB; -1 for the service's own limit")
    files: dict[str, str | None] = Field(default={}, description="base64 by relative path")
    fetch_files: list[str] = Field(default=[], description="paths to return afterwards")


class CommandResult(BaseModel):
    """One step."""

    status: CommandStatus
    execution_time: float | None = Field(default=None, description="seconds")
    return_code: int | None = Field(default=None, description="negative: the signal")
    stdout: str | None = None
    stderr: str | None = None


class RunCodeResponse(BaseModel):
    """What became of a program."""

    status: Status
    message: str
    compile_result: CommandResult | None = None
    run_result: CommandResult | None = None
    executor_pod_name: str | None = None
    files: dict[str, str] = {}


def make_router(engine: Engine) -> APIRouter:
    """Return the endpoints."""
    router = APIRouter(tags=["trainers"])

    @router.get("/v1/ping", summary="Whether the process answers", response_model=str)
    async def ping() -> str:
        return "pong"

    @router.post(
        "/run_code",
        summary="Run a program, as SandboxFusion does",
        response_model=None,
        responses={
            200: {"model": RunCodeResponse},
            504: {"model": Problem, "description": "every slot is busy: try again"},
            **{status: how for status, how in REFUSALS.items() if status != 503},
        },
    )
    async def run_code(request: Request, body: Annotated[RunCodeRequest, Body()]) -> Response:
        """Run a program in a fresh process of a slot."""
        try:
            answer = await engine.attendance.wait(request, _answer(engine, body))
        except (NoSlotInTimeError, StoppingError):
            # Not 503: clients of this protocol try again after a 504 only.
            engine.metrics.program("overload")
            raise HTTPException(504, "every slot is busy, or the service is stopping") from None
        return Response(json_bytes(answer.model_dump()), media_type="application/json")

    return router


async def _answer(engine: Engine, body: RunCodeRequest) -> RunCodeResponse:
    settings = engine.settings
    try:
        job = _job(body, settings)
    except InputError as error:
        engine.metrics.program("refused")
        return _sandbox_error(str(error))
    fetching = Fetching(job, body.fetch_files, _FETCH_BYTES) if body.fetch_files else None
    try:
        outcome = await engine.programs.run(
            job if fetching is None else fetching.job,
            image=settings.server.run_image,
            begin_by=_begin_by(body, settings),
        )
    except GraderError as error:
        _log.error("a program was not run: %s", error)
        engine.metrics.program(Status.SANDBOX_ERROR.value, is_ours=True)
        return _sandbox_error(f"{type(error).__name__}: {error}")
    if fetching is None:
        compile_error = read_report(outcome.report).compile_error
        shown = Shown(outcome=outcome, compile_error=compile_error)
    else:
        shown = fetching.shown(outcome)
    answer = describe(shown)
    step = answer.run_result
    ended = "CompileError" if step is None else step.status.value
    engine.metrics.program(answer.status.value if ended == "Finished" else ended)
    return answer


def _begin_by(body: RunCodeRequest, settings: Settings) -> float:
    """Return when a program must have its slot, for its answer to find the client waiting."""
    visit = current_visit() or Visit(id="", endpoint="")
    patience_s = max(0.0, body.compile_timeout) + _CLIENT_GRACE_S - _OWN_TIME_S
    return visit.arrived + min(settings.server.run_wait_s, patience_s)


# ---------------------------------------------------------------- the request


def _job(body: RunCodeRequest, settings: Settings) -> Job:
    """Return what is to be run.

    Raises:
        InputError: It cannot be, and why.
    """
    if not settings.server.run_code:
        message = "this service runs no programs (server.run_code)"
        raise InputError(message)
    if body.language != LANGUAGE:
        message = (
            f"the language {body.language[:80]!r} is not supported; this service runs {LANGUAGE}"
        )
        raise InputError(message)
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
    files = _files(body.files)
    for path in body.fetch_files[:_MOST_FILES]:
        _require_inside(path)
    if len(body.fetch_files) > _MOST_FILES:
        message = f"{len(body.fetch_files)} fetch_files; at most {_MOST_FILES} are taken"
        raise InputError(message)
    return Job(
        program=Program.STDIN,
        source=body.code,
        source_path=_free_path(files),
        runs=((body.stdin or "").encode("utf-8", "surrogatepass"),),
        limits=limits,
        files=files,
    )


def _memory_bytes(limit_mb: int, settings: Settings) -> int:
    if limit_mb <= 0:
        return settings.limits.memory_bytes
    if limit_mb * MiB > settings.server.max_memory_bytes:
        most = settings.server.max_memory_bytes // MiB
        message = f"memory_limit_MB is {limit_mb}; this service allows {most}"
        raise InputError(message)
    return limit_mb * MiB


def _files(given: Mapping[str, str | None]) -> tuple[SuiteFile, ...]:
    if len(given) > _MOST_FILES:
        message = f"{len(given)} files; at most {_MOST_FILES} are taken"
        raise InputError(message)
    files = []
    for path, text in given.items():
        _require_inside(path)
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
            message = f"{path} lies in what is a file itself"
            raise InputError(message)
    return tuple(files)


def _require_inside(path: str) -> None:
    parts = path.split("/")
    is_inside = path.isprintable() and not any(part in ("", ".", "..") for part in parts)
    if not is_inside or len(path) > _PATH_CHARS:
        message = f"a path must be relative and stay in the program's folder: {path[:80]!r}"
        raise InputError(message)


def _free_path(files: tuple[SuiteFile, ...]) -> str:
    """Return where the program is put: beside the files, under a name that none of them has."""
    taken = {file.path.partition("/")[0] for file in files}
    number = 0
    while (path := f"main{number or ''}.py") in taken:
        number += 1
    return path


# ---------------------------------------------------------------- the answer


def describe(shown: Shown) -> RunCodeResponse:
    """Return what a client is told of a run."""
    outcome = shown.outcome
    if shown.compile_error is not None and outcome.limit_hit is None:
        return _compile_error(shown.compile_error, outcome)
    step, message = _run_result(outcome)
    succeeded = step.status is CommandStatus.FINISHED and step.return_code == 0
    return RunCodeResponse(
        status=Status.SUCCESS if succeeded else Status.FAILED,
        message=message,
        run_result=step,
        files=dict(shown.files),
    )


def _run_result(outcome: RunOutcome) -> tuple[CommandResult, str]:
    message = ""
    status, code = CommandStatus.FINISHED, outcome.exit_code
    if outcome.exit_signal is not None:
        code = -outcome.exit_signal
    kind = limit_hit(outcome)
    match kind:
        case LimitKind.CPU_TIME | LimitKind.WALL_TIME:
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


def _sandbox_error(message: str) -> RunCodeResponse:
    return RunCodeResponse(status=Status.SANDBOX_ERROR, message=message[:_WORDS_CHARS])
