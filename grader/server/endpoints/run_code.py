"""`POST /run_code` and `GET /v1/ping`, as clients of SandboxFusion expect them; verl is one.

A program runs once, and its output is returned. Nothing is judged: the client decides whether it is
right. If the program could not be run, the answer has status 200 and says `SandboxError`. Only an
overload is a 504, after which clients try again.
"""

import logging
from typing import Annotated

from fastapi import APIRouter, Body, HTTPException, Request, Response

from grader import languages
from grader.config.settings import Settings
from grader.judging.report import read_report
from grader.model import MiB
from grader.model.errors import GraderError, InputError
from grader.model.wire import json_bytes
from grader.server.endpoints.run_code_answer import RunCodeResponse, Status, describe, sandbox_error
from grader.server.endpoints.run_code_request import RunCodeRequest, batch_of
from grader.server.http.cancellation import StoppingError
from grader.server.http.errors import REFUSALS, ErrorResponse
from grader.server.http.request_context import RequestContext, current_request
from grader.server.programs.fetching import FetchedRun, FetchingRun
from grader.server.programs.running import NoSlotInTimeError
from grader.server.service import Service

_log = logging.getLogger(__name__)

_CLIENT_GRACE_S = 10.0
"""Clients wait for the two timeouts that they ask for, and this much longer."""
_OWN_TIME_S = 3.0
"""The part of it that is kept for starting, stopping and sending the answer."""
_FETCH_BYTES = 8 * MiB


def make_router(service: Service) -> APIRouter:
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
            504: {"model": ErrorResponse, "description": "every slot is busy: try again"},
            **{status: how for status, how in REFUSALS.items() if status != 503},
        },
    )
    async def run_code(request: Request, body: Annotated[RunCodeRequest, Body()]) -> Response:
        """Run a program in a fresh process of a slot."""
        try:
            answer = await service.open_requests.wait(request, _answer(service, body))
        except (NoSlotInTimeError, StoppingError):
            # Not 503: clients of this protocol try again after a 504 only.
            service.metrics.program("overload")
            raise HTTPException(504, "every slot is busy, or the service is stopping") from None
        return Response(json_bytes(answer.model_dump()), media_type="application/json")

    return router


async def _answer(service: Service, body: RunCodeRequest) -> RunCodeResponse:
    settings = service.settings
    try:
        batch = batch_of(body, settings)
    except InputError as error:
        service.metrics.program("refused")
        return sandbox_error(str(error))
    fetching = FetchingRun(batch, body.fetch_files, _FETCH_BYTES) if body.fetch_files else None
    try:
        outcome = await service.programs.run(
            batch if fetching is None else fetching.batch,
            image=_image(body, settings),
            begin_by=_begin_by(body, settings),
            answer_by=_answer_by(body),
        )
    except GraderError as error:
        _log.error("a program was not run: %s", error)
        service.metrics.program(Status.SANDBOX_ERROR.value, is_ours=True)
        return sandbox_error(f"{type(error).__name__}: {error}")
    if fetching is None:
        compile_error = read_report(outcome.report).compile_error
        shown = FetchedRun(outcome=outcome, compile_error=compile_error)
    else:
        shown = fetching.parse(outcome)
    language = languages.find(body.language)
    is_compiled = language is not None and bool(language.compile) and not language.only_checks
    answer = describe(shown, is_compiled=is_compiled)
    step = answer.run_result
    ended = "CompileError" if step is None else step.status.value
    service.metrics.program(answer.status.value if ended == "Finished" else ended)
    return answer


def _image(body: RunCodeRequest, settings: Settings) -> str:
    language = languages.find(body.language)
    return settings.server.run_image if language is None else language.image


def _begin_by(body: RunCodeRequest, settings: Settings) -> float:
    """Return the latest time at which a program may get a slot.

    Later, its client would give up before the answer comes.
    """
    patience_s = _answer_by(body) - body.run_timeout
    return min(_arrived() + settings.server.run_wait_s, patience_s)


def _answer_by(body: RunCodeRequest) -> float:
    """Return the latest time for an answer. After that, the client gives up."""
    return _arrived() + body.compile_timeout + body.run_timeout + _CLIENT_GRACE_S - _OWN_TIME_S


def _arrived() -> float:
    context = current_request() or RequestContext(id="", endpoint="")
    return context.arrived
