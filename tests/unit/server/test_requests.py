"""Wait queue, request contexts, cancellation, capped limits and error texts."""

import asyncio
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest
from starlette.requests import Request

from grader.config.server import ServerSettings
from grader.model import LimitOverrides, Limits, MiB
from grader.process.logs import error_kind
from grader.server.http.cancellation import ClientGoneError, OpenRequests, StoppingError
from grader.server.http.errors import complaint
from grader.server.http.request_context import RequestContext, current_request, enter_request
from grader.server.http.wait_queue import WaitQueue
from grader.server.observed import cap_limits, most_limits
from tests.factories import make_suite


def test_wait_queue_counts_entries_and_their_age() -> None:
    wait_queue = WaitQueue()
    assert (wait_queue.depth, wait_queue.oldest_s) == (0, 0.0)
    first, second = wait_queue.enter(), wait_queue.enter()
    assert wait_queue.depth == 2
    oldest_s = wait_queue.oldest_s
    wait_queue.leave(first)
    wait_queue.leave(first)
    assert wait_queue.depth == 1
    assert wait_queue.oldest_s <= oldest_s + 1
    wait_queue.leave(second)
    assert (wait_queue.depth, wait_queue.oldest_s) == (0, 0.0)


def test_cancelled_request_cancels_futures_before_and_after() -> None:
    context, before, done, after = (
        RequestContext(id="r", endpoint="/"),
        Future[int](),
        Future[int](),
        Future[int](),
    )
    context.call.hold(before)
    context.call.hold(done)
    done.set_result(1)
    context.call.cancel()
    context.call.hold(after)
    assert before.cancelled()
    assert after.cancelled()
    assert done.result() == 1


def test_request_is_current_until_it_is_left() -> None:
    context = RequestContext(id="r", endpoint="/")
    end = enter_request(context)
    assert current_request() is context
    end()
    assert current_request() is None


# ---------------------------------------------------------------- cancellation


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
        return await OpenRequests().wait(Client().request, asyncio.sleep(0.01, "done"))

    assert asyncio.run(scenario()) == "done"


def test_client_that_hangs_up_cancels_the_work() -> None:
    async def scenario() -> None:
        client, context, held = Client(), RequestContext(id="r", endpoint="/"), Future[int]()
        context.call.hold(held)
        enter_request(context)
        work = asyncio.ensure_future(forever())
        waiting = asyncio.ensure_future(OpenRequests().wait(client.request, work))
        await asyncio.sleep(0.01)
        client.hang_up.set()
        with pytest.raises(ClientGoneError):
            await waiting
        assert work.cancelled()
        assert held.cancelled()

    asyncio.run(scenario())


def test_drain_cancels_only_requests_that_have_not_begun() -> None:
    async def scenario() -> None:
        open_requests = OpenRequests()

        async def serve(context: RequestContext) -> str:
            enter_request(context)
            return await open_requests.wait(Client().request, asyncio.sleep(0.1, "done"))

        begun = RequestContext(id="b", endpoint="/", has_begun=True)
        led = RequestContext(id="l", endpoint="/", leader=begun)
        waiting = RequestContext(id="w", endpoint="/")
        tasks = [asyncio.ensure_future(serve(context)) for context in (begun, led, waiting)]
        await asyncio.sleep(0.01)
        open_requests.drain()
        late = asyncio.ensure_future(serve(RequestContext(id="late", endpoint="/")))
        results = await asyncio.gather(*tasks, late, return_exceptions=True)
        assert results[:2] == ["done", "done"]
        assert [type(result) for result in results[2:]] == [StoppingError, StoppingError]

    asyncio.run(scenario())


def test_cancel_all_cancels_requests_that_have_begun() -> None:
    async def scenario() -> None:
        open_requests = OpenRequests()
        enter_request(RequestContext(id="b", endpoint="/", has_begun=True))
        task = asyncio.ensure_future(open_requests.wait(Client().request, forever()))
        await asyncio.sleep(0.01)
        open_requests.drain()
        await asyncio.sleep(0.01)
        assert not task.done()
        open_requests.cancel_all()
        with pytest.raises(StoppingError):
            await task

    asyncio.run(scenario())


# ---------------------------------------------------------------- caps and words


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param({"cpu_time_s": 11.0}, {"cpu_time_s": 10.0}, id="cpu time"),
        pytest.param({"wall_time_s": 11.0}, {"wall_time_s": 10.0}, id="wall time"),
        pytest.param({"memory_bytes": MiB + 1}, {"memory_bytes": MiB}, id="memory"),
        pytest.param({"output_bytes": 1 << 49}, {"output_bytes": 16 * 1000}, id="output"),
        pytest.param({"work_bytes": 1 << 49}, {"work_bytes": 16 * 2000}, id="work area"),
        pytest.param({"work_files": 1 << 49}, {"work_files": 16 * 20}, id="files"),
        pytest.param({"processes": 1 << 20}, {"processes": 16 * 10}, id="processes"),
    ],
)
def test_limit_above_the_servers_is_lowered(given: Any, kept: Any) -> None:
    settings = ServerSettings(max_time_s=10, max_memory_bytes=MiB)
    own = Limits(output_bytes=1000, work_bytes=2000, work_files=20, processes=10)
    suite = make_suite(limits=LimitOverrides(**{"processes": 3, **given}))
    capped = cap_limits(suite, most_limits(settings, own))
    assert capped == replace(suite, limits=LimitOverrides(**{"processes": 3, **kept}))


def test_suite_within_the_limits_is_the_same_object() -> None:
    settings = ServerSettings(max_time_s=10, max_memory_bytes=MiB)
    suite = make_suite(limits=LimitOverrides(cpu_time_s=10.0, memory_bytes=MiB))
    assert cap_limits(suite, most_limits(settings, Limits())) is suite


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
    broken = {
        "type": "json_invalid",
        "loc": ("body", 1),
        "msg": "?",
        "ctx": {"error": "Expecting x"},
    }
    assert complaint([broken]) == "body: not JSON: Expecting x at character 2"
    own = {"loc": ("body", "policy"), "msg": "Value error, there is no policy 'x'"}
    assert complaint([own]) == "body.policy: there is no policy 'x'"
