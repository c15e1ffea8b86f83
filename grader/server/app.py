"""The FastAPI application: every endpoint, its refusals, and what lives as long as it does."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from grader.config.settings import Settings
from grader.server.endpoints import grade, health, rewards, run_code
from grader.server.engine import Engine
from grader.server.http.cancellation import ClientGoneError, StoppingError
from grader.server.http.middleware import Gate
from grader.server.http.problems import complaint
from grader.server.live import routes as live
from grader.server.live.pulse import Pulse
from grader.server.metrics import Metrics

_DESCRIPTION = """
Grades code that language models write: real tests in a locked-down sandbox, honest verdicts,
rewards. Clients show their token as `Authorization: Bearer TOKEN`, or in the address:
`http://any:TOKEN@host:port`.
"""
_CLIENT_GONE = 499
"""Nobody reads this answer; the log does."""
_RETRY_AFTER_S = 5


def make_app(settings: Settings) -> FastAPI:
    """Return the application; `app.state.engine` is what it grades with.

    Raises:
        GraderError: What the settings name does not exist or cannot work here.
    """
    metrics = Metrics()
    engine = Engine(settings, metrics)
    readiness = health.Readiness(engine)
    pulse = Pulse(engine, obstacle=lambda: readiness.last_obstacle)
    engine.attendance.when_finishing(pulse.audience.end)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        looking = [asyncio.ensure_future(each) for each in (readiness.find_out(), pulse.run())]
        try:
            yield
        finally:
            for each in looking:
                each.cancel()
            await asyncio.to_thread(engine.close)

    app = FastAPI(
        title="grader",
        description=_DESCRIPTION,
        version=_version(),
        lifespan=lifespan,
        redoc_url=None,
        strict_content_type=False,
    )
    app.state.engine = engine
    app.add_middleware(Gate, settings=settings.server, metrics=metrics)
    for router in (
        grade.make_router(engine),
        rewards.make_router(engine),
        run_code.make_router(engine),
        health.make_router(engine, readiness),
        live.make_router(engine, pulse),
    ):
        app.include_router(router)
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
            {"detail": "the service is stopping; send it again, elsewhere or later"},
            503,
            headers={"Retry-After": str(_RETRY_AFTER_S)},
        )


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("grader-rl")
    except PackageNotFoundError:
        return "0"
