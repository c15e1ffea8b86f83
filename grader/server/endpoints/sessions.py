"""`/v1/sessions`: Python that keeps its state from step to step, over HTTP."""

import asyncio
import base64
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Body, HTTPException, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from grader.config.server import ServerSettings
from grader.model import Limits
from grader.model.errors import (
    GraderError,
    InputError,
    SessionLostError,
    SessionsFullError,
)
from grader.model.limits import LEAST_MEMORY_BYTES, LEAST_TIME_S
from grader.model.verdict import LimitKind
from grader.server.endpoints.run_code_request import decoded_files, require_paths
from grader.server.http.errors import REFUSALS, ErrorResponse
from grader.server.http.request_context import current_request
from grader.server.service import Service
from grader.server.sessions import contents_of
from grader.sessions.local import Session
from grader.sessions.result import CellError, StepResult

_RETRY_AFTER_S = 5
_T = TypeVar("_T")


class StepLimits(BaseModel):
    """Limits that a request sets itself, up to those that the service allows."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    cpu_time_s: float | None = Field(default=None, ge=LEAST_TIME_S)
    wall_time_s: float | None = Field(default=None, ge=LEAST_TIME_S)
    output_bytes: int | None = Field(default=None, gt=0)


class SessionLimits(StepLimits):
    """Those of a session."""

    memory_bytes: int | None = Field(default=None, ge=LEAST_MEMORY_BYTES)


class OpenRequest(BaseModel):
    """What a session begins with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    image: Literal["python", "science"] | None = None
    limits: SessionLimits = SessionLimits()
    files: dict[str, str] = Field(default={}, description="base64 by relative path")


class StepRequest(BaseModel):
    """A cell and what it is given."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cell: str
    limits: StepLimits = StepLimits()
    files: dict[str, str] = Field(
        default={}, description="base64 by relative path, put there first"
    )
    fetch_files: list[str] = Field(default=[], description="paths to return afterwards")


class ForkRequest(BaseModel):
    """Where a branch begins."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    at: int | None = Field(default=None, ge=0, description="after how many steps; null: after all")


class Opened(BaseModel):
    """A session, or a branch of one."""

    session: str
    steps: int
    idle_s: float = Field(description="it is closed after so many seconds without a step")


class StepAnswer(BaseModel):
    """What came of a step; docs/sessions.md describes the fields."""

    stdout: str
    stderr: str
    value: str | None
    error: CellError | None
    problem: str | None
    kept: bool
    limit_hit: LimitKind | None
    dropped_bytes: int
    cpu_time_s: float | None
    wall_time_s: float | None
    replayed: bool
    steps: int
    files: dict[str, str] = Field(description="base64 by path, of those that are files")


class FileList(BaseModel):
    """The files of a session's work area."""

    sizes: dict[str, int]


_ANSWERS: dict[int | str, dict[str, Any]] = {
    **REFUSALS,
    404: {"model": ErrorResponse, "description": "there is no such session, or not any more"},
    503: {"model": ErrorResponse, "description": "there is no room, or the service is stopping"},
}


