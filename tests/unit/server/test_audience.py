"""Those who look at the page: everybody gets everything, or is sent away."""

import asyncio
import contextlib

from grader.server.live.subscribers import MOST, Audience


async def drained(audience: Audience, messages: int, behind: int) -> list[bytes | None]:
    """Return what one gets who begins to read `behind` messages late, up to the end."""
    with audience.seat() as seat:
        for number in range(behind):
            audience.tell(str(number).encode())
        got = []
        for number in range(behind, messages):
            got.append(await seat.next())
            audience.tell(str(number).encode())
        audience.end()
        return [*got, await seat.next()]


def test_everybody_gets_every_message_and_the_end() -> None:
    assert asyncio.run(drained(Audience(), 30, 8)) == [*(str(n).encode() for n in range(22)), None]


def test_who_lags_too_far_behind_is_sent_away() -> None:
    async def scenario() -> None:
        audience = Audience()
        with audience.seat() as deaf, audience.seat() as attentive:
            for number in range(20):
                audience.tell(str(number).encode())
                assert await attentive.next() == str(number).encode()
            assert len(audience) == 1
            assert await deaf.next() is None

    asyncio.run(scenario())


def test_no_more_may_look_than_there_are_seats() -> None:
    audience = Audience()
    with contextlib.ExitStack() as stack:
        for _ in range(MOST):
            assert not audience.is_full
            stack.enter_context(audience.seat())
        assert audience.is_full
    assert not audience.is_full
    assert len(audience) == 0


def test_who_comes_after_the_end_is_sent_away() -> None:
    async def scenario() -> None:
        audience = Audience()
        audience.end()
        assert audience.is_full
        with audience.seat() as late:
            assert await late.next() is None

    asyncio.run(scenario())
