"""The endpoints of the service's page.

The page itself, its scripts and its styles need no token: they are always the same and contain no
data. The scripts fetch all data, and send the token in a header like any other client. No browser
adds that header by itself, so a page of another site cannot use the token.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse, StreamingResponse

from grader.report.pages import SERVED_HEADERS, assets, render, sample_fragment
from grader.report.sample import view_of
from grader.server.http.errors import REFUSALS
from grader.server.http.middleware import ASSETS_PATH
from grader.server.live import view
from grader.server.live.charts import ChartCache, ChartSpan
from grader.server.live.monitor import Monitor
from grader.server.live.playground import Trial, examples, try_out
from grader.server.samples import SampleKind
from grader.server.service import Service

_LISTED = 200
_COME_BACK_S = 10
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types fragments"
)
"""Stricter than the policy of the other pages: only `dom.js` may insert markup."""
_HEADERS = {**SERVED_HEADERS, "Content-Security-Policy": _POLICY, "Cache-Control": "no-cache"}
_PRIVATE_HEADERS = {**_HEADERS, "Cache-Control": "no-store"}
"""Headers of responses with data about submissions."""
_STREAM = {**_PRIVATE_HEADERS, "X-Accel-Buffering": "no"}
"""The last header tells proxies not to buffer."""
_OWN_SITES = frozenset({"same-origin", "none"})
"""`Sec-Fetch-Site` of requests from our own page or from the address bar."""


def make_router(service: Service, monitor: Monitor) -> APIRouter:
    """Return the endpoints."""
    router = APIRouter(include_in_schema=False)
    router.include_router(_open_to_all(service))
    guard = [Depends(_check_origin)]
    for part in (_live(monitor), _samples(service), _playground(service)):
        router.include_router(part, prefix="/live", dependencies=guard)
    return router


def _check_origin(request: Request) -> None:
    """Refuse a read by a page of another site; `grader.server.http.middleware` refuses writes."""
    if request.headers.get("sec-fetch-site", "none") not in _OWN_SITES:
        raise HTTPException(403, "only the service's own page may fetch this in a browser")


def _open_to_all(service: Service) -> APIRouter:
    router = APIRouter()
    needs_token = service.settings.server.token is not None
    files = {**assets(), **assets("grader.server.live")}
    shell = render("live.html", assets=ASSETS_PATH.lstrip("/"), needs_token=needs_token)

    @router.get("/")
    async def page() -> HTMLResponse:
        return HTMLResponse(shell, headers=_PRIVATE_HEADERS)

    @router.get(f"{ASSETS_PATH}{{name}}")
    async def asset(name: str) -> Response:
        found = files.get(name)
        if found is None:
            raise HTTPException(404, "there is no such file")
        return Response(found.text, media_type=found.content_type, headers=_HEADERS)

    return router


def _live(monitor: Monitor) -> APIRouter:
    router = APIRouter()
    board = ChartCache(monitor)

    @router.get("/events")
    async def events() -> Response:
        """Stream a snapshot, then each interval, until the client hangs up or the service stops."""
        if monitor.subscribers.is_full:
            reason = "too many open pages already; try again later"
            raise HTTPException(503, reason, {"Retry-After": str(_COME_BACK_S)})
        return StreamingResponse(_stream(monitor), media_type="text/event-stream", headers=_STREAM)

    @router.get("/charts")
    async def charts(span: ChartSpan = ChartSpan.MINUTES) -> HTMLResponse:
        return HTMLResponse(await board.html(span), headers=_PRIVATE_HEADERS)

    return router


async def _stream(monitor: Monitor) -> AsyncIterator[bytes]:
    # Subscribes only here, where the `with` is certain to end.
    with monitor.subscribers.subscribe() as subscriber:
        yield monitor.snapshot()
        while (message := await subscriber.next()) is not None:
            yield message
    yield view.event("end", {})


def _samples(service: Service) -> APIRouter:
    router = APIRouter()
    store = service.samples

    @router.get("/samples")
    async def samples(kind: Annotated[list[SampleKind] | None, Query()] = None) -> dict[str, Any]:
        newest = store.newest(kind or SampleKind, _LISTED)
        return {
            "samples": [view.sample_fields(kept) for kept in newest],
            "kept": view.kept_fields(store.counts()),
        }

    @router.get("/samples/{key}")
    async def sample(key: str) -> HTMLResponse:
        kept = store.get(key)
        if kept is None:
            raise HTTPException(404, "this sample is not kept, or no longer")
        found = kept.sample
        shown = view_of(
            found.report,
            id=kept.name,
            completion=found.completion,
            problem_id=found.problem_id,
            prompt=found.prompt,
            reference=found.reference,
        )
        html = await asyncio.to_thread(sample_fragment, shown)
        return HTMLResponse(html, headers=_PRIVATE_HEADERS)

    return router


def _playground(service: Service) -> APIRouter:
    router = APIRouter()

    @router.get("/examples")
    async def all_examples() -> tuple[dict[str, str], ...]:
        return examples()

    @router.post("/try", responses={**REFUSALS})
    async def run(request: Request, trial: Annotated[Trial, Body()]) -> HTMLResponse:
        size = len(await request.body())
        report = await service.open_requests.wait(request, try_out(service, trial, size))
        shown = view_of(report, id="your sample", completion=trial.completion)
        html = await asyncio.to_thread(sample_fragment, shown)
        return HTMLResponse(html, headers=_PRIVATE_HEADERS)

    return router
