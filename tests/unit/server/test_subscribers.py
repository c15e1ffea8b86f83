"""Subscribers of the live page: each gets every message, or is disconnected."""

import asyncio
import contextlib

from grader.server.live.subscribers import MOST, Subscribers


async def drained(subscribers: Subscribers, messages: int, behind: int) -> list[bytes | None]:
    """Return the messages of a subscriber that starts to read `behind` messages late."""
    with subscribers.subscribe() as subscriber:
        for number in range(behind):
            subscribers.publish(str(number).encode())
        got = []
        for number in range(behind, messages):
            got.append(await subscriber.next())
            subscribers.publish(str(number).encode())
        subscribers.close()
        return [*got, await subscriber.next()]


def test_subscriber_gets_every_message_and_the_end() -> None:
    assert asyncio.run(drained(Subscribers(), 30, 8)) == [
        *(str(n).encode() for n in range(22)),
        None,
    ]


def test_subscriber_that_lags_too_far_behind_is_disconnected() -> None:
    async def scenario() -> None:
        subscribers = Subscribers()
        with subscribers.subscribe() as deaf, subscribers.subscribe() as attentive:
            for number in range(20):
                subscribers.publish(str(number).encode())
                assert await attentive.next() == str(number).encode()
            assert len(subscribers) == 1
            assert await deaf.next() is None

    asyncio.run(scenario())


def test_number_of_subscribers_is_bounded() -> None:
    subscribers = Subscribers()
    with contextlib.ExitStack() as stack:
        for _ in range(MOST):
            assert not subscribers.is_full
            stack.enter_context(subscribers.subscribe())
        assert subscribers.is_full
    assert not subscribers.is_full
    assert len(subscribers) == 0


def test_subscriber_after_the_end_is_disconnected() -> None:
    async def scenario() -> None:
        subscribers = Subscribers()
        subscribers.close()
        assert subscribers.is_full
        with subscribers.subscribe() as late:
            assert await late.next() is None

    asyncio.run(scenario())
