import asyncio
from collections.abc import Awaitable, Callable

import pytest

from grader.config.server import ServerSettings
from grader.server.http.idempotency import Answer, KeyReusedError, Replays
from grader.server.http.request_context import Visit, current_visit


def visit() -> Visit:
    return Visit(id="r", endpoint="/v1/grade")


class Work:
    """Counts how often it is done, and waits until it may end."""

    def __init__(self, *, lasts: bool = True, body: bytes = b"answer") -> None:
        self.started = 0
        self.visits: list[Visit | None] = []
        self.may_end = asyncio.Event()
        self._answer = Answer(body=body, lasts=lasts)

    async def do(self) -> Answer:
        self.started += 1
        self.visits.append(current_visit())
        await self.may_end.wait()
        return self._answer


def run(scenario: Callable[[Replays], Awaitable[None]], **settings: float) -> None:
    async def all_of_it() -> None:
        await scenario(Replays(ServerSettings(**settings)))  # type: ignore[arg-type]

    asyncio.run(all_of_it())


def test_finished_answer_is_given_again() -> None:
    async def scenario(replays: Replays) -> None:
        work = Work()
        work.may_end.set()
        first = await replays.answer("k", b"d", visit(), work.do)
        second = await replays.answer("k", b"d", visit(), work.do)
        assert (first.is_replay, second.is_replay) == (False, True)
        assert (first.body, second.body, work.started) == (b"answer", b"answer", 1)

    run(scenario)


def test_other_request_under_the_key_is_refused_before_and_after_the_end() -> None:
    async def scenario(replays: Replays) -> None:
        work = Work()
        task = asyncio.ensure_future(replays.answer("k", b"d", visit(), work.do))
        await asyncio.sleep(0)
        with pytest.raises(KeyReusedError):
            await replays.answer("k", b"other", visit(), work.do)
        work.may_end.set()
        await task
        with pytest.raises(KeyReusedError):
            await replays.answer("k", b"other", visit(), work.do)

    run(scenario)


@pytest.mark.parametrize(
    ("settings", "lasts"),
    [
        pytest.param({}, False, id="failed"),
        pytest.param({"idempotency_s": 0}, True, id="expired"),
        pytest.param({"idempotency_bytes": 3}, True, id="too large"),
    ],
)
def test_answer_that_must_not_be_kept_is_found_anew(
    settings: dict[str, float], lasts: bool
) -> None:
    async def scenario(replays: Replays) -> None:
        work = Work(lasts=lasts)
        work.may_end.set()
        await replays.answer("k", b"d", visit(), work.do)
        again = await replays.answer("k", b"other", visit(), work.do)
        assert (again.is_replay, work.started) == (False, 2)

    run(scenario, **settings)


def test_oldest_answers_make_room() -> None:
    async def scenario(replays: Replays) -> None:
        work = Work(body=b"x" * 40)
        work.may_end.set()
        for key in ("a", "b", "c"):
            await replays.answer(key, b"d", visit(), work.do)
        assert (await replays.answer("c", b"d", visit(), work.do)).is_replay
        assert (await replays.answer("b", b"d", visit(), work.do)).is_replay
        assert not (await replays.answer("a", b"d", visit(), work.do)).is_replay

    run(scenario, idempotency_bytes=100)


def test_work_goes_on_for_the_client_who_stays() -> None:
    async def scenario(replays: Replays) -> None:
        work = Work()
        first = asyncio.ensure_future(replays.answer("k", b"d", visit(), work.do))
        await asyncio.sleep(0)
        second = asyncio.ensure_future(replays.answer("k", b"d", visit(), work.do))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        work.may_end.set()
        assert (await second).body == b"answer"
        assert work.started == 1

    run(scenario)


def test_last_client_who_leaves_calls_the_work_off() -> None:
    async def scenario(replays: Replays) -> None:
        work, own = Work(), visit()
        client = asyncio.ensure_future(replays.answer("k", b"d", own, work.do))
        await asyncio.sleep(0.01)
        worker = work.visits[0]
        assert worker is not None
        assert worker is not own
        assert own.leader is worker
        client.cancel()
        with pytest.raises(asyncio.CancelledError):
            await client
        work.may_end.set()
        assert not (await replays.answer("k", b"other", visit(), work.do)).is_replay

    run(scenario)


def test_error_reaches_everybody_and_is_not_kept() -> None:
    async def scenario(replays: Replays) -> None:
        async def fail() -> Answer:
            await asyncio.sleep(0.01)
            raise ValueError

        results = await asyncio.gather(
            *(replays.answer("k", b"d", visit(), fail) for _ in range(2)), return_exceptions=True
        )
        assert [type(result) for result in results] == [ValueError, ValueError]
        work = Work()
        work.may_end.set()
        assert (await replays.answer("k", b"other", visit(), work.do)).body == b"answer"

    run(scenario)
