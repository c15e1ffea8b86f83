"""A request that is answered without FastAPI's layers gets the answer that FastAPI would give."""

import asyncio
from typing import Annotated, Any

import pytest
from fastapi import APIRouter, Body, FastAPI, Header, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from grader.model.wire import json_bytes
from grader.server.http.bodies import BufferedReceive
from grader.server.http.direct import DirectRequests, direct_endpoints
from grader.server.http.errors import complaint

PATH = "/echo"


class Item(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    text: str
    number: int = 0
    label: Any = None


class UnknownTextError(Exception):
    """A handler of the application answers it."""


def make_app() -> FastAPI:
    app, router = FastAPI(strict_content_type=False), APIRouter()

    @router.post(PATH, response_model=None)
    async def echo(
        request: Request,
        body: Annotated[Item, Body()],
        a_key: Annotated[str | None, Header(min_length=3)] = None,
        logs: Annotated[bool | None, Query()] = None,
    ) -> Response:
        if body.text == "refuse":
            raise HTTPException(409, "refused", headers={"X-Why": "asked"})
        if body.text == "unknown":
            raise UnknownTextError
        size = len(await request.body())
        return Response(json_bytes([body.model_dump(), a_key, logs, size]))

    @app.exception_handler(RequestValidationError)
    async def not_valid(_: Request, error: RequestValidationError) -> Response:
        return Response(complaint(error.errors()).encode(), 422)

    @app.exception_handler(UnknownTextError)
    async def unknown(_: Request, __: UnknownTextError) -> Response:
        return Response(status_code=404)

    app.include_router(router)
    app.state.endpoints = direct_endpoints([router], [PATH])
    return app


APP = make_app()


def buffered(app: ASGIApp) -> ASGIApp:
    """Read the body first, as the service's middleware does."""

    async def read_then_serve(scope: Scope, receive: Receive, send: Send) -> None:
        message = await receive()
        await app(scope, BufferedReceive(message["body"], receive), send)

    return read_then_serve


def direct(inner: ASGIApp) -> ASGIApp:
    return buffered(DirectRequests(inner, APP, APP.state.endpoints))


def answer(app: ASGIApp, request: tuple[Scope, bytes]) -> tuple[int, dict[bytes, bytes], bytes]:
    scope, body = request
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    async def scenario() -> None:
        await app(scope, receive, send)

    asyncio.run(scenario())
    start, *parts = sent
    content = b"".join(part.get("body", b"") for part in parts)
    return start["status"], dict(start["headers"]), content


def post(
    body: bytes, *, method: str = "POST", query: str = "", **headers: str
) -> tuple[Scope, bytes]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    named |= {"host": "x", "content-length": str(len(body))}
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": PATH,
        "query_string": query.removeprefix("?").encode(),
        "headers": [(name.encode(), value.encode()) for name, value in named.items()],
        "client": ("127.0.0.1", 1),
        "server": ("x", 80),
    }
    return scope, body


async def never(_: Scope, __: Receive, ___: Send) -> None:
    message = "the request went on to FastAPI"
    raise AssertionError(message)


plain_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner, max_size=3),
    max_leaves=5,
)
items = st.fixed_dictionaries(
    {"text": st.sampled_from(["a", "refuse", "unknown", "\ud800"])},
    optional={"number": st.sampled_from([1, 1.5, "1", 2**70]), "label": plain_data, "b": st.none()},
)
bodies = st.binary(max_size=9) | (items | plain_data).map(
    lambda value: json_bytes(value).replace(b"\xef\xbf\xbd", b"\\ud800")
)


@settings(max_examples=40)
@given(
    bodies,
    st.sampled_from(["POST", "GET", "PUT"]),
    st.sampled_from(["", "?logs=1", "?logs=x", "?"]),
    st.dictionaries(
        st.sampled_from(["content_type", "a_key"]),
        st.sampled_from(["application/json", "application/json; charset=utf-8", "text/plain", "x"]),
    ),
)
def test_answer_is_fastapis(body: bytes, method: str, query: str, headers: Any) -> None:
    def request() -> tuple[Scope, bytes]:
        return post(body, method=method, query=query, **headers)

    assert answer(direct(APP), request()) == answer(buffered(APP), request())


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8"])
@pytest.mark.parametrize(
    ("text", "status"), [("a", 200), ("refuse", 409), ("unknown", 404)], ids=str
)
def test_plain_request_does_not_reach_fastapi(kind: str, text: str, status: int) -> None:
    request = post(json_bytes({"text": text}), content_type=kind)
    assert answer(direct(never), request)[0] == status


def test_error_without_a_handler_is_raised() -> None:
    app = DirectRequests(never, FastAPI(), APP.state.endpoints)
    request = post(json_bytes({"text": "unknown"}), content_type="application/json")
    with pytest.raises(UnknownTextError):
        answer(buffered(app), request)
