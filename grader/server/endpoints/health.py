"""Health checks and metrics: `/healthz`, `/readyz`, `/metrics`."""

import asyncio
import logging

from fastapi import APIRouter, Response
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from grader.server.http.middleware import METRICS_PATH
from grader.server.service import Service

_log = logging.getLogger(__name__)

_TRY_AGAIN_S = 5.0
_FAILURES = 3
"""After so many internal errors in a row, a service that was ready tries whether it still is."""


class Readiness:
    """Whether the service can grade. For the event loop's thread."""

    def __init__(self, service: Service, *, try_again_s: float = _TRY_AGAIN_S) -> None:
        """Start as not ready.

        Args:
            service: What may be ready.
            try_again_s: Seconds between two tries.
        """
        self._service = service
        self._try_again_s = try_again_s
        self.last_obstacle: str | None = "starting"
        """Why the last attempt could not grade; None once an attempt could."""

    async def find_out(self) -> None:
        """Try until grading works, and again whenever it seems not to."""
        while True:
            obstacle = await asyncio.to_thread(self._service.obstacle)
            if obstacle != self.last_obstacle:
                _log.info("ready" if obstacle is None else f"not ready: {obstacle}")
            self.last_obstacle = obstacle
            await asyncio.sleep(self._try_again_s)
            while self.last_obstacle is None and not self._seems_broken():
                await asyncio.sleep(self._try_again_s)

    def _seems_broken(self) -> bool:
        return self._service.grader.failures_in_a_row >= _FAILURES

    async def obstacle(self) -> str | None:
        """Return why requests should not be sent here; None if the service is ready."""
        if self._service.open_requests.is_stopping:
            return "stopping"
        if self._service.is_remote:
            return await asyncio.to_thread(self._service.obstacle)
        return self.last_obstacle


def make_router(service: Service, readiness: Readiness) -> APIRouter:
    """Return the endpoints."""
    router = APIRouter(tags=["operation"])

    @router.get("/healthz", summary="Whether the process answers")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @router.get(
        "/readyz",
        summary="Whether submissions can be graded",
        responses={503: {"description": "not ready, with the reason"}},
    )
    async def readyz(response: Response) -> dict[str, str]:
        obstacle = await readiness.obstacle()
        if obstacle is None:
            return {"status": "ready"}
        response.status_code = 503
        return {"status": "not ready", "reason": obstacle}

    @router.get(METRICS_PATH, summary="Counts and states, for Prometheus", response_class=Response)
    def metrics() -> Response:
        # FastAPI runs this in a thread: reading the state of the queue may block.
        text = generate_latest(service.metrics.registry)
        return Response(text, media_type=CONTENT_TYPE_PLAIN_0_0_4)

    return router
