"""What tells operators how the service is: `/healthz`, `/readyz`, `/metrics`."""

import asyncio
import logging

from fastapi import APIRouter, Response
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from grader.server.engine import Engine

_log = logging.getLogger(__name__)

_TRY_AGAIN_S = 5.0


class Readiness:
    """Whether the service can grade. For the event loop's thread."""

    def __init__(self, engine: Engine) -> None:
        """Not yet."""
        self._engine = engine
        self.last_obstacle: str | None = "starting"
        """Why nothing could be graded when last tried; None once it could."""

    async def find_out(self) -> None:
        """Try until grading works."""
        while True:
            self.last_obstacle = await asyncio.to_thread(self._engine.obstacle)
            if self.last_obstacle is None:
                _log.info("ready")
                return
            await asyncio.sleep(_TRY_AGAIN_S)

    async def obstacle(self) -> str | None:
        """Return why requests should go elsewhere; None where they should not."""
        if self._engine.attendance.is_stopping:
            return "stopping"
        if self._engine.is_remote:
            return await asyncio.to_thread(self._engine.obstacle)
        return self.last_obstacle


def make_router(engine: Engine, readiness: Readiness) -> APIRouter:
    """Return the endpoints."""
    router = APIRouter(tags=["operation"])

    @router.get("/healthz", summary="Whether the process answers")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @router.get(
        "/readyz",
        summary="Whether submissions can be graded",
        responses={503: {"description": "not now: the reason"}},
    )
    async def readyz(response: Response) -> dict[str, str]:
        obstacle = await readiness.obstacle()
        if obstacle is None:
            return {"status": "ready"}
        response.status_code = 503
        return {"status": "not ready", "reason": obstacle}

    @router.get("/metrics", summary="Counts and states, for Prometheus", response_class=Response)
    def metrics() -> Response:
        # In a thread: the queue may have to be asked.
        text = generate_latest(engine.metrics.registry)
        return Response(text, media_type=CONTENT_TYPE_PLAIN_0_0_4)

    return router
