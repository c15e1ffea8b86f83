"""Bodies are bounded in bytes, time and values, and none holds room that it does not fill."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message

from grader.config.server import ServerSettings
from grader.server.http.bodies import BodyRoom, Lease, Refusal, read_body


async def settled() -> None:
    """Let every task go on that can."""
    for _ in range(10):
        await asyncio.sleep(0)


def test_promised_bytes_take_no_room() -> None:
    async def scenario() -> None:
        room = BodyRoom(10)
        with room.lease() as stalled, room.lease() as other:
            await stalled.grow(1)
            await asyncio.wait_for(other.grow(9), 1)

    asyncio.run(scenario())


def test_full_room_is_given_in_the_order_of_calls() -> None:
    async def scenario() -> list[str]:
        room, order = BodyRoom(10), list[str]()

        async def take(name: str, lease: Lease, size: int) -> None:
            await lease.grow(size)
            order.append(name)

        whole, oldest, large, small = (room.lease() for _ in range(4))
        await take("whole", whole, 6)
        whole.complete()
        waiting = [
            asyncio.ensure_future(take("large", large, 8)),
            asyncio.ensure_future(take("small", small, 1)),
        ]
        await settled()
        assert order == ["whole"]
        # It waits for no room, since only complete bodies give room back.
        await asyncio.wait_for(take("oldest", oldest, 20), 1)
        oldest.complete()
        await settled()
        for lease in (oldest, whole):
            with lease:
                pass
        await asyncio.gather(*waiting)
        return order

    assert asyncio.run(scenario()) == ["whole", "oldest", "large", "small"]


@pytest.mark.parametrize("is_granted", [False, True])
def test_room_of_a_request_that_was_cancelled_is_free_again(is_granted: bool) -> None:
    async def scenario() -> None:
        room = BodyRoom(10)
        first, gone, last = (room.lease() for _ in range(3))
        with first:
            await first.grow(10)

            async def wait() -> None:
                with gone:
                    await gone.grow(10)

            waiting = asyncio.ensure_future(wait())
            await settled()
            if not is_granted:
                waiting.cancel()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.wait_for(last.grow(10), 1)

    asyncio.run(scenario())


@given(sizes=st.lists(st.integers(1, 8), min_size=1, max_size=20), order=st.randoms())
def test_every_body_gets_its_room_and_all_of_it_comes_back(sizes: list[int], order: Any) -> None:
    async def scenario() -> None:
        room = BodyRoom(10)
        held: set[Lease] = set()

        async def read(size: int) -> None:
            with room.lease() as lease:
                held.add(lease)
                for _ in range(size):
                    await lease.grow(1)
                    assert sum(each.held for each in held) <= 10 + 8
                    await asyncio.sleep(0)
                lease.complete()
                await asyncio.sleep(0)

        order.shuffle(sizes)
        await asyncio.wait_for(asyncio.gather(*map(read, sizes)), 10)
        assert not any(each.held for each in held)
        await asyncio.wait_for(room.lease().grow(10), 1)

    asyncio.run(scenario())


class FakeClient:
    """Sends parts of a body, each some seconds after the one before. No time passes."""

    def __init__(self, parts: Iterable[tuple[float, int]]) -> None:
        self._parts = iter(parts)

    async def receive(self) -> Message:
        after_s, size = next(self._parts, (float("inf"), 0))
        loop: Any = asyncio.get_running_loop()
        loop.skipped_s += min(after_s, 3600.0)
        await asyncio.sleep(0 if after_s < 3600 else 1)
        return {"type": "http.request", "body": b"x" * size, "more_body": True}


class SkippingLoop(asyncio.SelectorEventLoop):
    """Its clock can be put forward."""

    skipped_s = 0.0

    def time(self) -> float:
        return super().time() + self.skipped_s


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        pytest.param([(0.0, 10)], "less than 65536 bytes", id="stalled"),
        pytest.param([(3.0, 10)] * 100, "less than 65536 bytes", id="trickle"),
        pytest.param([(0.0, 900_000)] + [(3.0, 10)] * 100, "less than 65536", id="late trickle"),
        pytest.param([(8.0, 65_536)] * 100, "did not come within 60 s", id="slow"),
    ],
)
def test_slow_body_is_refused(parts: list[tuple[float, int]], reason: str) -> None:
    async def scenario() -> bytes | None:
        with BodyRoom(1 << 30).lease() as lease:
            return await read_body(FakeClient(parts).receive, lease, ServerSettings())

    with asyncio.Runner(loop_factory=SkippingLoop) as runner, pytest.raises(Refusal) as refused:
        runner.run(scenario())
    assert (refused.value.status, reason in refused.value.reason) == (408, True)


def test_time_in_which_a_client_waits_for_room_is_not_counted() -> None:
    async def scenario() -> bytes | None:
        room = BodyRoom(10)
        loop: Any = asyncio.get_running_loop()
        parts: list[Message] = [
            {"type": "http.request", "body": b"12345", "more_body": True},
            {"type": "http.request", "body": b"67890", "more_body": False},
        ]

        async def receive() -> Message:
            return parts.pop(0)

        with room.lease() as first, room.lease() as second:
            with room.lease() as whole:
                await whole.grow(10)
                whole.complete()
                reading = asyncio.ensure_future(read_body(receive, second, ServerSettings()))
                await settled()
                loop.skipped_s += 1000
            first.complete()
            return await reading

    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        assert runner.run(scenario()) == b"1234567890"


def test_body_with_too_many_values_is_refused_before_its_end() -> None:
    async def receive() -> Message:
        return {"type": "http.request", "body": b"[]," * 20, "more_body": True}

    async def scenario() -> None:
        with BodyRoom(1 << 30).lease() as lease:
            await read_body(receive, lease, ServerSettings(body_values=1000))

    with pytest.raises(Refusal) as refused:
        asyncio.run(scenario())
    assert (refused.value.status, "server.body_values" in refused.value.reason) == (413, True)
