import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from grader.config.server import ServerSettings
from grader.model import MiB
from grader.model.errors import ConfigurationError
from grader.process.garbage import RareCollection
from grader.server.http.middleware import RequestMiddleware
from grader.server.metrics import Metrics
from grader.server.serve import check_exposure


async def echo(_: Scope, receive: Receive, send: Send) -> None:
    """Respond with the body, read in pieces."""
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def call(
    messages: list[Message],
    headers: dict[str, str],
    *,
    settings: ServerSettings,
    method: str = "POST",
    path: str = "/v1/grade",
    app: Callable[[Scope, Receive, Send], Awaitable[None]] = echo,
) -> tuple[int, bytes, dict[bytes, bytes]]:
    """Send one request through the middleware."""
    sent: list[Message] = []
    source = iter(messages)

    async def receive() -> Message:
        return next(source)

    async def send(message: Message) -> None:
        sent.append(message)

    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [(k.lower().encode(), v.encode()) for k, v in headers.items()],
    }
    asyncio.run(RequestMiddleware(app, settings, Metrics(), RareCollection())(scope, receive, send))
    return sent[0]["status"], sent[1]["body"], dict(sent[0]["headers"])


def parts(*bodies: bytes) -> list[Message]:
    last = len(bodies) - 1
    return [
        {"type": "http.request", "body": body, "more_body": number < last}
        for number, body in enumerate(bodies)
    ]


@pytest.mark.parametrize(
    ("size", "status"),
    [
        pytest.param(9, 200, id="below"),
        pytest.param(10, 200, id="at"),
        pytest.param(11, 413, id="above"),
    ],
)
@pytest.mark.parametrize("is_declared", [True, False], ids=["declared", "chunked"])
def test_body_size_is_held_to_its_limit(size: int, status: int, is_declared: bool) -> None:
    headers = {"Content-Length": str(size)} if is_declared else {"Transfer-Encoding": "chunked"}
    settings = ServerSettings(body_bytes=10)
    found, body, _ = call(parts(b"x" * (size - 1), b"x"), headers, settings=settings)
    assert found == status
    assert status != 200 or body == b"x" * size


def test_refused_body_is_not_taken_for_the_next_request() -> None:
    _, body, headers = call([], {"Content-Length": "99"}, settings=ServerSettings(body_bytes=10))
    assert headers[b"connection"] == b"close"
    assert "99 bytes" in json.loads(body)["detail"]


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        pytest.param("Bearer s:ecret", 200, id="bearer"),
        pytest.param("BEARER  s:ecret ", 200, id="spaces"),
        pytest.param("Basic " + base64.b64encode(b"me:s:ecret").decode(), 200, id="password"),
        pytest.param("Basic " + base64.b64encode(b"s:ecret").decode(), 401, id="part of it"),
        pytest.param("Basic !", 401, id="no base64"),
        pytest.param("Bearer s:ecre", 401, id="shorter"),
        pytest.param("Bearer ", 401, id="empty"),
        pytest.param("Digest s:ecret", 401, id="another scheme"),
        pytest.param("", 401, id="nothing"),
    ],
)
def test_token_is_asked_for_before_the_body(authorization: str, status: int) -> None:
    settings = ServerSettings(token="s:ecret")  # noqa: S106
    messages = parts(b"") if status == 200 else []
    headers = {"Authorization": authorization, "Content-Length": "0"}
    assert call(messages, headers, settings=settings)[0] == status


@pytest.mark.parametrize(
    ("token", "path", "status"),
    [
        pytest.param("m", "/metrics", 200, id="metrics"),
        pytest.param("t", "/metrics", 200, id="metrics with the other token"),
        pytest.param("m", "/v1/grade", 403, id="grading"),
        pytest.param("m", "/metrics/", 403, id="a path that begins like it"),
        pytest.param("m", "//metrics", 403, id="a path that ends like it"),
        pytest.param("m", "/no/such/path", 403, id="unknown path"),
        pytest.param("m", "/healthz", 200, id="open path"),
        pytest.param("mt", "/metrics", 401, id="both tokens as one"),
        pytest.param("", "/metrics", 401, id="nothing"),
    ],
)
def test_metrics_token_opens_the_metrics_only(token: str, path: str, status: int) -> None:
    settings = ServerSettings(token="t", metrics_token="m")  # noqa: S106
    headers = {"Authorization": f"Bearer {token}", "Content-Length": "0"}
    messages = parts(b"") if status == 200 else []
    assert call(messages, headers, settings=settings, path=path)[0] == status


