"""Clients that do not finish the head of a request; over real sockets."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
import uvicorn
from starlette.responses import PlainTextResponse

from grader.server.http.connection import Connection


class Hasty(Connection):
    head_s = 0.3
    head_bytes = 1000


@contextmanager
def _serving() -> Iterator[int]:
    config = uvicorn.Config(PlainTextResponse("ok"), http=Hasty, ws="none", log_config=None)
    server = uvicorn.Server(config)
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        thread = threading.Thread(target=asyncio.run, args=(server.serve([listener]),))
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with _serving() as found:
        yield found


def _talk(port: int, *parts: bytes) -> bytes:
    """Send parts; return the whole response until the service hangs up."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        try:
            for part in parts:
                client.sendall(part)
            while chunk := client.recv(1 << 16):
                answer += chunk
        except ConnectionError:
            pass
    return answer


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([], id="says nothing"),
        pytest.param([b"GET / HTTP/1.1\r\nHost: x\r\nX: "], id="stops within a header"),
        pytest.param([b"GET /"], id="stops within the path"),
    ],
)
def test_client_that_falls_silent_is_disconnected(port: int, parts: list[bytes]) -> None:
    assert _talk(port, *parts) == b""


def test_second_head_of_a_connection_is_timed_too(port: int) -> None:
    whole = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    assert _talk(port, whole, b"GET / HT").endswith(b"\r\n\r\nok")


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([b"GET / HTTP/1.1\r\nX: ", b"y" * 5000], id="a header"),
        pytest.param([b"GET / HTTP/1.1\r\n", b"X: y\r\n" * 500], id="many headers"),
        pytest.param([b"GET /", b"y" * 5000], id="a path"),
    ],
)
def test_head_that_is_too_long_is_refused(port: int, parts: list[bytes]) -> None:
    assert _talk(port, *parts).startswith(b"HTTP/1.1 400 ")


def test_body_does_not_count_towards_the_head(port: int) -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5000\r\n\r\n"
    assert _talk(port, head, b"x" * 5000).endswith(b"\r\n\r\nok")
    assert _talk(port, head + b"x" * 5000).endswith(b"\r\n\r\nok")
