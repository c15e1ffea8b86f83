import asyncio
from collections.abc import Awaitable, Callable

import pytest

from grader.config.server import ServerSettings
from grader.server.http.idempotency import IdempotencyStore, KeyedResponse, KeyReusedError
from grader.server.http.request_context import RequestContext, current_request


def context() -> RequestContext:
    return RequestContext(id="r", endpoint="/v1/grade")


class Work:
    """Counts how often it is started, and waits until it may end."""

    def __init__(self, *, may_be_stored: bool = True, body: bytes = b"answer") -> None:
        self.started = 0
        self.contexts: list[RequestContext | None] = []
        self.may_end = asyncio.Event()
        self._answer = KeyedResponse(body=body, may_be_stored=may_be_stored)

    async def do(self) -> KeyedResponse:
        self.started += 1
        self.contexts.append(current_request())
        await self.may_end.wait()
        return self._answer


def run(scenario: Callable[[IdempotencyStore], Awaitable[None]], **settings: float) -> None:
    async def all_of_it() -> None:
        await scenario(IdempotencyStore(ServerSettings(**settings)))  # type: ignore[arg-type]

    asyncio.run(all_of_it())


def test_stored_response_is_given_again() -> None:
    async def scenario(store: IdempotencyStore) -> None:
        work = Work()
        work.may_end.set()
        first = await store.respond("k", b"d", context(), work.do)
        second = await store.respond("k", b"d", context(), work.do)
        assert (first.is_replay, second.is_replay) == (False, True)
        assert (first.body, second.body, work.started) == (b"answer", b"answer", 1)

    run(scenario)


def test_other_request_under_the_key_is_refused_before_and_after_the_end() -> None:
    async def scenario(store: IdempotencyStore) -> None:
        work = Work()
        task = asyncio.ensure_future(store.respond("k", b"d", context(), work.do))
        await asyncio.sleep(0)
        with pytest.raises(KeyReusedError):
            await store.respond("k", b"other", context(), work.do)
        work.may_end.set()
        await task
        with pytest.raises(KeyReusedError):
            await store.respond("k", b"other", context(), work.do)

    run(scenario)


@pytest.mark.parametrize(
    ("settings", "may_be_stored"),
    [
        pytest.param({}, False, id="failed"),
        pytest.param({"idempotency_s": 0}, True, id="expired"),
        pytest.param({"idempotency_bytes": 3}, True, id="too large"),
    ],
)
def test_response_that_is_not_stored_is_made_anew(
    settings: dict[str, float], may_be_stored: bool
) -> None:
    async def scenario(store: IdempotencyStore) -> None:
        work = Work(may_be_stored=may_be_stored)
        work.may_end.set()
        await store.respond("k", b"d", context(), work.do)
        again = await store.respond("k", b"other", context(), work.do)
        assert (again.is_replay, work.started) == (False, 2)

    run(scenario, **settings)


def test_oldest_responses_make_room() -> None:
    async def scenario(store: IdempotencyStore) -> None:
        work = Work(body=b"x" * 40)
        work.may_end.set()
        for key in ("a", "b", "c"):
            await store.respond(key, b"d", context(), work.do)
        assert (await store.respond("c", b"d", context(), work.do)).is_replay
        assert (await store.respond("b", b"d", context(), work.do)).is_replay
        assert not (await store.respond("a", b"d", context(), work.do)).is_replay

    run(scenario, idempotency_bytes=100)


def test_work_goes_on_for_the_client_that_stays() -> None:
    async def scenario(store: IdempotencyStore) -> None:
        work = Work()
        first = asyncio.ensure_future(store.respond("k", b"d", context(), work.do))
        await asyncio.sleep(0)
        second = asyncio.ensure_future(store.respond("k", b"d", context(), work.do))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        work.may_end.set()
        assert (await second).body == b"answer"
        assert work.started == 1

    run(scenario)


def test_work_is_cancelled_with_its_last_client() -> None:
    async def scenario(store: IdempotencyStore) -> None:
        work, own = Work(), context()
        client = asyncio.ensure_future(store.respond("k", b"d", own, work.do))
        await asyncio.sleep(0.01)
        worker = work.contexts[0]
        assert worker is not None
        assert worker is not own
        assert own.leader is worker
        client.cancel()
        with pytest.raises(asyncio.CancelledError):
            await client
        work.may_end.set()
        assert not (await store.respond("k", b"other", context(), work.do)).is_replay

    run(scenario)


def test_error_reaches_every_client_and_is_not_stored() -> None:
    async def scenario(store: IdempotencyStore) -> None:
        async def fail() -> KeyedResponse:
            await asyncio.sleep(0.01)
            raise ValueError

        results = await asyncio.gather(
            *(store.respond("k", b"d", context(), fail) for _ in range(2)), return_exceptions=True
        )
        assert [type(result) for result in results] == [ValueError, ValueError]
        work = Work()
        work.may_end.set()
        assert (await store.respond("k", b"other", context(), work.do)).body == b"answer"

    run(scenario)