@pytest.mark.parametrize(
    ("site", "method", "status"),
    [
        pytest.param("cross-site", "POST", 403, id="another site"),
        pytest.param("same-site", "POST", 403, id="another port of this host"),
        pytest.param("cross-site", "GET", 200, id="a link from another site"),
        pytest.param("same-origin", "POST", 200, id="our own page"),
        pytest.param("none", "POST", 200, id="a person"),
    ],
)
def test_page_of_another_site_can_have_nothing_run(site: str, method: str, status: int) -> None:
    headers = {"Sec-Fetch-Site": site, "Content-Length": "2"}
    found = call(parts(b"{}"), headers, settings=ServerSettings(), method=method)
    assert found[0] == status


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        pytest.param("http://10.0.0.5:8080", 200, id="our own page"),
        pytest.param("HTTP://10.0.0.5:8080", 200, id="in capitals"),
        pytest.param("http://10.0.0.5:8081", 403, id="another port"),
        pytest.param("http://10.0.0.5", 403, id="the usual port"),
        pytest.param("https://evil.example", 403, id="another site"),
        pytest.param("http://10.0.0.5:8080.evil.example", 403, id="a name that begins like ours"),
        pytest.param("null", 403, id="hidden"),
        pytest.param("", 403, id="empty"),
    ],
)
@pytest.mark.parametrize("anonymous", [False, True])
def test_page_of_another_site_is_known_by_its_origin_alone(
    origin: str, status: int, anonymous: bool
) -> None:
    headers = {"Origin": origin, "Host": "10.0.0.5:8080", "Content-Length": "2"}
    settings = ServerSettings(anonymous=anonymous)
    assert call(parts(b"{}"), headers, settings=settings)[0] == status
    assert call(parts(b"{}"), headers, settings=settings, method="GET")[0] == 200


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param("trace-1/a:b", True, id="plain"),
        pytest.param("x" * 128, True, id="longest"),
        pytest.param("x" * 129, False, id="too long"),
        pytest.param("a\tb", False, id="control character"),
        pytest.param("é", False, id="not ASCII"),
    ],
)
def test_request_id_is_kept_if_it_is_harmless(given: str, kept: bool) -> None:
    _, _, headers = call(
        parts(b""), {"X-Request-ID": given, "Content-Length": "0"}, settings=ServerSettings()
    )
    assert (headers[b"x-request-id"] == given.encode()) is kept


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"], ids=lambda host: str(host)
)
def test_loopback_needs_no_token(host: str) -> None:
    check_exposure(ServerSettings(host=host))


@pytest.mark.parametrize(
    "host",
    ["0.0.0.0", "::", "", "192.0.2.1", "::ffff:192.0.2.1", "example.com", "localhost.x"],  # noqa: S104
)
def test_everything_else_needs_one(host: str) -> None:
    with pytest.raises(ConfigurationError, match="GRADER_SERVER_TOKEN"):
        check_exposure(ServerSettings(host=host))
    check_exposure(ServerSettings(host=host, token="t"))  # noqa: S106
    check_exposure(ServerSettings(host=host, anonymous=True))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        pytest.param({"port": 65536}, "server.port is 65536", id="port"),
        pytest.param({"port": -1}, "server.port is -1", id="negative port"),
        pytest.param({"token": ""}, "server.token is empty", id="empty token"),
        pytest.param(
            {"token": "t", "metrics_token": ""}, "metrics_token is empty", id="empty for metrics"
        ),
        pytest.param({"metrics_token": "m"}, "needs server.token", id="for metrics alone"),
        pytest.param(
            {"token": "t", "metrics_token": "t"}, "equals server.token", id="the same for metrics"
        ),
        pytest.param({"body_bytes": 2 * MiB, "held_bytes": MiB}, "has no room", id="no room"),
        pytest.param({"drain_s": float("nan")}, "server.drain_s", id="nan"),
        pytest.param({"max_time_s": 0.0}, "server.max_time_s", id="no time"),
    ],
)
def test_setting_out_of_its_range_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ServerSettings(**values)
    assert message in str(caught.value)