def make_router(service: Service) -> APIRouter:
    """Return the endpoints."""
    router = APIRouter(prefix="/v1/sessions", tags=["sessions"], responses=_ANSWERS)
    registry = service.sessions

    async def within(request: Request, do: Callable[[], _T]) -> _T:
        """Do something in a thread, for as long as the client waits for it."""
        if (context := current_request()) is not None:
            context.has_begun = True
        work = asyncio.wrap_future(service.session_threads.submit(do))
        try:
            return await service.open_requests.wait(request, work)
        except SessionLostError as error:
            raise HTTPException(404, str(error)) from error
        except InputError as error:
            raise HTTPException(422, str(error)) from error
        except SessionsFullError as error:
            raise HTTPException(
                503, str(error), headers={"Retry-After": str(_RETRY_AFTER_S)}
            ) from error
        except GraderError as error:
            raise HTTPException(500, f"{type(error).__name__}: {error}") from error

    def opened(id: str, session: Session) -> Opened:
        return Opened(session=id, steps=session.steps, idle_s=service.settings.sessions.idle_s)

    @router.post("", status_code=201, summary="Open a session")
    async def open_session(
        request: Request, body: Annotated[OpenRequest | None, Body()] = None
    ) -> Opened:
        given = body or OpenRequest()

        def do() -> Opened:
            return opened(
                *registry.open(
                    image=given.image or service.settings.server.run_image,
                    limits=limits_under(
                        service.settings.limits, given.limits, service.settings.server
                    ),
                    files=decoded_files(given.files),
                )
            )

        return await within(request, do)

    @router.post("/{id}/run", summary="Take a step")
    async def run(request: Request, id: str, body: Annotated[StepRequest, Body()]) -> StepAnswer:
        def do(session: Session) -> StepAnswer:
            require_paths(body.fetch_files)
            files = contents_of(decoded_files(body.files))
            limits = limits_under(session.limits, body.limits, service.settings.server)
            result = session.run(body.cell, files=files, limits=limits)
            fetched = session.read_files(*body.fetch_files) if body.fetch_files else {}
            return _answer(result, session.steps, fetched)

        return await within(request, lambda: registry.using(id, do))

    @router.post("/{id}/fork", status_code=201, summary="Begin a branch")
    async def fork(
        request: Request, id: str, body: Annotated[ForkRequest | None, Body()] = None
    ) -> Opened:
        at = None if body is None else body.at
        return await within(request, lambda: opened(*registry.fork(id, at)))

    @router.get("/{id}/files", summary="List the files of the work area")
    async def list_files(request: Request, id: str) -> FileList:
        def do(session: Session) -> FileList:
            sizes = session.list_files()
            return FileList(sizes={path: sizes[path] for path in sizes if _is_text(path)})

        return await within(request, lambda: registry.using(id, do))

    @router.get("/{id}/files/{path:path}", summary="Read a file", response_model=None)
    async def read_file(request: Request, id: str, path: str) -> Response:
        found = await within(request, lambda: registry.using(id, lambda s: s.read_files(path)))
        if path not in found:
            raise HTTPException(404, "there is no such file")
        # Never as what a browser would show or run: a cell wrote it.
        return Response(
            found[path],
            media_type="application/octet-stream",
            headers={"X-Content-Type-Options": "nosniff", "Content-Disposition": "attachment"},
        )

    @router.delete("/{id}", status_code=204, summary="End a session, or a branch of one")
    async def close(request: Request, id: str) -> None:
        await within(request, lambda: registry.close(id))

    return router


def limits_under(limits: Limits, given: StepLimits, server: ServerSettings) -> Limits:
    """Return limits with those that a request sets.

    Raises:
        InputError: One is more than the service allows.
    """
    wanted = {name: value for name, value in given.model_dump().items() if value is not None}
    most = {
        "cpu_time_s": server.max_time_s,
        "wall_time_s": server.max_time_s,
        "memory_bytes": server.max_memory_bytes,
        "output_bytes": max(limits.output_bytes, Limits().output_bytes),
    }
    for name, value in wanted.items():
        if value > most[name]:
            message = f"limits.{name} is {value}; this service allows {most[name]}"
            raise InputError(message)
    return replace(limits, **wanted)


def _is_text(path: str) -> bool:
    """Tell whether a name can be sent: a cell may give a file one that is not UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _answer(result: StepResult, steps: int, files: dict[str, bytes]) -> StepAnswer:
    return StepAnswer(
        stdout=result.stdout,
        stderr=result.stderr,
        value=result.value,
        error=result.error,
        problem=result.problem,
        kept=result.kept,
        limit_hit=result.limit_hit,
        dropped_bytes=result.dropped_bytes,
        cpu_time_s=result.usage.cpu_time_s,
        wall_time_s=result.usage.wall_time_s,
        replayed=result.replayed,
        steps=steps,
        files={path: base64.b64encode(content).decode() for path, content in files.items()},
    )
