"""Whether a service that grades itself is ready, from its start on."""

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

from grader.server.endpoints.health import Readiness


@dataclass
class _Service:
    """A service with a sandbox that works or not."""

    obstacles: list[str | None]
    """What the first tries find; later ones find the last."""
    tries: int = 0
    is_remote: bool = False
    grader: Any = field(default_factory=lambda: SimpleNamespace(failures_in_a_row=0))
    open_requests: Any = field(default_factory=lambda: SimpleNamespace(is_stopping=False))

    def obstacle(self) -> str | None:
        self.tries += 1
        return self.obstacles.pop(0) if len(self.obstacles) > 1 else self.obstacles[0]


async def find_out(service: _Service, until: str | None) -> None:
    """Have a service look until it has found that."""
    readiness = Readiness(cast("Any", service), try_again_s=0.001)
    looking = asyncio.ensure_future(readiness.find_out())
    try:
        async with asyncio.timeout(20):
            while await readiness.obstacle() != until or len(service.obstacles) > 1:
                await asyncio.sleep(0.001)
    finally:
        looking.cancel()


def test_service_is_ready_once_it_has_graded_something() -> None:
    service = _Service(obstacles=["gone", "gone", None])
    asyncio.run(find_out(service, until=None))
    assert service.tries == 3


def test_service_that_only_fails_is_not_ready_until_it_grades_again() -> None:
    service = _Service(obstacles=[None, "gone"])
    service.grader.failures_in_a_row = 3
    asyncio.run(find_out(service, until="gone"))
    service.obstacles = ["gone", None]
    asyncio.run(find_out(service, until=None))


def test_service_that_fails_now_and_then_is_not_tried_again() -> None:
    service = _Service(obstacles=[None])
    service.grader.failures_in_a_row = 2

    async def look() -> None:
        readiness = Readiness(cast("Any", service), try_again_s=0)
        looking = asyncio.ensure_future(readiness.find_out())
        while await readiness.obstacle() is not None:
            await asyncio.sleep(0)
        for _ in range(100):
            await asyncio.sleep(0)
        looking.cancel()

    asyncio.run(look())
    assert service.tries == 1
