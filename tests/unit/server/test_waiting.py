"""The lobby, visits, attendance and what caps and names things: nothing here runs code."""

import asyncio
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest
from starlette.requests import Request

from grader.config.server import ServerSettings
from grader.model import LimitOverrides, Limits
from grader.server.http.cancellation import Attendance, ClientGoneError, StoppingError
from grader.server.http.problems import complaint
from grader.server.http.request_context import Visit, begin_visit, current_visit
from grader.server.http.wait_queue import Lobby
from grader.server.observed import cap_limits, error_kind
from tests.factories import make_suite


def test_lobby_knows_how_many_wait_and_since_when() -> None:
    lobby = Lobby()
    assert (lobby.depth, lobby.oldest_s) == (0, 0.0)
    first, second = lobby.enter(), lobby.enter()
    assert lobby.depth == 2
    oldest_s = lobby.oldest_s
    lobby.leave(first)
    lobby.leave(first)
    assert lobby.depth == 1
    assert lobby.oldest_s <= oldest_s + 1
    lobby.leave(second)
    assert (lobby.depth, lobby.oldest_s) == (0, 0.0)


def test_visit_that_is_given_up_cancels_what_it_holds_and_what_comes() -> None:
    visit, before, done, after = (
        Visit(id="r", endpoint="/"),
        Future[int](),
        Future[int](),
        Future[int](),
    )
    visit.hold(before)
    visit.hold(done)
    done.set_result(1)
    visit.give_up()
    visit.hold(after)
    assert before.cancelled()
    assert after.cancelled()
    assert done.result() == 1


def test_visit_is_current_only_until_it_ends() -> None:
    visit = Visit(id="r", endpoint="/")
    end = begin_visit(visit)
    assert current_visit() is visit
    end()
    assert current_visit() is None


# ---------------------------------------------------------------- attendance


class Client:
    """A request whose client hangs up when told."""

    def __init__(self) -> None:
        self.hang_up = asyncio.Event()
        self.request = Request({"type": "http", "headers": []}, self._receive)

    async def _receive(self) -> dict[str, Any]:
        await self.hang_up.wait()
        return {"type": "http.disconnect"}


async def forever() -> None:
    await asyncio.Event().wait()


def test_work_is_waited_for() -> None:
    async def scenario() -> str:
        return await Attendance().wait(Client().request, asyncio.sleep(0.01, "done"))

    assert asyncio.run(scenario()) == "done"


def test_client_who_hangs_up_ends_the_work() -> None:
    async def scenario() -> None:
        client, visit, held = Client(), Visit(id="r", endpoint="/"), Future[int]()
        visit.hold(held)
        begin_visit(visit)
        work = asyncio.ensure_future(forever())
        waiting = asyncio.ensure_future(Attendance().wait(client.request, work))
        await asyncio.sleep(0.01)
        client.hang_up.set()
        with pytest.raises(ClientGoneError):
            await waiting
        assert work.cancelled()
        assert held.cancelled()

    asyncio.run(scenario())


def test_stopping_sends_away_only_what_has_not_begun() -> None:
    async def scenario() -> None:
        attendance = Attendance()

        async def attend(visit: Visit) -> str:
            begin_visit(visit)
            return await attendance.wait(Client().request, asyncio.sleep(0.1, "done"))

        begun = Visit(id="b", endpoint="/", has_begun=True)
        led = Visit(id="l", endpoint="/", leader=begun)
        waiting = Visit(id="w", endpoint="/")
        tasks = [asyncio.ensure_future(attend(visit)) for visit in (begun, led, waiting)]
        await asyncio.sleep(0.01)
        attendance.finish()
        late = asyncio.ensure_future(attend(Visit(id="late", endpoint="/")))
        results = await asyncio.gather(*tasks, late, return_exceptions=True)
        assert results[:2] == ["done", "done"]
        assert [type(result) for result in results[2:]] == [StoppingError, StoppingError]

    asyncio.run(scenario())


def test_end_sends_everybody_away() -> None:
    async def scenario() -> None:
        attendance = Attendance()
        begin_visit(Visit(id="b", endpoint="/", has_begun=True))
        task = asyncio.ensure_future(attendance.wait(Client().request, forever()))
        await asyncio.sleep(0.01)
        attendance.finish()
        await asyncio.sleep(0.01)
        assert not task.done()
        attendance.end()
        with pytest.raises(StoppingError):
            await task

    asyncio.run(scenario())


# ---------------------------------------------------------------- caps and words


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param({"cpu_time_s": 11.0}, {"cpu_time_s": 10.0}, id="cpu time"),
        pytest.param({"wall_time_s": 11.0}, {"wall_time_s": 10.0}, id="wall time"),
        pytest.param({"memory_bytes": 101}, {"memory_bytes": 100}, id="memory"),
        pytest.param({"output_bytes": 1 << 49}, {"output_bytes": 16 * 1000}, id="output"),
        pytest.param({"work_bytes": 1 << 49}, {"work_bytes": 16 * 2000}, id="work area"),
        pytest.param({"work_files": 1 << 49}, {"work_files": 16 * 20}, id="files"),
        pytest.param({"processes": 1 << 20}, {"processes": 16 * 10}, id="processes"),
    ],
)
def test_limit_above_the_servers_is_lowered(given: Any, kept: Any) -> None:
    settings = ServerSettings(max_time_s=10, max_memory_bytes=100)
    own = Limits(output_bytes=1000, work_bytes=2000, work_files=20, processes=10)
    suite = make_suite(limits=LimitOverrides(**{"processes": 3, **given}))
    capped = cap_limits(suite, settings, own)
    assert capped == replace(suite, limits=LimitOverrides(**{"processes": 3, **kept}))


def test_suite_within_the_limits_is_the_same_object() -> None:
    settings = ServerSettings(max_time_s=10, max_memory_bytes=100)
    suite = make_suite(limits=LimitOverrides(cpu_time_s=10.0, memory_bytes=100))
    assert cap_limits(suite, settings, Limits()) is suite


@pytest.mark.parametrize(
    ("feedback", "kind"),
    [
        ("LabelError: the label is 'secret'", "LabelError"),
        ("no report within 3 s", "other"),
        ("assert secret: no", "other"),
        ("", "other"),
    ],
)
def test_log_names_an_error_without_its_words(feedback: str, kind: str) -> None:
    assert error_kind(feedback) == kind


def test_complaint_is_short_and_encodable() -> None:
    errors = [
        {"loc": ("body", "many", "\ud800" * 900, 3), "msg": "x" * 9000, "input": "secret"}
        for _ in range(9)
    ]
    words = complaint(errors)
    assert "secret" not in words
    assert words.endswith("and 4 more")
    assert len(words.encode()) < 5000
    assert complaint([{"loc": ("body", "one", "label"), "msg": "no"}]) == "body.label: no"
