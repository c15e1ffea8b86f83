"""The endpoints of the service's page.

The page itself, its scripts and its styles are open to all: they are the same for everybody and
tell nothing. Everything that is shown on it is fetched by the scripts, which show the token as
any other client does, in a header. No browser sends that by itself, so no other site can have
anything done with it.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse, StreamingResponse

from grader.report.pages import render, sample_fragment
from grader.report.sample import view_of
from grader.server.engine import Engine
from grader.server.http.middleware import ASSETS_PATH
from grader.server.http.problems import REFUSALS
from grader.server.live import view
from grader.server.live.access import check_visitor
from grader.server.live.assets import HEADERS, PRIVATE_HEADERS, find_asset
from grader.server.live.board import ChartBoard, Span
from grader.server.live.playground import Trial, examples, try_out
from grader.server.live.pulse import Pulse
from grader.server.samples import Kind

_LISTED = 200
_COME_BACK_S = 10
_STREAM = {**PRIVATE_HEADERS, "X-Accel-Buffering": "no"}
"""The last tells proxies to pass on what comes at once."""


def make_router(engine: Engine, pulse: Pulse) -> APIRouter:
    """Return the endpoints."""
    router = APIRouter(include_in_schema=False)
    router.include_router(_open_to_all(engine))
    guard = [Depends(check_visitor)]
    for part in (_live(pulse), _samples(engine), _playground(engine)):
        router.include_router(part, prefix="/live", dependencies=guard)
    return router


def _open_to_all(engine: Engine) -> APIRouter:
    router = APIRouter()
    needs_token = engine.settings.server.token is not None
    shell = render("live.html", assets=ASSETS_PATH.lstrip("/"), needs_token=needs_token)

    @router.get("/")
    async def page() -> HTMLResponse:
        return HTMLResponse(shell, headers=PRIVATE_HEADERS)

    @router.get(f"{ASSETS_PATH}{{name}}")
    async def asset(name: str) -> Response:
        try:
            text, kind = find_asset(name)
        except KeyError:
            raise HTTPException(404, "there is no such file") from None
        return Response(text, media_type=kind, headers=HEADERS)

    return router


def _live(pulse: Pulse) -> APIRouter:
    router = APIRouter()
    board = ChartBoard(pulse)

    @router.get("/events")
    async def events() -> Response:
        """Stream a snapshot, then every beat, until the client leaves or the service stops."""
        if pulse.audience.is_full:
            reason = "too many look at this page already; try again later"
            raise HTTPException(503, reason, {"Retry-After": str(_COME_BACK_S)})
        return StreamingResponse(_stream(pulse), media_type="text/event-stream", headers=_STREAM)

    @router.get("/charts")
    async def charts(span: Span = Span.MINUTES) -> HTMLResponse:
        return HTMLResponse(await board.html(span), headers=PRIVATE_HEADERS)

    return router


async def _stream(pulse: Pulse) -> AsyncIterator[bytes]:
    # The seat is taken here, where it is certain to be given back.
    with pulse.audience.seat() as seat:
        yield pulse.snapshot()
        while (message := await seat.next()) is not None:
            yield message
    yield view.event("end", {})


def _samples(engine: Engine) -> APIRouter:
    router = APIRouter()
    store = engine.samples

    @router.get("/samples")
    async def samples(kind: Annotated[list[Kind] | None, Query()] = None) -> dict[str, Any]:
        newest = store.newest(kind or Kind, _LISTED)
        return {
            "samples": [view.sample_fields(kept) for kept in newest],
            "kept": view.kept_fields(store.counts()),
        }

    @router.get("/samples/{key}")
    async def sample(key: str) -> HTMLResponse:
        kept = store.get(key)
        if kept is None:
            raise HTTPException(404, "this sample is not kept, or no more")
        found = kept.sample
        shown = view_of(
            found.report, id=kept.name, completion=found.completion, problem_id=found.problem_id
        )
        html = await asyncio.to_thread(sample_fragment, shown)
        return HTMLResponse(html, headers=PRIVATE_HEADERS)

    return router


def _playground(engine: Engine) -> APIRouter:
    router = APIRouter()

    @router.get("/examples")
    async def all_examples() -> tuple[dict[str, str], ...]:
        return examples()

    @router.post("/try", responses={**REFUSALS})
    async def run(request: Request, trial: Annotated[Trial, Body()]) -> HTMLResponse:
        size = len(await request.body())
        report = await engine.attendance.wait(request, try_out(engine, trial, size))
        shown = view_of(report, id="your sample", completion=trial.completion)
        html = await asyncio.to_thread(sample_fragment, shown)
        return HTMLResponse(html, headers=PRIVATE_HEADERS)

    return router
