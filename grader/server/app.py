"""The FastAPI application: endpoints, error handlers, and the tasks that run beside them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from grader.config.settings import Settings
from grader.process.release import installed_version
from grader.server.endpoints import grade, health, rewards, run_code, run_jupyter, sessions
from grader.server.http.cancellation import ClientGoneError, StoppingError
from grader.server.http.direct import DirectRequests, direct_endpoints
from grader.server.http.errors import complaint
from grader.server.http.middleware import RequestMiddleware
from grader.server.live import routes as live
from grader.server.live.monitor import Monitor
from grader.server.metrics import Metrics
from grader.server.service import Service

_DESCRIPTION = """
Grades code that language models write: real tests in a locked-down sandbox, honest verdicts,
rewards. Clients send their token as `Authorization: Bearer TOKEN`, or in the address:
`http://any:TOKEN@host:port`.
"""
_CLIENT_GONE = 499
"""Only for the log: the client is gone and does not read it."""
_RETRY_AFTER_S = 5
_DIRECT = ("/v1/grade", "/get_reward", "/run_code")
"""The busy endpoints: a training step sends each of its samples to one of them."""


def make_app(settings: Settings) -> FastAPI:
    """Return the application; `app.state.service` has all that its endpoints share.

    Raises:
        GraderError: Something that the settings name does not exist or cannot work here.
    """
    metrics = Metrics()
    service = Service(settings, metrics)
    readiness = health.Readiness(service)
    monitor = Monitor(service, obstacle=lambda: readiness.last_obstacle)
    service.open_requests.on_drain(monitor.subscribers.close)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        looking = [asyncio.ensure_future(each) for each in (readiness.find_out(), monitor.run())]
        try:
            yield
        finally:
            for each in looking:
                each.cancel()
            await asyncio.to_thread(service.close)

    app = FastAPI(
        title="grader",
        description=_DESCRIPTION,
        version=installed_version() or "0",
        lifespan=lifespan,
        redoc_url=None,
        strict_content_type=False,
    )
    app.state.service = service
    routers = [
        grade.make_router(service),
        rewards.make_router(service),
        run_code.make_router(service),
        run_jupyter.make_router(service),
        sessions.make_router(service),
        health.make_router(service, readiness),
        live.make_router(service, monitor),
    ]
    for router in routers:
        app.include_router(router)
    app.add_middleware(
        DirectRequests,
        fastapi=app,
        endpoints=direct_endpoints(routers, _DIRECT),
    )
    # Added last, so it comes first.
    app.add_middleware(
        RequestMiddleware,
        settings=settings.server,
        metrics=metrics,
        collection=service.collection,
    )
    _handle_errors(app)
    return app


def _handle_errors(app: FastAPI) -> None:
    @app.exception_handler(RequestValidationError)
    async def not_valid(request: Request, error: RequestValidationError) -> Response:
        kind = request.headers.get("content-type", "application/json")
        if "json" not in kind:
            reason = f"a body of the type {kind[:80]}; expected application/json"
            return JSONResponse({"detail": reason}, 415)
        is_json = not any(each.get("type") == "json_invalid" for each in error.errors())
        reason = complaint(error.errors())
        return JSONResponse({"detail": reason}, 422 if is_json else 400)

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> Response:
        return JSONResponse({"detail": error.detail}, error.status_code, headers=error.headers)

    @app.exception_handler(ClientGoneError)
    async def gone(_: Request, __: ClientGoneError) -> Response:
        return Response(status_code=_CLIENT_GONE)

    @app.exception_handler(StoppingError)
    async def stopping(_: Request, __: StoppingError) -> Response:
        return JSONResponse(
            {"detail": "the service is stopping: send the request again, later or to another"},
            503,
            headers={"Retry-After": str(_RETRY_AFTER_S)},
        )
