"""`POST /run_jupyter`, as clients of SandboxFusion expect it: runs cells and returns their results.

The cells run one after another in a new session, which is closed before the answer is sent.
"""

import asyncio
import base64
import logging
import time
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Body, HTTPException, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from grader.model import Limits
from grader.model.errors import GraderError, InputError, SessionsFullError
from grader.model.verdict import LimitKind
from grader.model.wire import json_bytes
from grader.server.endpoints.run_code_answer import CommandResult, CommandStatus, Status
from grader.server.endpoints.run_code_request import SentNumber, decoded_files, require_paths
from grader.server.http.cancellation import StoppingError
from grader.server.http.errors import REFUSALS, ErrorResponse
from grader.server.service import Service
from grader.sessions.local import Session, reduced
from grader.sessions.result import StepResult

_log = logging.getLogger(__name__)

_MOST_CELLS = 1000
_WORDS_CHARS = 1000


class RunJupyterRequest(BaseModel):
    """Cells and what they are given. Fields that are not listed are ignored."""

    model_config = ConfigDict(frozen=True)

    cells: list[str]
    cell_timeout: SentNumber[float] = Field(
        default=0, allow_inf_nan=False, description="seconds for each cell; 0: as for all"
    )
    total_timeout: SentNumber[float] = Field(
        default=45, allow_inf_nan=False, description="seconds for all cells together"
    )
    kernel: str = Field(default="python3", description="only python3 runs here")
    files: dict[str, str | None] = Field(default={}, description="base64 by relative path")
    fetch_files: list[str] = Field(default=[], description="paths to return afterwards")


class CellRunResult(BaseModel):
    """The result of a cell."""

    stdout: str
    stderr: str
    display: list[dict[str, Any]] = Field(description="the value of the last line as text/plain")
    error: list[dict[str, Any]] = Field(description="ename, evalue and traceback, a list of lines")


class RunJupyterResponse(BaseModel):
    """The answer about all cells."""

    status: Status
    message: str
    driver: CommandResult | None = None
    cells: list[CellRunResult] = []
    executor_pod_name: str | None = None
    files: dict[str, str] = {}


def make_router(service: Service) -> APIRouter:
    """Return the endpoint."""
    router = APIRouter(tags=["trainers"])

    @router.post(
        "/run_jupyter",
        summary="Run the cells of a notebook, as SandboxFusion does",
        response_model=None,
        responses={
            200: {"model": RunJupyterResponse},
            504: {"model": ErrorResponse, "description": "there is no room: try again"},
            **{status: how for status, how in REFUSALS.items() if status != 503},
        },
    )
    async def run_jupyter(request: Request, body: Annotated[RunJupyterRequest, Body()]) -> Response:
        """Run cells one after another."""
        work = asyncio.wrap_future(service.session_threads.submit(_answer, service, body))
        try:
            answer = await service.open_requests.wait(request, work)
        except (SessionsFullError, StoppingError):
            # Not 503: clients of this protocol try again after a 504 only.
            reason = "every session is taken, or the service is stopping"
            raise HTTPException(504, reason) from None
        return Response(json_bytes(answer.model_dump()), media_type="application/json")

    return router


def _answer(service: Service, body: RunJupyterRequest) -> RunJupyterResponse:
    settings = service.settings
    try:
        _check(service, body)
        files = decoded_files(body.files)
        id, session = service.sessions.open(
            image=settings.server.run_image,
            limits=settings.limits,
            files=files,
            wait_s=settings.server.run_wait_s,
        )
        try:
            return _run(session, body, settings.limits)
        finally:
            service.sessions.close(id)
    except SessionsFullError:
        raise
    except InputError as error:
        return _failed(str(error))
    except GraderError as error:
        _log.error("cells were not run: %s", error)
        return _failed(f"{type(error).__name__}: {error}")


def _check(service: Service, body: RunJupyterRequest) -> None:
    server = service.settings.server
    if not server.run_code:
        message = "this service runs no programs (server.run_code)"
        raise InputError(message)
    if body.kernel != "python3":
        message = f"the kernel {body.kernel[:80]!r} is not supported; this service runs python3"
        raise InputError(message)
    if len(body.cells) > _MOST_CELLS:
        message = f"{len(body.cells)} cells; at most {_MOST_CELLS} are taken"
        raise InputError(message)
    if not 0 < body.total_timeout <= server.max_time_s:
        message = (
            f"total_timeout is {body.total_timeout:g} s; expected more than 0 and at most "
            f"{server.max_time_s:g}"
        )
        raise InputError(message)
    if body.cell_timeout < 0:
        message = f"cell_timeout is {body.cell_timeout:g} s; expected 0 or more"
        raise InputError(message)
    require_paths(body.fetch_files)


def _run(session: Session, body: RunJupyterRequest, limits: Limits) -> RunJupyterResponse:
    began = time.monotonic()
    cells: list[CellRunResult] = []
    result: StepResult | None = None
    for cell in body.cells:
        left_s = body.total_timeout - (time.monotonic() - began)
        if left_s <= 0:
            return _ended(CommandStatus.TIME_LIMIT_EXCEEDED, "total_timeout was hit", began, cells)
        time_s = min(body.cell_timeout or left_s, left_s)
        allowed = replace(limits, cpu_time_s=time_s, wall_time_s=time_s)
        result = session.run(cell, limits=reduced(allowed, time_s=time_s))
        cells.append(_cell(result))
        if result.problem is not None:
            is_late = result.limit_hit in (LimitKind.CPU_TIME, LimitKind.WALL_TIME)
            status = CommandStatus.TIME_LIMIT_EXCEEDED if is_late else CommandStatus.ERROR
            return _ended(status, result.problem, began, cells)
    files = session.read_files(*body.fetch_files) if body.fetch_files else {}
    answer = _ended(CommandStatus.FINISHED, "", began, cells)
    answer.files = {path: base64.b64encode(data).decode() for path, data in files.items()}
    return answer


def _ended(
    status: CommandStatus, message: str, began: float, cells: list[CellRunResult]
) -> RunJupyterResponse:
    is_finished = status is CommandStatus.FINISHED
    return RunJupyterResponse(
        status=Status.SUCCESS if is_finished else Status.FAILED,
        message=message,
        driver=CommandResult(
            status=status,
            execution_time=time.monotonic() - began,
            return_code=0 if is_finished else None,
            stdout="",
            stderr="",
        ),
        cells=cells,
    )


def _cell(result: StepResult) -> CellRunResult:
    error = result.error
    return CellRunResult(
        stdout=result.stdout,
        stderr=result.stderr,
        display=[] if result.value is None else [{"text/plain": result.value}],
        error=[]
        if error is None
        else [
            {
                "ename": error.type,
                "evalue": error.message,
                "traceback": error.traceback.splitlines(),
            }
        ],
    )


def _failed(message: str) -> RunJupyterResponse:
    return RunJupyterResponse(status=Status.SANDBOX_ERROR, message=message[:_WORDS_CHARS])
